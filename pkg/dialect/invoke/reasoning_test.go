package invoke

import (
	"reflect"
	"testing"

	"glossa/pkg/llm"
)

func TestReasoning(t *testing.T) {
	got := answer(llm.Chunk{Reasoning: "a", Text: "b", Usage: &llm.Usage{Input: 1, Output: 3, Reasoning: 2}}, false)
	want := map[string]any{"reasoning": "a", "generated_text": "b", "input_tokens": 1, "output_tokens": 3, "reasoning_tokens": 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := answer(llm.Chunk{Text: "b"}, false); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
