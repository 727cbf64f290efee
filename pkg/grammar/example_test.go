package grammar_test

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"glossa/pkg/grammar"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

// eos is the model's token that ends a text. No mask has it: it adds no bytes.
const eos = 1000

// This program constrains any engine that lets it change logits: it needs the model's
// tokenizer only. Here random numbers take the place of the model, and the text is valid
// nevertheless.
func Example() {
	raw, err := os.ReadFile("../tokenizer/hf/testdata/gpt2.tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	tok, err := hf.Parse(raw)
	if err != nil {
		log.Fatal(err)
	}
	tokens, err := tokenizer.TokenBytes(tok)
	if err != nil {
		log.Fatal(err)
	}
	vocabulary := grammar.NewVocabulary(tokens) // once for a model
	g, err := grammar.Schema([]byte(`{
		"type": "object",
		"properties": {"city": {"enum": ["Oslo", "Lima"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
		"required": ["city", "days"],
		"additionalProperties": false
	}`), grammar.Generating())
	if err != nil {
		log.Fatal(err)
	}
	constraint, err := g.Bind(vocabulary) // once for a schema
	if err != nil {
		log.Fatal(err)
	}

	text, model := constraint.Start(), rand.New(rand.NewPCG(1, 2))
	for left := 40; left > 0 && !text.Complete(); left-- {
		logits := make([]float32, tok.Size())
		for id := range logits {
			logits[id] = model.Float32()
		}
		mask := text.Mask(left)
		best := -1
		for id, logit := range logits {
			allowed := mask.Allows(id) || id == eos && text.Accepts()
			if allowed && (best < 0 || logit > logits[best]) {
				best = id
			}
		}
		if best == eos {
			break
		}
		text.Take(best)
	}
	fmt.Printf("%s\n", text.Text())
	// Output:
	// {"city":"Lima","days":6}
}
