package textsynth

import (
	"encoding/json"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// bad is a request and its answer, an error.
type bad struct {
	target, body string
	status       int
	want         string
}

// answers compares the exact answer of each bad request.
func answers(t *testing.T, list []bad) {
	t.Helper()
	for _, test := range list {
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
}

func TestCompletionErrors(t *testing.T) {
	answers(t, []bad{
		{story, `{}`, 400, "prompt: is required"},
		{story, `{"prompt":null}`, 400, "prompt: is required"},
		{story, `{"prompt":5}`, 400, "prompt: must be a string, not number"},
		{story, `{"prompt":[]}`, 400, "prompt: at least one string is required"},
		{story, `{"prompt":["a",null]}`, 400, "prompt[1]: must be a string, not null"},
		{story, `{"prompt":["a",[1]]}`, 400, "prompt: must be a string, not array"},
		{story, `{"prompt":["a"` + strings.Repeat(`,"a"`, 64) + `]}`, 400, "prompt: at most 64 strings"},
		{story, `{"prompt":"x","max_tokens":-1}`, 400, "max_tokens: must not be negative"},
		{story, `{"prompt":"x","max_tokens":1.5}`, 400, "max_tokens: must be an integer, not number 1.5"},
		{story, `{"prompt":"x","stream":"yes"}`, 400, "stream: must be a boolean, not string"},
		{story, `{"prompt":"x","stop":["a","b","c","d","e","f"]}`, 400, "stop: at most 5 strings"},
		{story, `{"prompt":"x","stop":""}`, 400, "stop: must not be empty"},
		{story, `{"prompt":"x","stop":["a",null]}`, 400, "stop[1]: must be a string, not null"},
		{story, `{"prompt":"x","stop":7}`, 400, "stop: must be a string, not number"},
		{story, `{"prompt":"x","n":0}`, 400, "n: must be between 1 and 16"},
		{story, `{"prompt":"x","n":17}`, 400, "n: must be between 1 and 16"},
		{story, `{"prompt":"x","temperature":-0.1}`, 400, "temperature: must not be negative"},
		{story, `{"prompt":"x","temperature":"hot"}`, 400, "temperature: must be a number, not string"},
		{story, `{"prompt":"x","top_k":0}`, 400, "top_k: must be between 1 and 1000"},
		{story, `{"prompt":"x","top_k":1001}`, 400, "top_k: must be between 1 and 1000"},
		{story, `{"prompt":"x","top_p":-0.1}`, 400, "top_p: must be between 0 and 1"},
		{story, `{"prompt":"x","top_p":1.1}`, 400, "top_p: must be between 0 and 1"},
		{story, `{"prompt":"x","typical_p":1.1}`, 400, "typical_p: must be between 0 and 1"},
		{story, `{"prompt":"x","logit_bias":{"dog":1}}`, 400, `logit_bias: "dog" is not a token id`},
		{story, `{"prompt":"x","logit_bias":{"05":1}}`, 400, `logit_bias: "05" is not a token id`},
		{story, `{"prompt":"x","logit_bias":{"-1":1}}`, 400, `logit_bias: "-1" is not a token id`},
		{story, `{"prompt":"x","logit_bias":{"5":100.5}}`, 400, "logit_bias: the bias of token 5 must be between -100 and 100"},
		{story, `{"prompt":"x","logit_bias":[5]}`, 400, "logit_bias: must be an object, not array"},
		{story, `{"prompt":"x","logit_bias":{"5":1,"5":2}}`, 400, `logit_bias: "5" appears twice`},
		{story, `{"prompt":"x","presence_penalty":2.1}`, 400, "presence_penalty: must be between -2 and 2"},
		{story, `{"prompt":"x","frequency_penalty":-2.1}`, 400, "frequency_penalty: must be between -2 and 2"},
		{story, `{"prompt":"x","repetition_penalty":0}`, 400, "repetition_penalty: must be greater than 0"},
		{story, `{"prompt":"x","seed":-1}`, 400, "seed: must be between 0 and 2147483647"},
		{story, `{"prompt":"x","seed":2147483648}`, 400, "seed: must be between 0 and 2147483647"},
		{story, `{"prompt":"x","schema":"object"}`, 400, "schema: must be an object"},
		{story, `{"prompt":"x","schema":true}`, 400, "schema: must be an object"},
		{story, `{"prompt":"x","grammar":""}`, 400, "grammar: must not be empty"},
		{story, `{"prompt":"x","grammar":{}}`, 400, "grammar: must be a string, not object"},
		{story, `{"prompt":"x","grammar":"root ::= \"a\"","schema":{}}`, 400, "grammar: cannot be combined with schema"},
		{"/v1/engines/writer-schema/completions", `{"prompt":"x","schema":{}}`, 400, "schema: /a: pattern: not so"},
		{"/v1/engines/writer-grammar/completions", `{"prompt":"x","stream":true,"grammar":"root"}`, 400, "grammar: line 1: not so"},
		{story, `{"prompt":"x","stream":true,"model":"y"}`, 400, "model: unknown parameter"},
		{"/v1/engines/m2m100_1_2B%20/completions", oneText, 404, "the engine 'm2m100_1_2B ' does not exist"},
		{"/v1/engines/breaks/completions", oneText, 502, "the model <x> failed"},
		{"/v1/engines/bug/completions", oneText, 500, "internal error"},
		{"/v1/engines/late/completions", oneText, 504, "the deadline passed"},
		{"/v1/engines/late/completions", `{"prompt":"x","stream":true}`, 504, "the deadline passed"},
		{"/v1/engines/writer-full/completions", `{"prompt":"x","stream":true}`, 429, "8 requests are waiting"},
		{"/v1/engines/writer-prompt/completions", oneText, 400, "prompt: not so"},
		{"/v1/engines/writer-length/completions", oneText, 400, "max_tokens: not so many"},
		{"/v1/engines/writer-length/completions", `{"prompt":"x","stream":true}`, 400, "max_tokens: not so many"},
		{"/v1/engines/writer-too-long/completions", oneText, 400, "prompt: the prompt has 9 tokens"},
	})
}

func TestTokenizeErrors(t *testing.T) {
	answers(t, []bad{
		{letter, `{}`, 400, "text: is required"},
		{letter, `{"text":["a"]}`, 400, "text: must be a string, not array"},
		{letter, `{"text":"a","token_content_type":"hex"}`, 400, `token_content_type: must be none or base64, not "hex"`},
		{letter, `{"text":"a","add_special_tokens":true}`, 400, "add_special_tokens: unknown parameter"},
		{"/v1/engines/plain/tokenize", `{"text":"a"}`, 400, "this model has no tokenizer"},
		{"/v1/engines/letters-prompt/tokenize", `{"text":"a"}`, 400, "text: not so"},
		{"/v1/engines/none/tokenize", `{"text":"a"}`, 404, "the engine 'none' does not exist"},
	})
}

func TestErrors(t *testing.T) {
	big := `{"context":"","continuation":"` + strings.Repeat("x", httpx.DefaultMaxBody) + `"}`
	texts := func(n int) string {
		return `{"source_lang":"en","target_lang":"fr","text":["x"` + strings.Repeat(`,"x"`, n-1) + `]}`
	}
	answers(t, []bad{
		{gptj, "", 400, "the body is empty: a JSON object is expected"},
		{gptj, "[]", 400, "the body must be an object, not array"},
		{gptj, "{", 400, "the body is not valid JSON: unexpected end of JSON input"},
		{gptj, "{\"context\":\"\xff\"}", 400, "the body is not valid UTF-8"},
		{gptj, `{}`, 400, "context: is required"},
		{gptj, `{"context":null,"continuation":"x"}`, 400, "context: is required"},
		{gptj, `{"context":""}`, 400, "continuation: is required"},
		{gptj, `{"context":"","continuation":""}`, 400, "continuation: must not be empty"},
		{gptj, `{"context":["a"],"continuation":"x"}`, 400, "context: must be a string, not array"},
		{gptj, `{"context":"","continuation":5}`, 400, "continuation: must be a string, not number"},
		{gptj, `{"context":"","continuation":"x","model":"y"}`, 400, "model: unknown parameter"},
		{gptj, `{"context":"","Continuation":"x"}`, 400, "Continuation: unknown parameter"},
		{gptj, `{"context":"","context":"","continuation":"x"}`, 400, "context: appears twice"},
		{gptj, big, 413, "the body is larger than 10485760 bytes"},
		{m2m, `{}`, 400, "text: is required"},
		{m2m, `{"text":[]}`, 400, "text: at least one string is required"},
		{m2m, `{"text":"x"}`, 400, "text: must be an array, not string"},
		{m2m, `{"text":["x",7]}`, 400, "text: must be a string, not number"},
		{m2m, `{"text":["x",null]}`, 400, "text[1]: must be a string, not null"},
		{m2m, texts(65), 400, "text: at most 64 strings"},
		{m2m, `{"text":["x"],"target_lang":"fr"}`, 400, "source_lang: is required"},
		{m2m, `{"text":["x"],"source_lang":"en"}`, 400, "target_lang: is required"},
		{m2m, `{"text":["x"],"source_lang":"","target_lang":"fr"}`, 400, "source_lang: is required"},
		{m2m, `{"text":["x"],"source_lang":"ns","target_lang":"fr"}`, 400, `source_lang: "ns" is neither a supported language code nor "auto"`},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"br"}`, 400, `target_lang: "br" is not a supported language code`},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"` + strings.Repeat("x", 99) + `"}`, 400, `target_lang: "` + strings.Repeat("x", 40) + `" is not a supported language code`},
		{m2m, `{"text":["x"],"source_lang":"auto","target_lang":"auto"}`, 400, `target_lang: must be a language code: only source_lang can be "auto"`},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","num_beams":0}`, 400, "num_beams: must be between 1 and 5"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","num_beams":6}`, 400, "num_beams: must be between 1 and 5"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","num_beams":1.5}`, 400, "num_beams: must be an integer, not number 1.5"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","split_sentences":1}`, 400, "split_sentences: must be a boolean, not number"},
		{m2m, `{"text":["x"],"source_lang":"en","target_lang":"fr","beams":1}`, 400, "beams: unknown parameter"},
		{"/v1/engines/a/%22b%3C/logprob", dog, 404, `the engine 'a/"b<' does not exist`},
		{"/v1/engines/none/translate", toFR, 404, "the engine 'none' does not exist"},
		{"/v1/engines/plain/logprob", dog, 400, "this model has no scorer"},
		{"/v1/engines/plain/translate", toFR, 400, "this model has no translator"},
		{"/v1/engines/gptj_6B/translate", toFR, 400, "this model has no translator"},
		{"/v1/engines/scores-too-long/logprob", dog, 400, "context: the prompt has 9 tokens"},
		{"/v1/engines/scores-prompt/logprob", dog, 400, "context: not so"},
		{"/v1/engines/scores-full/logprob", dog, 429, "8 requests are waiting"},
		{"/v1/engines/speller-prompt/translate", toFR, 400, "text: not so"},
		{"/v1/engines/speller-target/translate", toFR, 400, "target_lang: not that one"},
		{"/v1/engines/speller-full/translate", toFR, 429, "8 requests are waiting"},
		{"/v1/engines/broken/logprob", dog, 500, "internal error"},
	})
	if w := ask(newFixture(), "GET", "/v1/engines/a/b/logprob", ""); w.Code != 405 || w.Body.String() != `{"error":"this path supports only POST"}`+"\n" {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
	if w := ask(newFixture(), "POST", m2m, texts(64)); w.Code != 200 || strings.Count(w.Body.String(), `{"detected_source_lang":"en","text":"<fr> & X"}`) != 64 {
		t.Errorf("64 texts: %d %s", w.Code, w.Body)
	}
}

// TestErrorShape: clients find the key error, also in a stream, where each answer is one line
// and an empty line.
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
