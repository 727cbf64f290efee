package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

func muxOf(routes ...httpx.Route) http.Handler {
	return (&httpx.Mux{Routes: routes, Fallback: Errors}).Handler()
}

// quote writes a string as JSON; none stands for null.
func quote(s string) string {
	if s == "" {
		return "null"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	return strings.TrimSpace(b.String())
}

// TestBadInput compares the whole answer to each body. A body without messages gets one.
func TestBadInput(t *testing.T) {
	const value, unknown, unsupported = "invalid_value", "unknown_parameter", "unsupported_parameter"
	h := testHandler()
	for _, test := range []struct{ body, message, param, code string }{
		{"", "the body is empty: a JSON object is expected", "", ""},
		{"null", "the body must be an object, not null", "", ""},
		{"[]", "the body must be an object, not array", "", ""},
		{"{", "the body is not valid JSON: unexpected end of JSON input", "", ""},
		{"{\"model\":\"\xc3\"}", "the body is not valid UTF-8", "", ""},
		{`{"messages":[]}`, "Invalid value for 'messages': at least one message is required", "messages", value},
		{`{"messages":null}`, "Invalid value for 'messages': is required", "messages", value},
		{`{"messages":"hi"}`, "Invalid value for 'messages': must be an array, not string", "messages", value},
		{`{"messages":["hi"]}`, "Invalid value for 'messages': must be an object, not string", "messages", value},
		{`{"messages":[{"role":"user","content":"x"},{"role":"king","content":"x"}]}`, `Invalid value for 'messages[1].role': must be system, developer, user, assistant or tool, not "king"`, "messages[1].role", value},
		{`{"messages":[{"role":"` + strings.Repeat("k", 9000) + `","content":"x"}]}`, "Invalid value for 'messages[0].role': must be system, developer, user, assistant or tool, not \"" + strings.Repeat("k", 40) + `"`, "messages[0].role", value},
		{`{"messages":[{"content":"x"}]}`, "Invalid value for 'messages[0].role': is required", "messages[0].role", value},
		{`{"messages":[{"role":"user"}]}`, "Invalid value for 'messages[0].content': must be a string or an array of parts", "messages[0].content", value},
		{`{"messages":[{"role":"user","content":null}]}`, "Invalid value for 'messages[0].content': must be a string or an array of parts", "messages[0].content", value},
		{`{"messages":[{"role":"user","content":7}]}`, "Invalid value for 'messages[0].content': must be a string, not number", "messages[0].content", value},
		{`{"messages":[{"role":"user","content":{"type":"text"}}]}`, "Invalid value for 'messages[0].content': must be a string, not object", "messages[0].content", value},
		{`{"messages":[{"role":"user","content":[]}]}`, "Invalid value for 'messages[0].content': at least one part is required", "messages[0].content", value},
		{`{"messages":[{"role":"user","content":["x"]}]}`, "Invalid value for 'messages[0].content': must be an object, not string", "messages[0].content", value},
		{`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`, "Invalid value for 'messages[0].content[0].text': is required", "messages[0].content[0].text", value},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":7}]}]}`, "Invalid value for 'messages[0].content.text': must be a string, not number", "messages[0].content.text", value},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"x"}}]}]}`, `Invalid value for 'messages[0].content[1].image_url.url': must be a data URL: data:image/png;base64,...`, "messages[0].content[1].image_url.url", value},
		{`{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}]}`, `Unsupported parameter 'messages[0].content[0]': parts of type "input_audio" are not supported: send text or image_url`, "messages[0].content[0]", unsupported},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"x","citations":1}]}]}`, "Unrecognized request argument supplied: messages[0].content[0].citations", "messages[0].content[0].citations", unknown},
		{`{"messages":[{"role":"user","content":"x","Role":"y"}]}`, "Unrecognized request argument supplied: messages[0].Role", "messages[0].Role", unknown},
		{`{"prediction":"x"}`, "Invalid value for 'prediction': must be an object, not string", "prediction", value},
		{`{"prediction":{}}`, "Invalid value for 'prediction.type': is required", "prediction.type", value},
		{`{"prediction":{"type":"text","content":"x"}}`, `Invalid value for 'prediction.type': must be content, not "text"`, "prediction.type", value},
		{`{"prediction":{"type":"content"}}`, "Invalid value for 'prediction.content': is required", "prediction.content", value},
		{`{"prediction":{"type":"content","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}}`, "Invalid value for 'prediction.content[0]': images are not allowed in texts of the assistant", "prediction.content[0]", value},
		{`{"messages":[{"role":"tool","content":"x"}]}`, "Invalid value for 'messages[0].tool_call_id': is required in a message of the role tool", "messages[0].tool_call_id", value},
		{`{"messages":[{"role":"user","content":"x","tool_call_id":"c"}]}`, "Invalid value for 'messages[0].tool_call_id': is only allowed in a message of the role tool", "messages[0].tool_call_id", value},
		{`{"model":5}`, "Invalid value for 'model': must be a string, not number", "model", value},
		{`{"Model":"novels-5hr"}`, "Unrecognized request argument supplied: Model", "Model", unknown},
		{`{"min_p":0.5}`, "Unrecognized request argument supplied: min_p", "min_p", unknown},
		{`{"top_k":-1}`, "Invalid value for 'top_k': must not be negative", "top_k", value},
		{`{"hosting":"aleph-alpha"}`, `Invalid value for 'hosting': the model "novels-5hr" is not hosted at "aleph-alpha": see /models_available`, "hosting", value},
		{`{"steering_concepts":["x"]}`, "Unsupported parameter 'steering_concepts': steering concepts are not supported; only [] is accepted", "steering_concepts", unsupported},
		{`{"model":"a","model":"b"}`, "Invalid value for 'model': appears twice", "model", value},
		{`{"max_tokens":0}`, "Invalid value for 'max_tokens': must be at least 1", "max_tokens", value},
		{`{"max_tokens":-1}`, "Invalid value for 'max_tokens': must be at least 1", "max_tokens", value},
		{`{"max_tokens":1.5}`, "Invalid value for 'max_tokens': must be an integer, not number 1.5", "max_tokens", value},
		{`{"max_tokens":"9"}`, "Invalid value for 'max_tokens': must be an integer, not string", "max_tokens", value},
		{`{"max_tokens":99999999999999999999}`, "Invalid value for 'max_tokens': must be an integer from -9223372036854775808 to 9223372036854775807, not 99999999999999999999", "max_tokens", value},
		{`{"max_tokens":5,"max_completion_tokens":6}`, "Invalid value for 'max_completion_tokens': differs from another key for the same limit: send only one of them", "max_completion_tokens", value},
		{`{"maximum_tokens":0}`, "Invalid value for 'maximum_tokens': must be at least 1", "maximum_tokens", value},
		{`{"temperature":2.1}`, "Invalid value for 'temperature': must be between 0 and 2", "temperature", value},
		{`{"temperature":-0.1}`, "Invalid value for 'temperature': must be between 0 and 2", "temperature", value},
		{`{"temperature":1e999}`, "Invalid value for 'temperature': must be a number from -1.7976931348623157e+308 to 1.7976931348623157e+308, not 1e999", "temperature", value},
		{`{"top_p":0}`, "Invalid value for 'top_p': must be greater than 0 and at most 1", "top_p", value},
		{`{"top_p":1.01}`, "Invalid value for 'top_p': must be greater than 0 and at most 1", "top_p", value},
		{`{"n":0}`, "Invalid value for 'n': must be between 1 and 128", "n", value},
		{`{"n":129}`, "Invalid value for 'n': must be between 1 and 128", "n", value},
		{`{"presence_penalty":-2.5}`, "Invalid value for 'presence_penalty': must be between -2 and 2", "presence_penalty", value},
		{`{"frequency_penalty":3}`, "Invalid value for 'frequency_penalty': must be between -2 and 2", "frequency_penalty", value},
		{`{"stop":""}`, "Invalid value for 'stop': must not be empty", "stop", value},
		{`{"stop":["a",""]}`, "Invalid value for 'stop[1]': must not be empty", "stop[1]", value},
		{`{"stop":["a",null]}`, "Invalid value for 'stop[1]': must be a string, not null", "stop[1]", value},
		{`{"stop":["a","b","c","d","e"]}`, "Invalid value for 'stop': at most 4 strings", "stop", value},
		{`{"stop":5}`, "Invalid value for 'stop': must be a string, not number", "stop", value},
		{`{"seed":0.5}`, "Invalid value for 'seed': must be an integer, not number 0.5", "seed", value},
		{`{"logit_bias":{"x":1}}`, `Invalid value for 'logit_bias': "x" is not a token id`, "logit_bias", value},
		{`{"logit_bias":{"-1":1}}`, `Invalid value for 'logit_bias': "-1" is not a token id`, "logit_bias", value},
		{`{"logit_bias":{"05":1}}`, `Invalid value for 'logit_bias': "05" is not a token id`, "logit_bias", value},
		{`{"logit_bias":{"5":101}}`, "Invalid value for 'logit_bias': the bias of token 5 must be between -100 and 100", "logit_bias", value},
		{`{"logit_bias":{"5":"x"}}`, "Invalid value for 'logit_bias': must be a number, not string", "logit_bias", value},
		{`{"top_logprobs":2}`, "Invalid value for 'top_logprobs': is only accepted with logprobs: true", "top_logprobs", value},
		{`{"logprobs":true,"top_logprobs":21}`, "Invalid value for 'top_logprobs': must be between 0 and 20", "top_logprobs", value},
		{`{"logprobs":true,"top_logprobs":-1}`, "Invalid value for 'top_logprobs': must be between 0 and 20", "top_logprobs", value},
		{`{"logprobs":3}`, "Invalid value for 'logprobs': must be a boolean, not number", "logprobs", value},
		{`{"stream":"yes"}`, "Invalid value for 'stream': must be a boolean, not string", "stream", value},
		{`{"stream_options":{"include_usage":true}}`, "Invalid value for 'stream_options': is only accepted with stream: true", "stream_options", value},
		{`{"stream":true,"stream_options":{"usage":true}}`, "Unrecognized request argument supplied: stream_options.usage", "stream_options.usage", unknown},
		{`{"stream":true,"stream_options":{"include_obfuscation":true}}`, "Unsupported parameter 'stream_options.include_obfuscation': chunks are not padded; only false is accepted", "stream_options.include_obfuscation", unsupported},
		{`{"functions":[{}]}`, "Unsupported parameter 'functions': deprecated by OpenAI: use tools; only [] is accepted", "functions", unsupported},
		{`{"verbosity":"low"}`, `Unsupported parameter 'verbosity': these models have no verbosity setting; only "medium" is accepted`, "verbosity", unsupported},
		{`{"function_call":{"name":"f"}}`, `Unsupported parameter 'function_call': deprecated by OpenAI: use tools; only "none" or "auto" is accepted`, "function_call", unsupported},
		{`{"modalities":["text","audio"]}`, `Unsupported parameter 'modalities': answers are plain text; only ["text"] is accepted`, "modalities", unsupported},
		{`{"reasoning_effort":"max"}`, `Invalid value for 'reasoning_effort': must be none, minimal, low, medium, high or xhigh, not "max"`, "reasoning_effort", value},
		{`{"chat_template":"{{ x }}"}`, `Unsupported parameter 'chat_template': chats use the model's own template`, "chat_template", unsupported},
		{`{"web_search_options":{}}`, "Unsupported parameter 'web_search_options': web search is not supported", "web_search_options", unsupported},
		{`{"store":true}`, "Unsupported parameter 'store': completions are not stored; only false is accepted", "store", unsupported},
		{`{"service_tier":"flex"}`, `Unsupported parameter 'service_tier': there are no service tiers; only "auto" or "default" is accepted`, "service_tier", unsupported},
		{`{"user":5}`, "Invalid value for 'user': must be a string, not number", "user", value},
		{`{"metadata":{"a":1}}`, "Invalid value for 'metadata': must be a string, not number", "metadata", value},
	} {
		body := test.body
		if strings.HasPrefix(body, `{"`) && !strings.Contains(body, "messages") && strings.HasSuffix(body, "}") && json.Valid([]byte(body)) {
			body = body[:len(body)-1] + `,"messages":[{"role":"user","content":"x"}]}`
		}
		want := `{"error":{"message":` + quote(test.message) + `,"type":"invalid_request_error","param":` + quote(test.param) + `,"code":` + quote(test.code) + "}}\n"
		if w := ask(h, "POST", "/v1/chat/completions", body); w.Code != http.StatusBadRequest || w.Body.String() != want {
			t.Errorf("%s: got %d %swant %s", body, w.Code, w.Body, want)
		}
	}
}

