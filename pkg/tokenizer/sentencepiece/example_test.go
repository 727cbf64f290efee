package sentencepiece_test

import (
	"fmt"
	"log"
	"os"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/sentencepiece"
)

func ExampleParse() {
	model, err := os.ReadFile("testdata/sp.unigrambytes.model")
	if err != nil {
		log.Fatal(err)
	}
	t, err := sentencepiece.Parse(model)
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("the old world")
	for _, id := range ids {
		fmt.Print(id, " ", t.Piece(id), "\n")
	}
	fmt.Println(tokenizer.Decode(t, ids))
	// Output:
	// 308 ▁the
	// 315 ▁old
	// 264 ▁
	// 544 wo
	// 352 r
	// 385 l
	// 799 d
	// the old world
}

func ExampleParseM2M100() {
	vocab, err := os.ReadFile("testdata/sp.m2m100.vocab.json")
	if err != nil {
		log.Fatal(err)
	}
	model, err := os.ReadFile("testdata/sp.unigram.model")
	if err != nil {
		log.Fatal(err)
	}
	t, err := sentencepiece.ParseM2M100(vocab, model)
	if err != nil {
		log.Fatal(err)
	}
	id, ok := t.Language("fr") // the caller puts it before a text
	fmt.Println(t.Piece(id), ok, len(t.Languages()))
	// Output:
	// __fr__ true 100
}
