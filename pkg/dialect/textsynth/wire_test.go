package textsynth

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The paths of the engines of the seed.
const (
	gptj = "/v1/engines/gptj_6B/logprob"
	m2m  = "/v1/engines/m2m100_1_2B/translate"
)

// TestGolden sends testdata/*.json to the route that the file's name begins with.
func TestGolden(t *testing.T) {
	for prefix, target := range map[string]string{"logprob": gptj, "translate": m2m} {
		files, err := filepath.Glob("testdata/" + prefix + "*.json")
		if err != nil || len(files) < 2 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(file, ".json")
			t.Run(filepath.Base(name), func(t *testing.T) {
				body, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				w := ask(newFixture(), "POST", target, string(body))
				got := fmt.Sprintf("%d %s\n\n%s", w.Code, w.Header().Get("Content-Type"), w.Body)
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
}

// What a request used is counted, and what it asked for arrives.
func TestUsage(t *testing.T) {
	f := newFixture()
	ask(f, "POST", gptj, `{"context":"a b","continuation":" c"}`)
	if f.used != (llm.Usage{Input: 3}) || f.scores.got.Continuation != " c" {
		t.Errorf("%+v, %+v", f.used, f.scores.got)
	}
	ask(f, "POST", m2m, `{"text":["abc"],"source_lang":"en","target_lang":"fr"}`)
	if f.used != (llm.Usage{Input: 3, Output: 12}) || f.speller.got.Beams != 4 {
		t.Errorf("%+v, %+v", f.used, f.speller.got)
	}
}

const (
	dog  = `{"context":"The lazy","continuation":" dog"}`
	toFR = `{"text":["hi"],"source_lang":"en","target_lang":"fr"}`
)

// Names of engines hold slashes, colons and percent signs, escaped or not.
func TestEngines(t *testing.T) {
	for _, name := range []string{"gptj_6B", "local/gptj_6B", "local%2fgptj_6B", "org/gpt:1%20%25", "org%2Fgpt%3A1%20%25", "local/org/gpt:1 %25"} {
		name = strings.ReplaceAll(name, " ", "%20")
		w := ask(newFixture(), "POST", "/v1/engines/"+name+"/logprob", dog)
		if want := `{"logprob":-0.5,"is_greedy":true,"input_tokens":3}` + "\n"; w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
}

// TestErrors holds each bad request to the very answer.
func TestErrors(t *testing.T) {
	big := `{"context":"","continuation":"` + strings.Repeat("x", httpx.DefaultMaxBody) + `"}`
	texts := func(n int) string {
		return `{"source_lang":"en","target_lang":"fr","text":["x"` + strings.Repeat(`,"x"`, n-1) + `]}`
	}
	for _, test := range []struct {
		target, body string
		status       int
		want         string
	}{
		{gptj, "", 400, "the body is empty: a JSON object is expected"},
		{gptj, "[]", 400, "the body must be an object, not array"},
		{gptj, "{", 400, "the body is not valid JSON: unexpected end of JSON input"},
		{gptj, "{\"context\":\"\xff\"}", 400, "the body is not valid UTF-8"},
		{gptj, `{}`, 400, "context: must be given"},
		{gptj, `{"context":null,"continuation":"x"}`, 400, "context: must be given"},
		{gptj, `{"context":""}`, 400, "continuation: must be given"},
		{gptj, `{"context":"","continuation":""}`, 400, "continuation: must not be empty"},
		{gptj, `{"context":["a"],"continuation":"x"}`, 400, "context: must be a string, not array"},
		{gptj, `{"context":"","continuation":5}`, 400, "continuation: must be a string, not number"},
		{gptj, `{"context":"","continuation":"x","model":"y"}`, 400, "model: unknown parameter"},
		{gptj, `{"context":"","Continuation":"x"}`, 400, "Continuation: unknown parameter"},
		{gptj, `{"context":"","context":"","continuation":"x"}`, 400, "context: given twice"},
		{gptj, big, 413, "the body is larger than 10485760 bytes"},
		{m2m, `{}`, 400, "text: at least one string is needed"},
		{m2m, `{"text":[]}`, 400, "text: at least one string is needed"},
		{m2m, `{"text":"x"}`, 400, "text: must be an array, not string"},
		{m2m, `{"text":["x",7]}`, 400, "text: must be a string, not number"},
		{m2m, `{"text":["x",null]}`, 400, "text[1]: must be a string, not null"},
		{m2m, texts(65), 400, "text: at most 64 strings"},
		{m2m, `{"text":["x"],"target_lang":"fr"}`, 400, "source_lang: must be given"},
		{m2m, `{"text":["x"],"source_lang":"en"}`, 400, "target_lang: must be given"},
		{m2m, `{"text":["x"],"source_lang":"","target_lang":"fr"}`, 400, `source_lang: "" is neither the code of a language that is served nor "auto"`},
		{m2m, `{"text":["x"],"source_lang":"ns","target_lang":"fr"}`, 400, `source_lang: "ns" is neither the code of a language that is served nor "auto"`},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"br"}`, 400, `target_lang: "br" is not the code of a language that is served`},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"` + strings.Repeat("x", 99) + `"}`, 400, `target_lang: "` + strings.Repeat("x", 40) + `" is not the code of a language that is served`},
		{m2m, `{"text":["x"],"source_lang":"auto","target_lang":"auto"}`, 400, `target_lang: must be the code of a language: only source_lang can be "auto"`},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","num_beams":0}`, 400, "num_beams: must be between 1 and 5"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","num_beams":6}`, 400, "num_beams: must be between 1 and 5"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","num_beams":1.5}`, 400, "num_beams: must be an integer, not number 1.5"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","split_sentences":1}`, 400, "split_sentences: must be a boolean, not number"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","beams":1}`, 400, "beams: unknown parameter"},
		{"/v1/engines/a/%22b%3C/logprob", dog, 404, `the engine 'a/"b<' does not exist`},
		{"/v1/engines/none/translate", toFR, 404, "the engine 'none' does not exist"},
		{"/v1/engines/plain/logprob", dog, 400, "this model is no scorer"},
		{"/v1/engines/plain/translate", toFR, 400, "this model is no translator"},
		{"/v1/engines/gptj_6B/translate", toFR, 400, "this model is no translator"},
		{"/v1/engines/scores-too-long/logprob", dog, 400, "the prompt has 9 tokens"},
		{"/v1/engines/scores-prompt/logprob", dog, 400, "context: not so"},
		{"/v1/engines/scores-full/logprob", dog, 429, "8 requests are waiting"},
		{"/v1/engines/speller-prompt/translate", toFR, 400, "text: not so"},
		{"/v1/engines/speller-target/translate", toFR, 400, "target_lang: not that one"},
		{"/v1/engines/speller-full/translate", toFR, 429, "8 requests are waiting"},
		{"/v1/engines/broken/logprob", dog, 500, "internal error"},
		{"/v1/engines/gptj_6B/nope", dog, 404, "not found"},
	} {
		var want strings.Builder
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{"error": test.want}); err != nil {
			t.Fatal(err)
		}
		if w := ask(newFixture(), "POST", test.target, test.body); w.Code != test.status || w.Body.String() != want.String() {
			t.Errorf("%s %.99s: got %d %s", test.target, test.body, w.Code, w.Body)
		}
	}
	if w := ask(newFixture(), "GET", "/v1/engines/a/b/logprob", ""); w.Code != 405 || w.Body.String() != `{"error":"this path takes POST"}`+"\n" {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
	if w := ask(newFixture(), "POST", m2m, texts(64)); w.Code != 200 || strings.Count(w.Body.String(), `{"detected_source_lang":"en","text":"<fr> & X"}`) != 64 {
		t.Errorf("64 texts: %d %s", w.Code, w.Body)
	}
}

// TestErrorShape: a client that looks for the key error finds it, in a stream too,
// where each answer is one line and an empty one.
func TestErrorShape(t *testing.T) {
	for code, status := range map[llm.Code]int{
		llm.Unauthenticated: 401, llm.Forbidden: 403, llm.Internal: 500, llm.Upstream: 502, llm.Timeout: 504, httpx.TooLarge: 413,
	} {
		got, body := Errors.Body(&llm.Error{Code: code, Message: "m"})
		if got != status || body != any(errorBody{"m"}) {
			t.Errorf("%s: got %d %v", code, got, body)
		}
	}
	got := string(Errors.InBand(&llm.Error{Code: llm.Upstream, Param: "p", Message: "<a>\nb"}))
	if want := `{"error":"p: <a>\nb"}` + "\n\n"; got != want {
		t.Errorf("got %q", got)
	}
}

// TestDifferences lists where this dialect departs from seed 001, or decides what it
// leaves open, each with the reason and shown to be so.
func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		seed, reason string
		target, body string
		status       int
		has          string
	}{
		{
			"nothing is said of unknown keys", "nothing that a client sends is dropped in silence",
			gptj, `{"context":"","continuation":"x","temperature":1}`, 400, "temperature: unknown parameter",
		},
		{
			"nothing is said of a context and continuation that do not fit", "cut, they would get another probability",
			"/v1/engines/scores-too-long/logprob", dog, 400, "the prompt has 9 tokens",
		},
		{
			"logprob is a double", "JSON has no infinity: what is impossible gets the least number",
			"/v1/engines/never/logprob", dog, 200, `"logprob":-1.7976931348623157e+308,`,
		},
		{
			"logprob is always <= 0", "also where rounding would lift it above",
			"/v1/engines/above/logprob", dog, 200, `"logprob":0,`,
		},
		{
			"only m2m100_1_2B translates", "any model that can does, and no other is asked to",
			"/v1/engines/plain/translate", toFR, 400, "this model is no translator",
		},
		{
			"nothing is said of equal languages", "the model is asked all the same",
			m2m, `{"text":["hi"],"source_lang":"en","target_lang":"en"}`, 200, `"detected_source_lang":"en","text":"<en> & HI"`,
		},
	} {
		w := ask(newFixture(), "POST", test.target, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("seed: %s; here: %s. Got %d %s", test.seed, test.reason, w.Code, w.Body)
		}
	}
}
