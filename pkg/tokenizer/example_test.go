package tokenizer_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/sentencepiece"
)

// open opens a tokenizer by the name of its file.
func open(name string) (tokenizer.Tokenizer, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".json") {
		return hf.Parse(raw)
	}
	return sentencepiece.Parse(raw)
}

// This program compares the tokens of a tokenizer.json and of a SentencePiece model.
func Example() {
	for _, name := range []string{"hf/testdata/gpt2.tokenizer.json", "sentencepiece/testdata/sp.bpebytes.model"} {
		t, err := open(name)
		if err != nil {
			log.Fatal(err)
		}
		ids := t.Encode("the world, again")
		pieces := make([]string, len(ids))
		for i, id := range ids {
			pieces[i] = t.Piece(id)
		}
		fmt.Println(ids)
		fmt.Println(strings.Join(pieces, " | "))
		fmt.Printf("%q\n", tokenizer.Decode(t, ids))
	}
	// Output:
	// [509 289 286 75 67 11 220 64 70 64 313]
	// the | Ġw | or | l | d | , | Ġ | a | g | a | in
	// "the world, again"
	// [417 260 276 300 726 270 712 708 259]
	// ▁the | ▁w | or | ld | , | ▁a | g | a | in
	// "the world, again"
}
