package toolcall_test

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"glossa/pkg/toolcall"
)

// What Write writes in any syntax is read back as the same calls.
func TestWriteIsRead(t *testing.T) {
	calls := []toolcall.Call{
		{Name: "f", Arguments: `{"city": "St. \"Ulm\"\n<é>", "n": -1.5e3, "deep": {"a": [true, null, "x"]}}`},
		{Index: 1, Name: "g_2", Arguments: `{}`},
	}
	written := func(_, parameter string) bool { return parameter == "city" }
	for _, s := range toolcall.Families() {
		text := join(s.Write(calls))
		r := toolcall.NewReader(&s, written)
		var got []toolcall.Call
		piece := r.Push(text, true)
		for _, c := range piece.Calls {
			if c.Index == len(got) {
				got = append(got, c)
			} else {
				got[c.Index].Arguments += c.Arguments
			}
		}
		if len(got) != 2 || piece.Text != "" {
			t.Errorf("%s: %q: %+v", s.Family, text, piece)
			continue
		}
		for i := range got {
			var x, y any
			if err := json.Unmarshal([]byte(got[i].Arguments), &x); err != nil || json.Unmarshal([]byte(calls[i].Arguments), &y) != nil || got[i].Name != calls[i].Name || !reflect.DeepEqual(x, y) {
				t.Errorf("%s: %q: %+v", s.Family, text, got[i])
			}
		}
	}
	s := toolcall.Hermes()
	if got := join(s.Write(nil)); got != "" {
		t.Errorf("%q", got)
	}
	if got := join(s.Write([]toolcall.Call{{Name: `a"b`, Arguments: "broken"}})); got != "<tool_call>\n{\"name\": \"a\\\"b\", \"arguments\": broken}\n</tool_call>" {
		t.Errorf("%q", got)
	}
}

func join(parts []toolcall.Part) (text string) {
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// The text of a call is not the syntax's, whatever it spells.
func TestWriteTellsWhoWrote(t *testing.T) {
	for _, s := range toolcall.Families() {
		for _, p := range s.Write([]toolcall.Call{{Name: "ZZf", Arguments: `{"ZZk":"ZZ<|x|>","ZZl":["ZZ",{"ZZm":"ZZ"}]}`}}) {
			if p.Own && strings.Contains(p.Text, "ZZ") {
				t.Errorf("%s: %q is part of the syntax", s.Family, p.Text)
			}
		}
	}
}

// Arguments of any depth and number of members take memory in proportion to their size.
func TestWriteOfLargeArguments(t *testing.T) {
	const most = 60 // bytes that are allocated for a byte of the arguments
	for name, arguments := range map[string]string{
		"deep": `{"a":` + strings.Repeat("[", 2000) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat("]", 2000) + `}`,
		"wide": `{"a":[` + strings.Repeat("1,", 50_000) + `1]}`,
	} {
		for _, s := range toolcall.Families() {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			parts := s.Write([]toolcall.Call{{Name: "f", Arguments: arguments}})
			runtime.ReadMemStats(&after)
			if each := int(after.TotalAlloc-before.TotalAlloc) / len(arguments); each > most || len(parts) == 0 {
				t.Errorf("%s, %s: %d bytes are allocated for a byte", s.Family, name, each)
			}
		}
	}
}
