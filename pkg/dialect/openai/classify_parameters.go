package openai

import (
	"glossa/pkg/httpx"
	"glossa/pkg/wire"
)

const firstClassifier = "the first classifier in the list, or else the first reranker with a label"

// classifyTable describes the body of POST /classify.
var classifyTable = wire.For[classifyRequest](inProcess(
	wire.Parameter{Name: "model", Absent: firstClassifier, Note: modelNote},
	wire.Parameter{Name: "input", Required: true, Count: wire.Between(1, maxInputs), Noun: "text", Note: "a text, or a list of texts"},
	wire.Parameter{Name: "truncate_prompt_tokens", Bounds: wire.AtLeast(-1), Absent: "long texts are rejected", Note: "cuts each text to this number of tokens; 0 and -1 are the model's length"},
	wire.Parameter{Name: "truncation_side", Disposition: wire.Refused, Note: "texts are cut at their end", Neutral: []string{`"right"`}},
	wire.Parameter{Name: "use_activation", Default: true, Note: "false returns the model's logits"},
	wire.Parameter{Name: "activation", Default: true, Note: "another name of use_activation"},
	wire.Parameter{Name: "add_special_tokens", Disposition: wire.Refused, Note: "a model reads texts as it was trained to", Neutral: []string{"true"}},
	wire.Parameter{Name: "messages", Disposition: wire.Refused, Note: "the models here classify texts, not chats"},
	wire.Parameter{Name: "priority", Disposition: wire.NoEffect, Note: "requests are answered in a fair order"},
	wire.Parameter{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
)...)

// predictTable describes the body of POST /predict.
var predictTable = wire.For[predictRequest](inProcess(
	wire.Parameter{Name: "model", Absent: firstClassifier, Note: modelNote},
	wire.Parameter{Name: "inputs", Required: true, Schema: sequencesSchema(), Note: "a text, a list of two texts, which are a pair, or a list of up to 2048 lists of one text or two; with parameters, a text or a list of texts"},
	wire.Parameter{Name: "raw_scores", Default: false, Note: "whether scores are logits"},
	wire.Parameter{Name: "truncate", Default: false, Note: "whether to cut a text that is longer than the model's limit at its end, instead of rejecting it"},
	wire.Parameter{Name: "truncation_direction", Disposition: wire.Refused, Note: "texts are cut at their end", Neutral: []string{`"right"`, `"Right"`}},
	wire.Parameter{Name: "parameters", Absent: "the protocol of Text Embeddings Inference", Note: "those of Hugging Face's Inference API, whose answer has a list for each text"},
	wire.Parameter{Name: "parameters.top_k", Bounds: wire.AtLeast(1), Absent: "all", Note: "the number of labels in the answer"},
	wire.Parameter{Name: "parameters.function_to_apply", OneOf: functions, Absent: "as the model's files say", Note: "the function that makes scores of logits"},
)...)

// inProcess adds to rows that only models in the process have them.
func inProcess(rows ...wire.Parameter) []wire.Parameter {
	for i := range rows {
		if rows[i].Disposition == "" {
			rows[i].Remote = "unsupported: remote models do not classify texts"
		}
	}
	return rows
}

// sequencesSchema describes inputs.
func sequencesSchema() *wire.Schema {
	text := wire.Types("string")
	pair := some(text, 2)
	return wire.AnyOf(text, some(text, maxInputs), some(pair, maxInputs))
}

// ClassifyParameters describes the keys of a request to classify texts, in vLLM's protocol.
func ClassifyParameters() []wire.Parameter { return classifyTable.Parameters("") }

// PredictParameters describes the keys of a request to classify texts, in the protocol of Text
// Embeddings Inference.
func PredictParameters() []wire.Parameter { return predictTable.Parameters("") }

var classifyDoc = &httpx.Operation{
	ID: "classify", Tag: tag, Summary: "Classify texts, in vLLM's protocol",
	Description: "The scores are those of transformers' pipeline: probabilities of labels of which one applies or several do, as the model's files say. A text that is too long is rejected, unless truncate_prompt_tokens is sent.",
	Body:        classifyTable,
	Example:     `{"input": ["What a lovely film.", "I want my money back."]}`,
	Answers:     []httpx.Answer{{Of: classifyAnswer{}}},
}

var predictDoc = &httpx.Operation{
	ID: "predict", Tag: tag, Summary: "Classify texts, in the protocols of Text Embeddings Inference and of Hugging Face's Inference API",
	Description: "The answer to a text or a pair is a list of labels with their scores, the largest first, and to a list of them, or with parameters, a list of such lists. Errors have the statuses and the shape of Text Embeddings Inference.",
	Body:        predictTable,
	Example:     `{"inputs": [["What a lovely film."], ["A man sleeps.", "Nobody is awake."]]}`,
	Answers:     []httpx.Answer{{Of: []labelScore{}}, {Of: [][]labelScore{}}},
}
