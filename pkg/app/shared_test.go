package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
)

// TestSharedCompletions sends requests of both dialects, and of neither, to the path
// that they share. The first key of an answer shows whether it is Lamini's.
func TestSharedCompletions(t *testing.T) {
	const openai, lamini = "", "3.2.22" // the header Lamini-Version
	h := golden(t, Config{}).Handler()
	for _, test := range []struct {
		header, body string
		status       int
		begins       string
	}{
		{openai, `{"model":"golden","prompt":"a","max_tokens":1,"temperature":0}`, 200, `{"id":"cmpl-`},
		{openai, `{"model_name":"golden","prompt":"a","max_new_tokens":1}`, 200, `{"output":"\n"}`},
		{lamini, `{"model_name":"golden","prompt":["a","a"],"max_tokens":1}`, 200, `[{"output":"\n"},{"output":"\n"}]`},
		{openai, `{"prompt":"a","max_new_tokens":1}`, 422, `{"detail":[{"type":"value_error","loc":["body","model_name"]`},
		{openai, `{"prompt":"a","output_type":null}`, 422, `{"detail":[{"type":"value_error","loc":["body","model_name"]`},
		{lamini, `{"prompt":"a"}`, 422, `{"detail":[{"type":"value_error","loc":["body","model_name"]`},
		{openai, `{"prompt":"a"}`, 400, `{"error":{"message":"Invalid value for 'model': is required"`},
		{openai, `{"model":"golden","model_name":"golden","prompt":"a"}`, 400, `{"error":{"message":"Unsupported parameter 'model'`},
		{lamini, `{"model":"golden","model_name":"golden","prompt":"a"}`, 400, `{"detail":"model: is OpenAI's key`},
		{lamini, `{"model":"golden","prompt":"a"}`, 400, `{"detail":"model: is OpenAI's key`},
		{openai, `{"model":"golden","prompt":"a","max_new_tokens":1}`, 400, `{"error":{"message":"Unsupported parameter 'model'`},
		{openai, `{`, 400, `{"error":{"message":"the body is not valid JSON`},
		{lamini, `{`, 422, `{"detail":[{"type":"value_error","loc":["body"],"msg":"the body is not valid JSON`},
		{openai, ``, 400, `{"error":{"message":"the body is empty`},
		{lamini, `[]`, 422, `{"detail":[{"type":"value_error","loc":["body"],"msg":"the body must be an object, not array"`},
		{openai, `{"model":"none","prompt":"a"}`, 404, `{"error":`},
		{openai, `{"model_name":"none","prompt":"a"}`, 594, `{"detail":`},
		{openai, `{"model":"golden","prompt":"a` + strings.Repeat(" ", httpx.DefaultMaxBody) + `"}`, 413, `{"error":`},
		{lamini, `{"model_name":"golden","prompt":"a` + strings.Repeat(" ", httpx.DefaultMaxBody) + `"}`, 413, `{"detail":"the body is larger`},
	} {
		r := httptest.NewRequest("POST", "/v1/completions", strings.NewReader(test.body))
		if test.header != "" {
			r.Header.Set("Lamini-Version", test.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.status || !strings.HasPrefix(w.Body.String(), test.begins) {
			t.Errorf("%s %.100s: got %d %s", test.header, test.body, w.Code, w.Body)
		}
	}
}

// TestSharedWithAlephAlpha sends requests of Aleph Alpha's clients, of vLLM's and of Text Embeddings
// Inference's to the paths that they share.
func TestSharedWithAlephAlpha(t *testing.T) {
	h := golden(t, Config{}).Handler()
	for _, test := range []struct {
		path, body string
		status     int
		begins     string
	}{
		{"/tokenize", `{"model":"golden","prompt":"ab","tokens":false,"token_ids":true}`, 200, `{"token_ids":[1,2]}`},
		{"/tokenize", `{"model":"golden","prompt":"ab"}`, 200, `{"count":2,`},
		{"/tokenize", `{"prompt":"ab","add_special_tokens":false}`, 200, `{"count":2,`},
		{"/tokenize", `{"messages":[{"role":"user","content":"ab"}]}`, 200, `{"count":2,"max_model_len":4,"tokens":[1,2],`},
		{"/tokenize", `{"prompt":"ab","tokens":true}`, 400, `{"error":"model: is required`},
		{"/tokenize", `{"prompt":"ab","tokens":true,"add_special_tokens":false}`, 400, `{"error":"add_special_tokens: unknown parameter"`},
		{"/tokenize", `{"prompt":5}`, 400, `{"error":{"message":"Invalid value for 'prompt'`},
		{"/tokenize", `{}`, 400, `{"error":"model: is required"`},
		{"/tokenize", `{`, 400, `{"error":"the body is not valid JSON`},
		{"/detokenize", `{"model":"golden","token_ids":[1,2]}`, 200, `{"result":"ab"}`},
		{"/detokenize", `{"tokens":[1,2]}`, 200, `{"prompt":"ab"}`},
		{"/detokenize", `{"tokens":[1],"token_ids":[1]}`, 400, `{"error":"tokens: unknown parameter"`},
		{"/detokenize", `{}`, 400, `{"error":"model: is required"`},
		{"/embed", `{"model":"golden","prompt":"ab","layers":[0]}`, 200, `{"id":`},
		{"/embed", `{"model":"golden","inputs":"ab"}`, 200, `[[`},
		{"/", `{"model":"golden","inputs":"ab"}`, 200, `[[`},
		{"/embed", `{"model":"golden","inputs":[]}`, 422, `{"error":"Invalid value for 'inputs': must not be an empty array","error_type":"Validation"}`},
		{"/embed", `{"prompt":"ab","layers":[0],"inputs":"ab"}`, 422, `{"error":"Unrecognized request argument supplied: `},
		{"/embed", `{}`, 400, `{"error":"model: is required"`},
		{"/embed", `{`, 400, `{"error":"the body is not valid JSON`},
	} {
		res := ask(h, "POST", test.path, "", strings.NewReader(test.body))
		if got := text(t, res); res.StatusCode != test.status || !strings.HasPrefix(got, test.begins) {
			t.Errorf("%s %s: got %d %s", test.path, test.body, res.StatusCode, got)
		}
	}
}

// Requests that are rejected before the body is read, or have another method, get the
// shape that the header selects.
func TestSharedShapeByHeader(t *testing.T) {
	h := golden(t, Config{Auth: true, Keys: keys(t)}).Handler()
	for header, begins := range map[string]string{"": `{"error":{"message":`, "3.2.22": `{"detail":"`} {
		for method, status := range map[string]int{"POST": 401, "GET": 405} {
			r := httptest.NewRequest(method, "/v1/completions", nil)
			r.Header.Set("Lamini-Version", header)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != status || !strings.HasPrefix(w.Body.String(), begins) {
				t.Errorf("%s %s: got %d %s", method, header, w.Code, w.Body)
			}
		}
	}
}

// Compressed bodies are read once, within the limit of the decompressed size.
func TestSharedCompressed(t *testing.T) {
	h := golden(t, Config{}).Handler()
	for body, status := range map[string]int{
		`{"model_name":"golden","prompt":"a"}`:                                            200,
		`{"model":"golden","prompt":"a"}`:                                                 200,
		`{"model":"golden","prompt":"` + strings.Repeat("a", httpx.DefaultMaxBody) + `"}`: 413,
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(body)); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/v1/completions", &b)
		r.Header.Set("Content-Encoding", "gzip")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%.50s: got %d %s", body, w.Code, w.Body)
		}
	}
}

