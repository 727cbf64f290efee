package corpus

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckProgressionFindsFaults(t *testing.T) {
	corrupt(t, "chords", map[string]func(string) string{
		"an unknown key":          once(`^[A-G]b?`, "H"),
		"another key":             once(`^(C|G|D|A|F|Bb|Eb)-major`, "B-minor"),
		"an unknown style":        once(` (folk|pop|jazz) `, " polka "),
		"a style too rich for it": once(` (jazz|bossa|swing) `, " folk "),
		"no colon":                once(` :`, ""),
		"an unknown section":      once(`(verse|chorus|bridge|intro|coda)`, "solo"),
		"no section":              once(`(verse|chorus|bridge|intro|coda) `, ""),
		"a chord too few":         once(` [^ ]+ \|`, " |"),
		"a chord too many":        once(` ([^ ]+) \|`, " $1 $1 |"),
		"a phrase alone":          once(` \|.*`, ""),
		"an empty phrase":         once(` \|`, " | |"),
		"no cadence":              func(s string) string { return s[:strings.LastIndexByte(s, ' ')] },
		"a foreign chord":         once(` \| [^ ]+`, " | F#m7b5b9"),
		"a chord twice":           once(` \| ([^ ]+) [^ ]+`, " | $1 $1"),
	})
	for _, s := range []string{"", "C-major folk :", "C-major folk : verse", ": : : :"} {
		if CheckProgression(s) == nil {
			t.Errorf("%q passes", s)
		}
	}
}

func TestCheckProgressionKnowsFunctions(t *testing.T) {
	for line, ok := range map[string]bool{
		"C-major folk : verse C F G7 C | Dm F G C":                true,
		"C-major folk : verse C G7 F C | Dm G7 F C":               false, // D does not go back to S
		"C-major jazz : verse Cmaj7 A7 Dm7 G7 | Dm7 G7 G9 C6":     false, // V repeats itself
		"C-major jazz : verse Cmaj7 A7 Dm7 G7 | Am7 Dm7 G13 C6":   true,
		"C-major jazz : verse Cmaj7 A7 Fmaj7 G7 | Am7 Dm7 G13 C6": false, // V/ii misses its goal
		"C-major jazz : verse Cmaj7 A7 Dm7 G7 | Am7 Dm7 G13 Am7":  false, // no tonic
		"A-minor folk : verse Am Dm E7 Am | F Bdim E Am":          true,
		"A-minor folk : verse Am Dm E7 Am | F Bdim E A":           false,
	} {
		if err := CheckProgression(line); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestNoteNames(t *testing.T) {
	for _, tt := range []struct {
		key           string
		letters, semi int
		want          string
	}{
		{"C-major", 6, 10, "Bb"}, {"Eb-major", 1, 1, "E"}, {"G-major", 6, 11, "F#"}, {"Eb-major", 3, 5, "Ab"},
		{"B-minor", 4, 7, "F#"}, {"B-minor", 6, 11, "A#"}, {"Bb-major", 1, 1, "B"}, {"G-minor", 1, 1, "Ab"},
	} {
		k := chordKeys[slices.IndexFunc(chordKeys, func(k chordKey) bool { return k.name == tt.key })]
		if got := k.noteName(tt.letters, tt.semi); got != tt.want {
			t.Errorf("%s, %d letters and %d semitones up: %s, want %s", tt.key, tt.letters, tt.semi, got, tt.want)
		}
	}
}

func TestChordWords(t *testing.T) {
	words := ChordWords()
	seen := map[string]bool{}
	for w := range strings.FieldsSeq(text(t, "chords", 1, 2_000_000)) {
		if seen[w] = true; !slices.Contains(words, w) {
			t.Fatalf("%q is not among the words", w)
		}
	}
	for _, w := range words {
		if !seen[w] {
			t.Errorf("%q is among the words, but is never written", w)
		}
	}
}
