package hf

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// order sorts each run of marks by their classes (Unicode, D109).
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
		orderRun(runes[from:to], classes[from:to])
		from = to
	}
}

// orderRun sorts a run of marks by their classes in linear time, because a whole text may
// be one run.
func orderRun(runes []rune, classes []uint8) {
	if slices.IsSorted(classes) {
		return
	}
	var places [257]int // by class, of the next mark of it
	for _, class := range classes {
		places[int(class)+1]++
	}
	for class := range 256 {
		places[class+1] += places[class]
	}
	for i, r := range slices.Clone(runes) {
		runes[places[classes[i]]] = r
		places[classes[i]]++
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
	if norm.NFC.PropertiesString(string(b)).BoundaryBefore() {
		return 0, false // b joins nothing before it
	}
	joined := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(joined)
	return r, n == len(joined)
}
