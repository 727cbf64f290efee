package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

var callIDs = regexp.MustCompile(`^call_[a-z2-7]{24}$`)

// splitCalls pushes the pieces of a row, the last with its end, and returns the row as
// [llm.Collect] does. Its ids are 1, 2 and so on.
func splitCalls(t *testing.T, form chat.CallFormat, pieces ...string) llm.Chunk {
	t.Helper()
	s := &callParser{format: form, ids: rand.NewChaCha8([32]byte{})}
	seen := map[string]bool{}
	rows, _, err := llm.Collect(func(yield func(llm.Chunk, error) bool) {
		begun := 0
		for i, piece := range pieces {
			c := llm.Chunk{Text: piece}
			if i == len(pieces)-1 {
				c.Finish = llm.FinishEOS
			}
			s.push(&c)
			for j := range c.Calls {
				call := &c.Calls[j]
				switch first := call.Index == begun; {
				case first && (!callIDs.MatchString(call.ID) || seen[call.ID] || call.Name == ""):
					t.Errorf("%q: the first piece is %+v", pieces, *call)
				case !first && (call.Index != begun-1 || call.ID+call.Name != "" || call.Arguments == ""):
					t.Errorf("%q: after %d calls a piece is %+v", pieces, begun, *call)
				case first:
					seen[call.ID] = true
					begun++
					call.ID = fmt.Sprint(begun)
				}
			}
			if !yield(c, nil) {
				return
			}
		}
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

func TestCallParser(t *testing.T) {
	concat, llama3, chatml := chat.Concat.Calls(), chat.Llama3.Calls(), chat.ChatML.Calls()
	for _, test := range []struct {
		form  chat.CallFormat
		row   string
		text  string
		calls string // name and arguments of each, in brackets
	}{
		{concat, `{"name": "f", "arguments": {}}`, "", "[f {}]"},
		{concat, `{"name": "f", "arguments": {"a":[1,{"b":"}]\"\\"}]}}` + "\n" + `{"name": "g-2_Z", "arguments": {"é":"\u00e9"}}`, "", `[f {"a":[1,{"b":"}]\"\\"}]}] [g-2_Z {"é":"\u00e9"}]`},
		{llama3, `{"name": "f", "parameters": {"a":"{"}}; {"name": "f", "parameters": {}}; {"name": "f", "parameters": {}}`, "", `[f {"a":"{"}] [f {}] [f {}]`},
		{chatml, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>", "", `[f {"a":1}]`},
		{chatml, "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>", "", "[f {}] [g {}]"},

		// Text.
		{concat, "", "", ""},
		{concat, "Hello", "Hello", ""},
		{concat, ` {"name": "f", "arguments": {}}`, ` {"name": "f", "arguments": {}}`, ""},
		{concat, `{"names": 1}`, `{"names": 1}`, ""},
		{concat, "{é", "{é", ""},
		{chatml, "<think>\n</think>", "<think>\n</think>", ""},
		{chatml, "It is 1 < 2.\n<tool_call>", "It is 1 < 2.\n<tool_call>", ""},

		// Possible in unconstrained text only.
		{concat, `{"name": "no name", "arguments": {}}`, `{"name": "no name", "arguments": {}}`, ""},
		{concat, `{"name": "", "arguments": {}}`, `{"name": "", "arguments": {}}`, ""},
		{concat, `{"name": "f", "arguments": 1}`, "1}", "[f ]"},
		{concat, `{"name": "f", "parameters": {}}`, `, "parameters": {}}`, "[f ]"},
		{concat, `{"name": "f", "arguments": {}}` + "\n" + `{"names": 1}`, "\n" + `{"names": 1}`, "[f {}]"},
		{concat, `{"name": "f", "arguments": {}}. That is it.`, ". That is it.", "[f {}]"},
		{concat, `{"name": "f", "arguments": {}]`, "]", "[f {}]"},

		// Rows cut off by a deadline or a stop string.
		{concat, "{", "{", ""},
		{concat, `{"name": "f`, `{"name": "f`, ""},
		{concat, `{"name": "f"`, "", "[f ]"},
		{concat, `{"name": "f", "arguments": {"a":"x\`, "", `[f {"a":"x\]`},
		{chatml, "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool", "", "[f {}]"},
		{concat, `{"name": "f", "arguments": {}}` + "\n" + `{"name": "g`, "", "[f {}]"},
	} {
		want := splitCalls(t, test.form, test.row)
		var calls []string
		for i, c := range want.Calls {
			calls = append(calls, "["+c.Name+" "+c.Arguments+"]")
			if c.Index != i || c.ID != fmt.Sprint(i+1) {
				t.Errorf("%q: call %d is %+v", test.row, i, c)
			}
		}
		if got := strings.Join(calls, " "); want.Text != test.text || got != test.calls || want.Finish != llm.FinishEOS {
			t.Errorf("%q: got %q, %s", test.row, want.Text, got)
		}
		for i := range len(test.row) + 1 {
			for j := i; j <= len(test.row); j++ {
				if got := splitCalls(t, test.form, test.row[:i], test.row[i:j], test.row[j:], ""); !reflect.DeepEqual(got, want) {
					t.Errorf("%q, cut at %d and %d: got %+v, want %+v", test.row, i, j, got, want)
				}
			}
		}
		if got := splitCalls(t, test.form, append(strings.Split(test.row, ""), "")...); !reflect.DeepEqual(got, want) {
			t.Errorf("%q, byte by byte: got %+v, want %+v", test.row, got, want)
		}
	}
}

// A row's text is emitted piece by piece: nothing is held back longer than it could be
// part of something else.
func TestCallParserStreams(t *testing.T) {
	for _, test := range []struct {
		form   chat.CallFormat
		pieces []string
		want   []string // text, then of each call its index, name and arguments
	}{
		{chat.ChatML.Calls(), []string{"<", "t", "h", "ink", ">"}, []string{"", "", "<th", "ink", ">"}},
		{chat.Concat.Calls(), []string{"{", `"`, "x", "{"}, []string{"", "", `{"x`, "{"}},
		{chat.Concat.Calls(), []string{`{"name": "f`, `o`, `"`, `, "arguments": `, `{"a":"`, `x`, `"}`, `}`}, []string{
			"", "", "(0 fo )", "", `(0  {"a":")`, "(0  x)", `(0  "})`, "",
		}},
		{chat.Llama3.Calls(), []string{`{"name": "f", "parameters": {"a":1`, `}}; {"name": "g", "parameters": {`, `}}`}, []string{
			`(0 f {"a":1)`, "(0  })(1 g {)", "(1  })",
		}},
	} {
		s := &callParser{format: test.form, ids: rand.NewChaCha8([32]byte{})}
		for i, piece := range test.pieces {
			c := llm.Chunk{Text: piece}
			s.push(&c)
			got := c.Text
			for _, call := range c.Calls {
				got += fmt.Sprintf("(%d %s %s)", call.Index, call.Name, call.Arguments)
			}
			if got != test.want[i] {
				t.Errorf("%q: piece %d gives %q, want %q", test.pieces, i, got, test.want[i])
			}
		}
	}
}

func TestNilCallParser(t *testing.T) {
	c := llm.Chunk{Text: "{"}
	(*callParser)(nil).push(&c)
	if c.Text != "{" {
		t.Errorf("got %q", c.Text)
	}
}

// FuzzCallParser: calls and text are separated in the same way however the row is cut.
// Without calls the text is the whole row.
func FuzzCallParser(f *testing.F) {
	f.Add(uint8(0), `{"name": "f", "arguments": {"a":"\\\""}}`, uint16(3), uint16(12))
	f.Add(uint8(1), `{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}`, uint16(30), uint16(40))
	f.Add(uint8(2), "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool", uint16(1), uint16(50))
	f.Fuzz(func(t *testing.T, template uint8, row string, i, j uint16) {
		form := []chat.Template{chat.Concat, chat.Llama3, chat.ChatML}[template%3].Calls()
		whole := splitCalls(t, form, row)
		if len(whole.Calls) == 0 && whole.Text != row {
			t.Errorf("%q became %q", row, whole.Text)
		}
		for n, c := range whole.Calls[:max(0, len(whole.Calls)-1)] {
			if !strings.Contains(row, form.Open+c.Name+form.Arguments+c.Arguments+form.Close+form.Between) {
				t.Errorf("call %d of %q is %+v", n, row, c)
			}
		}
		a := min(int(i), len(row))
		b := min(a+int(j), len(row))
		if cut := splitCalls(t, form, row[:a], row[a:b], row[b:]); !reflect.DeepEqual(cut, whole) {
			t.Errorf("%q cut at %d and %d: %+v, want %+v", row, a, b, cut, whole)
		}
	})
}
