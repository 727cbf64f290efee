package train_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
	"glossa/pkg/train"
)

// This program trains a model of a few thousand weights and continues a text with it.
func Example() {
	parent, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(parent) }()
	dir := filepath.Join(parent, "rhyme")

	config := train.Config{Tokenizer: "char", NLayer: 1, NEmbd: 32, NHead: 2, BlockSize: 32, BatchSize: 8, Steps: 150, Warmup: 10}
	text := strings.Repeat("row, row, row your boat. ", 200)
	err = train.Run(context.Background(), config, text, dir, func(p train.Progress) {
		if p.Step == p.Steps {
			fmt.Println(p.Step, "steps, loss below 0.5:", p.Loss < 0.5)
		}
	})
	if err != nil {
		log.Fatal(err)
	}

	model, err := arch.OpenPath(dir)
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.New(model, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	request := &llm.Request{Prompts: []llm.Prompt{llm.Text("boat. row, row,")}, Params: llm.Params{MaxTokens: new(7)}}
	rows, _, err := llm.Collect(e.Generate(context.Background(), request), request.Rows())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", rows[0].Text)
	// Output:
	// 150 steps, loss below 0.5: true
	// " row yo"
}
