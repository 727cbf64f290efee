package resilience_test

import (
	"context"
	"fmt"
	"iter"
	"log"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/resilience"
)

// An overloaded backend never answers.
type overloaded struct{}

// Generate implements [llm.Backend].
func (overloaded) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Overloaded, "too many requests"))
	}
}

// The policy of a model names the models that answer when it fails.
func Example() {
	models := llm.Fixed{
		{ModelInfo: llm.ModelInfo{Name: "large", Family: "mine"}, Backend: overloaded{}},
		{ModelInfo: llm.ModelInfo{Name: "small", Family: "mine"}, Backend: llmtest.Script{"Hello ", "from the small one"}},
	}
	open := func(ctx context.Context, name string) (*llm.Model, resilience.Policy, error) {
		m, err := models.Open(ctx, name)
		if err != nil {
			return nil, resilience.Policy{}, err
		}
		policy := resilience.Policy{Info: m.ModelInfo}
		if m.Name == "large" {
			policy.Fallbacks = []string{"small"}
		}
		return m, policy, nil
	}
	m, err := resilience.Models(models, open).Open(context.Background(), "large")
	if err != nil {
		log.Fatal(err)
	}
	request := &llm.Request{Prompts: []llm.Prompt{llm.Text("Hi")}}
	rows, _, err := llm.Collect(m.Generate(context.Background(), request), 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Text)
	// Output:
	// Hello from the small one
}
