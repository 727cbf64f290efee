package tokenizer

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// order puts each run of marks in the order of their classes (Unicode, D109).
func order(runes []rune) {
	classes := make([]uint8, len(runes))
	for i, r := range runes {
		classes[i] = markClass(r)
	}
	for from := 0; from < len(runes); {
		if classes[from] == 0 {
			from++
			continue
		}
		to := from
		for to < len(runes) && classes[to] != 0 {
			to++
		}
		slices.SortStableFunc(runes[from:to], func(a, b rune) int { return cmp.Compare(markClass(a), markClass(b)) })
		from = to
	}
}

// compose joins each rune with the last starter if nothing of its class or above is
// between them (Unicode, D117), in place.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter := -1    // its place in out
	last := uint8(0) // class of the last rune that stands after it
	for _, r := range runes {
		class := markClass(r)
		adjacent := starter >= 0 && starter == len(out)-1
		if starter >= 0 && (adjacent || last < class && last != 0) {
			if joined, ok := primary(out[starter], r); ok {
				out[starter] = joined
				continue
			}
		}
		if class == 0 {
			starter = len(out)
		}
		last = class
		out = append(out, r)
	}
	return out
}

// primary is the composite of two runes.
func primary(a, b rune) (rune, bool) {
	joined := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(joined)
	return r, n == len(joined)
}
