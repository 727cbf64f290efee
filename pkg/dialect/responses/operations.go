package responses

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "Responses"

var createDoc = &httpx.Operation{
	ID: "createResponse", Tag: tag, Summary: "Answer items",
	Description: "A stored response continues with previous_response_id, or with references to its items. " +
		"Every item of an output is also accepted unchanged as input. " +
		"In a stream, each event has a name, its type, and JSON data; the last is response.completed, response.incomplete or response.failed.",
	Body:    createTable,
	Example: `{"model": "novels", "input": "The old lighthouse", "max_output_tokens": 20, "temperature": 0.7}`,
	Answers: []httpx.Answer{
		{Description: "the answer, or the events of a stream", Of: response{}, Headers: []httpx.Header{httpx.GuaranteeHeader}},
		{Media: "text/event-stream", Of: event{}},
	},
	Codes: recalling,
}

// recalling lists the errors of routes that read stored responses.
var recalling = []llm.Code{llm.NotFound, llm.Unavailable}

var pathID = []httpx.PathParameter{{Name: "response_id", Description: "the id of a stored response", Example: "resp_0123456789abcdef01234567"}}

var retrieveDoc = &httpx.Operation{
	ID: "retrieveResponse", Tag: tag, Summary: "Get a stored response", Description: "Responses are stored for their owner only: the key or the user that made them.",
	Path: pathID, Query: retrieveTable, Answers: []httpx.Answer{{Description: "the response as it was sent", Of: response{}}}, Codes: recalling,
}

var deleteDoc = &httpx.Operation{
	ID: "deleteResponse", Tag: tag, Summary: "Delete a stored response", Description: "Responses that continue it keep its items.",
	Path: pathID, Answers: []httpx.Answer{{Of: deletion{}}}, Codes: recalling,
}

var cancelDoc = &httpx.Operation{
	ID: "cancelResponse", Tag: tag, Summary: "Cancel a stored response that is being streamed",
	Description: "Its stream ends with response.incomplete and the status cancelled, and it is stored as it is. One that has ended is not changed.",
	Path:        pathID, Answers: []httpx.Answer{{Of: response{}}}, Codes: append([]llm.Code{llm.Invalid, httpx.TooLarge}, recalling...),
}

var itemsDoc = &httpx.Operation{
	ID: "listResponseInputItems", Tag: tag, Summary: "List the items that the model read for a stored response",
	Description: "They include those of the previous responses, but no instructions.",
	Path:        pathID, Query: itemsTable, Answers: []httpx.Answer{{Of: itemList{}}}, Codes: recalling,
}

var countDoc = &httpx.Operation{
	ID: "countResponseInput", Tag: tag, Summary: "Count the tokens of the prompt that items become",
	Description: "The body is that of a response. Nothing is generated.",
	Body:        createTable,
	Example:     `{"model": "tools", "input": "Hello!"}`,
	Answers:     []httpx.Answer{{Of: inputTokens{}}},
	Codes:       recalling,
}
