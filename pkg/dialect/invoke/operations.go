package invoke

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "API layer"

// ownErrors lists the errors that only this protocol has.
var ownErrors = []llm.Error{{Code: missing, Param: "model_name"}, {Code: malformed, Message: "the body is not valid JSON"}}

const ignoredText = "The dropped keys of body, separated by commas and escaped as in a query string."

// The documentation of the routes.
var (
	pingDoc   = &httpx.Operation{ID: "invokePing", Tag: tag, Summary: "Check that the server is running", Answers: []httpx.Answer{{Of: health{}}}}
	modelsDoc = &httpx.Operation{ID: "invokeListModels", Tag: tag, Summary: "List the models with their families", Answers: []httpx.Answer{{Of: modelList{}}}}
	invokeDoc = &httpx.Operation{
		ID: "invoke", Tag: tag, Summary: "Invoke a model with canonical keys",
		Description: "Errors of the request or the model also have the status 200; their answer has the key error.",
		Body:        requestTable, Example: `{"model_family": "local", "model_name": "novels", "body": {"prompt": "Once upon a time", "max_new_tokens": 20}}`,
		Answers: []httpx.Answer{{Description: "the keys of the answer", Of: answerKeys{}, Headers: []httpx.Header{{Name: IgnoredHeader, Description: ignoredText}, httpx.GuaranteeHeader}}},
		Errors:  ownErrors,
	}
	streamDoc = &httpx.Operation{
		ID: "invokeStream", Tag: tag, Summary: "Invoke a model with canonical keys and stream its answer", Body: requestTable, Example: invokeDoc.Example,
		Answers: []httpx.Answer{{Media: "application/x-ndjson", Description: "one line of JSON for each event of the model", Of: answerKeys{}, Headers: []httpx.Header{{Name: IgnoredHeader, Description: ignoredText}}}},
		Errors:  ownErrors,
	}
)

// answerKeys documents the keys of an answer of a model in the process. A record may define
// others. See [answer].
type answerKeys struct {
	GeneratedText string     `json:"generated_text,omitempty" doc:"the text"`
	Reasoning     string     `json:"reasoning,omitempty" doc:"what the model thought before the text"`
	ToolCalls     []toolCall `json:"tool_calls,omitempty" doc:"the calls of tools"`
	Tokens        []token    `json:"tokens,omitempty" doc:"present with tokens or logprobs"`
	FinishReason  string     `json:"finish_reason,omitempty" doc:"eos_token, stop_sequence, length, timeout, content_filtered, or the provider's own value"`
	Guarantee     string     `json:"guarantee,omitempty" enum:"enforced,validated" doc:"present with a schema, a grammar or tools"`
	InputTokens   int        `json:"input_tokens,omitempty" doc:"tokens of the prompt"`
	OutputTokens  int        `json:"output_tokens,omitempty" doc:"generated tokens"`
	Thought       int        `json:"reasoning_tokens,omitempty" doc:"how many of output_tokens are reasoning"`
	Others        struct{}   `json:"-"`
}
