package encode

import (
	"strings"
	"unicode/utf8"
)

// ByteWeights says which bytes of a text count for [Encoder.Weigh]: those that leave
// something in the text that is cut, and are not drawn into a run of unknown characters,
// of which one token may stand for any number.
type ByteWeights struct {
	Counts [256]bool
	All    bool // every byte counts
	Per    int  // how many such bytes a token stands for at most; 0: nothing is known
}

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

// DropSpaces has bytes that may be of white space not count.
func (w *ByteWeights) DropSpaces() {
	w.All = false
	for c := range w.Counts {
		if c >= utf8.RuneSelf || strings.ContainsRune("\t\n\v\f\r ", rune(c)) {
			w.Counts[c] = false
		}
	}
}
