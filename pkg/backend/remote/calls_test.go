package remote

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// Calls are numbered from 0 in the order of their beginnings, however a provider numbers
// them, and arguments that it leaves out are an empty object.
func TestCallNumbers(t *testing.T) {
	for _, test := range []struct {
		events []string
		want   string // or the beginning of an error
	}{
		{ // Claude numbers texts too
			[]string{`[{"index":1,"id":"a","function":{"name":"f"}}]`, `[{"index":1,"function":{"arguments":"{}"}}]`, `[{"index":3,"id":"b","function":{"name":"g"}}]`, `[{"index":3,"function":{"arguments":""}}]`},
			"[{0 a f } {0   {}} {1 b g } {1   } {1   {}}]",
		},
		{ // two calls at a time
			[]string{`[{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}]`, `[{"index":1,"function":{"arguments":"[]"}},{"index":0,"function":{"arguments":"{}"}}]`},
			"[{0 a f } {1 b g } {1   []} {0   {}}]",
		},
		{ // Mistral numbers nothing
			[]string{`[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":{"x":1}}}]`, `[{"function":{"arguments":"!"}}]`},
			`[{0 a f {}} {1 b f {"x":1}} {1   !}]`,
		},
		{ // a name that is repeated with each piece
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]`, `[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]`},
			"[{0 a f {} {0   }}]",
		},
		{ // a provider that numbers all calls 0
			[]string{
				`[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]`, `[{"index":0,"function":{"arguments":"}"}}]`,
				`[{"index":0,"id":"b","function":{"name":"f","arguments":"["}}]`, `[{"index":0,"id":"b","function":{"name":"f","arguments":"]"}}]`,
			},
			"[{0 a f {} {0   }} {1 b f [} {1   ]}]",
		},
		{ // and gives no ids
			[]string{`[{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":0,"function":{"name":"g"}}]`, `[{"index":0,"function":{"arguments":"[]"}}]`},
			"[{0  f {}} {1  g } {1   []}]",
		},
		{ // a new id with each piece, as vLLM gave
			[]string{`[{"index":0,"id":"a","function":{"name":"f"}}]`, `[{"index":0,"id":"b","function":{"arguments":"{}"}}]`},
			"[{0 a f } {0   {}}]",
		},
		{[]string{`[{"id":"a","function":{"name":"f","arguments":null}}]`}, "[{0 a f } {0   {}}]"},
		{[]string{`[]`, `null`}, "[]"},
		{[]string{`[{"index":0,"function":{"arguments":"{}"}}]`}, "tool_calls: the model's answer has a part of a call that has not begun"},
		{[]string{`[{"function":{"arguments":"{}"}}]`}, "tool_calls: the model's answer has a part of a call that has not begun"},
		{[]string{`[{"index":"x","function":{"name":"f"}}]`}, "tool_calls: the model's answer has calls of an unknown form"},
		{[]string{`[7]`}, "tool_calls: the model's answer has calls of an unknown form"},
		{[]string{`[` + strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f"}},`, maxCalls+1), ",") + `]`}, "tool_calls: the model's answer has too many calls"},
	} {
		var c calls
		var list []llm.Call
		got := ""
		for _, e := range test.events {
			var v any
			if err := json.Unmarshal([]byte(e), &v); err != nil {
				t.Fatal(err)
			}
			pieces, err := c.add(v)
			if err != nil {
				got = err.Error()
			}
			list = append(list, pieces...)
		}
		if got == "" {
			got = fmt.Sprint(append(list, c.end()...))
		}
		if got != test.want {
			t.Errorf("%.200s:\n got %s\nwant %s", test.events, got, test.want)
		}
	}
}

// What an error of the provider must not repeat includes arguments of calls, which are
// verbatim JSON.
func TestTextsOf(t *testing.T) {
	got := textsOf(nil, map[string]any{"input": json.RawMessage(`{"secret":"a long secret"}`), "type": "text", "list": []any{" b "}})
	if len(got) != 2 || !strings.Contains(strings.Join(got, " "), "a long secret") {
		t.Errorf("%q", got)
	}
}
