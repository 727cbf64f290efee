package gguf

import (
	"slices"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

// spaced is the value of tokenizer.ggml.model of Gemma 4.
const spaced = "gemma4"

// spacedEnds are the tokens of Gemma 4 that end what a model generates: keys name one at most.
var spacedEnds = []string{"<eos>", "<turn|>", "<|tool_response>"}

// Ends returns the tokens that end what a model generates, besides those of the keys: llama.cpp knows
// them by their spelling.
func (g *Vocabulary) Ends() []int {
	if g.Model != spaced {
		return nil
	}
	var ids []int
	for id, piece := range g.Tokens {
		if slices.Contains(spacedEnds, piece) {
			ids = append(ids, id)
		}
	}
	return ids
}

// newSpaced builds a BPE of characters. Texts begin with bos_token_id, whatever add_bos_token says.
// Tokens that end what a model generates are special, whatever their types: converters make them
// user-defined.
func newSpaced(g *Vocabulary) (tokenizer.Tokenizer, error) {
	vocab, added, err := g.vocab()
	if err != nil {
		return nil, err
	}
	for i := range added {
		added[i].Special = added[i].Special || slices.Contains(spacedEnds, added[i].Content)
	}
	merges, err := g.pairs()
	if err != nil {
		return nil, err
	}
	t, err := hf.NewSpaced(vocab, merges, added)
	if err != nil {
		return nil, err
	}
	return t, g.setAffixes(t, true)
}
