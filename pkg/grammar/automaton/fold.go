package automaton

import (
	"slices"
	"sync"
	"unicode"
)

// unfolded lists the pairs that are equal under simple case folding since Unicode 15.1.
// Package unicode does not know them.
var unfolded = [][2]rune{{'\u0390', '\u1FD3'}, {'\u03B0', '\u1FE3'}, {'\uFB05', '\uFB06'}}

// dotted lists letters that Python's re considers equal if it ignores case. To ECMA-262 only
// the first two are.
var dotted = []rune{'I', 'i', '\u0130', '\u0131'}

// cased returns the characters that equal others if case is ignored, sorted.
var cased = sync.OnceValue(func() []rune {
	out := slices.Clone(dotted)
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if unicode.SimpleFold(c) != c {
			out = append(out, c)
		}
	}
	for _, pair := range unfolded {
		out = append(out, pair[:]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
})

// fold adds the characters that equal those of a normal set if the pattern ignores case.
func (p *parser) fold(set []rune) []rune {
	if !p.flags.ignoreCase {
		return set
	}
	out := slices.Clone(set)
	all := cased()
	for i := 0; i+1 < len(set); i += 2 {
		at, _ := slices.BinarySearch(all, set[i])
		for ; at < len(all) && all[at] <= set[i+1]; at++ {
			out = p.appendFolds(out, all[at])
		}
	}
	p.spend(12*len(set)+8*len(out), 48*len(out))
	return normal(out)
}

// appendFolds appends the characters that equal c if case is ignored.
func (p *parser) appendFolds(out []rune, c rune) []rune {
	for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
		out = append(out, f, f)
	}
	for _, pair := range unfolded {
		if pair[0] == c || pair[1] == c {
			out = append(out, pair[0], pair[0], pair[1], pair[1])
		}
	}
	if p.loose && slices.Contains(dotted, c) {
		for _, f := range dotted {
			out = append(out, f, f)
		}
	}
	return out
}
