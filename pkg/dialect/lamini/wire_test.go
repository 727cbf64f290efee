package lamini

import (
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

const years = `"output_type":{"units":"str","age":"int"}`

// A header holds the guarantee of outputs.
func TestGuarantee(t *testing.T) {
	h := testHandler()
	for body, want := range map[string]string{
		`"prompt":["Carl","Paul"],` + years: "enforced", `"prompt":["Carl","checked"],` + years: "validated", `"prompt":"free"`: "",
	} {
		w := ask(h, "POST", "/v2/completions", `{"model_name":"typist",`+body+`}`)
		if got := w.Header().Get("X-Glossa-Guarantee"); w.Code != 200 || got != want {
			t.Errorf("%s: %d, %q", body, w.Code, got)
		}
	}
}

// TestAnswers reads like Lamini's documentation: the answer is a list if its prompt is a list.
func TestAnswers(t *testing.T) {
	h := testHandler()
	for _, test := range []struct{ method, target, body, want string }{
		{"POST", "/v1/completions", `{"model_name":"repeater","prompt":"How old is Carl?"}`, `{"output":"How old is Carl?"}`},
		{"POST", "/v1/completions", `{"model_name":"repeater","prompt":["How old is Carl?","How old is Paul?"]}`, `[{"output":"How old is Carl?"},{"output":"How old is Paul?"}]`},
		{"POST", "/v1/completions", `{"model_name":"repeater","prompt":["Carl"]}`, `[{"output":"Carl"}]`},
		{"POST", "/v2/completions", `{"model_name":"repeater","prompt":"stop"}`, `{"outputs":{"output":"stop"},"finish_reason":"stop"}`},
		{"POST", "/v2/completions", `{"model_name":"repeater","prompt":["eos","length","context","deadline","cancelled","filtered"]}`,
			`{"outputs":[{"output":"eos"},{"output":"length"},{"output":"context"},{"output":"deadline"},{"output":"cancelled"},{"output":"filtered"}],` +
				`"finish_reason":["stop","length","length","timeout","timeout","stop"]}`},
		{"POST", "/v2/completions", `{"model_name":"local/org/story:1","prompt":"Once","max_new_tokens":2}`, `{"outputs":{"output":"Once upon"},"finish_reason":"length"}`},
		{"POST", "/v2/completions", `{"model_name":"org/story:1","prompt":"Once"}`, `{"outputs":{"output":"Once upon a time"},"finish_reason":"stop"}`},
		// as the SDK sends it
		{"POST", "/v1/completions", `{"model_name":"org/story:1","prompt":["<a>"],"output_type":null,"max_tokens":null,"max_new_tokens":1,"reservation_id":null,"cache_id":"x"}`, `[{"output":"Once"}]`},
		{"POST", "/v1/completions", `{"model_name":"typist","prompt":"Carl",` + years + `}`, `{"units":"Carl","age":1e1}`},
		{"POST", "/v1/completions", `{"model_name":"typist","prompt":["Carl","<Paul>"],` + years + `}`, `[{"units":"Carl","age":1e1},{"units":"<Paul>","age":1e1}]`},
		{"POST", "/v2/completions", `{"model_name":"typist","prompt":"Carl","max_new_tokens":5,` + years + `}`, `{"outputs":{"units":"Carl","age":1e1},"finish_reason":"length"}`},
		{"POST", "/v2/completions", `{"model_name":"typist","prompt":["Carl"],` + years + `}`, `{"outputs":[{"units":"Carl","age":1e1}],"finish_reason":["length"]}`},
		{"POST", "/v1/embedding", `{"model_name":"repeater","prompt":"four"}`, `{"embedding":[4,0.5]}`},
		{"POST", "/v1/embedding", `{"model_name":"repeater","prompt":["four","a"]}`, `{"embedding":[[4,0.5],[1,0.5]]}`},
		{"GET", "/v1/version", ``, `{"server":"1.0.0","client":"3.2.22","api":[{"name":"completions","path":"/v1/completions"},{"name":"completions","path":"/v2/completions"},` +
			`{"name":"embedding","path":"/v1/embedding"},{"name":"version","path":"/v1/version"}]}`},
	} {
		if w := ask(h, test.method, test.target, test.body); w.Code != 200 || w.Body.String() != test.want+"\n" {
			t.Errorf("%s %s: got %d %s", test.target, test.body, w.Code, w.Body)
		}
	}
}

// TestErrors compares the status and body of each error.
func TestErrors(t *testing.T) {
	h := testHandler()
	fault := func(kind, loc, message string) string {
		return `{"detail":[{"type":"` + kind + `","loc":["body"` + loc + `],"msg":"` + message + `"}]}`
	}
	value := func(loc, message string) string { return fault("value_error", loc, message) }
	for _, test := range []struct {
		body   string // keys in addition to a model and a prompt, or a complete body
		status int
		want   string
	}{
		{``, 422, value(``, `the body is empty: a JSON object is expected`)},
		{`{`, 422, value(``, `the body is not valid JSON: unexpected end of JSON input`)},
		{`[]`, 422, value(``, `the body must be an object, not array`)},
		{`{"prompt":"a"}`, 422, value(`,"model_name"`, `is required`)},
		{`{"model_name":"repeater"}`, 422, value(`,"prompt"`, `is required`)},
		{`{"model_name":"repeater","prompt":null}`, 422, value(`,"prompt"`, `is required`)},
		{`{"model_name":"repeater","prompt":[]}`, 422, value(`,"prompt"`, `at least one prompt is required`)},
		{`{"model_name":"repeater","prompt":["a",null]}`, 422, value(`,"prompt",1`, `must be a string, not null`)},
		{`{"model_name":"repeater","prompt":5}`, 422, value(`,"prompt"`, `must be a string, not number`)},
		{`{"model_name":"repeater","prompt":[[1]]}`, 422, value(`,"prompt"`, `must be a string, not array`)},
		{`{"model_name":5,"prompt":"a"}`, 422, value(`,"model_name"`, `must be a string, not number`)},
		{`"max_new_tokens":0`, 422, value(`,"max_new_tokens"`, `must be at least 1`)},
		{`"max_tokens":-1`, 422, value(`,"max_tokens"`, `must be at least 1`)},
		{`"max_new_tokens":"many"`, 422, value(`,"max_new_tokens"`, `must be an integer, not string`)},
		{`"model":"x"`, 422, fault("extra_forbidden", `,"model"`, `Extra inputs are not permitted`)},
		{`"output_type":"str"`, 422, value(`,"output_type"`, `must be an object of keys and types`)},
		{`"output_type":{}`, 422, value(`,"output_type"`, `at least one key is required`)},
		{`"output_type":{"age":"integer"}`, 422, value(`,"output_type","age"`, `must be str, int, float, bool or a list of values, not \"integer\"`)},
		{`"output_type":{"age":null}`, 422, value(`,"output_type","age"`, `must be str, int, float, bool or a list of values`)},
		{`"output_type":{"age":{"type":"int"}}`, 422, value(`,"output_type","age"`, `must be str, int, float, bool or a list of values`)},
		{`"output_type":{"age":"int","age":"str"}`, 422, value(`,"output_type","age"`, `appears twice`)},
		{`"output_type":{"age":[]}`, 422, value(`,"output_type","age"`, `at least one value is required`)},
		{`"output_type":{"age":[1,null]}`, 422, value(`,"output_type","age"`, `the values of a list must be strings or numbers`)},
		{`{"model_name":"unfit","prompt":"a","output_type":{"age":"int"}}`, 422, value(`,"output_type"`, `/properties/age: the vocabulary has no '7'`)},
		{`{"model_name":"typist","prompt":"late","output_type":{"age":"int"}}`, 524, `{"detail":"the deadline passed before the output was complete"}`},
		{`{"model_name":"typist","prompt":["Carl","free"],"output_type":{"age":"int"}}`, 502, `{"detail":"output_type: the model's output does not match output_type"}`},
		{`{"model_name":"gpt","prompt":"a"}`, 594, `{"detail":"the model 'gpt' does not exist"}`},
		{`{"model_name":"too-long","prompt":"a"}`, 400, `{"detail":"prompt: the prompt has 300 tokens, the context of this model 256"}`},
		{`{"model_name":"rows","prompt":"a"}`, 422, value(`,"prompt"`, `a request may have 256 rows`)},
		{`{"model_name":"picky","prompt":"a","max_tokens":3}`, 400, `{"detail":"max_tokens: this model does not support it"}`},
		{`{"model_name":"picky","prompt":"a","max_new_tokens":3}`, 400, `{"detail":"max_new_tokens: this model does not support it"}`},
		{`{"model_name":"full","prompt":"a"}`, 429, `{"detail":"8 requests are waiting"}`},
		{`{"model_name":"late","prompt":"a"}`, 524, `{"detail":"the deadline passed"}`},
		{`{"model_name":"upstream","prompt":"a"}`, 502, `{"detail":"the model failed"}`},
		{`{"model_name":"bug","prompt":"a"}`, 500, `{"detail":"internal error"}`},
		{`{"model_name":"repeater","prompt":"` + strings.Repeat("x", httpx.DefaultMaxBody) + `"}`, 413, `{"detail":"the body is larger than 10485760 bytes"}`},
	} {
		body := test.body
		if strings.HasPrefix(body, `"`) {
			body = `{"model_name":"repeater","prompt":"a",` + body + `}`
		}
		for _, target := range []string{"/v1/completions", "/v2/completions"} {
			if w := ask(h, "POST", target, body); w.Code != test.status || w.Body.String() != test.want+"\n" {
				t.Errorf("%.200s: got %d %s", body, w.Code, w.Body)
			}
		}
	}
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/v2/completions", "", 405, `{"detail":"this path supports only POST"}`},
		{"POST", "/v1/embedding", `{"model_name":"org/story:1","prompt":"a"}`, 400, `{"detail":"this model has no embedder"}`},
		{"POST", "/v1/embedding", `{"model_name":"gpt","prompt":"a"}`, 594, `{"detail":"the model 'gpt' does not exist"}`},
		{"POST", "/v1/embedding", `{"model_name":"repeater","prompt":[null]}`, 422, value(`,"prompt",0`, `must be a string, not null`)},
		{"POST", "/v1/embedding", `{"model_name":"repeater","prompt":"a","input":1}`, 422, fault("extra_forbidden", `,"input"`, `Extra inputs are not permitted`)},
	} {
		if w := ask(h, test.method, test.target, test.body); w.Code != test.status || w.Body.String() != test.want+"\n" {
			t.Errorf("%s %s: got %d %s", test.method, test.target, w.Code, w.Body)
		}
	}
}

