package textsynth

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The paths of the engines of TextSynth, and of others.
const (
	gptj    = "/v1/engines/gptj_6B/logprob"
	m2m     = "/v1/engines/m2m100_1_2B/translate"
	story   = "/v1/engines/story/completions"
	letter  = "/v1/engines/letters/tokenize"
	oneText = `{"prompt":"x"}`
)

// TestGolden sends testdata/*.json to the route that the file's name begins with.
func TestGolden(t *testing.T) {
	for prefix, target := range map[string]string{
		"logprob": gptj, "translate": m2m, "completions": story, "tokenize": letter,
		"two": "/v1/engines/two/completions", "cut": "/v1/engines/cut/completions", "silent": "/v1/engines/silent/completions",
		"typed": "/v1/engines/typed/completions", "half": "/v1/engines/half/completions",
	} {
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
				if held := w.Header().Get("X-Glossa-Guarantee"); held != "" {
					got = "X-Glossa-Guarantee: " + held + "\n" + got
				}
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

// The usage of a request is counted, and the model receives its parameters.
func TestUsage(t *testing.T) {
	f := newFixture()
	ask(f, "POST", gptj, `{"context":"a b","continuation":" c"}`)
	if f.used != (llm.Usage{Input: 3}) || f.scores.got.Continuation != " c" {
		t.Errorf("%+v, %+v", f.used, f.scores.got)
	}
	if ask(f, "POST", letter, `{"text":"abc"}`); f.used != (llm.Usage{}) {
		t.Errorf("tokenize is free and counted %+v", f.used)
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

// Names of engines may contain slashes, colons and percent signs, escaped or not.
func TestEngines(t *testing.T) {
	for _, name := range []string{"gptj_6B", "local/gptj_6B", "local%2fgptj_6B", "org/gpt:1%20%25", "org%2Fgpt%3A1%20%25", "local/org/gpt:1 %25"} {
		name = strings.ReplaceAll(name, " ", "%20")
		w := ask(newFixture(), "POST", "/v1/engines/"+name+"/logprob", dog)
		if want := `{"logprob":-0.5,"is_greedy":true,"input_tokens":3,"num_tokens":1}` + "\n"; w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
}

// TestDifferences lists and checks the differences from TextSynth's documentation, and decisions
// that it leaves open, each with its reason.
func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		original, reason string
		target, body     string
		status           int
		has              string
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
			"/v1/engines/plain/translate", toFR, 400, "this model has no translator",
		},
		{
			"repetition_penalty divides logits", "a negative one would grow likelier: it is multiplied (Keskar et al. 2019, 4.1), by the engine",
			story, `{"prompt":"x","repetition_penalty":1.2}`, 200, `"reached_end":true`,
		},
		{
			"top_p of 0 selects no token", "as little as possible is one token, the likeliest",
			story, `{"prompt":"x","top_p":0}`, 200, `"reached_end":true`,
		},
		{
			"typical_p is an alternative to top_p", "whoever sends both gets typical_p, unless that is 1, which is off",
			story, `{"prompt":"x","top_p":0.5,"typical_p":0.5}`, 200, `"reached_end":true`,
		},
		{
			"temperature has no range", "below 0 the least likely token would win",
			story, `{"prompt":"x","temperature":-1}`, 400, "temperature: must not be negative",
		},
		{
			"repetition_penalty has no range", "divided by 0 a logit is no number",
			story, `{"prompt":"x","repetition_penalty":0}`, 400, "repetition_penalty: must be greater than 0",
		},
		{
			"an empty string may stop", "it would be found before the first token",
			story, `{"prompt":"x","stop":[""]}`, 400, "stop[0]: must not be empty",
		},
		{
			"prompt is a string", "later documents have lists of strings, which get a list of texts however few",
			story, `{"prompt":["x"]}`, 200, `{"text":["Once `,
		},
		{
			"nothing is said of a stream with n above 1", "each answer has a text for each completion, empty where nothing is new",
			"/v1/engines/two/completions", `{"prompt":"x","n":2,"stream":true}`, 200, `{"text":["","b"],"reached_end":false}`,
		},
		{
			"answers of a stream have counts of tokens", "the last one alone, where they are known",
			story, `{"prompt":"x","stream":true}`, 200, `{"text":"Once","reached_end":false}` + "\n\n",
		},
		{
			"there is no finish_reason", "later documents and clients have it",
			story, oneText, 200, `"finish_reason":"stop"`,
		},
		{
			"there is no total_tokens", "an early client reads it",
			story, oneText, 200, `"total_tokens":8`,
		},
		{
			"logprob has no num_tokens", "later documents and clients have it",
			gptj, dog, 200, `"num_tokens":1`,
		},
		{
			"schema and grammar came later", "later documents and clients have them",
			"/v1/engines/typed/completions", `{"prompt":"x","n":2,"schema":{"type":"object"}}`, 200, `"guarantee":["enforced","enforced"]`,
		},
		{
			"nothing is said of equal languages", "the model is asked all the same",
			m2m, `{"text":["hi"],"source_lang":"en","target_lang":"en"}`, 200, `"detected_source_lang":"en","text":"<en> & HI"`,
		},
	} {
		w := ask(newFixture(), "POST", test.target, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}
}
