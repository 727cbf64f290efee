package openai

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDifferences lists where this dialect departs from Alpha's documentation and the server it
// describes, each with the reason and a request that shows it.
func TestDifferences(t *testing.T) {
	h := testHandler()
	for _, test := range []struct {
		original, reason string
		body             string
		status           int
		has              string
	}{
		{
			"an unknown model is 400", "OpenAI's own answer, which its SDKs turn into NotFoundError",
			`{"model":"nope",` + hi + `}`, 404, `"code":"model_not_found"`,
		},
		{
			"an unknown key is ignored", "nothing that a client sends is dropped in silence",
			`{"frequency":1,` + hi + `}`, 400, `Unrecognized request argument supplied: frequency`,
		},
		{
			"stop, top_p and n are ignored", "they are what clients mean",
			`{"n":2,"top_p":0.9,"stop":"x",` + hi + `}`, 200, `"index":1`,
		},
		{
			"no messages: the model starts from nothing", "later versions refuse it too",
			`{"messages":[]}`, 400, `"param":"messages"`,
		},
		{
			"bad JSON is 500 in plain text", "it is the client's fault, and clients read JSON",
			`{`, 400, `{"error":{"message":"the body is not valid JSON`,
		},
		{
			"a prompt that does not fit is 500 in plain text", "OpenAI's own answer",
			`{"model":"too-long",` + hi + `}`, 400, `"code":"context_length_exceeded"`,
		},
		{
			"max_tokens 0 gives no tokens", "OpenAI refuses it",
			`{"max_tokens":0,` + hi + `}`, 400, `"param":"max_tokens"`,
		},
		{
			"max_tokens wins over another max_completion_tokens", "one of two limits would be dropped in silence",
			`{"max_tokens":1,"max_completion_tokens":2,` + hi + `}`, 400, `"param":"max_completion_tokens"`,
		},
		{
			"any temperature is taken", "OpenAI's range: beyond it text is noise",
			`{"temperature":3,` + hi + `}`, 400, `"param":"temperature"`,
		},
		{
			"any role is taken", "OpenAI's roles; another one is a mistyped one",
			`{"messages":[{"role":"robot","content":"x"}]}`, 400, `"param":"messages[0].role"`,
		},
		{
			"content parts are written as [object Object]", "they are what SDKs send",
			`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, 200, `"content":"Once upon a time"`,
		},
		{
			"model is the name that was sent", "an alias or family/name is answered with the model's own name",
			`{"model":"local/novels-5hr",` + hi + `}`, 200, `"model":"novels-5hr"`,
		},
		{
			"tools are not implemented", "clients expect them",
			`{"model":"caller","tools":[` + weather + `],` + hi + `}`, 200, `"finish_reason":"tool_calls"`,
		},
		{
			"answers are text without a form", "clients expect response_format",
			`{"model":"typed","response_format":{"type":"json_object"},` + hi + `}`, 200, `"guarantee":"enforced"`,
		},
		{
			"stop is for a full context only", "a model may end a text, and stop sequences are served",
			`{` + hi + `}`, 200, `"finish_reason":"stop"`,
		},
	} {
		w := ask(h, "POST", "/v1/chat/completions", test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}

	// Upstream separates the words of the word tokenizer in streams only. Here both
	// forms of an answer have one text.
	var streamed strings.Builder
	for line := range strings.SplitSeq(ask(h, "POST", "/v1/chat/completions", `{"stream":true,`+hi+`}`).Body.String(), "\n") {
		var event chatChunk
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &event) == nil {
			streamed.WriteString(text(event.Choices[0].Delta))
		}
	}
	var whole chatAnswer
	if err := json.Unmarshal(ask(h, "POST", "/v1/chat/completions", `{`+hi+`}`).Body.Bytes(), &whole); err != nil {
		t.Fatal(err)
	}
	if streamed.String() == "" || streamed.String() != *whole.Choices[0].Message.Content {
		t.Errorf("streamed %q, whole %q", streamed.String(), *whole.Choices[0].Message.Content)
	}
}

// TestDifferencesOfClients lists where models and clients that are not those of Alpha
// get other answers than it describes.
func TestDifferencesOfClients(t *testing.T) {
	h := testHandler()
	for _, test := range []struct{ original, reason, body, has string }{
		{
			"a full context is stop", "it is of Alpha's models only: another was cut, as by max_tokens",
			`{"model":"context",` + hi + `}`, `"finish_reason":"length"`,
		},
		{
			"max_tokens is 2048 at most", "it is so of Alpha's models only: others give what their context takes, see TestAlphaLimits",
			`{"model":"tokens","max_tokens":100000,` + hi + `}`, `"finish_reason":"stop"`,
		},
		{
			"the first event of a stream has an empty text", "before a call it is null, as OpenAI has it; to Aleph Alpha's client it is a text",
			`{"model":"caller","stream":true,"tools":[` + weather + `],` + hi + `}`, `"delta":{"role":"assistant","content":null}`,
		},
	} {
		w := ask(h, "POST", "/v1/chat/completions", test.body)
		if w.Code != 200 || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}

	// Aleph Alpha's client ignores the rest of an event with usage.
	for body, has := range map[string]string{
		`{"stream":true,` + hi + `}`: `"delta":{},"finish_reason":"stop"}]}`,
		`{"model":"caller","stream":true,"tools":[` + weather + `],` + hi + `}`: `"delta":{"role":"assistant","content":""}`,
	} {
		r := httptest.NewRequest("POST", "/chat/completions", strings.NewReader(body))
		r.Header.Set("User-Agent", "Aleph-Alpha-Python-Client-11.5.1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Body.String(); strings.Contains(got, "usage") || !strings.Contains(got, has) {
			t.Errorf("original: usage is on a row's last chunk; here otherwise: not for Aleph Alpha's client. Got %s", got)
		}
	}
}

// TestOtherDifferences lists where structured answers, completions and embeddings depart
// from OpenAI's reference, each with the reason and a request that shows it.
func TestOtherDifferences(t *testing.T) {
	h := testHandler()
	const chat, complete, embeddings = "/v1/chat/completions", "/v1/completions", "/v1/embeddings"
	for _, test := range []struct {
		reference, reason string
		target, body      string
		status            int
		has               string
	}{
		{
			"JSON is cut where max_tokens ends it", "it is whole, and the reason is told all the same",
			chat, `{"model":"typed-length","response_format":{"type":"json_object"},` + hi + `}`, 200, `"content":"{\"city\":\"P\"}","refusal":null},"finish_reason":"length","guarantee":"enforced"`,
		},
		{
			"strict schemas close their objects and require all members", "others can be held to as well",
			chat, `{"model":"typed","response_format":{"type":"json_schema","json_schema":{"strict":true,"schema":{"type":"object","properties":{"a":{}}}}},` + hi + `}`, 200, `"guarantee":"enforced"`,
		},
		{
			"schemas are held to with strict only", "always: nothing is lost by it",
			chat, `{"model":"typed","response_format":{"type":"json_schema","json_schema":{"strict":false,"schema":{}}},` + hi + `}`, 200, `"guarantee":"enforced"`,
		},
		{
			"calls of a function that was named finish with stop", "they are calls like others, and SDKs read both",
			chat, `{"model":"caller","tools":[` + weather + `],"tool_choice":{"type":"function","function":{"name":"weather"}},` + hi + `}`, 200, `"finish_reason":"tool_calls"`,
		},
		{
			"functions and function_call are served", "they are deprecated since 2023, and every client has tools",
			chat, `{"functions":[{"name":"f"}],` + hi + `}`, 400, `"param":"functions"`,
		},
		{
			"stop has 4 strings at most", "tasks of the language model evaluation harness send more",
			complete, `{"model":"novels-5hr","stop":["a","b","c","d","e","f"]}`, 200, `"finish_reason":"stop"`,
		},
		{
			"logprobs is 5 at most", "20, as of chats; the harness sends 10",
			complete, `{"model":"novels-5hr","logprobs":20}`, 200, `"logprobs":{`,
		},
		{
			"best_of is 20 at most", "as n: the rows of a request are bounded by the engine",
			complete, `{"model":"novels-5hr","best_of":128}`, 200, `"index":0`,
		},
		{
			"max_tokens that the context cannot take is an error", "the answer ends where the context does",
			complete, `{"model":"context","max_tokens":1000000}`, 200, `"finish_reason":"length"`,
		},
		{
			"top_logprobs has null for the first token of an echoed prompt", "openai-go reads no null there",
			complete, `{"model":"echo","echo":true,"logprobs":1}`, 200, `"top_logprobs":[{},`,
		},
		{
			"an unknown key is refused with 400 by some models and ignored by others", "nothing that a client sends is dropped in silence",
			complete, `{"model":"novels-5hr","top_k":1}`, 400, `Unrecognized request argument supplied: top_k`,
		},
		{
			"dimensions shortens the vectors of some models", "that is true of models trained for it only",
			embeddings, `{"model":"vectors","input":"a","dimensions":1}`, 400, `"param":"dimensions"`,
		},
		{
			"model is required", "as in chats the default is the first one",
			embeddings, `{"input":"a"}`, 400, `this model has no embedder`,
		},
	} {
		w := ask(h, "POST", test.target, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("reference: %s; here otherwise: %s. Got %d %s", test.reference, test.reason, w.Code, w.Body)
		}
	}
}
