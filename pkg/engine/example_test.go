package engine_test

import (
	"context"
	"fmt"
	"log"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// This program opens a model and prints its text as it is generated. OpenPath takes a
// directory as Hugging Face publishes models, a GGUF file, or a model packed by glossa.
func Example() {
	model, err := arch.OpenPath("../starter/runs/novels")
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.New(model, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = e.Close() }()

	request := &llm.Request{
		Prompts: []llm.Prompt{llm.Text("The old lighthouse")},
		Params:  llm.Params{MaxTokens: new(20), Temperature: new(0.7), TopP: new(0.9), Seed: new(int64(1))},
	}
	for chunk, err := range e.Generate(context.Background(), request) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(chunk.Text)
		if chunk.Usage != nil { // the last chunk
			fmt.Printf("\n%s after %d tokens\n", chunk.Finish, chunk.Usage.Output)
		}
	}
	// Output:
	// stood among low dunes, not far from the river, where Edith had told tales about swans for eleven
	// length after 20 tokens
}
