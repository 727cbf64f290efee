package textsynth

import "glossa/pkg/httpx"

// tag is the name of this API in the OpenAPI document.
const tag = "TextSynth"

var engineID = []httpx.PathParameter{{Name: "engine_id", Description: "a model's name, an alias or family/name; it may contain slashes", Example: "novels"}}

var completionsDoc = &httpx.Operation{
	ID: "textsynthCompletions", Tag: tag, Summary: "Continue a text",
	Description: "A stream is a sequence of answers, each followed by two line feeds; the last one has reached_end.",
	Path:        engineID, Body: completionTable,
	Example: `{"prompt": "Once upon a time", "max_tokens": 20, "temperature": 0.7, "stop": ["."]}`,
	Answers: []httpx.Answer{{Description: "the text, or the answers of a stream", Of: completionAnswer{}, Headers: []httpx.Header{httpx.GuaranteeHeader}}},
}

var logprobDoc = &httpx.Operation{
	ID: "logprob", Tag: tag, Summary: "Compute the log-probability of a continuation",
	Path: engineID, Body: logprobTable,
	Example: `{"context": "The cat sat on the", "continuation": " mat"}`,
	Answers: []httpx.Answer{{Of: logprobAnswer{}}},
}

var translateDoc = &httpx.Operation{
	ID: "translate", Tag: tag, Summary: "Translate texts",
	Path: engineID, Body: translateTable,
	Example: `{"text": ["good morning"], "source_lang": "en", "target_lang": "de"}`,
	Answers: []httpx.Answer{{Of: translateAnswer{}}},
}

var tokenizeDoc = &httpx.Operation{
	ID: "textsynthTokenize", Tag: tag, Summary: "Split a text into tokens",
	Path: engineID, Body: tokenizeTable,
	Example: `{"text": "The quick brown fox", "token_content_type": "base64"}`,
	Answers: []httpx.Answer{{Of: tokenizeAnswer{}}},
}
