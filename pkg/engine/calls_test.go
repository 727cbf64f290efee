package engine

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

var callIDs = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// splitCalls pushes the pieces of a row, the last with its end, and returns the row as
// [llm.Collect] does. Its ids are 1, 2 and so on.
func splitCalls(t *testing.T, syntax toolcall.Syntax, tools []llm.Tool, pieces ...string) llm.Chunk {
	t.Helper()
	r := newCallReader(syntax, tools, rand.NewChaCha8([32]byte{}))
	seen := map[string]bool{}
	rows, _, err := llm.Collect(func(yield func(llm.Chunk, error) bool) {
		for i, piece := range pieces {
			c := llm.Chunk{Text: piece}
			if i == len(pieces)-1 {
				c.Finish = llm.FinishEOS
			}
			r.push(&c)
			for j := range c.Calls {
				call := &c.Calls[j]
				if call.Name == "" {
					continue
				}
				if !callIDs.MatchString(call.ID) || seen[call.ID] {
					t.Errorf("%q: the first piece is %+v", pieces, *call)
				}
				seen[call.ID] = true
				call.ID = fmt.Sprint(len(seen))
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

// The strings of tagged calls are those that the tool's own schema declares.
func TestCallReader(t *testing.T) {
	tools := []llm.Tool{
		{Name: "f", Parameters: []byte(`{"properties":{"x":{"type":"string"}}}`)},
		{Name: "g", Parameters: []byte(`{"properties":{"x":{"type":"integer"}}}`)},
	}
	row := splitCalls(t, toolcall.GLM(), tools,
		"So: <tool_call>f\n<arg_key>x</arg_key>\n<arg_value>1</arg_", "value>\n</tool_call>\n<tool_call>g\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>")
	if got, want := fmt.Sprint(row.Text, row.Calls, row.Finish), `So:[{0 1 f {"x":"1"}} {1 2 g {"x":1}}]eos`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNilCallReader(t *testing.T) {
	c := llm.Chunk{Text: "{"}
	(*callReader)(nil).push(&c)
	if c.Text != "{" {
		t.Errorf("got %q", c.Text)
	}
}
