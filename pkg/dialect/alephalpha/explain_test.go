package alephalpha

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/meter"
)

// associative is a model whose tokens are words with the space before them. A token's
// log-probability is -8, plus 1 for each word before it that begins with its letter, plus 2
// for each token id before it that equals its length.
type associative struct {
	llmtest.Script
	scored int
}

func pieces2(text string) (list []llm.Token) {
	from := 0
	for i, r := range text + " " {
		if unicode.IsSpace(r) && i > from {
			list = append(list, llm.Token{Text: text[from:i]})
			from = i
		}
	}
	return list
}

func (*associative) Tokenize(_ context.Context, parts []llm.Part, _ bool) ([]llm.Token, error) {
	return pieces2(parts[0].Text), nil
}

func (*associative) Detokenize(context.Context, []int) (string, error) { return "", nil }

func (m *associative) Score(_ context.Context, req *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	m.scored++
	var before []llm.Token
	var ids []int
	for _, part := range req.Prompt.Parts {
		before, ids = append(before, pieces2(part.Text)...), append(ids, part.Tokens...)
	}
	score := &llm.Score{}
	for _, t := range pieces2(req.Continuation) {
		t.Logprob = -8
		word := strings.TrimSpace(t.Text)
		for _, b := range before {
			if b := strings.TrimSpace(b.Text); b != "" && b[0] == word[0] {
				t.Logprob++
			}
		}
		for _, id := range ids {
			if id == len(word) {
				t.Logprob += 2
			}
		}
		score.Tokens, before = append(score.Tokens, t), append(before, t)
		score.Logprob += t.Logprob
	}
	return score, llm.Usage{Input: len(before) + len(ids)}, nil
}

func explained(t *testing.T, body string) (got explainAnswer, m *associative, used llm.Usage) {
	t.Helper()
	m = &associative{}
	models := catalog{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local", Version: "1"}, Backend: m}, {}}
	mux := httpx.Mux{Routes: Routes(Config{Models: meter.Models(models)}), Observe: func(r *httpx.Record) { used = r.Usage }}
	w := ask(mux.Handler(), "POST", "/explain", `{"model":"m",`+body+`}`)
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", body, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got, m, used
}

// scores formats explanations: "start+length:score" of texts, and the scores of ids.
func scores(answer explainAnswer) (out []string) {
	for _, e := range answer.Explanations {
		line := e.Target
		for _, item := range e.Items {
			line += " | " + item.Type
			for _, s := range item.Scores {
				if m, ok := s.(map[string]any); ok {
					line += fmt.Sprintf(" %v+%v:%v", m["start"], m["length"], m["score"])
				} else {
					line += fmt.Sprintf(" %v", s)
				}
			}
		}
		out = append(out, line)
	}
	return out
}

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		body string
		want []string
	}{
		{`"prompt":"pink pigs and cows","target":" pizza","prompt_granularity":{"type":"word"}`, []string{" pizza | text 0+4:1 5+4:1 10+3:0 14+4:0 | target"}},
		{`"prompt":"pink pigs and cows","target":" pizza","prompt_granularity":"token"`, []string{" pizza | text 0+4:1 5+4:1 10+3:0 14+4:0 | target"}},
		{`"prompt":"pink pigs and cows","target":" pizza","prompt_granularity":{"type":"token"},"control_factor":0.1,"control_token_overlap":"partial","control_log_additive":true,"contextual_control_threshold":null`,
			[]string{" pizza | text 0+4:1 5+4:1 10+3:0 14+4:0 | target"}},
		{`"prompt":"a pig. Cows eat?\nü p","target":" pizza cake","prompt_granularity":{"type":"sentence"}`, []string{" pizza cake | text 0+6:1 7+9:0 17+3:1 | target"}},
		{`"prompt":"p p\np\n\nc p","target":" pizza cake","prompt_granularity":{"type":"paragraph"}`, []string{" pizza cake | text 0+5:3 7+3:2 | target"}},
		{`"prompt":"p a### pp###","target":" pizza","prompt_granularity":{"type":"custom","delimiter":"###"}`, []string{" pizza | text 0+3:1 6+3:1 | target"}},
		{`"prompt":[{"type":"text","data":"ü pot."},{"type":"token_ids","data":[5,9]}],"target":" pizza","prompt_granularity":{"type":"word"},"target_granularity":"complete"`,
			[]string{" pizza | text 0+1:0 2+3:1 5+1:0 | token_ids 2 0 | target"}},
		{`"prompt":"pot","target":" pizza c pig","target_granularity":"token"`, []string{
			" pizza | text 0+3:1 | target", " c | text 0+3:0 | target 1+5:0", " pig | text 0+3:1 | target 1+5:1 7+1:0",
		}},
		{`"prompt":"pot cat","target":"pizza cake cake","target_granularity":"token","postprocessing":"square","normalize":true,"prompt_granularity":{"type":"word"}`, []string{
			"pizza | text 0+3:1 4+3:0 | target", " cake | text 0+3:0 4+3:1 | target 0+5:0", " cake | text 0+3:0 4+3:1 | target 0+5:0 6+4:1",
		}},
		{`"prompt":"x y","target":" pizza","normalize":true`, []string{" pizza | text 0+1:0 2+1:0 | target"}},
	} {
		got, _, _ := explained(t, test.body)
		if s := scores(got); !reflect.DeepEqual(s, test.want) || got.ModelVersion != "m@1" {
			t.Errorf("%s: got %q, want %q", test.body, s, test.want)
		}
	}
}

