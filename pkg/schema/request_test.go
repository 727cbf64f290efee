package schema

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// value decodes JSON as dialects do.
func value(t testing.TB, text string) map[string]any {
	t.Helper()
	doc, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.root.(map[string]any)
}

const untouched = `{"inputs": "", "top_k": 1, "parameters": {"stop": ["x"], "seed": null}, "list": [{"a": 1}, {"a": 2}]}`

func TestRequest(t *testing.T) {
	s := parse(t, small)
	for body, want := range map[string]string{
		`{}`:                                   untouched,
		`{"prompt": "p"}`:                      strings.Replace(untouched, `"inputs": ""`, `"inputs": "p"`, 1),
		`{"prompt": null}`:                     strings.Replace(untouched, `"inputs": ""`, `"inputs": null`, 1),
		`{"seed": 12345678901234567890}`:       strings.Replace(untouched, `"seed": null`, `"seed": 12345678901234567890`, 1),
		`{"stop": []}`:                         strings.Replace(untouched, `["x"]`, `[]`, 1),
		`{"all": 7}`:                           strings.NewReplacer(`{"a": 1}`, `{"a": 7}`, `{"a": 2}`, `{"a": 7}`).Replace(untouched),
		`{"far": 1}`:                           untouched,
		`{"gone": 1}`:                          untouched,
		`{"whole": 1}`:                         untouched,
		`{"unknown": 1, "top_k": 50}`:          untouched,
		`{"prompt again": "2", "prompt": "1"}`: strings.Replace(untouched, `"inputs": ""`, `"inputs": "2"`, 1), // in the record's order
	} {
		got, err := json.Marshal(s.Request(value(t, body)))
		if err != nil || !same(t, json.RawMessage(got), json.RawMessage(want)) {
			t.Errorf("%s\n got %s %v\nwant %s", body, got, err, want)
		}
	}
	if got := s.Request(map[string]any{"seed": json.Number("1e2")})["parameters"]; !same(t, got, json.RawMessage(`{"stop": ["x"], "seed": 1e2}`)) {
		t.Error(got)
	}
}

// A request shares nothing with the record, the caller or other requests.
func TestRequestCopies(t *testing.T) {
	s := parse(t, small)
	body := map[string]any{"stop": []any{"a", map[string]any{"b": 1}}, "all": map[string]any{"c": 1}}
	first := s.Request(body)
	first["parameters"].(map[string]any)["stop"].([]any)[1].(map[string]any)["b"] = 2
	first["list"].([]any)[0].(map[string]any)["a"].(map[string]any)["c"] = 2
	first["inputs"] = "changed"
	if !same(t, body, json.RawMessage(`{"stop": ["a", {"b": 1}], "all": {"c": 1}}`)) {
		t.Error("the body was changed: ", body)
	}
	if got := s.Request(nil); !same(t, got, json.RawMessage(untouched)) {
		t.Error("the record was changed: ", got)
	}
}

