package encode

import (
	"strings"
	"unicode/utf8"
)

// ByteWeights holds which bytes of a text count for [Encoder.Weigh]. A byte counts if the
// normalizer does not drop it and if it is not part of a run of unknown characters, because
// one token may stand for a run of any length.
type ByteWeights struct {
	Counts [256]bool
	All    bool // every byte counts
	Per    int  // the largest number of such bytes that a token stands for; 0 if unknown
}

// Weigh returns the number of bytes of text that count, and w.Per.
func (w *ByteWeights) Weigh(text string) (n, per int) {
	switch {
	case w.Per == 0:
		return 0, 0
	case w.All:
		return len(text), w.Per
	}
	for i := range len(text) {
		if w.Counts[text[i]] {
			n++
		}
	}
	return n, w.Per
}

// DropSpaces excludes bytes that may be part of white space.
func (w *ByteWeights) DropSpaces() {
	w.All = false
	for c := range w.Counts {
		if c >= utf8.RuneSelf || strings.ContainsRune("\t\n\v\f\r ", rune(c)) {
			w.Counts[c] = false
		}
	}
}
