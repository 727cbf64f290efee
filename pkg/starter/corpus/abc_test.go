package corpus

import (
	"strings"
	"testing"
)

func TestCheckTuneFindsFaults(t *testing.T) {
	corrupt(t, "abc", map[string]func(string) string{
		"a note too many":    once(`\|([A-Ga-g])`, "|$1$1"),
		"a note too few":     once(`\|[A-Ga-g]([A-Ga-g])`, "|$1"),
		"a longer note":      once(`\|([A-Ga-g])([A-Ga-g])`, "|${1}5$2"),
		"a sharp":            once(`\|([A-Ga-g])`, "|^$1"),
		"a flat":             once(`\|([A-Ga-g])`, "|_$1"),
		"a natural":          once(`\|([A-Ga-g])`, "|=$1"),
		"an octave mark":     once(`\|([A-Ga-g])`, "|$1'"),
		"no closing bar":     func(s string) string { return strings.TrimSuffix(s, "]") },
		"a bar too many":     once(`\|([A-Ga-g0-9]+)\|`, "|$1|$1|"),
		"a bar too few":      once(`\|([A-Ga-g0-9]+)\|`, "|"),
		"another metre":      once(`M:(4/4|3/4|2/4)`, "M:5/4"),
		"a metre not played": once(`M:(4/4|6/8)`, "M:2/4"),
		"another unit":       once(`L:1/8`, "L:1/4"),
		"no such key":        once(`K:[A-Z]`, "K:H"),
		"no key":             once(`K:.*\n`, ""),
		"no title":           once(`T:.*`, "T:"),
		"no number":          once(`X:.*`, "X:one"),
		"another tonic":      once(`K:(C|F)\n`, "K:G\n"),
		"a word after it":    func(s string) string { return s + "x" },
		"one line":           once(`\|\n`, "|"),
		"length one written": once(`\|([A-Ga-g])([A-Ga-g])`, "|${1}1$2"),
	})
	if CheckTune("") == nil {
		t.Error("no tune passes")
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ tonic, step, want int }{{0, 0, 0}, {0, 4, 7}, {0, 3, 0}, {6, 13, 13}, {6, 9, 6}, {6, 10, 13}} {
		if got := nearest(tt.tonic, tt.step); got != tt.want {
			t.Errorf("nearest(%d, %d) = %d, want %d", tt.tonic, tt.step, got, tt.want)
		}
	}
}

func TestMelodyStaysInItsRange(t *testing.T) {
	d := newDice(11, "test")
	for range 2000 {
		m, k := pick(d, abcMetres), pick(d, abcKeys)
		for _, n := range moved(d, melody(d, m, barRhythm(d, m), k.tonic, d.n(14))) {
			if n.step < 0 || n.step >= len(noteLetters) {
				t.Fatalf("step %d", n.step)
			}
		}
	}
}
