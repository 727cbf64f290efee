package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// formed is a schema with a form of chats; MORE stands for members of the form.
const formed = `{
	"request": {
		"omit_null": true,
		"defaults": {"messages": [], "system": null, "tools": null, "choice": null, "parallel": null},
		"mapping": {"messages": "$.messages", "system": "$.system", "tools": "$.tools", "tool_choice": "$.choice", "one_call": "$.parallel"},
		"chat": {
			"merge": true,
			"text": {"text": "{text}"},
			"call": {"id": "{id}", "name": "{name}", "input": "{arguments}"},
			"messages": {
				"user": {"role": "user", "content": ["{parts}"]},
				"assistant": {"role": "assistant", "content": ["{parts}", "{calls}"]},
				"tool": {"role": "user", "content": [{"of": "{id}", "by": "{name}", "is": "{text}"}]}
			},
			"tool": {"name": "{name}", "about": "{description}", "schema": "{parameters}"},
			"choice": {"required": "any", "none": "none"}
			MORE
		}
	},
	"response": {"mapping": {}}
}`

func formOf(t testing.TB, more string) *Schema {
	t.Helper()
	return parse(t, strings.Replace(formed, "MORE", more, 1))
}

func said(role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// talk is a chat with a call.
func talk() []llm.Message {
	return []llm.Message{
		said("system", "Be terse."), said("user", "a"),
		{Role: "assistant", Calls: []llm.Call{{ID: "1", Name: "f", Arguments: `{"z":1,"a":2}`}}},
		{Role: "tool", CallID: "1", Parts: []llm.Part{{Text: "b"}}}, said("user", "c"),
	}
}

// written returns the request for a chat with a tool.
func written(t testing.TB, s *Schema, messages []llm.Message, p llm.Params, declared []llm.Tool) string {
	t.Helper()
	keys, err := s.Chat(messages)
	if err != nil {
		return err.Error()
	}
	body := s.Request(keys)
	choice, p, err := s.Choice(p, declared)
	if err == nil && choice != nil {
		s.Set(body)("tool_choice", choice)
	}
	if err == nil {
		err = p.Apply(s.Set(body))
	}
	if err != nil {
		return err.Error()
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Marks for the provider's cache are where the record puts them.
func TestCacheMarks(t *testing.T) {
	tools := llm.Params{Tools: []llm.Tool{{Name: "f"}, {Name: "g"}}}
	for more, want := range map[string]string{
		``: `{"messages":[{"content":[{"text":"a"}],"role":"user"},{"content":[{"id":"1","input":{"z":1,"a":2},"name":"f"}],"role":"assistant"},` +
			`{"content":[{"by":"f","is":"b","of":"1"},{"text":"c"}],"role":"user"}],"system":"Be terse.","tools":[{"name":"f"},{"name":"g"}]}`,
		`, "system": [{"text": "{text}"}], "cache": {"at": ["system", "tools", "messages"], "block": {"point": {}}}`: `{"messages":[{"content":[{"text":"a"}],"role":"user"},` +
			`{"content":[{"id":"1","input":{"z":1,"a":2},"name":"f"}],"role":"assistant"},{"content":[{"by":"f","is":"b","of":"1"},{"text":"c"},{"point":{}}],"role":"user"}],` +
			`"system":[{"text":"Be terse."},{"point":{}}],"tools":[{"name":"f"},{"name":"g"},{"point":{}}]}`,
		`, "system": [{"text": "{text}"}], "cache": {"at": ["system", "tools", "messages"], "members": {"keep": {"ttl": "5m"}}}`: `{"messages":[{"content":[{"text":"a"}],"role":"user"},` +
			`{"content":[{"id":"1","input":{"z":1,"a":2},"name":"f"}],"role":"assistant"},{"content":[{"by":"f","is":"b","of":"1"},{"keep":{"ttl":"5m"},"text":"c"}],"role":"user"}],` +
			`"system":[{"keep":{"ttl":"5m"},"text":"Be terse."}],"tools":[{"name":"f"},{"keep":{"ttl":"5m"},"name":"g"}]}`,
		`, "cache": {"at": ["messages"], "block": 1}`: `{"messages":[{"content":[{"text":"a"}],"role":"user"},{"content":[{"id":"1","input":{"z":1,"a":2},"name":"f"}],"role":"assistant"},` +
			`{"content":[{"by":"f","is":"b","of":"1"},{"text":"c"},1],"role":"user"}],"system":"Be terse.","tools":[{"name":"f"},{"name":"g"}]}`,
	} {
		s := formOf(t, more)
		for range 2 { // a mark is not left in the record
			if got := written(t, s, talk(), tools, nil); got != want {
				t.Errorf("%s:\n got %s\nwant %s", more, got, want)
			}
		}
	}
}

func TestChoice(t *testing.T) {
	f, g := llm.Tool{Name: "f"}, llm.Tool{Name: "g"}
	both := []llm.Tool{f, g}
	must, one := new(true), new(true)
	const named = `, "one_call": false`
	for _, test := range []struct {
		more     string
		p        llm.Params
		declared []llm.Tool
		want     string // the tools, the choice, the parallel calls; or an error
	}{
		{"", llm.Params{Tools: both}, nil, "2 <nil> <nil>"},
		{"", llm.Params{Tools: both, MustCall: must}, nil, "2 any <nil>"},
		{"", llm.Params{Tools: both[1:], MustCall: must}, both, "1 any <nil>"},
		{"", llm.Params{Tools: both[1:]}, both, "1 <nil> <nil>"},
		{"", llm.Params{}, both, "2 none <nil>"},
		{"", llm.Params{}, nil, "0 <nil> <nil>"},
		{"", llm.Params{Tools: both, OneCall: one}, nil, "2 <nil> true"},
		{named, llm.Params{Tools: both, OneCall: one, MustCall: must}, nil, "2 any false"},
	} {
		var body struct {
			Tools            []any
			Choice, Parallel any
		}
		got := written(t, formOf(t, test.more), talk(), test.p, test.declared)
		if err := json.Unmarshal([]byte(got), &body); err == nil {
			got = strings.TrimSuffix(fmt.Sprintln(len(body.Tools), body.Choice, body.Parallel), "\n")
		}
		if got != test.want {
			t.Errorf("%+v of %d: %s, want %s", test.p, len(test.declared), got, test.want)
		}
	}
	silent := parse(t, strings.NewReplacer("MORE", "", `"choice": {"required": "any", "none": "none"}`, `"merge": true`, `"merge": true,
			"text"`, `"text"`).Replace(formed))
	for p, want := range map[*llm.Params]string{
		{Tools: both, MustCall: must}: "must_call: this model does not support it", {}: "must_call: this model cannot be told to make no calls in a chat that has calls",
	} {
		if got := written(t, silent, talk(), *p, both); got != want {
			t.Errorf("%+v: %s", p, got)
		}
	}
}

// What a form has no template for is rejected by its place.
func TestFormRefuses(t *testing.T) {
	s := formOf(t, "")
	image := llm.Part{Image: &llm.Image{Type: "image/png", Data: []byte{1}}}
	for _, test := range []struct {
		m    llm.Message
		want string
	}{
		{llm.Message{Role: "user", Parts: []llm.Part{image}}, "messages[1]: this model reads text only, not images"},
		{llm.Message{Role: "system", Parts: []llm.Part{image}}, "messages[1]: this model reads text only, not images"},
		{llm.Message{Role: "user", Parts: []llm.Part{{Tokens: []int{1}}}}, "messages: this model accepts text, not token ids"},
		{said("narrator", "x"), "messages[1].role: this model has no messages of the role narrator"},
		{llm.Message{Role: "assistant", Calls: []llm.Call{{ID: "1", Name: "f", Arguments: "{"}}}, "messages[1].tool_calls: the arguments of a call are not JSON"},
	} {
		if got := written(t, s, []llm.Message{said("user", "a"), test.m}, llm.Params{}, nil); got != test.want {
			t.Errorf("%+v: %s", test.m, got)
		}
	}
	deaf := parse(t, strings.NewReplacer("MORE", "", `"call": {"id": "{id}", "name": "{name}", "input": "{arguments}"},`, "").Replace(formed))
	for i, want := range map[int]string{2: "messages[2].tool_calls", 3: "messages[0].tool_call_id"} {
		list := talk()[:3]
		if i == 3 {
			list = talk()[3:4]
		}
		if got := written(t, deaf, list, llm.Params{}, nil); got != want+": this model does not support chats with tool calls" {
			t.Error(got)
		}
	}
}

// Mistakes in a form are found when the record is read, at their place.
func TestFormMistakes(t *testing.T) {
	for more, want := range map[string]string{
		`, "image": "{name}"`:                                     `/request/chat/image: {name} is not a place of this template; it has {type}, {format}, {data}`,
		`, "image": {"a": [{"b": "x{data"}]}`:                     `/request/chat/image/a/0/b: {data is not a place of this template; it has {type}, {format}, {data}`,
		`, "image": "{}"`:                                         `/request/chat/image: {} is not a place of this template; it has {type}, {format}, {data}`,
		`, "image": ["` + strings.Repeat("{data}", 5) + `"]`:      `/request/chat/image: it has {data} 5 times, at most 4 are allowed`,
		`, "image": {"` + strings.Repeat("x", 4000) + `": 1}`:     `/request/chat/image: it is larger than 4000 bytes`,
		`, "image": [` + strings.Repeat("0,", 2000) + `0]`:        `/request/chat/image: it is larger than 4000 bytes`,
		`, "picture": "{data}"`:                                   `/request/chat/picture: unknown name; known are messages, system, text, image, call, tool, choice, one_call, merge, call_id, cache`,
		`, "call_id": {"min": 1, "max": 8}`:                       `/request/chat/call_id/max: it is not a number of characters from 9 to 1000`,
		`, "call_id": {"min": 10, "max": 9}`:                      `/request/chat/call_id: max is less than min`,
		`, "call_id": {"min": 1, "max": 1e99}`:                    `/request/chat/call_id/max: it is not a number of characters from 9 to 1000`,
		`, "call_id": {"max": 64, "marks": "_-"}`:                 `/request/chat/call_id/min: it is not a number of characters from 1 to 1000`,
		`, "call_id": 9`:                                          `/request/chat/call_id: it is a number, not an object`,
		`, "cache": {"at": ["tools"]}`:                            `/request/chat/cache: it needs either members or a block`,
		`, "cache": {"at": ["tools"], "block": 1, "members": {}}`: `/request/chat/cache: it needs either members or a block`,
		`, "cache": {"at": ["somewhere"], "block": 1}`:            `/request/chat/cache/at: it lists places other than system, tools and messages`,
		`, "cache": {"block": 1}`:                                 `/request/chat/cache/at: it is missing, not a list of places`,
		`, "cache": {"at": ["system"], "block": 1}`:               `/request/chat/cache/at: the template of system is not a list, so that it has no element to mark`,
	} {
		_, err := Parse([]byte(strings.Replace(formed, "MORE", more, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", more, err, want)
		}
	}
	for from, to := range map[string][2]string{
		`"assistant": {"role": "assistant", "content": ["{parts}", "{calls}"]}`: {`"assistant": {"content": "{text}"}`, "/request/chat/messages/assistant: it has no {calls}, so that calls are lost"},
		`"user": {"role": "user", "content": ["{parts}"]},`:                     {"", "/request/chat/messages/user: it is missing"},
		`"messages": "$.messages", `:                                            {"", "/request/chat: the mapping lacks messages"},
		`"tool_choice": "$.choice", `:                                           {"", "/request/chat/choice: the mapping lacks tool_choice"},
		`"required": "any"`:                                                     {`"perhaps": "any"`, "/request/chat/choice/perhaps: unknown name; known are auto, required, named, none"},
		`"merge": true`:                                                         {`"merge": 1`, "/request/chat/merge: it is a number, not true or false"},
		`"response": {"mapping": {}}`:                                           {`"response": {"mapping": {"tool_calls": "$.x"}, "calls": {"name": "$.n"}}`, "/response/calls/arguments: it is missing"},
		`"response": {"mapping": {} }`:                                          {`x`, ""},
	} {
		text := strings.Replace(formed, "MORE", "", 1)
		if !strings.Contains(text, from) {
			continue
		}
		_, err := Parse([]byte(strings.Replace(text, from, to[0], 1)))
		if err == nil || !strings.Contains(err.Error(), to[1]) {
			t.Errorf("%s: %v, want %s", to[0], err, to[1])
		}
	}
}

// An alternative is checked as the schema is, at its own place.
func TestAlternativeMistakes(t *testing.T) {
	const one = `{"request": {"defaults": {"p": ""}, "mapping": {"prompt": "$.p"}}, "response": {"mapping": {}}, "alternative": ALT}`
	for alternative, want := range map[string]string{
		`7`: "/alternative: it is a number, not an object", `{}`: "/alternative/request: it is missing",
		`{"api": "invoke", "request": {"defaults": {}, "mapping": {}}, "response": {"mapping": {}}}`:                "/alternative/api: it must be converse, ",
		`{"request": {"defaults": {}, "mapping": {}}, "response": {"mapping": {}}, "alternative": {}}`:              "/alternative/alternative: unknown name",
		`{"request": {"defaults": {}, "mapping": {"x": "["}}, "response": {"mapping": {}, "calls": {"each": "["}}}`: "/alternative/response/calls/each: the path",
	} {
		_, err := Parse([]byte(strings.Replace(one, "ALT", alternative, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", alternative, err, want)
		}
	}
}

// Ids that a model does not take are replaced: the same in calls and results, and
// different for different calls.
func TestCallIDs(t *testing.T) {
	d := ids{min: 9, max: 9}
	messages := []llm.Message{{Calls: []llm.Call{{ID: "a1B2c3D4e"}, {ID: "x"}, {ID: ""}, {ID: "ends in _"}}}, {CallID: "x"}, {CallID: "y"}}
	got := d.named(messages)
	if got["a1B2c3D4e"] != "a1B2c3D4e" || len(got) != 5 {
		t.Errorf("%v", got)
	}
	seen := map[string]bool{}
	for id, short := range got {
		if !d.fits(short) || seen[short] {
			t.Errorf("%q is %q", id, short)
		}
		seen[short] = true
	}
	if d.fits("a1B2c3D4") || d.fits("a1B2c3D4ef") || d.fits("a1B2c3D4_") || !(ids{min: 1, max: 64, marks: "_"}).fits("_") {
		t.Error("an id of another form fits")
	}
	// The hash of another id is already the id of a call.
	taken := d.hash("x")
	if got := d.named([]llm.Message{{Calls: []llm.Call{{ID: "x"}, {ID: taken}}}}); got[taken] != taken || got["x"] == taken || !d.fits(got["x"]) {
		t.Errorf("%v", got)
	}
	if got := (ids{}).named(messages); got["x"] != "x" || got[""] == "" {
		t.Errorf("%v", got)
	}
}

// Calls are read from hostile answers within the budget.
func TestHostileCalls(t *testing.T) {
	s := parse(t, `{"request": {"defaults": {}, "mapping": {}}, "response": {"mapping": {},
		"calls": {"each": "$..x..x[*]", "index": "$..i", "id": "$.id", "name": "$..name", "arguments": "$.a"}}}`)
	deep := strings.Repeat(`{"x":[`, 60) + strings.Repeat(`]}`, 60)
	wide := `{"x":[` + strings.TrimSuffix(strings.Repeat(`{"x":[{"name":"f"}]},`, 60000), ",") + `]}`
	for _, answer := range []string{deep, wide, `{"x":{"x":[{"name":7,"a":{"b":[1,null,"<"]}}]}}`, `[]`, `7`} {
		keys, err := s.Response.Read([]byte(answer))
		if e := llm.AsError(err); err != nil && e.Code != llm.Upstream {
			t.Errorf("%.100s: %v %v", answer, keys, err)
		}
	}
	keys, err := s.Response.Read([]byte(`{"x":{"x":[{"name":7,"a":{"z":[1,null,true,"<\n"],"a":{}}}]}}`))
	if got := fmt.Sprint(keys["tool_calls"]); err != nil || got != `[map[function:map[arguments:{"z":[1,null,true,"\u003c\n"],"a":{}}]]]` {
		t.Errorf("%s %v", got, err)
	}
}
