package openai

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "OpenAI"

// done is the data of the last event of a stream.
const done = "[DONE]"

var modelID = []httpx.PathParameter{{Name: "id", Description: "a model's name, an alias or family/name; it may contain slashes", Example: "novels"}}

// opening lists the errors of routes of the permission Listing that open a model.
var opening = []llm.Code{llm.NotFound, llm.Unsupported, llm.Overloaded, llm.Upstream, llm.Timeout}

var listDoc = &httpx.Operation{
	ID: "listModels", Tag: tag, Summary: "List the models",
	Answers: []httpx.Answer{{Of: modelList{}}},
}

var modelDoc = &httpx.Operation{
	ID: "getModel", Tag: tag, Summary: "Describe a model",
	Path:    modelID,
	Answers: []httpx.Answer{{Of: modelObject{}}},
	Codes:   opening,
}

var chatDoc = &httpx.Operation{
	ID: "chatCompletion", Tag: tag, Summary: "Continue a chat",
	Description: "A model without a chat template gets the contents of all messages, joined by line feeds. " +
		"Unsupported parameters are rejected by name, unless their value has no effect. " +
		"In a stream, each event is data: and a chunk as JSON; the last is data: [DONE]. An error after the first event is sent as an event.",
	Body:    chatTable,
	Example: `{"model": "novels", "messages": [{"role": "user", "content": "The old lighthouse"}], "max_tokens": 20, "temperature": 0.7}`,
	Answers: []httpx.Answer{
		{Description: "the answer, or the chunks of a stream", Of: chatAnswer{}, Headers: []httpx.Header{httpx.GuaranteeHeader}},
		{Media: "text/event-stream", Of: chatChunk{}, End: done},
	},
}

var chatAliasDoc = chatDoc.As("chatCompletionAlias", "Continue a chat, as /v1/chat/completions does")

var templateDoc = &httpx.Operation{
	ID: "applyTemplate", Tag: tag, Summary: "Show the prompt that a chat becomes, in the protocol of llama.cpp's server",
	Description: "The body is that of a chat completion. Nothing is generated.",
	Body:        chatTable,
	Example:     `{"model": "tools", "messages": [{"role": "user", "content": "Hello!"}]}`,
	Answers:     []httpx.Answer{{Of: promptAnswer{}}},
}

var completionDoc = &httpx.Operation{
	ID: "createCompletion", Tag: tag, Summary: "Continue texts",
	Description: "Unsupported parameters are rejected by name, unless their value has no effect. " +
		"In a stream, each event is data: and a chunk as JSON; the last is data: [DONE]. An error after the first event is sent as an event.",
	Body:    completionTable,
	Example: `{"model": "novels", "prompt": "The old lighthouse", "max_tokens": 20, "stop": ["."]}`,
	Answers: []httpx.Answer{
		{Description: "the texts, or the chunks of a stream", Of: completionAnswer{}},
		{Media: "text/event-stream", Of: completionAnswer{}, End: done},
	},
}

var modelCompletionDoc = ofModel(completionDoc, "modelCompletion", "Continue texts with the model in the path")

var embeddingDoc = &httpx.Operation{
	ID: "embeddings", Tag: tag, Summary: "Compute embeddings",
	Body:    embeddingTable,
	Example: `{"model": "chords", "input": ["C-major pop : chorus", "G-major folk : verse"]}`,
	Answers: []httpx.Answer{{Of: embeddingAnswer{}}},
}

var tokenizeDoc = &httpx.Operation{
	ID: "vllmTokenize", Tag: tag, Summary: "Split a text or a chat into tokens, in vLLM's protocol",
	Body:    tokenizeTable,
	Example: `{"model": "novels", "prompt": "The old lighthouse", "return_token_strs": true}`,
	Answers: []httpx.Answer{{Of: tokenizeAnswer{}}},
}

var modelTokenizeDoc = ofModel(tokenizeDoc, "modelTokenize", "Split a text or a chat into tokens of the model in the path")

var detokenizeDoc = &httpx.Operation{
	ID: "vllmDetokenize", Tag: tag, Summary: "Join tokens into a text, in vLLM's protocol",
	Body:    detokenizeTable,
	Example: `{"model": "novels", "tokens": [1, 2, 3]}`,
	Answers: []httpx.Answer{{Of: detokenizeAnswer{}}},
}

var modelDetokenizeDoc = ofModel(detokenizeDoc, "modelDetokenize", "Join tokens of the model in the path into a text")

var tokenizerInfoDoc = &httpx.Operation{
	ID: "tokenizerInfo", Tag: tag, Summary: "Describe a tokenizer",
	Description: "The keys are those of vLLM. If the server has several models, name one.",
	Query:       tokenizerInfoTable,
	Answers:     []httpx.Answer{{Of: tokenizerInfo{}}},
	Codes:       opening,
}

var modelTokenizerInfoDoc = ofModel(tokenizerInfoDoc, "modelTokenizerInfo", "Describe the tokenizer of the model in the path")

// ofModel returns doc for a route below /vllm/NAME.
func ofModel(doc *httpx.Operation, id, summary string) *httpx.Operation {
	other := doc.As(id, summary)
	other.Path = modelID
	return other
}