func TestSet(t *testing.T) {
	s := parse(t, `{
		"request": {
			"defaults": {"prompt": "", "stop": null, "seed": null, "bias": null, "temperature": 1, "echo": false, "json": null, "tools": []},
			"mapping": {"prompt": "$.prompt", "stop": "$.stop", "seed": "$.seed", "logit_bias": "$.bias", "temperature": "$.temperature",
				"return_full_text": "$.echo", "schema": "$.json", "tools": "$.tools", "top_p": "$.nowhere", "best_of": "$"}
		},
		"response": {"mapping": {}}
	}`)
	seed, cold, echo, one := int64(math.MaxInt64), 0.0, true, 1.0
	p := llm.Params{
		Stop: []string{"a", "b"}, Seed: &seed, LogitBias: map[int]float64{5: -1.5}, Temperature: &cold, Echo: &echo, TopP: &one,
		Schema: json.RawMessage(`{"z": 1, "a": 2}`), Tools: []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
	body := s.Request(map[string]any{"prompt": "p"})
	if err := p.Apply(s.Set(body)); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(body)
	want := `{"bias":{"5":-1.5},"echo":true,"json":{"z":1,"a":2},"prompt":"p","seed":9223372036854775807,"stop":["a","b"],"temperature":0,` +
		`"tools":[{"function":{"name":"f","parameters":{"type":"object"}},"type":"function"}]}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	p.Stop[0] = "changed"
	if same(t, body["stop"], p.Stop) {
		t.Error("the stop list is shared")
	}
	body["nowhere"] = "not of the record"
	half, two := 0.5, 2
	for name, p := range map[string]llm.Params{"top_p": {TopP: &half}, "best_of": {BestOf: &two}, "top_k": {TopK: &two}} {
		if err := p.Apply(s.Set(body)); err == nil || llm.AsError(err).Param != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnmapped(t *testing.T) {
	s := parse(t, small)
	got := s.Unmapped(value(t, `{"unknown": 1, "prompt": "p", "gone": 1, "far": 1, "whole": 1, "all": 1, "a": null}`))
	if strings.Join(got, " ") != "a far gone unknown whole" {
		t.Error(got)
	}
	if s.Takes("gone") || !s.Takes("seed") || s.Takes("") {
		t.Error("Takes")
	}
}

func TestOmitNull(t *testing.T) {
	s := parse(t, `{
		"request": {
			"omit_null": true,
			"defaults": {"keep": 1, "none": null, "empty": {}, "list": [null, 2], "system": [{"text": null, "kind": null}], "config": {"a": {"b": null}, "c": null}},
			"mapping": {"none": "$.none", "system": "$.system[0].text", "b": "$.config.a.b", "c": "$.config.c", "many": "$.config.*", "gone": "$.config.gone", "first": "$.list[0]"}
		},
		"response": {"mapping": {}}
	}`)
	base := `{"keep": 1, "empty": {}, "list": [null, 2]}`
	for body, want := range map[string]string{
		`{}`:                     base,
		`{"none": 1}`:            `{"keep": 1, "empty": {}, "list": [null, 2], "none": 1}`,
		`{"none": null}`:         `{"keep": 1, "empty": {}, "list": [null, 2], "none": null}`,
		`{"system": "s"}`:        `{"keep": 1, "empty": {}, "list": [null, 2], "system": [{"text": "s"}]}`,
		`{"b": 1}`:               `{"keep": 1, "empty": {}, "list": [null, 2], "config": {"a": {"b": 1}}}`,
		`{"c": 1, "b": 2}`:       `{"keep": 1, "empty": {}, "list": [null, 2], "config": {"a": {"b": 2}, "c": 1}}`,
		`{"many": 1, "gone": 1}`: base,
		`{"first": 1}`:           `{"keep": 1, "empty": {}, "list": [1, 2]}`,
	} {
		if got := s.Request(value(t, body)); !same(t, got, json.RawMessage(want)) {
			t.Errorf("%s\n got %v\nwant %s", body, got, want)
		}
		applied := s.Request(nil)
		set := s.Set(applied)
		for name, v := range value(t, body) {
			if ok := set(name, v); ok != s.Takes(name) {
				t.Errorf("%s is set: %t", name, ok)
			}
		}
		if !same(t, applied, json.RawMessage(want)) {
			t.Errorf("%s\n set %v\nwant %s", body, applied, want)
		}
	}
	if got := s.Unmapped(value(t, `{"many": 1, "gone": 1, "c": 1}`)); strings.Join(got, " ") != "gone many" {
		t.Error(got)
	}
}

func TestChat(t *testing.T) {
	text := func(role, s string) llm.Message { return llm.Message{Role: role, Parts: []llm.Part{{Text: s}}} }
	chat := []llm.Message{text("system", "be"), text("system", "terse"), text("user", "hi"), text("assistant", "yes?"), text("user", "bye")}
	record := func(defaults, mapping string) *Schema {
		return parse(t, `{"request": {"defaults": `+defaults+`, "mapping": `+mapping+`}, "response": {"mapping": {}}}`)
	}
	blocks := record(`{"system": "", "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}`,
		`{"prompt": "$.messages[0].content[0].text", "messages": "$.messages", "system": "$.system"}`)
	plainly := record(`{"messages": [{"role": "user", "content": ""}]}`, `{"prompt": "$.messages[0].content", "messages": "$.messages"}`)
	for want, s := range map[string]*Schema{
		`{"system": "be\n\nterse", "messages": [
			{"role": "user", "content": [{"type": "text", "text": "hi"}]},
			{"role": "assistant", "content": [{"type": "text", "text": "yes?"}]},
			{"role": "user", "content": [{"type": "text", "text": "bye"}]}]}`: blocks,
		`{"messages": [{"role": "system", "content": "be"}, {"role": "system", "content": "terse"}, {"role": "user", "content": "hi"},
			{"role": "assistant", "content": "yes?"}, {"role": "user", "content": "bye"}]}`: plainly,
	} {
		body, err := s.Chat(chat)
		if err != nil || !same(t, s.Request(body), json.RawMessage(want)) {
			t.Errorf("%v\n got %v\nwant %s", err, s.Request(body), want)
		}
	}
	for _, s := range []*Schema{
		record(`{"prompt": ""}`, `{"prompt": "$.prompt"}`),
		record(`{"prompt": "", "messages": []}`, `{"prompt": "$.prompt", "messages": "$.messages"}`),
		record(`{"messages": [{"content": ""}]}`, `{"prompt": "$.messages[*].content", "messages": "$.messages"}`),
		record(`{"messages": ["x"]}`, `{"prompt": "$.messages[0]", "messages": "$.messages"}`),
	} {
		if _, err := s.Chat(chat); err == nil || llm.AsError(err).Code != llm.Unsupported {
			t.Errorf("%s: %v", s.text, err)
		}
	}
	for _, m := range []llm.Message{
		{Role: "user", Parts: []llm.Part{{Tokens: []int{1}}}},
		{Role: "assistant", Calls: []llm.Call{{}}},
		{Role: "tool", CallID: "1"},
	} {
		if _, err := plainly.Chat([]llm.Message{m}); err == nil || llm.AsError(err).Code != llm.Unsupported {
			t.Errorf("%v: %v", m, err)
		}
	}
}
