package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// starters returns the routes of a server with the starters alone.
func starters(t *testing.T) http.Handler {
	t.Helper()
	a, err := (&program{}).open("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a.Handler()
}

// A text is what an answer says, in any dialect.
type text struct {
	text    string
	in, out int // tokens
}

// A voice is a dialect in which a model continues a prompt.
type voice struct {
	path, body string // with the prompt, the number of tokens, and whether to stream
	piece      string // path of the text of an answer, or of a piece of a stream
	streamed   string // the same, if a stream has it elsewhere
	in, out    string // paths of the counts; + adds two
}

// prompted continue a text as it is, chatting do so through the model's template; novels has the same prompt
// for both.
var prompted = []voice{
	{"/v1/completions", `{"model":"novels","prompt":%q,"temperature":0,"max_tokens":%d,"stream":%v,"stream_options":{"include_usage":true}}`, "choices.0.text", "", "usage.prompt_tokens", "usage.completion_tokens"},
	{"/vllm/novels/v1/completions", `{"model":"novels","prompt":%q,"temperature":0,"max_tokens":%d,"stream":%v,"stream_options":{"include_usage":true}}`, "choices.0.text", "", "usage.prompt_tokens", "usage.completion_tokens"},
	{"/api/generate", `{"model":"novels","prompt":%q,"raw":true,"options":{"temperature":0,"num_predict":%d},"stream":%v}`, "response", "", "prompt_eval_count", "eval_count"},
	{"/complete", `{"model":"novels","prompt":%q,"temperature":0,"maximum_tokens":%d,"stream":%v}`, "completions.0.completion", "completion", "num_tokens_prompt_total", "num_tokens_generated"},
	{"/v1/engines/novels/completions", `{"prompt":%q,"temperature":0,"max_tokens":%d,"stream":%v}`, "text", "", "input_tokens", "output_tokens"},
}

var chatting = []voice{
	{"/v1/chat/completions", `{"model":"novels","messages":[{"role":"user","content":%q}],"temperature":0,"max_tokens":%d,"stream":%v,"stream_options":{"include_usage":true}}`, "choices.0.message.content", "choices.0.delta.content", "usage.prompt_tokens", "usage.completion_tokens"},
	{"/v1/responses", `{"model":"novels","input":%q,"temperature":0,"max_output_tokens":%d,"stream":%v,"store":false}`, "output.0.content.0.text", "delta", "usage.input_tokens", "usage.output_tokens"},
	{"/v1/messages", `{"model":"novels","messages":[{"role":"user","content":%q}],"temperature":0,"max_tokens":%d,"stream":%v}`, "content.0.text", "delta.text", "usage.input_tokens+usage.cache_read_input_tokens", "usage.output_tokens"},
	{"/api/chat", `{"model":"novels","messages":[{"role":"user","content":%q}],"options":{"temperature":0,"num_predict":%d},"stream":%v}`, "message.content", "", "prompt_eval_count", "eval_count"},
}

// post sends a request with a body of JSON.
func post(t *testing.T, h http.Handler, path, body string) (status int, answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// jsonDocuments returns the JSON documents of an answer: the whole, the data of events, or lines.
func jsonDocuments(t *testing.T, answer string) (list []any) {
	t.Helper()
	for line := range strings.Lines(answer) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var doc any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		list = append(list, doc)
	}
	return list
}

// at returns the value at a path of keys and indices; nil if there is none.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch of := v.(type) {
		case map[string]any:
			v = of[key]
		case []any:
			i := 0
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(of) {
				return nil
			}
			v = of[i]
		default:
			return nil
		}
	}
	return v
}

// said reads an answer. Later counts replace earlier ones.
func (v voice) said(t *testing.T, answer string, streamed bool) (s text) {
	t.Helper()
	path := v.piece
	if streamed && v.streamed != "" {
		path = v.streamed
	}
	for _, doc := range jsonDocuments(t, answer) {
		if piece, ok := at(doc, path).(string); ok {
			s.text += piece
		}
		for _, root := range []string{"", "response.", "message."} { // of events
			if n := counted(doc, root, v.in); n > 0 {
				s.in = n
			}
			if n := counted(doc, root, v.out); n > 0 {
				s.out = n
			}
		}
	}
	return s
}

// counted returns the sum of the numbers at paths below root, which + separates; 0 if there are none.
func counted(doc any, root, paths string) (sum int) {
	for path := range strings.SplitSeq(paths, "+") {
		if n, ok := at(doc, root+path).(float64); ok {
			sum += int(n)
		}
	}
	return sum
}

