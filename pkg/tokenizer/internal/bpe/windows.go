package bpe

import (
	"glossa/pkg/tokenizer/internal/subword"
)

const (
	WindowSymbols = 1 << 16 // symbols that are merged at once
	windowMargin  = 1 << 9  // tokens at the end of a window, which the following text may change
)

// InWindows cuts a long piece of text window by window, in the memory of one window. merge
// appends the cut of size symbols from a position on, and reports whether these are the
// last; emit receives the tokens in order and reports whether to go on. InWindows returns
// false if the piece must be cut as a whole; it may have emitted some tokens by then.
//
// A window may end within a token. So its last tokens, a margin, are left to the next
// window, and the others are valid only if the next window begins with the same token at
// the seam. This is exact if the pair of the lowest rank merges first, of equal ranks the
// leftmost. Proof: tokens t1 ... tn are the encoding of their text if each token is the
// encoding of its own text and each two neighbours are the encoding of theirs. As long as
// no merge crosses a boundary, the same merges happen in the same order on its two sides as
// in the two neighbours alone, so the first merge across a boundary would also happen in
// those neighbours. For the same reason the tokens between two boundaries of an encoding
// are the encoding of their text. Neighbours within a window are neighbours of an encoding;
// the two at the seam are neighbours in the previous window.
func InWindows(size int, merge func(cuts []subword.Cut, from, size int) ([]subword.Cut, bool), emit func([]subword.Cut) bool) bool {
	var held, cuts []subword.Cut
	var seam subword.Cut // the first token after held
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
