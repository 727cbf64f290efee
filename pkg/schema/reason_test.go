package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// reasons returns a record of a chat with a value of request.reasoning.
func reasons(reasoning string) []byte {
	return []byte(`{"request": {"omit_null": true,
		"defaults": {"messages": [{"role": "user", "content": ""}], "max": 100, "think": null, "vars": null},
		"mapping": {"prompt": "$.messages[0].content", "messages": "$.messages", "max_new_tokens": "$.max", "thinking": "$.think", "chat_template_kwargs": "$.vars"},
		"reasoning": ` + reasoning + `}, "response": {"mapping": {}}}`)
}

func TestReasoningMistakes(t *testing.T) {
	for reasoning, want := range map[string]string{
		`7`:                         "/request/reasoning: it is a number, not an object",
		`{}`:                        "/request/reasoning/on: it is missing",
		`{"on": true, "of": false}`: "/request/reasoning/of: unknown name",
		`{"on": "{budge}"}`:         "/request/reasoning/on: {budge} is not a place",
		`{"on": {"n": "{budget}"}}`: "/request/reasoning/effort: it is missing",
		`{"on": "{budget}", "efforts": {"low": "low"}, "effort": "low"}`:               "/request/reasoning/efforts/low: it is not a number of tokens from 1",
		`{"on": "{budget}", "efforts": {"low": 9}, "effort": "low", "min_budget": 10}`: "/request/reasoning/efforts/low: it is not a number of tokens from 10",
		`{"on": "{budget}", "efforts": {"low": 1e99}, "effort": "low"}`:                "/request/reasoning/efforts/low: it is not a number",
		`{"on": "{effort}", "efforts": {"low": 9}}`:                                    "/request/reasoning/efforts/low: it is a number, not a word",
		`{"on": "{effort}", "efforts": {"low": ""}}`:                                   "/request/reasoning/efforts/low: it is a string, not a word",
		`{"on": "{effort}", "efforts": []}`:                                            "/request/reasoning/efforts: it is a list, not an object",
		`{"on": "{effort}", "efforts": {"low": "low"}, "effort": "high"}`:              "/request/reasoning/effort: it is not among the efforts",
		`{"on": true, "always": true, "off": false}`:                                   "/request/reasoning/off: a model that always reasons",
		`{"on": true, "always": 1}`:                                                    "/request/reasoning/always: it is a number, not true or false",
		`{"on": true, "after_calls": null}`:                                            "/request/reasoning/after_calls: it is null, not true or false",
		`{"on": true, "min_budget": -1}`:                                               "/request/reasoning/min_budget: it is not a number of tokens",
		`{"on": true, "excludes": "temperature"}`:                                      "/request/reasoning/excludes: it is a string, not a list",
		`{"on": true, "excludes": ["top_k", "generated_text"]}`:                        "/request/reasoning/excludes/1: it is not a canonical key",
		`{"on": "` + strings.Repeat("x", maxTemplate+1) + `"}`:                         "/request/reasoning/on: it is larger than",
	} {
		if _, err := Parse(reasons(reasoning)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", reasoning, err)
		}
	}
	for list, want := range map[string]string{
		`[]`:                               "/request/reasoning: it has 0 elements",
		`[{"on": 1}, {"on": 2}]`:           "/request/reasoning/0/models: all elements except the last name",
		`[{"on": 1, "models": ["a"]}]`:     "/request/reasoning/0/models: all elements except the last name",
		`[{"on": 1, "models": ["a", ""]}]`: "/request/reasoning/0/models: it is not a list of parts",
		`[{"on": 1, "models": "a"}]`:       "/request/reasoning/0/models: it is not a list of parts",
		`[7]`:                              "/request/reasoning/0: it is a number",
		`[` + strings.Repeat(`{"on": 1, "models": ["a"]},`, maxReasoners) + `{"on": 1}]`: "/request/reasoning: it has 17 elements",
	} {
		if _, err := Parse(reasons(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", list, err)
		}
	}
	unmapped := strings.Replace(string(reasons(`{"on": true}`)), `"thinking": "$.think", `, "", 1)
	if _, err := Parse([]byte(unmapped)); err == nil || !strings.Contains(err.Error(), "/request/reasoning: the mapping lacks thinking") {
		t.Error(err)
	}
	list := strings.Replace(string(reasons(`{"on": true}`)), `"$.max"`, `["$.max", "$.think"]`, 1)
	if _, err := Parse([]byte(list)); err == nil || !strings.Contains(err.Error(), "it is a list, not a path") {
		t.Error(err)
	}
}

// A request for reasoning becomes the value of thinking, and what the value does not say remains.
func TestReason(t *testing.T) {
	const budget, word = `{"on": {"n": "{budget}"}, "off": 0, "efforts": {"low": 10, "high": 80}, "effort": "high", "min_budget": 5, "excludes": ["temperature", "top_k", "must_call"]}`, `{"on": "{effort}", "always": true, "efforts": {"low": "little"}}`
	yes, no, answered := new(true), new(false), []llm.Message{{Role: "assistant", Calls: []llm.Call{{}}}, {Role: "tool"}, {Role: "assistant"}, {Role: "user"}}
	for _, c := range []struct {
		record string
		p      llm.Params
		chat   []llm.Message
		want   string // the value, the parameters that remain, or the parameter of an error
	}{
		{budget, llm.Params{}, nil, `null {}`},
		{budget, llm.Params{Thinking: yes}, nil, `{"n":80} {"max_new_tokens":180}`},
		{budget, llm.Params{Effort: new("low")}, nil, `{"n":10} {"max_new_tokens":110}`},
		{budget, llm.Params{Effort: new("high"), MaxTokens: new(50)}, nil, `{"n":25} {"max_new_tokens":50}`},
		{budget, llm.Params{Effort: new("high"), MaxTokens: new(8)}, nil, `{"n":5} {"max_new_tokens":8}`},
		{budget, llm.Params{Effort: new("high"), MaxTokens: new(5)}, nil, `max_new_tokens`},
		{budget, llm.Params{MaxThinking: new(7), MaxTokens: new(8)}, nil, `{"n":7} {"max_new_tokens":8}`},
		{budget, llm.Params{MaxThinking: new(8), MaxTokens: new(8)}, nil, `max_new_tokens`},
		{budget, llm.Params{MaxThinking: new(4)}, nil, `max_thinking_tokens`},
		{budget, llm.Params{MaxThinking: new(0)}, nil, `0 {}`},
		{budget, llm.Params{Thinking: no, Effort: new("low"), Temperature: new(0.5)}, nil, `0 {"temperature":0.5}`},
		{budget, llm.Params{Effort: new("medium")}, nil, `reasoning_effort`},
		{budget, llm.Params{Thinking: yes, Temperature: new(0.5)}, nil, `temperature`},
		{budget, llm.Params{Thinking: yes, Temperature: new(1.0), TopK: new(0), MustCall: no}, nil, `{"n":80} {"max_new_tokens":180,"must_call":false,"temperature":1,"top_k":0}`},
		{budget, llm.Params{Thinking: yes, TopK: new(1)}, nil, `top_k`},
		{budget, llm.Params{Thinking: yes, MustCall: yes}, nil, `must_call`},
		{strings.Replace(budget, `"off": 0`, `"after_calls": false`, 1), llm.Params{Thinking: yes, Temperature: new(0.5)}, answered[:2], `null {"temperature":0.5}`},
		{strings.Replace(budget, `"off": 0`, `"after_calls": false`, 1), llm.Params{Thinking: yes}, answered, `{"n":80} {"max_new_tokens":180}`},
		{budget, llm.Params{Thinking: yes}, answered[:2], `{"n":80} {"max_new_tokens":180}`},
		{word, llm.Params{Thinking: yes}, nil, `null {}`},
		{word, llm.Params{Effort: new("low"), MaxThinking: new(3)}, nil, `"little" {"max_thinking_tokens":3}`},
		{word, llm.Params{Thinking: no}, nil, `thinking`},
		{word, llm.Params{Effort: new("high")}, nil, `reasoning_effort`},
		{`{"on": true}`, llm.Params{Effort: new("high"), MaxThinking: new(0)}, nil, `true {"max_thinking_tokens":0,"reasoning_effort":"high"}`},
	} {
		s, err := Parse(reasons(c.record))
		if err != nil {
			t.Fatal(c.record, err)
		}
		value, rest, err := s.Reason(c.p, c.chat)
		got := ""
		if err == nil {
			sent := map[string]any{}
			_ = rest.Apply(func(name string, v any) bool { sent[name] = v; return true })
			a, _ := json.Marshal(value)
			b, _ := json.Marshal(sent)
			got = string(a) + " " + string(b)
		} else {
			got = llm.AsError(err).Param
		}
		if got != c.want {
			t.Errorf("%s %+v: %s, want %s (%v)", c.record, c.p, got, c.want, err)
		}
	}
}

// The id of a model decides how it is asked to reason.
func TestReasonFor(t *testing.T) {
	s, err := Parse(reasons(`[{"models": ["a-1", "b-2"], "on": 1}, {"models": ["b"], "on": 2}, {"on": 3}]`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"us.a-1:0": "1", "b-2": "1", "b-3": "2", "c": "3", "": "3"} {
		value, _, err := s.For(id).Reason(llm.Params{Thinking: new(true)}, nil)
		if got, _ := json.Marshal(value); err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", id, got, err, want)
		}
	}
	if got := (*Schema)(nil).For("a"); got != nil {
		t.Error(got)
	}
}

// Variables of a chat template and thinking share a place; the record's own take precedence.
func TestReasonVariables(t *testing.T) {
	text := strings.Replace(string(reasons(`{"on": {"think": true}, "off": {"think": false}}`)), `"$.think"`, `"$.vars"`, 1)
	s, err := Parse([]byte(strings.Replace(text, `"think": null, `, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	value, rest, err := s.Reason(llm.Params{Thinking: new(false), TemplateArgs: json.RawMessage(`{"think": true, "date": "today"}`)}, nil)
	if got, _ := json.Marshal(value); err != nil || string(got) != `{"date":"today","think":false}` || rest.TemplateArgs != nil {
		t.Errorf("%s %s %v", got, rest.TemplateArgs, err)
	}
	// A record with places of their own keeps both.
	if s, err = Parse(reasons(`{"on": {"think": true}}`)); err != nil {
		t.Fatal(err)
	}
	value, rest, err = s.Reason(llm.Params{Thinking: new(true), TemplateArgs: json.RawMessage(`{"date": "today"}`)}, nil)
	if got, _ := json.Marshal(value); err != nil || string(got) != `{"think":true}` || rest.TemplateArgs == nil {
		t.Errorf("%s %s %v", got, rest.TemplateArgs, err)
	}
}

// The keys of a request have the same meaning, and a value in the model's own form stays.
func TestReasonKeys(t *testing.T) {
	s, err := Parse(reasons(`{"on": {"n": "{budget}"}, "efforts": {"low": 10}, "effort": "low", "excludes": ["must_call"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{}`:                                `{}`,
		`{"thinking": true, "prompt": "p"}`: `{"max_new_tokens":110,"prompt":"p","thinking":{"n":10}}`,
		`{"thinking": {"m": 1}, "reasoning_effort": "low"}`:                     `reasoning_effort`,
		`{"max_thinking_tokens": 3, "max_new_tokens": 9}`:                       `{"max_new_tokens":9,"thinking":{"n":3}}`,
		`{"thinking": false, "max_new_tokens": 9}`:                              `{"max_new_tokens":9}`,
		`{"thinking": true, "chat_template_kwargs": {"a": 1}}`:                  `{"chat_template_kwargs":{"a":1},"max_new_tokens":110,"thinking":{"n":10}}`,
		`{"thinking": true, "tool_choice": "required"}`:                         `must_call`,
		`{"thinking": {"m": 1}, "prompt": "p"}`:                                 `{"prompt":"p","thinking":{"m":1}}`,
		`{"thinking": {"m": 1}, "max_thinking_tokens": 3}`:                      `max_thinking_tokens`,
		`{"reasoning_effort": "no"}`:                                            `reasoning_effort`,
		`{"reasoning_effort": 7, "max_thinking_tokens": "3", "thinking": null}`: `reasoning_effort`,
	} {
		var keys map[string]any
		if err := json.Unmarshal([]byte(body), &keys); err != nil {
			t.Fatal(err)
		}
		out, err := s.ReasonKeys(keys)
		got := ""
		if err != nil {
			got = llm.AsError(err).Param
		} else {
			b, _ := json.Marshal(out)
			got = string(b)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		if before, _ := json.Marshal(keys); !same(t, json.RawMessage(before), json.RawMessage(body)) {
			t.Errorf("%s was changed to %s", body, before)
		}
	}
	if got := words(map[string]any{"xhigh": 1, "most": 1, "low": 1, "least": 1}); got != "low, xhigh, least, most" {
		t.Error(got)
	}
	if names := s.Unmapped(map[string]any{"reasoning_effort": "low", "max_thinking_tokens": 1, "seed": 1}); len(names) != 1 || names[0] != "seed" {
		t.Error(names)
	}
}
