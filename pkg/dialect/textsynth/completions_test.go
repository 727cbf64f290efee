package textsynth

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// complete decodes and translates a body.
func complete(body string) (*llm.Request, error) {
	var in completionRequest
	if err := completionTable.Decode([]byte(body), &in); err != nil {
		return nil, err
	}
	return in.request()
}

// TestDefaults compares the defaults with TextSynth's documentation §1.3.
func TestDefaults(t *testing.T) {
	req, err := complete(`{"prompt":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(req.Params, llm.Params{}) {
		t.Errorf("sent: %+v", req.Params)
	}
	p := req.Effective()
	if *p.MaxTokens != 100 || *p.Temperature != 1 || *p.TopK != 40 || *p.TopP != 0.9 || *p.Truncate != 0 || p.TypicalP != nil ||
		p.Stop != nil || p.Seed != nil || p.PresencePenalty != nil || p.FrequencyPenalty != nil || p.RepetitionPenalty != nil || p.LogitBias != nil {
		t.Errorf("effective: %+v", p)
	}
}

func TestCompletionRequest(t *testing.T) {
	x := []llm.Prompt{llm.Text("x")}
	for body, want := range map[string]llm.Request{
		`{"prompt":"x"}`:                              {Prompts: x, N: 1},
		`{"prompt":""}`:                               {Prompts: []llm.Prompt{llm.Text("")}, N: 1},
		`{"prompt":"<|endoftext|>"}`:                  {Prompts: []llm.Prompt{{Parts: []llm.Part{{Text: "<|endoftext|>"}}}}, N: 1},
		`{"prompt":["x","","y"]}`:                     {Prompts: []llm.Prompt{llm.Text("x"), llm.Text(""), llm.Text("y")}, N: 1},
		`{"prompt":"x","n":16}`:                       {Prompts: x, N: 16},
		`{"prompt":"x","stream":true}`:                {Prompts: x, N: 1, Stream: true},
		`{"prompt":"x","max_tokens":0}`:               {Prompts: x, N: 1, Params: llm.Params{MaxTokens: new(0)}},
		`{"prompt":"x","max_tokens":9999999}`:         {Prompts: x, N: 1, Params: llm.Params{MaxTokens: new(9999999)}},
		`{"prompt":"x","stop":"\n"}`:                  {Prompts: x, N: 1, Params: llm.Params{Stop: []string{"\n"}}},
		`{"prompt":"x","stop":["a","b","c","d","e"]}`: {Prompts: x, N: 1, Params: llm.Params{Stop: []string{"a", "b", "c", "d", "e"}}},
		`{"prompt":"x","stop":[]}`:                    {Prompts: x, N: 1, Params: llm.Params{Stop: []string{}}},
		`{"prompt":"x","temperature":0,"top_k":1,"top_p":1,"typical_p":1}`: {Prompts: x, N: 1, Params: llm.Params{
			Temperature: new(0.0), TopK: new(1), TopP: new(1.0), TypicalP: new(1.0),
		}},
		`{"prompt":"x","temperature":10,"top_k":1000,"top_p":0.5,"typical_p":0.25}`: {Prompts: x, N: 1, Params: llm.Params{
			Temperature: new(10.0), TopK: new(1000), TopP: new(0.5), TypicalP: new(0.25),
		}},
		`{"prompt":"x","top_p":0,"typical_p":0}`:             {Prompts: x, N: 1, Params: llm.Params{TopP: new(1e-30), TypicalP: new(1e-30)}},
		`{"prompt":"x","logit_bias":{"44986":-100,"0":100}}`: {Prompts: x, N: 1, Params: llm.Params{LogitBias: map[int]float64{44986: -100, 0: 100}}},
		`{"prompt":"x","logit_bias":{}}`:                     {Prompts: x, N: 1, Params: llm.Params{LogitBias: map[int]float64{}}},
		`{"prompt":"x","presence_penalty":-2,"frequency_penalty":2,"repetition_penalty":1.2}`: {Prompts: x, N: 1, Params: llm.Params{
			PresencePenalty: new(-2.0), FrequencyPenalty: new(2.0), RepetitionPenalty: new(1.2),
		}},
		`{"prompt":"x","schema":{ "b":1, "a":2 },"grammar":null}`: {Prompts: x, N: 1, Params: llm.Params{Schema: json.RawMessage(`{ "b":1, "a":2 }`)}},
		`{"prompt":"x","schema":null,"grammar":"root ::= \"a\""}`: {Prompts: x, N: 1, Params: llm.Params{Grammar: new(`root ::= "a"`)}},
		`{"prompt":"x","seed":0}`:                                 {Prompts: x, N: 1},
		`{"prompt":"x","seed":2147483647}`:                        {Prompts: x, N: 1, Params: llm.Params{Seed: new(int64(math.MaxInt32))}},
	} {
		want.Defaults = completionDefaults()
		if got, err := complete(body); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

// TestDispositions sends every key of a completion and checks its disposition in the table.
func TestDispositions(t *testing.T) {
	values := map[string]string{ // one that is not the default
		"prompt": `"y"`, "max_tokens": "5", "stream": "true", "stop": `"x"`, "n": "2", "temperature": "0.5", "top_k": "3", "top_p": "0.5",
		"typical_p": "0.5", "logit_bias": `{"1":1}`, "presence_penalty": "1", "frequency_penalty": "1", "repetition_penalty": "2", "seed": "1",
		"schema": `{}`, "grammar": `"root ::= [a-z]"`,
	}
	plain, err := complete(`{"prompt":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Parameters() {
		key, ok := strings.CutPrefix(p.Name, "completions ")
		if !ok {
			continue
		}
		body := `{"prompt":"x","` + key + `":` + values[key] + `}`
		if key == "prompt" {
			body = `{"prompt":` + values[key] + `}`
		}
		got, err := complete(body)
		if err != nil || p.Disposition != wire.Honoured || reflect.DeepEqual(got, plain) {
			t.Errorf("%s is %s, and the request is %+v, %v", key, p.Disposition, got, err)
		}
	}
}

// TestFinishReasons: TextSynth has two finish reasons of unconstrained texts.
func TestFinishReasons(t *testing.T) {
	for why, want := range map[llm.Finish]string{
		llm.FinishEOS: "stop", llm.FinishStop: "stop", llm.FinishFiltered: "stop",
		llm.FinishLength: "length", llm.FinishContext: "length", llm.FinishDeadline: "length",
	} {
		for _, stream := range []string{"false", "true"} {
			w := ask(newFixture(), "POST", "/v1/engines/ends-"+string(why)+"/completions", `{"prompt":"x","stream":`+stream+`}`)
			if w.Code != 200 || strings.Count(w.Body.String(), `"finish_reason":"`+want+`"`) != 1 {
				t.Errorf("%s: got %d %s", why, w.Code, w.Body)
			}
		}
	}
}

// TestOneText: for each completion the texts of a stream join to the text without a stream,
// and only the last answer counts tokens.
func TestOneText(t *testing.T) {
	for engine, n := range map[string]int{"story": 1, "two": 2, "cut": 1, "silent": 1, "typed": 2} {
		target := "/v1/engines/" + engine + "/completions"
		rows := func(text any) (list []string) {
			if s, ok := text.(string); ok {
				return []string{s}
			}
			for _, s := range text.([]any) {
				list = append(list, s.(string))
			}
			return list
		}
		var whole map[string]any
		if err := json.Unmarshal(ask(newFixture(), "POST", target, `{"prompt":"x","n":`+string(rune('0'+n))+`}`).Body.Bytes(), &whole); err != nil {
			t.Fatal(err)
		}
		want, got := rows(whole["text"]), make([]string, n)
		frames := strings.SplitAfter(ask(newFixture(), "POST", target, `{"prompt":"x","stream":true,"n":`+string(rune('0'+n))+`}`).Body.String(), "\n\n")
		for i, frame := range frames[:len(frames)-1] {
			var part map[string]any
			if err := json.Unmarshal([]byte(frame), &part); err != nil {
				t.Fatal(err)
			}
			for row, s := range rows(part["text"]) {
				got[row] += s
			}
			last := i == len(frames)-2
			if !last && len(part) != 2 || part["reached_end"] != last {
				t.Errorf("%s: answer %d is %s", engine, i, frame)
			}
			if delete(part, "text"); last {
				delete(whole, "text")
				if !reflect.DeepEqual(part, whole) {
					t.Errorf("%s: ends with %v, whole %v", engine, part, whole)
				}
			}
		}
		if frames[len(frames)-1] != "" || !slices.Equal(got, want) {
			t.Errorf("%s: streamed %q, whole %q", engine, got, want)
		}
	}
}

// The backend receives the request's parameters.
func TestAsks(t *testing.T) {
	f := newFixture()
	ask(f, "POST", story, `{"prompt":["a","b"],"n":2,"seed":3}`)
	if got := f.story.got; got == nil || got.Rows() != 4 || *got.Seed != 3 {
		t.Errorf("%+v", f.story.got)
	}
}

// FuzzCompletions: no body makes the dialect panic, every rejection is a client error, and
// accepted values are in range.
func FuzzCompletions(f *testing.F) {
	f.Add([]byte(`{"prompt":"x","stop":["a"],"n":3,"logit_bias":{"5":-1},"max_tokens":9000,"seed":7,"stream":true}`))
	f.Add([]byte(`{"prompt":["x",""],"temperature":0,"top_k":1,"top_p":0,"typical_p":0.1,"schema":null}`))
	f.Add([]byte(`{"prompt":null,"repetition_penalty":1.2,"presence_penalty":-2,"frequency_penalty":2,"grammar":"root ::= [a-z]"}`))
	f.Add([]byte(`{"prompt":"x","schema":{"type":"object"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := complete(string(body))
		if err != nil {
			clientsFault(t, body, err)
			return
		}
		p := req.Effective()
		bad := req.N < 1 || req.N > 16 || len(req.Prompts) < 1 || len(req.Prompts) > 64 || *p.MaxTokens < 0 || *p.Temperature < 0 ||
			*p.TopK < 1 || *p.TopK > 1000 || *p.TopP <= 0 || *p.TopP > 1 || p.TypicalP != nil && (*p.TypicalP <= 0 || *p.TypicalP > 1) ||
			len(p.Stop) > 5 || slices.Contains(p.Stop, "") || p.Seed != nil && (*p.Seed < 1 || *p.Seed > math.MaxInt32) ||
			p.RepetitionPenalty != nil && *p.RepetitionPenalty <= 0 || p.Schema != nil && (p.Schema[0] != '{' || p.Grammar != nil) || p.Grammar != nil && *p.Grammar == ""
		for id, bias := range p.LogitBias {
			bad = bad || id < 0 || bias < -100 || bias > 100
		}
		for _, prompt := range req.Prompts {
			if _, ok := prompt.Text(); !ok {
				bad = true
			}
		}
		if bad {
			t.Errorf("%q was taken as %+v", body, req)
		}
	})
}

// FuzzTokenize: the same for texts to tokenise.
func FuzzTokenize(f *testing.F) {
	f.Add([]byte(`{"text":"The quick brown fox"}`))
	f.Add([]byte(`{"text":"","token_content_type":"base64"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var in tokenizeRequest
		err := tokenizeTable.Decode(body, &in)
		if err == nil {
			var text llm.Part
			if text, err = in.part(); err == nil && (in.Text == nil || text.Text != *in.Text || text.Special) {
				t.Errorf("%q was taken as %+v", body, text)
			}
		}
		if err != nil {
			clientsFault(t, body, err)
		}
	})
}
