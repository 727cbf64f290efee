package hf_test

import (
	"fmt"
	"log"
	"os"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

func ExampleParse() {
	raw, err := os.ReadFile("testdata/llama3.tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	t, err := hf.Parse(raw)
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("Hello, world!")
	fmt.Println(ids)
	fmt.Println(tokenizer.Decode(t, ids))
	if a, ok := t.(tokenizer.Affixes); ok { // Encode adds no start token
		before, _ := a.Affixes()
		fmt.Println(t.Piece(before[0]))
	}
	// Output:
	// [39 296 78 11 289 286 75 67 0]
	// Hello, world!
	// <|begin|>
}

func ExampleParseGPT2() {
	vocab, err := os.ReadFile("testdata/gpt2.vocab.json")
	if err != nil {
		log.Fatal(err)
	}
	merges, err := os.ReadFile("testdata/gpt2.merges.txt")
	if err != nil {
		log.Fatal(err)
	}
	t, err := hf.ParseGPT2(vocab, merges)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range t.Encode("Hello world") {
		fmt.Printf("%d %s\n", id, t.Piece(id))
	}
	// Output:
	// 39 H
	// 296 ell
	// 78 o
	// 289 Ġw
	// 286 or
	// 75 l
	// 67 d
}
