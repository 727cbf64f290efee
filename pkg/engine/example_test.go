package engine_test

import (
	"context"
	"fmt"
	"log"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// generate continues a prompt with the model at a path and prints the text as it comes.
func generate(path, prompt string) error {
	model, err := arch.OpenPath(path)
	if err != nil {
		return err
	}
	e, err := engine.New(model, engine.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()

	request := &llm.Request{
		Prompts: []llm.Prompt{llm.Text(prompt)},
		Params:  llm.Params{MaxTokens: new(20), Temperature: new(0.7), TopP: new(0.9), Seed: new(int64(1))},
	}
	for chunk, err := range e.Generate(context.Background(), request) {
		if err != nil {
			return err
		}
		fmt.Print(chunk.Text)
		if chunk.Usage != nil { // the last chunk
			fmt.Printf("\n%s after %d tokens\n", chunk.Finish, chunk.Usage.Output)
		}
	}
	return nil
}

// This program opens a model and samples a text from it. The path may be that of a directory
// as Hugging Face publishes models, of a GGUF file, or of a model packed by glossa.
func Example() {
	if err := generate("../starter/runs/novels", "The old lighthouse"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// stood among low dunes, not far from the river, where Edith had told tales about swans for eleven
	// length after 20 tokens
}
