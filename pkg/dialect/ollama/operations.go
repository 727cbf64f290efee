package ollama

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "Ollama"

const streamed = "Answers are streams of lines, each a JSON object, unless stream is false. An error after the first line is the last line."

var chatDoc = &httpx.Operation{
	ID: "ollamaChat", Tag: tag, Summary: "Continue a chat, for clients of Ollama",
	Description: streamed + " Requests that only have Alpha's keys are answered as Alpha does.",
	Body:        chatTable, Example: `{"model": "novels", "messages": [{"role": "user", "content": "The old lighthouse"}], "options": {"num_predict": 20}, "stream": false}`,
	Answers: []httpx.Answer{{Description: "the answer", Of: answerLine{}}, {Media: "application/x-ndjson", Of: answerLine{}}},
}

var generateDoc = &httpx.Operation{
	ID: "ollamaGenerate", Tag: tag, Summary: "Continue a text, for clients of Ollama",
	Description: streamed + " Requests that only have Alpha's keys are answered as Alpha does.",
	Body:        generateTable, Example: `{"model": "novels", "prompt": "The old lighthouse", "raw": true, "options": {"num_predict": 20}, "stream": false}`,
	Answers: []httpx.Answer{{Description: "the answer", Of: answerLine{}}, {Media: "application/x-ndjson", Of: answerLine{}}},
}

var embedDoc = &httpx.Operation{
	ID: "ollamaEmbed", Tag: tag, Summary: "Embed texts", Body: embedTable,
	Example: `{"model": "sentences", "input": ["The cat sleeps."]}`, Answers: []httpx.Answer{{Of: embedAnswer{}}},
}

var embeddingsDoc = &httpx.Operation{
	ID: "ollamaEmbeddings", Tag: tag, Summary: "Embed a text, the older route", Body: embeddingsTable,
	Example: `{"model": "sentences", "prompt": "The cat sleeps."}`, Answers: []httpx.Answer{{Of: embeddingsAnswer{}}},
}

var tagsDoc = &httpx.Operation{ID: "ollamaTags", Tag: tag, Summary: "List the models", Answers: []httpx.Answer{{Of: modelList{}}}}

var runningDoc = &httpx.Operation{ID: "ollamaRunning", Tag: tag, Summary: "List the models in memory", Answers: []httpx.Answer{{Of: running{}}}}

var showDoc = &httpx.Operation{
	ID: "ollamaShow", Tag: tag, Summary: "Describe a model", Body: showTable, Example: `{"model": "novels"}`, Answers: []httpx.Answer{{Of: shown{}}},
	Codes: []llm.Code{llm.Invalid, llm.NotFound, llm.Unsupported, llm.Overloaded, llm.Upstream, llm.Timeout},
}
