package openai

import (
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/wire"
)

const (
	firstEmbedder  = "the first embedder in the list, or else the first model"
	byRecordOrAll  = "by the record; a model without tasks embeds all alike"
	embedTextsOnly = "the models here embed texts only"
	firstValues    = "the first values of the vector, normalised again; a model that is not trained for embeddings has only its own number"
)

// embedModelRow describes model, which decides the type of embeddings: errors about the type are
// about the model.
var embedModelRow = wire.Parameter{Name: "model", Absent: firstEmbedder, Canonical: "type", Note: modelNote}

// embedTable describes the body of POST /v1/embed and POST /v2/embed.
var embedTable = wire.For[embedRequest](
	embedModelRow,
	wire.Parameter{Name: "texts", Count: wire.Between(1, maxInputs), Noun: "text", Canonical: "prompt", Note: "the texts, none of them empty; required without inputs"},
	wire.Parameter{Name: "inputs", Count: wire.Between(1, maxInputs), Noun: "input", Canonical: "prompt", Note: "inputs of several parts, which have one vector; instead of texts"},
	wire.Parameter{Name: "inputs.content", Required: true, Count: wire.AtLeast(1), Noun: "part", Note: "the parts, which are joined by line feeds"},
	wire.Parameter{Name: "inputs.content.type", Required: true, OneOf: []string{"text"}, Note: "the kind of part; " + embedTextsOnly},
	wire.Parameter{Name: "inputs.content.text", Note: "the text; required"},
	wire.Parameter{Name: "inputs.content.image_url", Disposition: wire.Refused, Note: embedTextsOnly},
	wire.Parameter{Name: "input_type", OneOf: cohereTasks, Absent: "the model's default", Canonical: "task", Remote: byRecordOrAll, Note: "what the vectors are for; chooses the model's prompt"},
	wire.Parameter{Name: "embedding_types", OneOf: quantTypes, Absent: "float", Note: "the types of values; in /v1/embed the answer without it has a list of vectors instead of an object"},
	wire.Parameter{Name: "output_dimension", Bounds: wire.AtLeast(1), Absent: "the dimensions of the model", Canonical: "dimensions", Remote: wire.ByRecord, Note: firstValues},
	wire.Parameter{Name: "truncate", OneOf: embedTruncates, Absent: "END, and NONE for models that cannot cut texts", Canonical: "truncate", Remote: wire.ByRecord, Note: "whether a text that is longer than the model's limit is cut at its end or rejected; START is unsupported"},
	wire.Parameter{Name: "images", Disposition: wire.Refused, Note: embedTextsOnly, Neutral: []string{`[]`}},
	wire.Parameter{Name: "max_tokens", Disposition: wire.Refused, Note: "texts are cut at the model's limit"},
	wire.Parameter{Name: "priority", Disposition: wire.NoEffect, Note: "requests are answered in a fair order"},
)

// inputsTable describes the body of POST /embed and of POST / with inputs.
var inputsTable = wire.For[inputsRequest](slices.Concat(inputsRows(), []wire.Parameter{
	{Name: "normalize", Default: true, Note: "whether to scale vectors to length 1; without it they are as the model makes them"},
	{Name: "dimensions", Bounds: wire.AtLeast(1), Absent: "the dimensions of the model", Canonical: "dimensions", Remote: wire.ByRecord, Note: firstValues},
})...)

// plainTable describes the body of POST /embed_sparse and of POST /embed_all.
var plainTable = wire.For[plainRequest](inputsRows()...)

// inputsRows describe the keys that these requests share.
func inputsRows() []wire.Parameter {
	return []wire.Parameter{
		embedModelRow,
		{Name: "inputs", Required: true, Schema: promptSchema(maxInputs), Canonical: "prompt", Remote: "texts; token ids are unsupported", Note: "a text or token ids, or a list of up to 2048 of either; none may be empty"},
		{Name: "truncate", Default: false, Canonical: "truncate", Remote: wire.ByRecord, Note: "whether to cut the end of a text that is longer than the model's limit, instead of rejecting it"},
		{Name: "truncation_direction", Disposition: wire.Refused, Note: "texts are cut at their end", Neutral: []string{`"right"`, `"Right"`}},
		{Name: "prompt_name", Canonical: "prompt_name", Absent: "the model's default", Remote: wire.ByRecord, Note: "the model's prompt, by name, to put before each text"},
	}
}

// EmbedParameters describes the keys of Cohere's request for embeddings.
func EmbedParameters() []wire.Parameter { return embedTable.Parameters("") }

// InputsParameters describes the keys of a request for embeddings in the protocol of Text
// Embeddings Inference.
func InputsParameters() []wire.Parameter { return inputsTable.Parameters("") }

var embedDoc = &httpx.Operation{
	ID: "embedV2", Tag: tag, Summary: "Embed texts, in Cohere's protocol",
	Description: "The vectors are by type: floats, or values of 8 bits or 1 bit.",
	Body:        embedTable,
	Example:     `{"model": "chords", "texts": ["C-major pop : chorus", "G-major folk : verse"], "embedding_types": ["float", "ubinary"]}`,
	Answers:     []httpx.Answer{{Of: embedByType{}}},
}

var embedV1Doc = &httpx.Operation{
	ID: "embedV1", Tag: tag, Summary: "Embed texts, in the first version of Cohere's protocol",
	Description: "Without embedding_types, embeddings is a list of vectors; with it, an object, as in /v2/embed.",
	Body:        embedTable, Example: embedDoc.Example,
	Answers: append([]httpx.Answer{{Of: embedFloats{}}}, embedDoc.Answers...),
}

var inputsDoc = &httpx.Operation{
	ID: "embedInputs", Tag: tag, Summary: "Embed texts, in the protocol of Text Embeddings Inference",
	Description: "The answer is a list of vectors, and errors have the statuses and the shape of that server.",
	Body:        inputsTable,
	Example:     `{"inputs": ["Dogs bark.", "Cats purr."]}`,
	Answers:     []httpx.Answer{{Of: [][]float32{}}},
}

var sparseDoc = &httpx.Operation{
	ID: "embedSparse", Tag: tag, Summary: "Compute sparse embeddings, in the protocol of Text Embeddings Inference",
	Description: "The answer is a list of weights for each text. The model must have sparse embeddings: see embedding_types in /v1/models.",
	Body:        plainTable,
	Example:     `{"inputs": ["Dogs bark.", "Cats purr."]}`,
	Answers:     []httpx.Answer{{Of: [][]sparseValue{}}},
}

var unpooledDoc = &httpx.Operation{
	ID: "embedAll", Tag: tag, Summary: "Embed all tokens, in the protocol of Text Embeddings Inference",
	Description: "The answer is a list of vectors for each text: those of its tokens, and of the tokens that the model adds, before they are pooled. They are not normalised.",
	Body:        plainTable,
	Example:     `{"inputs": ["Dogs bark.", "Cats purr."]}`,
	Answers:     []httpx.Answer{{Of: [][][]float32{}}},
}

var rootInputsDoc = &httpx.Operation{
	ID: "embedRoot", Tag: tag, Summary: "Embed texts at the root, in the protocol of Text Embeddings Inference",
	Description: "As /embed, or as /embed_sparse if the model has only sparse embeddings.",
	Body:        inputsTable,
	Example:     inputsDoc.Example,
	Answers:     append(inputsDoc.Answers, sparseDoc.Answers...),
}
