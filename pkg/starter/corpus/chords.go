package corpus

import (
	"slices"
	"strings"
	"unicode"
)

const phraseChords = 4

// sectionNames are the parts of a song; sectionForms are their phrases: equal letters are
// equal phrases, and a capital is the phrase of its lower-case letter with another
// ending.
var (
	sectionNames = []string{"intro", "verse", "chorus", "bridge", "coda"}
	sectionForms = []string{"ab", "aA", "ab", "aba", "abA", "abc", "abac", "abAc", "abcd"}
)

// Chords writes progressions, one a line, about size bytes in all:
//
//	G-major folk : verse G Em C D7 | C G/B Am D | G Em C D7 | Am D7 Em G
//
// A line names its key, style and section. Its phrases of four chords begin on
// a tonic or subdominant chord and rest on a tonic or dominant one; the last is
// a cadence to the tonic.
func Chords(seed uint64, size int) string {
	d := newDice(seed, "chords")
	voices := map[voiceKey]*voice{}
	return fill(size, func(b *strings.Builder) {
		k, s := pick(d, chordKeys), pick(d, chordStyles)
		at := voiceKey{k.name, s.name}
		if voices[at] == nil {
			voices[at] = newVoice(k, s)
		}
		b.WriteString(progression(d, voices[at]))
	})
}

// progression writes one line.
func progression(d *dice, v *voice) string {
	var b strings.Builder
	b.WriteString(v.key.name + " " + v.style.name + " : " + pick(d, sectionNames))
	for i, p := range v.section(d, pick(d, sectionForms)) {
		if i > 0 {
			b.WriteString(" |")
		}
		b.WriteString(" " + strings.Join(p, " "))
	}
	b.WriteString("\n")
	return b.String()
}

type voiceKey struct{ key, style string }

// voice holds the chords of one style in one key.
type voice struct {
	key     chordKey
	style   chordStyle
	degrees []degree
	symbols [][]string       // by degree; empty if the style has no such chord
	uses    []int            // the degrees that the style uses
	degree  map[string][]int // by symbol, the degrees that it may represent
}

func newVoice(k chordKey, s chordStyle) *voice {
	v := &voice{key: k, style: s, degrees: k.degrees(), degree: map[string][]int{}}
	for i, g := range v.degrees {
		v.symbols = append(v.symbols, k.symbols(g, s))
		if len(v.symbols[i]) > 0 && !slices.Contains(s.omits, g.name) {
			v.uses = append(v.uses, i)
		}
		for _, sym := range v.symbols[i] {
			if !slices.Contains(v.degree[sym], i) {
				v.degree[sym] = append(v.degree[sym], i)
			}
		}
	}
	return v
}

// follows reports whether degree j may come after degree i. Functions move from T to
// anything, from S to S, D or T, from D to D or T; an applied chord moves to its goal.
func (v *voice) follows(i, j int) bool {
	a, b := v.degrees[i], v.degrees[j]
	switch {
	case i == j || len(v.symbols[j]) == 0:
		return false
	case a.does == applied:
		return slices.Contains(a.goals, b.name)
	case a.does == dominant:
		return b.does == dominant || b.does == tonic
	}
	return true
}

// opens and rests report whether a phrase may begin or end with a degree. closes reports
// whether moving from degree i to the tonic is a cadence.
func (v *voice) opens(i int) bool {
	f := v.degrees[i].does
	return len(v.symbols[i]) > 0 && (f == tonic || f == subdominant)
}

func (v *voice) rests(i int) bool {
	f := v.degrees[i].does
	return f == tonic || f == dominant
}

func (v *voice) closes(i int) bool {
	f := v.degrees[i].does
	return f == dominant || f == subdominant
}

// section writes the phrases of a form, the last with the closing cadence.
func (v *voice) section(d *dice, form string) [][]string {
	made := map[rune][]string{}
	var out [][]string
	for i, c := range form {
		ends := i == len(form)-1
		p, again := made[c]
		small := unicode.ToLower(c)
		switch {
		case again && !ends: // unchanged
		case small != c:
			p = v.phrase(d, made[small][:phraseChords/2], ends)
		default:
			p = v.phrase(d, nil, ends)
		}
		made[c] = p
		out = append(out, p)
	}
	return out
}

// phrase draws walks through the degrees until one can be written with the given first
// symbols, if any, and the requested ending.
func (v *voice) phrase(d *dice, begin []string, final bool) []string {
	for tries := 0; ; tries++ {
		if tries == 2000 {
			begin = nil // no ending fits this beginning
		}
		walk := v.walk(d)
		if walk == nil || final && (walk[phraseChords-1] != 0 || !v.closes(walk[phraseChords-2])) {
			continue
		}
		p := make([]string, phraseChords)
		fits := true
		for i, at := range walk {
			p[i] = pick(d, v.symbols[at])
			if i < len(begin) {
				p[i] = begin[i]
				fits = fits && slices.Contains(v.symbols[at], begin[i])
			}
		}
		if fits {
			return p
		}
	}
}

// walk draws one phrase of degrees, nil if it reached no resting place.
func (v *voice) walk(d *dice) []int {
	walk := make([]int, phraseChords)
	walk[0] = pick(d, v.uses)
	if d.chance(35) {
		walk[0] = 0
	}
	if !v.opens(walk[0]) {
		return nil
	}
	for i := 1; i < phraseChords; i++ {
		walk[i] = pick(d, v.uses)
		if !v.follows(walk[i-1], walk[i]) {
			return nil
		}
	}
	if !v.rests(walk[phraseChords-1]) {
		return nil
	}
	return walk
}
