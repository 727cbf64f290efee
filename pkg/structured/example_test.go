package structured_test

import (
	"context"
	"fmt"
	"iter"
	"log"

	"glossa/pkg/llm"
	"glossa/pkg/structured"
)

// A forgetful model answers with prose first. It knows neither schemas nor grammars.
type forgetful struct{ asked int }

// Generate implements [llm.Backend].
func (f *forgetful) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		f.asked++
		text := "Sure! Thea is 34."
		if f.asked > 1 {
			text = "```json\n{\"age\": 34, \"name\": \"Thea\"}\n```"
		}
		yield(llm.Chunk{Text: text, Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 10, Output: 10}}, nil)
	}
}

// Wrap asks such a model for the format, checks its answer and asks for a correction.
func Example() {
	model := &forgetful{}
	backend := structured.Wrap(model, nil, nil)
	request := &llm.Request{
		Prompts: []llm.Prompt{llm.Text("Who is 34?")},
		Params: llm.Params{Schema: []byte(`{
			"type": "object",
			"properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
			"required": ["name", "age"]
		}`)},
	}
	rows, usage, err := llm.Collect(backend.Generate(context.Background(), request), request.Rows())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Text, rows[0].Guarantee)
	fmt.Println(model.asked, "calls,", usage.Output, "tokens")
	// Output:
	// {"name":"Thea","age":34} validated
	// 2 calls, 20 tokens
}
