package toolcall_test

import (
	"encoding/json"
	"reflect"
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
		text := s.Write(calls)
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
	if got := s.Write(nil); got != "" {
		t.Errorf("%q", got)
	}
	if got := s.Write([]toolcall.Call{{Name: `a"b`, Arguments: "broken"}}); got != "<tool_call>\n{\"name\": \"a\\\"b\", \"arguments\": broken}\n</tool_call>" {
		t.Errorf("%q", got)
	}
}
