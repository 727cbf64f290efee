package invoke

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// sent translates a body for a model in the process.
func sent(t *testing.T, body string, stream bool) (*llm.Request, error) {
	t.Helper()
	in, err := parse([]byte(to("local", "m", body)))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if _, err := in.fit(generator{}, stream, false); err != nil {
		return nil, err
	}
	return generation(in.Body, stream)
}

func TestGeneration(t *testing.T) {
	text := func(role, s string) llm.Message { return llm.Message{Role: role, Parts: []llm.Part{{Text: s}}} }
	lines := llm.Message{Role: "user", Parts: []llm.Part{{Text: "c\n"}, {Text: "d"}}}
	chat := func(list ...llm.Message) llm.Prompt { return llm.Prompt{Messages: list} }
	call := llm.Message{Role: "assistant", Calls: []llm.Call{{ID: "c", Name: "f", Arguments: "{}"}}}
	result := text("tool", "x")
	result.CallID = "c"
	for _, test := range []struct {
		body   string
		prompt llm.Prompt
		params llm.Params
	}{
		{`{"prompt":"a"}`, llm.Text("a"), llm.Params{}},
		{`{"inputs":"","prompt":null}`, llm.Text(""), llm.Params{}},
		{`{"prompt":"a","system":"s"}`, chat(text("system", "s"), text("user", "a")), llm.Params{}},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"text":"c"},{"text":"d"}]}],"system":"s"}`,
			chat(text("system", "s"), text("user", "a"), text("assistant", "b"), lines), llm.Params{}},
		{`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`,
			chat(call, result), llm.Params{}},
		{`{"prompt":"a","temperature":null,"stop":null,"schema":null,"tools":null,"logit_bias":null}`, llm.Text("a"), llm.Params{}},
		{`{"prompt":"a","max_new_tokens":0,"temperature":0,"top_k":0,"top_p":1,"typical_p":0.5,"seed":-1}`, llm.Text("a"), llm.Params{
			MaxTokens: new(0), Temperature: new(0.0), TopK: new(0), TopP: new(1.0), TypicalP: new(0.5), Seed: new(int64(-1)),
		}},
		{`{"prompt":"a","stop":[],"best_of":3,"truncate":0,"return_full_text":true,"tokens":false,"logprobs":5}`, llm.Text("a"), llm.Params{
			Stop: []string{}, BestOf: new(3), Truncate: new(0), Echo: new(true), Tokens: new(false), Logprobs: new(5),
		}},
		{`{"prompt":"a","logit_bias":{"7":-1.5},"repetition_penalty":1.5,"presence_penalty":-1,"frequency_penalty":1e-1}`, llm.Text("a"), llm.Params{
			LogitBias: map[int]float64{7: -1.5}, RepetitionPenalty: new(1.5), PresencePenalty: new(-1.0), FrequencyPenalty: new(0.1),
		}},
		{`{"prompt":"a","schema":{"b":1,"a":2}}`, llm.Text("a"), llm.Params{Schema: json.RawMessage(`{"b":1,"a":2}`)}},
		{`{"prompt":"a","grammar":"root ::= [a]","must_call":true,"one_call":false}`, llm.Text("a"), llm.Params{Grammar: new("root ::= [a]"), MustCall: new(true), OneCall: new(false)}},
		{`{"prompt":"a","tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,"parameters":{"b":1,"a":2}}},{"type":"function","function":{"name":"g"}}]}`,
			llm.Text("a"), llm.Params{Tools: []llm.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"b":1,"a":2}`)}, {Name: "g", Parameters: json.RawMessage(openaiapi.NoArguments)}}}},
	} {
		for _, stream := range []bool{false, true} {
			want := llm.Request{Prompts: []llm.Prompt{test.prompt}, N: 1, Stream: stream, Params: test.params}
			got, err := sent(t, test.body, stream)
			if err != nil || !reflect.DeepEqual(*got, want) {
				t.Errorf("%s: got %+v, %v", test.body, got, err)
			}
		}
	}
}

// TestTypes: a value of a wrong type is rejected with the name of its key, for every key.
func TestTypes(t *testing.T) {
	for _, key := range keys() {
		for _, value := range []string{`"x"`, `1.5`, `1`, `true`, `[]`, `[[]]`, `[1]`, `{}`, `{"x":"y"}`} {
			body := `{"prompt":"a","` + key + `":` + value + `}`
			if key == "prompt" || key == "inputs" || key == "messages" {
				body = `{"` + key + `":` + value + `}`
			}
			_, err := sent(t, body, false)
			e, _ := errors.AsType[*llm.Error](err)
			fits := slices.Contains(taken[key], value)
			if fits != (err == nil) || !fits && (e == nil || e.Code != llm.Invalid || !strings.HasPrefix(e.Param, key)) {
				t.Errorf("%s: %v", body, err)
			}
		}
	}
}

// taken lists the values of TestTypes that a key accepts.
var taken = map[string][]string{
	"prompt": {`"x"`}, "inputs": {`"x"`}, "system": {`"x"`}, "grammar": {`"x"`}, "stop": {`[]`}, "tools": {`[]`},
	"schema": {`{}`, `{"x":"y"}`}, "logit_bias": {`{}`},
	"max_new_tokens": {`1`}, "seed": {`1`}, "best_of": {`1`}, "truncate": {`1`}, "logprobs": {`1`}, "top_k": {`1`},
	"temperature": {`1.5`, `1`}, "top_p": {`1.5`, `1`}, "typical_p": {`1.5`, `1`}, "repetition_penalty": {`1.5`, `1`},
	"presence_penalty": {`1.5`, `1`}, "frequency_penalty": {`1.5`, `1`},
	"return_full_text": {`true`}, "tokens": {`true`}, "must_call": {`true`}, "thinking": {`true`}, "reasoning_effort": {`"x"`}, "max_thinking_tokens": {`1`}, "chat_template_kwargs": {`{}`, `{"x":"y"}`}, "one_call": {`true`}, "continue_final_message": {`true`},
	"repetition_penalties_include_prompt": {`true`}, "use_multiplicative_presence_penalty": {`true`}, "use_multiplicative_frequency_penalty": {`true`},
}

// TestRefused: invalid values of the right type.
func TestRefused(t *testing.T) {
	user := func(rest string) string { return `{"messages":[{"role":"user","content":"a"` + rest + `}]}` }
	tools := func(f string) string { return `{"prompt":"a","tools":[` + f + `]}` }
	const f = `{"type":"function","function":{"name":"f"}}`
	for body, param := range map[string]string{
		`{"prompt":"a","inputs":"b"}`:                                                                   "inputs",
		`{"prompt":"a","messages":[]}`:                                                                  "messages",
		`{"messages":[]}`:                                                                               "messages",
		`{"prompt":"a","schema":{},"grammar":"root ::= [a]"}`:                                           "grammar",
		`{"messages":[{"content":"a"}]}`:                                                                "messages[0].role",
		`{"messages":[{"role":"developer","content":"a"}]}`:                                             "messages[0].role",
		`{"messages":[{"role":"user"}]}`:                                                                "messages[0].content",
		`{"messages":[{"role":"user","content":[]}]}`:                                                   "messages[0].content",
		`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`:                                    "messages[0].content[0].text",
		`{"messages":[{"role":"user","content":[{"type":"image"}]}]}`:                                   "messages[0].content[0].type",
		`{"messages":[{"role":"tool","content":"a"}]}`:                                                  "messages[0].tool_call_id",
		user(`,"tool_call_id":"c"`):                                                                     "messages[0].tool_call_id",
		user(`,"name":"c"`):                                                                             "messages[0].name",
		user(`,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`):                              "messages[0].tool_calls",
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}}]}]}`:            "messages[0].tool_calls[0].function.name",
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[]"}}]}]}`: "messages[0].tool_calls[0].function.arguments",
		tools(strings.Repeat(`{},`, openaiapi.MaxTools) + f):                                            "tools",
		tools(f + `,` + f):                                                                              "tools[1].function.name",
		tools(`{"type":"function","function":{"name":"a b"}}`):                                          "tools[0].function.name",
		tools(`{"type":"custom","function":{"name":"f"}}`):                                              "tools[0].type",
		tools(`{"type":"function","function":{"name":"f","parameters":[]}}`):                            "tools[0].function.parameters",
		tools(`{"type":"function","function":{"name":"f","parameters":{}},"x":1}`):                      "tools[0].x",
	} {
		_, err := sent(t, body, false)
		if e, _ := errors.AsType[*llm.Error](err); e == nil || e.Param != param || e.Message == "" {
			t.Errorf("%s: %v, want %s refused", body, err, param)
		}
	}
}