// TestErrorCodes: statuses of the codes that no request above causes.
func TestErrorCodes(t *testing.T) {
	for code, want := range map[llm.Code]int{llm.Unauthenticated: 401, llm.Forbidden: 403, httpx.Gone: 499} {
		status, body := Errors.Body(&llm.Error{Code: code, Message: "m"})
		if status != want || body != (errorBody{"m"}) {
			t.Errorf("%s: %d %v", code, status, body)
		}
	}
}

// TestDifferences lists and checks the differences from Lamini's documentation and the server that it
// describes, each with its reason.
func TestDifferences(t *testing.T) {
	h := testHandler()
	for _, test := range []struct {
		original, reason string
		body             string
		status           int
		has              string
	}{
		{
			"outputs are strings without an output_type", "objects with the key output, as in /v1, which the SDK reads of either version",
			`{"model_name":"repeater","prompt":"a"}`, 200, `"outputs":{"output":"a"}`,
		},
		{
			"a low max_new_tokens breaks the JSON of an output_type", "outputs are always whole",
			`{"model_name":"typist","prompt":"a","max_new_tokens":1,` + years + `}`, 200, `"outputs":{"units":"a","age":1e1},"finish_reason":"length"`,
		},
		{
			"an unknown key is ignored", "nothing that a client sends is dropped in silence",
			`{"model_name":"repeater","prompt":"a","temperature":0}`, 422, `"temperature"`,
		},
		{
			"max_tokens bounds prompt and answer together, the SDK says in one place", "it says otherwise in another; a bound of the answer alone cuts no answer that the client expects",
			`{"model_name":"org/story:1","prompt":"a long prompt of many words","max_tokens":1}`, 200, `"output":"Once"`,
		},
		{
			"a text that the model's context cuts is not named", "it is a token limit like max_new_tokens",
			`{"model_name":"repeater","prompt":"context"}`, 200, `"finish_reason":"length"`,
		},
	} {
		if w := ask(h, "POST", "/v2/completions", test.body); w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}
}
