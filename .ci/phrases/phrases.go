package main

import (
	"iter"
	"strings"
	"unicode"
)

// A Direction says which way a pair is a translation.
type Direction int

// The directions. A variant is understood, and never given as an answer: it is a
// pair of one direction.
const (
	Both      Direction = iota
	ToFrench            // the English side is a variant: a contraction, a progressive
	ToEnglish           // the French side is a variant: tu, elles, an inversion
)

// A Pair is one sentence in both languages.
type Pair struct {
	English, French string
	Direction       Direction
	Fixed           bool // a set phrase, from which nothing else follows
	HeldOut         bool // it, or what it is a variant of, is kept from the training
}

// heldOutShare is the share of pairs that are held out: one of so many.
const heldOutShare = 20

// Pairs gives pairs without end. A pair comes again as often as the grammar makes
// it again; its variants follow it.
func Pairs(seed uint64) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		w := &writer{dice: newDice(seed), lexicon: words()}
		for {
			s := w.sentence()
			for _, p := range s.pairs(w.dice) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// pairs writes the sentence and those of its variants that the dice ask for.
func (s *sentence) pairs(d *dice) []Pair {
	plain := s.write(style{})
	plain.Fixed = s.fixed
	plain.HeldOut = !s.fixed && heldOut(plain)
	out := []Pair{plain}
	if d.chance(variantShare) {
		v := s.write(style{contracted: true, progressive: d.chance(50)})
		if v.English != plain.English {
			out = append(out, Pair{v.English, plain.French, ToFrench, plain.Fixed, plain.HeldOut})
		}
	}
	if d.chance(variantShare) {
		v := s.write(style{familiar: d.chance(60), feminine: d.chance(50), inverted: d.chance(50)})
		if v.French != plain.French {
			out = append(out, Pair{plain.English, v.French, ToEnglish, plain.Fixed, plain.HeldOut})
		}
	}
	if d.chance(bareShare) {
		out = append(out,
			Pair{bare(plain.English), plain.French, ToFrench, plain.Fixed, plain.HeldOut},
			Pair{plain.English, bare(plain.French), ToEnglish, plain.Fixed, plain.HeldOut})
	}
	return out
}

// heldOut decides by the text alone, so that every seed holds out the same pairs.
func heldOut(p Pair) bool { return hash(p.English+"\t"+p.French)%heldOutShare == 0 }

// bare writes a sentence as it is typed in haste: no capital, no mark at its end.
func bare(s string) string {
	r := []rune(strings.TrimRight(s, " .?!"))
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

// bareShare is how often a sentence comes bare as well, in per cent.
const bareShare = 5

// variantShare is how often a sentence is asked for a variant of either side, in per cent.
const variantShare = 30

// style is how a sentence is written. Its zero value is how answers are.
type style struct {
	contracted, progressive      bool // English: don't, I'm; is eating
	familiar, feminine, inverted bool // French: tu; je and ils of women; mangez-vous
}

// text is a phrase in both languages, before the edits of finish.
type text struct{ en, fr string }

// sentence is what can be written in every style.
type sentence struct {
	render func(style) text
	fixed  bool
}

// write renders the sentence and sets its words, marks and capitals right.
func (s *sentence) write(st style) Pair {
	t := s.render(st)
	return Pair{English: finishEnglish(t.en, st), French: finishFrench(t.fr, st)}
}