func TestOtherErrors(t *testing.T) {
	h := testHandler()
	big := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", httpx.DefaultMaxBody) + `"}]}`
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"POST", "/v1/chat/completions", big, 413, `{"error":{"message":"the body is larger than 10485760 bytes","type":"invalid_request_error","param":null,"code":"request_too_large"}}`},
		{"POST", "/v1/chat/completions", `{"model":"` + strings.Repeat("x", 9000) + `",` + hi + `}`, 404, `{"error":{"message":"The model '` + strings.Repeat("x", 200) + `' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		{"GET", "/v1/chat/completions", "", 405, `{"error":{"message":"this path supports only POST","type":"invalid_request_error","param":null,"code":"method_not_supported"}}`},
	} {
		if w := ask(h, test.method, test.target, test.body); w.Code != test.status || w.Body.String() != test.want+"\n" {
			t.Errorf("%s %s: got %d %s", test.method, test.target, w.Code, w.Body)
		}
	}
}

// TestErrorCodes: statuses, types and codes of errors that no request above causes.
func TestErrorCodes(t *testing.T) {
	for code, want := range map[llm.Code]string{
		llm.Unauthenticated: `401 invalid_request_error invalid_api_key`,
		llm.Forbidden:       `403 invalid_request_error insufficient_permissions`,
		llm.Overloaded:      `429 requests rate_limit_exceeded`,
		llm.Internal:        `500 server_error null`,
		llm.Upstream:        `502 server_error upstream_error`,
		llm.Timeout:         `504 server_error timeout`,
		httpx.Gone:          `499 invalid_request_error client_closed_request`,
	} {
		message := "m"
		if code == llm.Unauthenticated {
			message = "Incorrect API key provided: m"
		}
		status, body := Errors.Body(&llm.Error{Code: code, Message: "m"})
		fields := body.(openaiapi.ErrorBody).Error
		word := "null"
		if fields.Code != nil {
			word = *fields.Code
		}
		if got := fmt.Sprint(status, " ", fields.Type, " ", word); got != want || fields.Message != message || fields.Param != nil {
			t.Errorf("%s: got %s %+v", code, got, fields)
		}
	}
}

// TestWords: clients as litellm recognise a full context and a wrong key by OpenAI's words.
func TestWords(t *testing.T) {
	early := llm.TooManyTokens("the prompt has at least", 300, 256)
	early.Length.AtLeast = true
	for _, test := range []struct {
		err  *llm.Error
		want string
	}{
		{llm.TooManyTokens("the prompt has", 300, 256), "This model's maximum context length is 256 tokens. However, your prompt resulted in 300 tokens. Please reduce the length of the prompt."},
		{early, "This model's maximum context length is 256 tokens. However, your prompt resulted in at least 300 tokens. Please reduce the length of the prompt."},
		{llm.Errorf(llm.TooLong, "the model takes less"), "This model's maximum context length is exceeded: the model takes less"},
		{llm.Errorf(llm.Unauthenticated, "the key expired on 2026-01-01"), "Incorrect API key provided: the key expired on 2026-01-01"},
	} {
		if _, body := Errors.Body(test.err); body.(openaiapi.ErrorBody).Error.Message != test.want {
			t.Errorf("%v: got %s", test.err, body.(openaiapi.ErrorBody).Error.Message)
		}
	}
}
