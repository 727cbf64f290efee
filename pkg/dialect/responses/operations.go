package responses

import "glossa/pkg/httpx"

// tag is the name of this API in the OpenAPI document.
const tag = "Responses"

var createDoc = &httpx.Operation{
	ID: "createResponse", Tag: tag, Summary: "Answer items",
	Description: "Responses are not stored: previous_response_id is rejected, and clients send the earlier items in input. " +
		"Every item of an output is accepted unchanged as input. " +
		"In a stream, each event has a name, its type, and JSON data; the last is response.completed, response.incomplete or response.failed.",
	Body:    createTable,
	Example: `{"model": "novels", "input": "The old lighthouse", "max_output_tokens": 20, "temperature": 0.7}`,
	Answers: []httpx.Answer{
		{Description: "the answer, or the events of a stream", Of: response{}, Headers: []httpx.Header{httpx.GuaranteeHeader}},
		{Media: "text/event-stream", Of: event{}},
	},
}

var countDoc = &httpx.Operation{
	ID: "countResponseInput", Tag: tag, Summary: "Count the tokens of the prompt that items become",
	Description: "The body is that of a response. Nothing is generated.",
	Body:        createTable,
	Example:     `{"model": "tools", "input": "Hello!"}`,
	Answers:     []httpx.Answer{{Of: inputTokens{}}},
}
