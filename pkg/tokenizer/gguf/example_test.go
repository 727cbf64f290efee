package gguf_test

import (
	"fmt"
	"log"
	"os"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
)

// The tokenizer of a GGUF file needs only its keys, whatever the model's architecture.
func ExampleNew() {
	file, err := checkpoint.Open(os.DirFS("../../engine/arch/testdata/gpt2-gguf"), "model.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	vocabulary, err := arch.GGUFVocabulary(file.Meta)
	if err != nil {
		log.Fatal(err)
	}
	t, err := gguf.New(vocabulary)
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("Hello")
	fmt.Println(ids, tokenizer.Decode(t, ids))
	// Output:
	// [39 68 75 75 78] Hello
}
