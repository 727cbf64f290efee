package corpus

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// names are the starters in the order of Text's documentation.
var names = []string{"novels", "abc", "chords", "forms"}

// text calls Text and fails the test on an error.
func text(t testing.TB, name string, seed uint64, size int) string {
	t.Helper()
	s, err := Text(name, seed, size)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pieces splits a training text into the pieces that the judges check.
func pieces(name, text string) []string {
	if name == "chords" {
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	var out []string
	for p := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if n := len(out); n > 0 && strings.HasPrefix(out[n-1], "Chapter ") && !strings.Contains(out[n-1], ".") {
			out[n-1] += "\n\n" + p
			continue
		}
		out = append(out, strings.TrimSuffix(p, "\n"))
	}
	return out
}

// judges maps names to judges.
var judges = map[string]func(string) error{"novels": CheckStory, "abc": CheckTune, "chords": CheckProgression, "forms": CheckForm}

// The models in the repository were trained on these bytes: a change of a generator needs
// new models.
func TestTextIsTheSameEverywhere(t *testing.T) {
	want := map[string]string{
		"novels": "a85c8d1434e8b99a",
		"abc":    "ae0f369146f91b5e",
		"chords": "910a942abc655664",
		"forms":  "ed6a1c43e30163e9",
	}
	for _, name := range names {
		got := fmt.Sprintf("%x", sha256.Sum256([]byte(text(t, name, 1, 100_000))))
		if got[:16] != want[name] {
			t.Errorf("%s: the first 100 kB of seed 1 hash to %s, not %s", name, got[:16], want[name])
		}
	}
}

func TestText(t *testing.T) {
	for _, name := range names {
		short, long := text(t, name, 7, 10_000), text(t, name, 7, 20_000)
		if len(short) < 10_000 || len(short) > 12_000 {
			t.Errorf("%s: 10000 bytes were asked for, %d written", name, len(short))
		}
		if !strings.HasPrefix(long, short) {
			t.Errorf("%s: a longer text does not begin as a shorter one", name)
		}
		if other := text(t, name, 8, 10_000); other[:2000] == short[:2000] {
			t.Errorf("%s: seeds 7 and 8 begin alike", name)
		}
	}
	if _, err := Text("poems", 1, 10); err == nil {
		t.Error("an unknown name gives no error")
	}
}

func TestEveryPieceIsValid(t *testing.T) {
	for _, name := range names {
		for seed := range uint64(3) {
			for _, p := range pieces(name, text(t, name, seed, 150_000)) {
				if err := judges[name](p); err != nil {
					t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, p)
				}
			}
		}
	}
}

func TestNoTwoPiecesAreAlike(t *testing.T) {
	for _, name := range names {
		all := pieces(name, text(t, name, 1, 1_000_000))
		alike := len(all) - len(slices.Compact(slices.Sorted(slices.Values(all))))
		if alike > 0 {
			t.Errorf("%s: %d of %d pieces stand there twice", name, alike, len(all))
		}
	}
}

// TestLongRunsAreRare bounds the repetition of a model that knew the rules perfectly: the
// share of the runs of 12 words (novels, chords, forms) or characters (abc) of one seed's
// text that occur in another's.
func TestLongRunsAreRare(t *testing.T) {
	for _, tt := range []struct {
		name string
		size int
		most float64
	}{{"novels", 2_000_000, 0.003}, {"abc", 1_200_000, 0.005}, {"chords", 1_000_000, 0.005}, {"forms", 2_000_000, 0.01}} {
		split := func(s string) []string { return strings.Fields(strings.ReplaceAll(s, "\n", " \\n ")) }
		train, held := text(t, tt.name, 1, tt.size), text(t, tt.name, 2, 200_000)
		a, b := split(train), split(held)
		if tt.name == "abc" {
			a, b = strings.Split(train, ""), strings.Split(bodies(held), "")
		}
		have := map[string]bool{}
		for i := range len(a) - 11 {
			have[strings.Join(a[i:i+12], " ")] = true
		}
		hits := 0
		for i := range len(b) - 11 {
			if have[strings.Join(b[i:i+12], " ")] {
				hits++
			}
		}
		share := float64(hits) / float64(len(b)-11)
		if t.Logf("%s: %.3f %%", tt.name, 100*share); share > tt.most {
			t.Errorf("%s: %.2f %% of the runs are in the training text", tt.name, 100*share)
		}
	}
}

// bodies returns the music of tunes.
func bodies(tunes string) string {
	var b strings.Builder
	for _, p := range pieces("abc", tunes) {
		b.WriteString(strings.Join(strings.Split(p, "\n")[5:], "\n"))
	}
	return b.String()
}

func TestTunesFitAContext(t *testing.T) {
	for _, p := range pieces("abc", text(t, "abc", 3, 300_000)) {
		if len(p) > maxTune {
			t.Fatalf("%d bytes:\n%s", len(p), p)
		}
	}
}

func FuzzJudges(f *testing.F) {
	for _, name := range names {
		for i, p := range pieces(name, text(f, name, 5, 3000)) {
			f.Add(p)
			f.Add(p[:len(p)/(i+2)])
		}
	}
	f.Add("")
	f.Add("X:\n\n\n\n\n|\n|]")
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range names {
			if judges[name](s) == nil && strings.ContainsAny(s, "\x00\t") {
				t.Errorf("%s: %q passes", name, s)
			}
		}
	})
}
