package kinds_test

import (
	"fmt"
	"log"
	"os"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/kinds"
)

// A source keeps the files of a tokenizer of any kind, to be stored or sent.
func ExampleOpen() {
	model, err := os.ReadFile("../sentencepiece/testdata/sp.bpebytes.model")
	if err != nil {
		log.Fatal(err)
	}
	source := &tokenizer.Source{
		Kind:  tokenizer.KindSentencePiece,
		Parts: map[string][]byte{tokenizer.PartModel: model},
	}
	t, err := kinds.Open(source)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokenizer.Decode(t, t.Encode("the world")), t.Size())
	// Output:
	// the world 900
}
