package anthropic

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "Anthropic"

var createDoc = &httpx.Operation{
	ID: "createMessage", Tag: tag, Summary: "Answer messages",
	Description: "An answer continues a last message of the assistant. Every block of an answer is accepted unchanged in a later request. " +
		"In a stream, each event has a name, its type, and JSON data: message_start, the events of each block, message_delta, message_stop.",
	Body:    messageTable,
	Example: `{"model": "novels", "max_tokens": 20, "messages": [{"role": "user", "content": "The old lighthouse"}], "temperature": 0.7}`,
	Answers: []httpx.Answer{
		{Description: "the answer, or the events of a stream", Of: answerMessage{}, Headers: []httpx.Header{httpx.GuaranteeHeader}},
		{Media: "text/event-stream", Of: event{}},
	},
}

var countDoc = &httpx.Operation{
	ID: "countMessageTokens", Tag: tag, Summary: "Count the tokens of the prompt that messages become",
	Description: "The keys are those of a message that the prompt depends on. Nothing is generated.",
	Body:        countTable,
	Example:     `{"model": "tools", "messages": [{"role": "user", "content": "Hello!"}]}`,
	Answers:     []httpx.Answer{{Of: tokenCount{}}},
}

var listDoc = &httpx.Operation{
	ID: "listAnthropicModels", Tag: tag, Summary: "List the models, for clients that send anthropic-version",
	Query:   listTable,
	Answers: []httpx.Answer{{Of: modelList{}}},
}

var modelDoc = &httpx.Operation{
	ID: "getAnthropicModel", Tag: tag, Summary: "Describe a model, for clients that send anthropic-version",
	Path:    []httpx.PathParameter{{Name: "id", Description: "the model's name, an alias or family/name"}},
	Answers: []httpx.Answer{{Of: modelObject{}}},
	Codes:   []llm.Code{llm.NotFound, llm.Unsupported, llm.Overloaded, llm.Upstream, llm.Timeout},
}
