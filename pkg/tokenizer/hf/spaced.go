package hf

import (
	"strings"

	"glossa/pkg/tokenizer/internal/subword"
)

// spaceMark is the spelling of a space in a vocabulary of characters.
const spaceMark = "\u2581"

// NewSpaced builds a BPE of characters with byte fallback, in which a space is spelled U+2581. It has
// no affixes. Merges stay within a line: a run of line feeds is one token if the vocabulary has it,
// whatever the merges. Added tokens are read as by [encode.Partition]. Tokens of bytes decode to them.
//
// Source: llama.cpp, for the tokenizer gemma4.
func NewSpaced(vocab map[string]int, merges [][2]string, added []AddedToken) (*Tokenizer, error) {
	t := &Tokenizer{
		raw:       addedTrie{longestFirst: true},
		normalize: normalizer{{apply: func(text string) string { return strings.ReplaceAll(text, " ", spaceMark) }}},
	}
	if err := t.cutOut([]string{`\n+`}); err != nil {
		return nil, err
	}
	ordinary, err := t.addTokens(vocab, added)
	if err != nil {
		return nil, err
	}
	f := &fileModel{vocab: vocab, ByteFallback: true}
	for _, parts := range merges {
		f.Merges = append(f.Merges, parts)
	}
	m, err := newCharBPE(f, ordinary, t.special, t.spelling)
	if err != nil {
		return nil, err
	}
	m.whole = map[string]int{}
	texts := make([]string, len(t.spelling))
	for piece, id := range ordinary {
		if strings.Trim(piece, "\n") == "" {
			m.whole[piece] = id
		}
		texts[id] = strings.ReplaceAll(piece, spaceMark, " ")
		if b, ok := subword.ParseByte(piece); ok {
			texts[id] = string([]byte{b})
		}
	}
	t.model = m
	for _, token := range added {
		texts[token.ID] = token.Content
	}
	t.decoder = &decoderPlan{texts: texts}
	t.decoder.addTokens(t.spelling, added)
	t.setWeights(1)
	return t, nil
}
