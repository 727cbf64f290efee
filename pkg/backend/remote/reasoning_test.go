package remote

import (
	"encoding/json"
	"testing"

	"glossa/pkg/llm"
)

// Reasoning comes before the text; what comes later is of no answer.
func TestReasoning(t *testing.T) {
	c := newCompletion(&row{call: &call{stream: true}})
	var got []llm.Chunk
	for _, keys := range []map[string]any{
		{"reasoning": "a"}, {"reasoning": nil}, {"reasoning": "b", "generated_text": "c"}, {"reasoning": "late", "generated_text": "d"},
		{"reasoning": map[string]any{}, "input_tokens": json.Number("1"), "output_tokens": json.Number("5"), "reasoning_tokens": json.Number("9")},
	} {
		if err := c.add(answer{keys: keys}); err != nil {
			t.Fatal(err)
		}
		if chunk, ok := c.ready(); ok {
			got = append(got, chunk)
		}
	}
	last := c.end("")
	if len(got) != 3 || got[0].Reasoning != "a" || got[1].Reasoning+"|"+got[1].Text != "b|c" || got[2].Reasoning+"|"+got[2].Text != "|d" || last.Usage.Reasoning != 5 {
		t.Errorf("%+v, %+v", got, last.Usage)
	}
}
