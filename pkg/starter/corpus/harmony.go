package corpus

import (
	"slices"
	"strings"
)

// function is the role of a chord in its key (Riemann's three functions), and applied for
// chords that lead to the next one.
type function int

const (
	tonic function = iota
	subdominant
	dominant
	applied
)

// degree is one chord of a mode: its root, its function, its colours in each family of
// styles, and its goals.
type degree struct {
	name     string // Roman numeral
	does     function
	letter   int      // root: letters above the tonic's letter
	semi     int      // root: semitones above the tonic
	bass     int      // bass note, if not the root: letters above the tonic's letter; otherwise -1
	bassSemi int      // bass note: semitones above the tonic
	plain    string   // suffixes in plain styles, "-" for the bare triad
	rich     string   // suffixes in rich styles; empty: not used there
	goals    []string // of an applied chord: the names that may follow
}

// majorDegrees follows the usual order of functions T-S-D-T with the common substitutes.
// A chord's function determines its successors (see voice.follows); an applied dominant
// moves to its goal or a relative of it.
var majorDegrees = []degree{
	{"I", tonic, 0, 0, -1, 0, "- - add9", "maj7 maj7 6 maj9", nil},
	{"I/3", tonic, 0, 0, 2, 4, "-", "", nil},
	{"iii", tonic, 2, 4, -1, 0, "m", "m7", nil},
	{"vi", tonic, 5, 9, -1, 0, "m m7", "m7 m9", nil},
	{"ii", subdominant, 1, 2, -1, 0, "m m7", "m7 m9", nil},
	{"IV", subdominant, 3, 5, -1, 0, "- add9", "maj7 6", nil},
	{"iv", subdominant, 3, 5, -1, 0, "m", "m6", nil},
	{"bVII", subdominant, 6, 10, -1, 0, "-", "9", nil},
	{"V", dominant, 4, 7, -1, 0, "- 7 sus4", "7 9 13", nil},
	{"V/3", dominant, 4, 7, 6, 11, "-", "", nil},
	{"vii", dominant, 6, 11, -1, 0, "dim", "m7b5", nil},
	{"bII", dominant, 1, 1, -1, 0, "", "7", nil},
	{"V/ii", applied, 5, 9, -1, 0, "7", "7 7b9", fields("ii V/V")},
	{"V/IV", applied, 0, 0, -1, 0, "7", "7 9", fields("IV ii iv")},
	{"V/V", applied, 1, 2, -1, 0, "7", "7 9", fields("V V/3 ii")},
	{"V/vi", applied, 2, 4, -1, 0, "7", "7b9", fields("vi IV V/ii")},
}

// minorDegrees: the dominant is major, the other chords are of the natural minor, with
// the Neapolitan and the applied dominants of iv, V and VI.
var minorDegrees = []degree{
	{"i", tonic, 0, 0, -1, 0, "m m m7", "m7 m7 m9 m6", nil},
	{"i/3", tonic, 0, 0, 2, 3, "m", "", nil},
	{"bIII", tonic, 2, 3, -1, 0, "- add9", "maj7 6", nil},
	{"bVI", tonic, 5, 8, -1, 0, "- add9", "maj7 6", nil},
	{"iv", subdominant, 3, 5, -1, 0, "m m7", "m7 m9", nil},
	{"ii", subdominant, 1, 2, -1, 0, "dim", "m7b5", nil},
	{"bII", subdominant, 1, 1, -1, 0, "-", "maj7", nil},
	{"v", subdominant, 4, 7, -1, 0, "m", "", nil},
	{"bVII", subdominant, 6, 10, -1, 0, "- sus4", "9 13", nil},
	{"V", dominant, 4, 7, -1, 0, "- 7 sus4", "7 7b9 7#5", nil},
	{"V/3", dominant, 4, 7, 6, 11, "-", "", nil},
	{"subV", dominant, 1, 1, -1, 0, "", "7", nil},
	{"V/iv", applied, 0, 0, -1, 0, "7", "7 7b9", fields("iv bII")},
	{"V/V", applied, 1, 2, -1, 0, "7", "7 9", fields("V V/3 ii")},
	{"V/bVI", applied, 2, 3, -1, 0, "7", "7 9", fields("bVI iv")},
}

func fields(s string) []string { return strings.Fields(s) }

// chordKey is a key: its name in the text, its tonic and its mode.
type chordKey struct {
	name   string
	letter int // tonic's letter, 0 = C
	pitch  int // tonic's pitch class, 0 = C
	minor  bool
}

var chordKeys = []chordKey{
	{"C-major", 0, 0, false}, {"G-major", 4, 7, false}, {"D-major", 1, 2, false}, {"A-major", 5, 9, false},
	{"F-major", 3, 5, false}, {"Bb-major", 6, 10, false}, {"Eb-major", 2, 3, false},
	{"A-minor", 5, 9, true}, {"E-minor", 2, 4, true}, {"B-minor", 6, 11, true}, {"D-minor", 1, 2, true}, {"G-minor", 4, 7, true},
}

// degrees returns the chords of the key's mode.
func (k chordKey) degrees() []degree {
	if k.minor {
		return minorDegrees
	}
	return majorDegrees
}

// chordStyle is a style: whether its chords are rich (sevenths and more), and the degrees
// that it does not use.
type chordStyle struct {
	name  string
	rich  bool
	omits []string
}

var chordStyles = []chordStyle{
	{"folk", false, fields("V/ii V/vi V/IV iv vii V/bVI bII")},
	{"pop", false, fields("vii V/IV V/iv")},
	{"hymn", false, fields("bVII v bII")},
	{"jazz", true, nil},
	{"bossa", true, fields("vii bVII V/bVI")},
	{"swing", true, fields("iv bII")},
}

// pitchOf holds the pitch class of each letter, C to B.
var pitchOf = [7]int{0, 2, 4, 5, 7, 9, 11}

// noteName spells the note that lies letters and semitones above the tonic. A spelling
// that would be a white key in disguise or need a double accidental is respelled as in
// fake books.
func (k chordKey) noteName(letters, semitones int) string {
	letter, pitch := (k.letter+letters)%7, (k.pitch+semitones)%12
	diff := (pitch-pitchOf[letter]+18)%12 - 6
	name := string("CDEFGAB"[letter])
	switch diff {
	case -1:
		name += "b"
	case 1:
		name += "#"
	case -2, 2:
		return fields("C Db D Eb E F F# G Ab A Bb B")[pitch]
	}
	if i := slices.Index([]string{"Cb", "Fb", "E#", "B#"}, name); i >= 0 {
		return []string{"B", "E", "F", "C"}[i]
	}
	return name
}

// symbols lists the spellings of a degree in a style and key, with repeats of the more
// usual ones; none if no style of its family uses the degree.
func (k chordKey) symbols(g degree, s chordStyle) []string {
	suffixes := g.plain
	if s.rich {
		suffixes = g.rich
	}
	root, bass := k.noteName(g.letter, g.semi), ""
	if g.bass >= 0 {
		bass = "/" + k.noteName(g.bass, g.bassSemi)
	}
	var out []string
	for suffix := range strings.FieldsSeq(suffixes) {
		out = append(out, root+strings.TrimPrefix(suffix, "-")+bass)
	}
	return out
}