// Each path has one owner: no two families serve it.
func TestSharedRoutesHaveOneOwner(t *testing.T) {
	a := golden(t, Config{})
	owner := map[string]string{}
	for _, family := range Families() {
		for _, route := range a.routes(family) {
			name := route.Method + " " + route.Pattern
			if owner[name] != "" {
				t.Errorf("%s is served by %s and %s", name, owner[name], family)
			}
			owner[name] = family
		}
	}
	for _, s := range sharings() {
		if got := owner[s.method+" "+s.pattern]; got != s.owner {
			t.Errorf("%s is served by %q", s.pattern, got)
		}
	}
}

// TestScoresAgree reads a continuation's probability from an echoed completion, as the
// language model evaluation harness does: the tokens after the context without the
// generated one. It must equal that of /logprob, in texts and in token ids.
func TestScoresAgree(t *testing.T) {
	h := golden(t, Config{}).Handler()
	spelt := []string{"\n", "a", "b"}
	for _, ids := range [][]int{{1, 2}, {1, 0}, {2, 2, 1}, {1, 0, 1}, {1, 1, 2}} {
		context, continuation := spelt[ids[0]], ""
		for _, id := range ids[1:] {
			continuation += spelt[id]
		}
		var want struct {
			Logprob  float64
			IsGreedy bool `json:"is_greedy"`
		}
		exchange(t, h, "/v1/engines/golden/logprob", map[string]any{"context": context, "continuation": continuation}, &want)
		for _, prompt := range []any{[][]int{ids}, ids, context + continuation} {
			var got completion
			exchange(t, h, "/v1/completions", map[string]any{
				"model": "golden", "prompt": prompt, "max_tokens": 1, "logprobs": 1, "echo": true, "temperature": 0, "seed": 1234,
			}, &got)
			checkScore(t, fmt.Sprint(prompt), got, len(ids), want.Logprob, want.IsGreedy)
		}
	}
}

// A completion is the part of an answer that the test reads.
type completion struct {
	Choices []struct {
		Text     string
		Logprobs struct {
			TextOffset    []int                `json:"text_offset"`
			TokenLogprobs []*json.Number       `json:"token_logprobs"`
			Tokens        []string             `json:"tokens"`
			TopLogprobs   []map[string]float64 `json:"top_logprobs"`
		}
	}
}

func checkScore(t *testing.T, name string, got completion, n int, want float64, greedy bool) {
	t.Helper()
	l := got.Choices[0].Logprobs
	if len(l.TokenLogprobs) != n+1 || l.TokenLogprobs[0] != nil || len(l.Tokens) != n+1 || strings.Join(l.Tokens, "") != got.Choices[0].Text {
		t.Fatalf("%s: %+v", name, got)
	}
	sum, best := 0.0, true
	for i := 1; i < n; i++ {
		v, err := l.TokenLogprobs[i].Float64()
		if err != nil {
			t.Fatal(err)
		}
		sum += v
		highest := math.Inf(-1)
		for _, top := range l.TopLogprobs[i] {
			highest = max(highest, top)
		}
		best = best && v == highest
		if l.TextOffset[i] != i {
			t.Errorf("%s: offsets %v", name, l.TextOffset)
		}
	}
	if math.Abs(sum-want) > 1e-6 || best != greedy {
		t.Errorf("%s: %v %v, /logprob has %v %v", name, sum, best, want, greedy)
	}
}

func exchange(t *testing.T, h http.Handler, path string, body, answer any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res := ask(h, "POST", path, secrets[account.Client], bytes.NewReader(b))
	if s := text(t, res); res.StatusCode != 200 || json.Unmarshal([]byte(s), answer) != nil {
		t.Fatalf("%s: %d %s", b, res.StatusCode, s)
	}
}
