package llmtest_test

import (
	"context"
	"fmt"
	"iter"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// An unfinished backend does not say why its row ends.
type unfinished struct{}

// Generate implements [llm.Backend].
func (unfinished) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for row := range req.Rows() {
			if !yield(llm.Chunk{Row: row, Text: "Hello"}, nil) {
				return
			}
		}
	}
}

// TestBackend returns the rules that a backend breaks.
func ExampleTestBackend() {
	err := llmtest.TestBackend(context.Background(), unfinished{})
	fmt.Println(err != nil)
	// Output:
	// true
}
