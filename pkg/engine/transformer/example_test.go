package transformer_test

import (
	"fmt"
	"log"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// This program computes logits itself, without package engine: tokens in, logits out. The
// cache keeps what was computed for earlier tokens.
func Example() {
	file, err := arch.OpenPath("../../starter/runs/novels")
	if err != nil {
		log.Fatal(err)
	}
	model, err := transformer.New(file.Spec, file.Weights, kernel.Best(), transformer.F32)
	if err != nil {
		log.Fatal(err)
	}
	pass, cache := model.NewPass(nil), model.NewCache(32)
	text := "The old lighthouse"
	ids := file.Tokenizer.Encode(text)
	for range 4 {
		logits, err := pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: ids, Logits: 1}})
		if err != nil {
			log.Fatal(err)
		}
		next := kernel.Best().ArgMax(logits)
		text += file.Tokenizer.Piece(next)
		ids = []int{next}
	}
	fmt.Println(text)
	// Output:
	// The old lighthouse stood among lonely reeds
}
