package hf

import (
	"math"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/unigram"
)

// Weigh implements [encode.Encoder].
func (t *Tokenizer) Weigh(text string, _ bool) (n, per int) { return t.weights.Weigh(text) }

// setWeights finds the bytes that count, of a pipeline that is complete.
func (t *Tokenizer) setWeights(shrinks int) {
	t.weights = encode.ByteWeights{}
	if shrinks == 0 {
		return
	}
	for i := range t.steps {
		if t.steps[i].split == nil && !t.steps[i].keeps {
			return
		}
	}
	longest := 1
	switch m := t.model.(type) {
	case *bpe.ByteLevel:
		for _, piece := range t.spelling {
			longest = max(longest, utf8.RuneCountInString(piece)) // each rune is a byte
		}
	case *charBPE:
		if (m.unk < 0 || m.fuseUnk) && !(&subword.Unknown{Bytes: m.bytes}).HasAllBytes() {
			return
		}
		longest = t.longestSpelling()
	case *unigram.Model:
		if !m.Unknown.HasAllBytes() {
			return
		}
		longest = t.longestSpelling()
	default:
		return
	}
	w := &t.weights
	w.All = true
	for i := range w.Counts {
		w.Counts[i] = true
	}
	for _, trie := range []*addedTrie{&t.raw, &t.normalized} {
		for _, token := range trie.tokens {
			longest = max(longest, encode.MaxSpecialLength)
			if token.LStrip || token.RStrip {
				w.DropSpaces()
			}
		}
	}
	w.Per = longest * shrinks
}

func (t *Tokenizer) longestSpelling() (n int) {
	for _, piece := range t.spelling {
		n = max(n, len(piece))
	}
	return n
}

// shrinks bounds how many times shorter a normalizer makes a text, in bytes; 0 if there
// is no bound.
func (s *fileStep) shrinks() int {
	switch s.Type {
	case "Prepend", "ByteLevel":
		return 1
	case "Lowercase":
		return 3 // U+212A
	case "NFD":
		return 3 // U+212A
	case "NFC":
		return 9 // what NFD shrinks, and what that can grow
	case "NFKD":
		return 4 // U+1D400
	case "NFKC":
		return 12
	case "Replace":
		if s.Pattern.String != nil && s.Content != "" {
			n := len(s.Content)
			return max(1, (len(*s.Pattern.String)+n-1)/n)
		}
	}
	return 0
}

// shrinkage bounds how many times shorter the steps of a normalizer make a text
// together; 0 if there is no bound.
func shrinkage(s *fileStep) int {
	list, err := flatten(s, maxGrowth, func(s *fileStep) []fileStep { return s.Normalizers })
	if err != nil {
		return 0
	}
	n := 1
	for i := range list {
		if n *= list[i].shrinks(); n == 0 || n > math.MaxInt16 {
			return 0
		}
	}
	return n
}