// TestOneAnswer: for prompts and limits by chance, every dialect gives the same text and the same counts,
// whole and streamed: the pieces of a stream join to the text.
func TestOneAnswer(t *testing.T) {
	h := starters(t)
	words := strings.Fields("The old lighthouse stood among lonely reeds, far from the river — “Ida”, a wise girl, never slept. É 雨\n and")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		n := 1 + rng.IntN(8)
		var prompt []string
		for range n {
			prompt = append(prompt, words[rng.IntN(len(words))])
		}
		start, limit := strings.Join(prompt, " "), 16+rng.IntN(30) // OpenAI's Responses have at least 16
		for _, kind := range [][]voice{prompted, chatting} {
			var first text
			for i, v := range kind {
				for _, streamed := range []bool{false, true} {
					body := fmt.Sprintf(v.body, start, limit, streamed)
					if !streamed {
						body = strings.Replace(body, `,"stream_options":{"include_usage":true}`, "", 1)
					}
					status, answer := post(t, h, v.path, body)
					if status != 200 {
						t.Fatalf("%s: %d %s", v.path, status, answer)
					}
					got := v.said(t, answer, streamed)
					if i == 0 && !streamed {
						first = got
					}
					if got != first || got.out < 1 || got.in < 1 {
						t.Errorf("%q of %d tokens: %s, streamed %v: %+v, want %+v", start, limit, v.path, streamed, got, first)
					}
				}
			}
		}
	}
}

// A caller is a dialect in which a model calls tools.
type caller struct {
	path, body string // with the number of tokens
	arguments  func(doc any) []any
}

// asText returns the arguments that are a text of JSON as a value.
func asText(v any) any {
	s, _ := v.(string)
	var out any
	if json.Unmarshal([]byte(s), &out) != nil {
		return nil
	}
	return out
}

var callers = []caller{
	{"/v1/chat/completions", `{"model":"tools","messages":[{"role":"user","content":"What is the weather in Oslo?"}],"max_tokens":%d,"tool_choice":"required","tools":[{"type":"function","function":{"name":"get_weather","parameters":PARAMETERS}}]}`,
		func(doc any) []any {
			return []any{asText(at(doc, "choices.0.message.tool_calls.0.function.arguments"))}
		}},
	{"/v1/responses", `{"model":"tools","input":"What is the weather in Oslo?","max_output_tokens":%d,"store":false,"tool_choice":"required","tools":[{"type":"function","name":"get_weather","parameters":PARAMETERS}]}`,
		func(doc any) (list []any) {
			items, _ := at(doc, "output").([]any)
			for _, item := range items {
				if at(item, "type") == "function_call" {
					list = append(list, asText(at(item, "arguments")))
				}
			}
			return list
		}},
	{"/v1/messages", `{"model":"tools","messages":[{"role":"user","content":"What is the weather in Oslo?"}],"max_tokens":%d,"tool_choice":{"type":"any"},"tools":[{"name":"get_weather","input_schema":PARAMETERS}]}`,
		func(doc any) (list []any) {
			blocks, _ := at(doc, "content").([]any)
			for _, block := range blocks {
				if at(block, "type") == "tool_use" {
					list = append(list, at(block, "input"))
				}
			}
			return list
		}},
	{"/api/chat", `{"model":"tools","stream":false,"messages":[{"role":"user","content":"What is the weather in Oslo?"}],"options":{"num_predict":%d},"tools":[{"type":"function","function":{"name":"get_weather","parameters":PARAMETERS}}]}`,
		func(doc any) []any {
			if calls := at(doc, "message.tool_calls"); calls == nil {
				return []any{map[string]any{"city": "", "days": 1.0}} // it may write instead
			}
			return []any{at(doc, "message.tool_calls.0.function.arguments")}
		}},
}

// TestCallsAreWhole: at every limit of tokens at which a model calls a tool, its arguments are whole, in every
// dialect.
func TestCallsAreWhole(t *testing.T) {
	h := starters(t)
	const parameters = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"note":{"type":"string"}},"required":["city","days"],"additionalProperties":false}`
	for _, c := range callers {
		called := 0
		for limit := 16; limit <= 80; limit += 4 {
			status, answer := post(t, h, c.path, strings.ReplaceAll(fmt.Sprintf(c.body, limit), "PARAMETERS", parameters))
			if status == 400 && limit < 40 { // the shortest call does not fit, which the error says
				continue
			}
			docs := jsonDocuments(t, answer)
			if status != 200 || len(docs) != 1 {
				t.Fatalf("%s with %d tokens: %d %s", c.path, limit, status, answer)
			}
			list := c.arguments(docs[0])
			for _, arguments := range list {
				in, _ := arguments.(map[string]any)
				_, city := in["city"].(string)
				_, days := in["days"].(float64)
				if !city || !days {
					t.Errorf("%s with %d tokens: %v in %s", c.path, limit, arguments, answer)
				}
				called++
			}
			if len(list) == 0 || slices.Contains(list, nil) {
				t.Errorf("%s with %d tokens: no call in %s", c.path, limit, answer)
			}
		}
		if called < 10 {
			t.Errorf("%s: only %d calls", c.path, called)
		}
	}
}
