package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// byteWeights says which bytes of a text count for [encoder.weigh]: those that leave
// something in the text that is cut, and are not drawn into a run of unknown characters,
// of which one token may stand for any number.
type byteWeights struct {
	counts [256]bool
	all    bool // every byte counts
	per    int  // how many such bytes a token stands for at most; 0: nothing is known
}

func (w *byteWeights) weigh(text string) (n, per int) {
	switch {
	case w.per == 0:
		return 0, 0
	case w.all:
		return len(text), w.per
	}
	for i := range len(text) {
		if w.counts[text[i]] {
			n++
		}
	}
	return n, w.per
}

// dropSpaces has bytes that may be of white space not count.
func (w *byteWeights) dropSpaces() {
	w.all = false
	for c := range w.counts {
		if c >= utf8.RuneSelf || strings.ContainsRune("\t\n\v\f\r ", rune(c)) {
			w.counts[c] = false
		}
	}
}