// Every key has a row and every row a key.
func TestParameters(t *testing.T) {
	left := wire.Keys(reflect.TypeFor[request]())
	for _, key := range keys() {
		left["body."+key] = true
	}
	for _, p := range Parameters() {
		if !left[p.Name] || p.Note == "" {
			t.Errorf("%+v", p)
		}
		delete(left, p.Name)
	}
	if len(left) > 0 {
		t.Errorf("%v have no disposition", left)
	}
}

func TestFinishReasons(t *testing.T) {
	for why, want := range map[llm.Finish]string{
		llm.FinishEOS: "eos_token", llm.FinishStop: "stop_sequence", llm.FinishLength: "length", llm.FinishContext: "length",
		llm.FinishDeadline: "timeout", llm.FinishCancelled: "timeout", llm.FinishFiltered: "content_filtered",
	} {
		if got := finishReason(why); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
	}
}

// FuzzRequests: no body makes the dialect panic, and every rejection is a client error.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		`{"prompt":"a","stop":["b"],"logit_bias":{"1":2},"schema":{}}`, `{"inputs":"a","stream":true}`, `{"prompt":"a","watermark":null}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"system":"s","tools":[{"type":"function","function":{"name":"f"}}]}`,
	} {
		f.Add([]byte(to("local", "m", body)), true)
		f.Add([]byte(to("local", "m", body)), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		in, err := parse(body)
		if err == nil {
			if _, err := decodeValues(in.Body); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			if _, err = in.fit(generator{}, stream, false); err == nil {
				var req *llm.Request
				if req, err = generation(in.Body, stream); err == nil && (len(req.Prompts) != 1 || req.Stream != stream) {
					t.Fatalf("%q was taken as %+v", body, req)
				}
			}
		}
		if e, ok := errors.AsType[*llm.Error](err); err != nil && (!ok || e.Message == "" && e.Code != missing) {
			t.Fatalf("%q: %v", body, err)
		} else if ok {
			if status, _ := Errors.Body(e); status != 200 && status != 422 {
				t.Fatalf("%q: %d %v", body, status, err)
			}
		}
	})
}
