package bpe

import (
	"glossa/pkg/tokenizer/internal/subword"
)

const (
	WindowSymbols = 1 << 16 // symbols, which are what merging begins with, that are merged at once
	windowMargin  = 1 << 9  // tokens at the end of a window, which what follows may change
)

// InWindows cuts a long piece of text window by window, so that it takes memory for one
// of them. merge appends the cut of the piece from a position on, of size symbols, and
// tells whether that is the rest; emit takes the tokens in their order and tells whether
// to go on. It returns false if the piece must be cut as a whole, which may show after
// some tokens were emitted.
//
// A window ends within what may become a token. Its last tokens, a margin, are left to
// the next window, and the others count only if the next window begins with the token
// that the last window has there. This is exact where of all pairs of tokens the one of
// the lowest rank merges first, of equal ones the leftmost. Tokens t1 ... tn are the
// encoding of their text if each is that of its own text and each two neighbours are
// that of theirs: as long as no merge goes over a boundary, what merges on its two sides,
// and in which order, is what merges in the two neighbours alone, so that the first merge
// over a boundary would be one there too. And the tokens between two boundaries of an
// encoding are the encoding of their text, for the same reason. Neighbours within a
// window are those of an encoding; the two at the seam are neighbours in the last window.
func InWindows(size int, merge func(cuts []subword.Cut, from, size int) ([]subword.Cut, bool), emit func([]subword.Cut) bool) bool {
	var held, cuts []subword.Cut
	var seam subword.Cut // the first token that held leaves out
	for from := 0; ; {
		var last bool
		cuts, last = merge(cuts[:0], from, size)
		if len(held) > 0 && cuts[0] != seam {
			return false
		}
		if !emit(held) {
			return true
		}
		if last {
			emit(cuts)
			return true
		}
		n := len(cuts) - windowMargin
		if n < len(cuts)/2 {
			n = len(cuts) / 2
		}
		if n < 1 {
			return false
		}
		held, cuts, seam, from = cuts[:n], held[:cap(held)], cuts[n], int(cuts[n-1].End)
	}
}
