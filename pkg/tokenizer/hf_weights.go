package tokenizer

import (
	"math"
	"unicode/utf8"
)

// weigh implements encoder.
func (t *pipeline) weigh(text string, _ bool) (n, per int) { return t.weights.weigh(text) }

// setWeights finds the bytes that count, of a pipeline that is complete.
func (t *pipeline) setWeights(shrinks int) {
	t.weights = byteWeights{}
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
	case *byteBPE:
		for _, piece := range t.spelling {
			longest = max(longest, utf8.RuneCountInString(piece)) // each rune is a byte
		}
	case *charBPE:
		if (m.unk < 0 || m.fuseUnk) && !(&unknownPiece{bytes: m.bytes}).hasAllBytes() {
			return
		}
		longest = t.longestSpelling()
	case *unigram:
		if !m.unknown.hasAllBytes() {
			return
		}
		longest = t.longestSpelling()
	default:
		return
	}
	w := &t.weights
	w.all = true
	for i := range w.counts {
		w.counts[i] = true
	}
	for _, trie := range []*addedTrie{&t.raw, &t.normalized} {
		for _, token := range trie.tokens {
			longest = max(longest, maxSpecialLength)
			if token.LStrip || token.RStrip {
				w.dropSpaces()
			}
		}
	}
	w.per = longest * shrinks
}

func (t *pipeline) longestSpelling() (n int) {
	for _, piece := range t.spelling {
		n = max(n, len(piece))
	}
	return n
}

// shrinks bounds how many times shorter a normalizer makes a text, in bytes; 0 if there
// is no bound.
func (s *hfStep) shrinks() int {
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
func shrinkage(s *hfStep) int {
	list, err := flatten(s, maxGrowth, func(s *hfStep) []hfStep { return s.Normalizers })
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
