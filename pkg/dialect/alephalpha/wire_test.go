package alephalpha

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var answerID = regexp.MustCompile(`"id":"req_[0-9a-f]{24}"`)

// TestGolden sends testdata/*.json to the route that the file's name begins with.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".json")
		route, _, _ := strings.Cut(filepath.Base(name), "-")
		t.Run(filepath.Base(name), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := ask(newFixture(), "POST", "/"+route+"?nice=true", string(body))
			got := fmt.Sprintf("%d %s\n\n%s", w.Code, w.Header().Get("Content-Type"), answerID.ReplaceAllString(w.Body.String(), `"id":"ID"`))
			if *update {
				if err := os.WriteFile(name+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The id of an answer equals the id of its request.
func TestID(t *testing.T) {
	w := ask(newFixture(), "POST", "/complete", `{"model":"luminous","prompt":""}`)
	var answer head
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.ID == "" || answer.ID != w.Header().Get("X-Request-Id") {
		t.Errorf("%+v, %v, %v", answer, w.Header(), err)
	}
}

// Routes without a body.
func TestOthers(t *testing.T) {
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/version", "", 200, "1.19.0"},
		{"GET", "/models_available", "", 200, `[{"name":"luminous","description":"tells stories","hostings":["cloud","aleph-alpha"],"image_support":false,"max_context_size":2048,"maximum_completion_tokens":2048},` +
			`{"name":"org/claude:1","description":"","hostings":["cloud"],"image_support":false},` +
			`{"name":"luminous-base","description":"tells stories","hostings":["cloud","aleph-alpha"],"image_support":false,"max_context_size":2048,"maximum_completion_tokens":2048}]` + "\n"},
		{"POST", "/users/me/token", `{"email":"a@b.c","password":"right"}`, 200, `{"token":"t1","role":"client"}` + "\n"},
		{"POST", "/get_token", `{"email":"a@b.c","password":"right"}`, 200, `{"token":"t1","role":"client"}` + "\n"},
		{"POST", "/get_token", `{"email":"a@b.c","password":"wrong"}`, 401, `{"error":"wrong email or password","code":"UNAUTHENTICATED"}` + "\n"},
		{"POST", "/get_token", `{"email":"a@b.c"}`, 400, `{"error":"password: is required","code":"INVALID"}` + "\n"},
		{"POST", "/get_token", `{"password":"x"}`, 400, `{"error":"email: is required","code":"INVALID"}` + "\n"},
		{"GET", "/complete", "", 405, `{"error":"this path supports only POST","code":"NO_METHOD"}` + "\n"},
		{"POST", "/complete", `{"prompt":"` + strings.Repeat("x", httpx.DefaultMaxBody) + `"}`, 413, `{"error":"the body is larger than 10485760 bytes","code":"TOO_LARGE"}` + "\n"},
	} {
		if w := ask(newFixture(), test.method, test.target, test.body); w.Code != test.status || w.Body.String() != test.want {
			t.Errorf("%s %s: got %d %s", test.method, test.target, w.Code, w.Body)
		}
	}
}

// An empty prompt counts as one token, the start token, for each candidate.
func TestPromptTokens(t *testing.T) {
	req := &llm.Request{N: 2}
	for input, want := range map[int]int{0: 2, 1: 2, 5: 10} {
		if got := promptTokens(req, llm.Usage{Input: input}); got != want {
			t.Errorf("%d: got %d, want %d", input, got, want)
		}
	}
	req.BestOf = new(3)
	if got := promptTokens(req, llm.Usage{Input: 5}); got != 15 {
		t.Errorf("got %d", got)
	}
}

// Caches must not store tokens.
func TestTokensAreNotCached(t *testing.T) {
	w := ask(newFixture(), "POST", "/users/me/token", `{"email":"a@b.c","password":"right"}`)
	if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// Without logins their paths are unknown paths.
func TestNoLogin(t *testing.T) {
	h := (&httpx.Mux{Routes: Routes(Config{Models: catalog{}}), Fallback: Errors}).Handler()
	for _, target := range []string{"/users/me/token", "/get_token"} {
		if w := ask(h, "POST", target, `{"email":"a","password":"b"}`); w.Code != 404 || !strings.HasPrefix(w.Body.String(), `{"error":"no such path`) || strings.Contains(w.Body.String(), `"token"`) {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
	}
}

// The usage of a request is counted.
func TestUsage(t *testing.T) {
	f := newFixture()
	for target, body := range map[string]string{
		"/evaluate": `{"model":"luminous","prompt":"The lazy","completion_expected":" dog"}`,
		"/embed":    `{"model":"luminous","prompt":"a b c","layers":[0]}`,
	} {
		if ask(f, "POST", target, body); f.used != (llm.Usage{Input: 3}) {
			t.Errorf("%s: %+v", target, f.used)
		}
	}
}

// Every error of a backend has this shape, with the dialect's parameter names.
func TestBackendErrors(t *testing.T) {
	bodies := map[string]string{
		"/complete": `{"model":"MODEL","prompt":"x"}`, "/evaluate": `{"model":"MODEL","prompt":"x","completion_expected":" y"}`,
		"/embed": `{"model":"MODEL","prompt":"x","layers":[9]}`, "/tokenize": `{"model":"MODEL","prompt":"x","tokens":true,"token_ids":true}`,
	}
	for _, test := range []struct {
		model  string
		status int
		want   string
	}{
		{"too-long", 400, `{"error":"prompt: the prompt has 4000 tokens, the context of this model 2048","code":"TOO_LONG"}`},
		{"full", 429, `{"error":"8 requests are waiting","code":"OVERLOADED"}`},
		{"late", 408, `{"error":"the deadline passed","code":"TIMEOUT"}`},
		{"bug", 500, `{"error":"internal error","code":"INTERNAL"}`},
		{"none", 404, `{"error":"the model 'none' does not exist","code":"NOT_FOUND"}`},
		{"", 400, `{"error":"model: is required","code":"INVALID"}`},
	} {
		for target, body := range bodies {
			w := ask(newFixture(), "POST", target, strings.Replace(body, "MODEL", test.model, 1))
			if w.Code != test.status || w.Body.String() != test.want+"\n" {
				t.Errorf("%s of %q: got %d %s", target, test.model, w.Code, w.Body)
			}
		}
	}
	// A model without a capability.
	for target, word := range map[string]string{"/evaluate": "scorer", "/embed": "embedder", "/tokenize": "tokenizer"} {
		w := ask(newFixture(), "POST", target, strings.Replace(bodies[target], "MODEL", "org/claude:1", 1))
		if want := `{"error":"this model has no ` + word + `","code":"MISSING_CAPABILITY"}` + "\n"; w.Code != 400 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
	}
}

// Names of models may contain slashes and colons.
func TestModelNames(t *testing.T) {
	for _, name := range []string{"org/claude:1", "bedrock/org/claude:1", "alias-of-org/claude:1"} {
		w := ask(newFixture(), "POST", "/complete", `{"model":"`+name+`","prompt":"x"}`)
		if !strings.Contains(w.Body.String(), `"model_version":"org/claude:1","completions":[{"completion":"hi","finish_reason":"end_of_text"}]`) {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
}

// Every route with a hosting rejects one that the model does not have.
func TestHosting(t *testing.T) {
	for target, body := range map[string]string{
		"/complete": `"prompt":"x"`, "/evaluate": `"prompt":"x","completion_expected":" y"`, "/embed": `"prompt":"x","layers":[0]`,
		"/tokenize": `"prompt":"x","tokens":true,"token_ids":true`, "/detokenize": `"token_ids":[1]`,
	} {
		for hosting, status := range map[string]int{`"cloud"`: 200, `null`: 200, `"aleph-alpha"`: 200, `"moon"`: 400, `""`: 400} {
			w := ask(newFixture(), "POST", target, `{"model":"luminous","hosting":`+hosting+`,`+body+`}`)
			if w.Code != status || status == 400 && !strings.HasPrefix(w.Body.String(), `{"error":"hosting: `) {
				t.Errorf("%s at %s: got %d %s", target, hosting, w.Code, w.Body)
			}
		}
		if w := ask(newFixture(), "POST", target, `{"model":"org/claude:1","hosting":"cloud",`+body+`}`); strings.Contains(w.Body.String(), "hosting") {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
		if w := ask(newFixture(), "POST", target, `{"model":"org/claude:1","hosting":"aleph-alpha",`+body+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), `not hosted at`) {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
	}
}

// Floats are written as floats, and infinities as the largest numbers.
func TestFloats(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.0", 1: "1.0", -3: "-3.0", 0.1: "0.1", 1e-7: "1e-07", -2.5e-9: "-2.5e-09", 1e20: "100000000000000000000.0", 1e21: "1e+21", 123456: "123456.0",
		math.Inf(-1): "-1.7976931348623157e+308", math.Inf(1): "1.7976931348623157e+308",
	} {
		if got, err := json.Marshal(float(x)); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", x, got, err)
		}
	}
	nan := math.NaN()
	if got, err := json.Marshal([]any{float(nan), vector{}, vector(nil), vector{1, 0.1, -0, float32(nan), float32(math.Inf(-1)), 1e-7}}); err != nil ||
		string(got) != "[null,[],[],[1.0,0.1,0.0,null,-3.4028235e+38,1e-07]]" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := json.Marshal(object{{"b", float(1)}, {`a"<`, object{}}}); err != nil || string(got) != `{"b":1.0,"a\"\u003c":{}}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := json.Marshal(object{{"a", math.NaN()}}); err == nil {
		t.Error("no error")
	}
}

// A certain metric is 0, not -0.
func TestCertain(t *testing.T) {
	answer := newEvaluate(head{}, "é", &llm.Score{Greedy: true, Tokens: []llm.Token{{}, {}}}, llm.Usage{})
	got, err := json.Marshal(answer.Result)
	const want = `{"log_probability":0.0,"log_perplexity":0.0,"log_perplexity_per_token":0.0,"log_perplexity_per_character":0.0,` +
		`"correct_greedy":true,"token_count":2,"character_count":1,"completion":""}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// The names of canonical parameters that differ.
func TestRename(t *testing.T) {
	for param, want := range map[string]string{"stop": "stop_sequences", "logprobs": "log_probs", "return_full_text": "echo", "max_new_tokens": "maximum_tokens", "best_of": "best_of"} {
		if err := completeTable.Rename(&llm.Error{Code: llm.Invalid, Param: param}, new(completeRequest)); llm.AsError(err).Param != want {
			t.Errorf("%s: %v", param, err)
		}
	}
	if err := errors.New("x"); completeTable.Rename(err, new(completeRequest)) != err { //nolint:errorlint // the very value
		t.Error("another error")
	}
}
