package alpha

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "Alpha"

// The documentation of the routes that run models or list them.
var (
	listDoc    = &httpx.Operation{ID: "alphaModels", Tag: tag, Summary: "List the models that Alpha trained, the newest first", Answers: []httpx.Answer{{Of: []modelObject{}}}}
	metricsDoc = &httpx.Operation{
		ID: "modelMetrics", Tag: tag, Summary: "Get the metrics of a training run", Query: metricsTable,
		Path:    []httpx.PathParameter{{Name: "name", Description: "the name of the model", Example: "novels"}},
		Answers: []httpx.Answer{{Description: "a range of metrics.jsonl", Of: metricsObject{}}},
	}
	removeDoc = &httpx.Operation{
		ID: "deleteModel", Tag: tag, Summary: "Delete a published model", Query: removeTable,
		Answers: []httpx.Answer{{Of: deleted{}}}, Codes: []llm.Code{llm.NotFound, llm.Unsupported, llm.Upstream, llm.Unavailable},
	}
	inferenceDoc = &httpx.Operation{
		ID: "inference", Tag: tag, Summary: "Continue a prompt as a stream", Query: inferenceTable,
		Answers: []httpx.Answer{{Media: "text/event-stream", Description: "one event for each piece of text, beginning with the prompt", Of: token{}, End: "[DONE]"}},
	}
	oldInferenceDoc = inferenceDoc.As("inferenceAlias", "Continue a prompt as a stream, at the path of older clients")
	chatDoc         = &httpx.Operation{
		ID: "alphaChat", Tag: tag, Summary: "Continue a chat as plain text, for the AI SDK's text transport", Body: chatTable,
		Example: `{"model": "novels", "messages": [{"role": "user", "content": "Hello"}], "maxTokens": 20}`,
		Answers: []httpx.Answer{{Media: "text/plain", Description: "the text as it is generated"}},
	}
	getGenerateDoc = &httpx.Operation{
		ID: "generateGet", Tag: tag, Summary: "Continue a prompt in the query string", Query: generateTable, Answers: []httpx.Answer{{Of: generated{}}},
	}
	generateDoc = &httpx.Operation{
		ID: "generate", Tag: tag, Summary: "Continue a prompt", Description: "The query string may hold the same keys and takes precedence.", Body: generateTable, Query: generateTable,
		Example: `{"model": "novels", "prompt": "Once upon a time", "max_tokens": 20}`, Answers: []httpx.Answer{{Of: generated{}}},
	}
)

// publishing lists the errors of routes that publish models.
var publishing = []llm.Code{llm.NotFound, llm.Unsupported, llm.Overloaded, llm.Upstream, llm.Unavailable, llm.Full, httpx.TooLarge}

var uploadID = httpx.PathParameter{Name: "id", Description: "the id of the upload", Example: "u1"}

// The documentation of uploads.
var (
	uploadDoc = &httpx.Operation{
		ID: "upload", Tag: tag, Summary: "Publish a checkpoint", Description: "Send all keys as one JSON object, or send the file as the body and the rest in headers.",
		Body: uploadTable, Media: []string{"application/octet-stream"}, Headers: uploadHeaders, Codes: publishing,
		Example: `{"name": "mine", "step": 10, "config": {}, "checkpoint": {"modelConfig": {}, "params": {}}}`,
		Answers: []httpx.Answer{{Of: uploaded{}}},
	}
	beginDoc = &httpx.Operation{
		ID: "beginUpload", Tag: tag, Summary: "Begin an upload in parts", Body: beginTable, Codes: publishing,
		Example: `{"name": "mine", "size": 1048576, "partSize": 524288}`, Answers: []httpx.Answer{{Of: session{}}},
	}
	sessionsDoc = &httpx.Operation{ID: "listUploads", Tag: tag, Summary: "List the caller's uploads in progress", Codes: publishing, Answers: []httpx.Answer{{Of: sessions{}}}}
	sessionDoc  = &httpx.Operation{
		ID: "getUpload", Tag: tag, Summary: "Get an upload with its parts", Path: []httpx.PathParameter{uploadID}, Codes: publishing, Answers: []httpx.Answer{{Of: session{}}},
	}
	partDoc = &httpx.Operation{
		ID: "putPart", Tag: tag, Summary: "Send a part of an upload, in any order", Codes: publishing, Media: []string{"application/octet-stream"},
		Path:    []httpx.PathParameter{uploadID, {Name: "part", Description: "the number of the part, from 0", Example: "0"}},
		Answers: []httpx.Answer{{Of: partTaken{}}},
	}
	completeDoc = &httpx.Operation{
		ID: "completeUpload", Tag: tag, Summary: "Publish an upload when all parts have arrived", Path: []httpx.PathParameter{uploadID}, Codes: publishing, Answers: []httpx.Answer{{Of: uploaded{}}},
	}
	abortDoc = &httpx.Operation{
		ID: "deleteUpload", Tag: tag, Summary: "Abort an upload", Path: []httpx.PathParameter{uploadID}, Codes: publishing, Answers: []httpx.Answer{{Of: deleted{}}},
	}
	chunkDoc = &httpx.Operation{
		ID: "uploadChunk", Tag: tag, Summary: "Send a chunk of an upload whose id the client chooses, in any order", Headers: chunkHeaders, Codes: publishing,
		Media: []string{"application/octet-stream"}, Answers: []httpx.Answer{{Of: chunkTaken{}}},
	}
	assembleDoc = &httpx.Operation{
		ID: "assembleUpload", Tag: tag, Summary: "Publish an upload when all chunks have arrived", Body: assembleTable, Codes: publishing,
		Example: `{"uploadId": "mine-10", "totalChunks": 2, "name": "mine", "step": 10, "config": {}}`, Answers: []httpx.Answer{{Of: uploaded{}}},
	}
)
