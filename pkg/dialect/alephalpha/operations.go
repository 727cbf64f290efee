package alephalpha

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// tag is the name of this API in the OpenAPI document.
const tag = "Aleph Alpha"

// operation documents a route that runs a model.
func operation(id, summary string, body *wire.Table, example string, answers ...httpx.Answer) *httpx.Operation {
	return &httpx.Operation{ID: id, Tag: tag, Summary: summary, Body: body, Example: example, Query: queueTable, Answers: answers}
}

// The documentation of the routes.
var (
	completeDoc = operation("complete", "Complete a prompt", completeTable,
		`{"model": "novels", "prompt": "Once upon a time", "maximum_tokens": 20}`,
		httpx.Answer{Description: "the completions", Of: completeAnswer{}},
		httpx.Answer{Media: "text/event-stream", Description: "with stream, events: chunks, a summary of each completion, then a final summary", Of: streamChunk{}},
		httpx.Answer{Media: "text/event-stream", Of: streamSummary{}}, httpx.Answer{Media: "text/event-stream", Of: completionSummary{}})
	embedDoc = operation("embed", "Embed a prompt", embedTable,
		`{"model": "novels", "prompt": "An apple a day", "layers": [0, -1], "pooling": ["mean"]}`, httpx.Answer{Of: embedAnswer{}})
	semanticDoc = operation("semanticEmbed", "Embed a prompt, with a model that is trained for it", semanticTable,
		`{"model": "sentences", "prompt": "An apple a day", "representation": "query"}`, httpx.Answer{Of: semanticAnswer{}})
	batchDoc = operation("batchSemanticEmbed", "Embed several prompts, with a model that is trained for it", batchTable,
		`{"model": "sentences", "prompts": ["An apple a day", "Rain"], "representation": "document"}`, httpx.Answer{Of: batchAnswer{}})
	evaluateDoc = operation("evaluate", "Evaluate how well a model predicts a text", evaluateTable,
		`{"model": "novels", "prompt": "The cat sat on", "completion_expected": " the mat."}`, httpx.Answer{Of: evaluateAnswer{}})
	explainDoc = operation("explain", "Explain how much each part of a prompt contributes to a target", explainTable,
		`{"model": "novels", "prompt": "The cat sat on", "target": " the mat."}`, httpx.Answer{Of: explainAnswer{}})
	tokenizeDoc = operation("tokenize", "Split a text into tokens", tokenizeTable,
		`{"model": "novels", "prompt": "An apple a day", "tokens": true, "token_ids": true}`, httpx.Answer{Of: tokenizeAnswer{}})
	detokenizeDoc = operation("detokenize", "Join tokens into a text", detokenizeTable,
		`{"model": "novels", "token_ids": [1, 2, 3]}`, httpx.Answer{Of: detokenizeAnswer{}})
	translateDoc = operation("alephAlphaTranslate", "Translate a text", translateTable,
		`{"model": "phrases", "source": "good morning", "target_language": "de"}`, httpx.Answer{Of: translateAnswer{}})
	modelsDoc  = &httpx.Operation{ID: "modelsAvailable", Tag: tag, Summary: "List the models and their aliases", Answers: []httpx.Answer{{Of: []modelObject{}}}}
	versionDoc = &httpx.Operation{
		ID: "version", Tag: tag, Summary: "Get the version of this API", Answers: []httpx.Answer{{Media: "text/plain", Description: "MAJOR.MINOR.PATCH"}},
	}
	tokenizerDoc = &httpx.Operation{
		ID: "tokenizerFile", Tag: tag, Summary: "Download a model's tokenizer.json",
		Path:    []httpx.PathParameter{{Name: "name", Description: "a model's name, an alias or family/name", Example: "abc"}},
		Answers: []httpx.Answer{{Description: "a file for Hugging Face's tokenizers", Of: tokenizerFile{}}},
		Codes:   []llm.Code{llm.Unsupported, llm.Overloaded},
	}
	loginDoc = &httpx.Operation{
		ID: "login", Tag: tag, Summary: "Log in", Body: tokenTable, Example: `{"email": "someone@example.com", "password": "secret"}`,
		Answers: []httpx.Answer{{Description: "a token to send as an API key", Of: tokenAnswer{}}}, Codes: []llm.Code{llm.Unauthenticated, llm.Unavailable},
	}
	getTokenDoc = loginDoc.As("getToken", "Log in, at the path of older clients")
)

// tokenizerFile documents a tokenizer.json.
type tokenizerFile map[string]any
