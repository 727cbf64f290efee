package lamini

import "glossa/pkg/httpx"

// tag is the name of this API in the OpenAPI document.
const tag = "Lamini"

const example = `{"model_name": "forms", "prompt": "Tell me about llamas", "output_type": {"answer": "str", "age": "int"}, "max_new_tokens": 60}`

// The documentation of the routes.
var (
	completeV1Doc = &httpx.Operation{
		ID: "laminiCompletionV1", Tag: tag, Summary: "Complete prompts", Body: completionTable, Example: example,
		Answers: []httpx.Answer{{Description: "the outputs", Of: outputs{}, Headers: []httpx.Header{httpx.GuaranteeHeader}}},
	}
	completeV2Doc = &httpx.Operation{
		ID: "laminiCompletion", Tag: tag, Summary: "Complete prompts and return finish reasons", Body: completionTable, Example: example,
		Answers: []httpx.Answer{{Of: answerV2{}, Headers: []httpx.Header{httpx.GuaranteeHeader}}},
	}
	embedDoc = &httpx.Operation{
		ID: "laminiEmbedding", Tag: tag, Summary: "Embed prompts", Body: embeddingTable, Example: `{"model_name": "novels", "prompt": ["a text", "another"]}`,
		Answers: []httpx.Answer{{Of: embeddingAnswer{}}},
	}
	versionDoc = &httpx.Operation{ID: "laminiVersion", Tag: tag, Summary: "List the endpoints and their versions", Answers: []httpx.Answer{{Of: versionAnswer{}}}}
)
