package alpha_test

import (
	"fmt"
	"log"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/alpha"
)

func ExampleTrain() {
	artifacts, err := alpha.Train(alpha.BPE, "the cat, the hat, the bat", 14)
	if err != nil {
		log.Fatal(err)
	}
	t, err := artifacts.Tokenizer()
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("the bat")
	for _, id := range ids {
		fmt.Printf("%q ", t.Piece(id))
	}
	fmt.Println(tokenizer.Decode(t, ids))
	// Output:
	// "the" " " "b" "at" the bat
}