// TestExplainWork: an explanation needs a pass for each part, and each is counted.
func TestExplainWork(t *testing.T) {
	_, m, used := explained(t, `"prompt":"a b c","target":" d e","prompt_granularity":{"type":"word"},"target_granularity":"token"`)
	if m.scored != 1+3+1 || used.Input != 5+3*4+4 {
		t.Errorf("%d passes, %+v", m.scored, used)
	}
	// About 30 parts by default: words, sentences or paragraphs.
	for _, test := range []struct {
		prompt string
		parts  int
	}{
		{strings.Repeat("a b c d e. ", 4), 24}, {strings.Repeat("a b c d e f g h. ", 28), 28}, {strings.Repeat("a b. c.\n\n", 60), 60},
	} {
		got, _, _ := explained(t, `"prompt":`+quoted(test.prompt)+`,"target":" d"`)
		if n := len(got.Explanations[0].Items[0].Scores); n != test.parts {
			t.Errorf("%.20q: %d parts", test.prompt, n)
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // strings cannot fail
	return string(b)
}

func TestBadExplain(t *testing.T) {
	const nothing = "{}"
	models := catalog{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local"}, Backend: &associative{}}, {ModelInfo: llm.ModelInfo{Name: "t", Family: "local"}, Backend: llmtest.Script{"x"}}}
	h := (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
	for body, want := range map[string]string{
		nothing:                      "model: is required",
		`{"model":"m"}`:              "prompt: is required",
		`{"prompt":"","target":"b"}`: "prompt: must not be empty",
		`{"prompt":"a"}`:             "target: is required",
		`{"prompt":"a","target":""}`: "target: must not be empty",
		`{"prompt":"a","target":"` + strings.Repeat("x", maxTargetSize+1) + `"}`:                                               "target: at most 16384 bytes",
		`{"prompt":"a","target":"b","prompt_granularity":{"type":"line"}}`:                                                     `prompt_granularity.type: must be token, word, sentence, paragraph or custom, not "line"`,
		`{"prompt":"a","target":"b","prompt_granularity":{"type":"custom"}}`:                                                   "prompt_granularity.delimiter: is required and must not be empty",
		`{"prompt":"a","target":"b","prompt_granularity":{"type":"word","delimiter":"x"}}`:                                     "prompt_granularity.delimiter: is only accepted with type custom",
		`{"prompt":"a","target":"b","prompt_granularity":{"kind":"word"}}`:                                                     "prompt_granularity.kind: unknown parameter",
		`{"prompt":"a","target":"b","target_granularity":"word"}`:                                                              `target_granularity: must be complete or token, not "word"`,
		`{"prompt":"a","target":"b","postprocessing":"log"}`:                                                                   `postprocessing: must be none, absolute or square, not "log"`,
		`{"prompt":"a","target":"b","control_token_overlap":"x"}`:                                                              `control_token_overlap: must be partial or complete, not "x"`,
		`{"prompt":"a","target":"b","control_factor":1}`:                                                                       "control_factor: must be at least 0 and less than 1: parts can only be suppressed",
		`{"prompt":"a","target":"b","contextual_control_threshold":0.5}`:                                                       "contextual_control_threshold: only the part itself is removed, not similar text",
		`{"prompt":"a","target":"b","suppression_factor":0.1}`:                                                                 "suppression_factor: unknown parameter",
		`{"model":"t","prompt":"a","target":"b"}`:                                                                              "this model has no scorer",
		`{"model":"m","prompt":` + quoted(strings.Repeat("a ", maxParts+1)) + `,"target":"b","prompt_granularity":"word"}`:     "prompt_granularity: the prompt has more than 256 parts: choose larger ones",
		`{"model":"m","prompt":` + quoted(strings.Repeat("a b c d\n", 200)) + `,"target":"b","prompt_granularity":"sentence"}`: "prompt_granularity: 200 passes over 802 tokens exceed the limit of 131072 tokens: choose larger parts",
	} {
		if body != nothing && !strings.Contains(body, `"model"`) {
			body = strings.Replace(body, "{", `{"model":"m",`, 1)
		}
		w := ask(h, "POST", "/explain", body)
		var got errorBody
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 400 || got.Error != want {
			t.Errorf("%.200s: got %d %s", body, w.Code, w.Body)
		}
	}
}

// TestCutsMemory: the parts of a prompt take memory in proportion to it, also if there are too many.
func TestCutsMemory(t *testing.T) {
	tokens := func(n int) llm.Prompt { return llm.Prompt{Parts: []llm.Part{{Tokens: make([]int, n)}}} }
	for name, prompt := range map[string]llm.Prompt{
		"words": llm.Text(strings.Repeat("a ", 10_000)), "long words": llm.Text(strings.Repeat(strings.Repeat("a", 4000)+" ", maxParts)),
		"tokens": tokens(5000), "lists of tokens": {Parts: slices.Repeat(tokens(maxParts).Parts, 50)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list, err := cuts(prompt, splitterOf(t.Context(), "word", nil))
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; (err != nil) == (name == "long words") || len(list) > maxParts || taken > 2<<20 {
			t.Errorf("%s: %d parts, %v, %d bytes", name, len(list), err, taken)
		}
	}
}

// TestSpans: splitters drop only white space, and split no character.
func TestSpans(t *testing.T) {
	const text = " Ünïted Kingdom's 3.5 «words»… and   more.\tNo? Yes!!\n\n\nA par.  \r\n\r\nLast\n"
	for name, list := range map[string][]span{
		"words": wordSpans(text), "sentences": cutAfter(text, endsSentence), "paragraphs": cutAfter(text, endsParagraph), "tokens": tokenSpans(text, pieces2(text)),
	} {
		var said strings.Builder
		last := 0
		for _, s := range list {
			if s.start < last || s.end <= s.start || strings.TrimSpace(text[last:s.start]) != "" {
				t.Errorf("%s: %v after %d", name, s, last)
			}
			said.WriteString(text[s.start:s.end] + "|")
			last = s.end
		}
		want := map[string]string{
			"words":      "Ünïted|Kingdom's|3|.|5|«|words|»…|and|more|.|No|?|Yes|!!|A|par|.|Last|",
			"sentences":  "Ünïted Kingdom's 3.5 «words»…|and   more.|No?|Yes!!|A par.|Last|",
			"paragraphs": "Ünïted Kingdom's 3.5 «words»… and   more.\tNo? Yes!!|A par.|Last|",
		}[name]
		if got := said.String(); want != "" && got != want || strings.TrimSpace(text[last:]) != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	split := []llm.Token{{Text: "\xe2"}, {Text: "\x82"}, {Text: "\xac"}, {Text: ""}, {Text: " a"}}
	if got := tokenSpans("€ a", split); !slices.Equal(got, []span{{0, 3}, {4, 5}}) {
		t.Errorf("a character of several tokens: %v", got)
	}
}

// translator is a model that translates to upper case.
type translator struct {
	llmtest.Script
	got *llm.TranslateRequest
}

func (m *translator) Translate(_ context.Context, req *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	if m.got = req; req.Target == "xx" {
		return nil, llm.Usage{}, &llm.Error{Code: llm.Invalid, Param: "target_lang", Message: "is no language of this model"}
	}
	return []llm.Translation{{Text: strings.ToUpper(req.Texts[0]), Source: "en", Score: 0.5}}, llm.Usage{Input: 3, Output: 4}, nil
}

// TokenizerJSON implements [llm.TokenizerFile].
func (*translator) TokenizerJSON(context.Context) ([]byte, error) {
	return []byte(`{"version":"1.0"}`), nil
}

func TestService(t *testing.T) {
	m := &translator{}
	models := catalog{{ModelInfo: llm.ModelInfo{Name: "org/m", Family: "local"}, Backend: m}, {ModelInfo: llm.ModelInfo{Name: "t", Family: "local"}, Backend: llmtest.Script{"x"}}}
	h := (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"POST", "/translate", `{"model":"org/m","source":"hi","target_language":"de","tags":["x"]}`, 200, `{"translation":"HI","score":0.5,"segments":null,"num_tokens_prompt_total":3,"num_tokens_generated":4}`},
		{"POST", "/translate", `{"model":"org/m","source":"hi","target_language":"xx"}`, 400, `{"error":"target_language: is no language of this model","code":"INVALID"}`},
		{"POST", "/translate", `{"model":"org/m","target_language":"de"}`, 400, `{"error":"source: is required","code":"INVALID"}`},
		{"POST", "/translate", `{"model":"org/m","source":"hi"}`, 400, `{"error":"target_language: is required","code":"INVALID"}`},
		{"POST", "/translate", `{"model":"t","source":"hi","target_language":"de"}`, 400, `{"error":"this model has no translator","code":"MISSING_CAPABILITY"}`},
		{"GET", "/models/org/m/tokenizer", "", 200, `{"version":"1.0"}`},
		{"GET", "/models/t/tokenizer", "", 400, `{"error":"this server has no tokenizer for the model","code":"MISSING_CAPABILITY"}`},
		{"GET", "/models/nope/tokenizer", "", 404, `{"error":"the model 'nope' does not exist","code":"NOT_FOUND"}`},
		{"POST", "/semantic_embed", `{}`, 400, `{"error":"model: is required","code":"INVALID"}`},
		{"POST", "/semantic_embed", `{"model":"t","prompt":"x","representation":"query"}`, 400, `{"error":"this model has no embedder","code":"MISSING_CAPABILITY"}`},
		{"POST", "/steering_concepts", `{}`, 400, `{"error":"steering concepts are not supported","code":"MISSING_CAPABILITY"}`},
	} {
		if w := ask(h, test.method, test.target, test.body); w.Code != test.status || strings.TrimSpace(w.Body.String()) != test.want {
			t.Errorf("%s %s %s: got %d %s", test.method, test.target, test.body, w.Code, w.Body)
		}
	}
	if want := (&llm.TranslateRequest{Texts: []string{"hi"}, Target: "xx", Beams: 4, SplitSentences: true}); !reflect.DeepEqual(m.got, want) {
		t.Errorf("asked for %+v", m.got)
	}
}
