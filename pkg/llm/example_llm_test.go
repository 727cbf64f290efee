package llm_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// Collect makes a whole answer from the chunks of a backend.
func ExampleCollect() {
	backend := llmtest.Script{"Hello", ", ", "world"}
	request := &llm.Request{Prompts: []llm.Prompt{llm.Text("Greet me.")}, N: 2}
	rows, usage, err := llm.Collect(backend.Generate(context.Background(), request), request.Rows())
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row.Row, row.Text, row.Finish)
	}
	fmt.Println(usage.Input, usage.Output)
	// Output:
	// 0 Hello, world eos
	// 1 Hello, world eos
	// 1 6
}

// As returns a capability, or an error for the client of a model that lacks it.
func ExampleAs() {
	model := &llm.Model{ModelInfo: llm.ModelInfo{Name: "mine"}, Backend: llmtest.Script{"Hello"}}
	_, err := llm.As[llm.Embedder](model)
	fmt.Println(llm.AsError(err).Code)
	// Output:
	// unsupported
}

// A backend whose model has only a temperature rejects the other parameters by name. A
// parameter without effect, such as TopP 1, is not an error.
func ExampleParams_Apply() {
	body := map[string]any{}
	set := func(name string, value any) bool {
		if name != "temperature" {
			return false
		}
		body[name] = value
		return true
	}
	params := llm.Params{Temperature: new(0.5), TopP: new(1.0)}
	fmt.Println(params.Apply(set), body)

	params.TopK = new(40)
	fmt.Println(llm.AsError(params.Apply(set)).Param)
	// Output:
	// <nil> map[temperature:0.5]
	// top_k
}

// Dialects map the code of an error to a status and name the parameter as their clients
// know it.
func ExampleError() {
	var err error = &llm.Error{Code: llm.Invalid, Param: "stop", Message: "at most 5 strings"}
	if e, ok := errors.AsType[*llm.Error](fmt.Errorf("request 7: %w", err)); ok {
		fmt.Println(e.Code, e.Param, e.Message)
	}
	// Output:
	// invalid stop at most 5 strings
}

// Best returns the rows with the most probable tokens.
func ExampleBest() {
	rows := []llm.Chunk{
		{Text: "unlikely", Tokens: []llm.Token{{Logprob: -3}, {Logprob: -5}}},
		{Text: "likely", Tokens: []llm.Token{{Logprob: -1}, {Logprob: -2}}},
	}
	fmt.Println(llm.Best(rows, 1)[0].Text)
	// Output:
	// likely
}

// Models that are open for the whole life of a process need no other catalog.
func ExampleFixed() {
	models := llm.Fixed{
		{ModelInfo: llm.ModelInfo{Name: "small", Family: "mine"}, Backend: llmtest.Script{"Hi"}},
		{ModelInfo: llm.ModelInfo{Name: "large", Family: "mine", Aliases: []string{"best"}}, Backend: llmtest.Script{"Hello"}},
	}
	for _, name := range []string{"", "best", "huge"} {
		m, err := models.Open(context.Background(), name)
		if err != nil {
			fmt.Printf("%q is %s\n", name, llm.AsError(err).Code)
			continue
		}
		fmt.Printf("%q is %s\n", name, m.Name)
	}
	// Output:
	// "" is small
	// "best" is large
	// "huge" is not_found
}
