package pretoken

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// Every code point has the reference's class, except those not assigned in the Unicode
// version of the Go toolchain.
func TestClasses(t *testing.T) {
	var ranges map[string][][2]rune
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "../../hf/testdata", "classes.json"), &ranges); err != nil {
		t.Fatal(err)
	}
	want := make([]charClass, unicode.MaxRune+1)
	for c, name := range map[charClass]string{letter: "letter", number: "number", space: "space"} {
		if len(ranges[name]) == 0 {
			t.Fatalf("no ranges of %s", name)
		}
		for _, bounds := range ranges[name] {
			for r := bounds[0]; r <= bounds[1]; r++ {
				want[r] = c
			}
		}
	}
	newer := 0
	for r, w := range want {
		text := string(rune(r))
		if 0xd800 <= r && r < 0xe000 {
			continue
		}
		got, n := classAt(text, 0)
		switch {
		case n != len(text):
			t.Fatalf("%U: width %d", r, n)
		case got == w:
		case unicode.Is(unicode.Cn, rune(r)):
			newer++
		default:
			t.Errorf("%U: class %d, want %d", r, got, w)
		}
	}
	t.Logf("Unicode %s: %d letters and numbers of the reference are newer", unicode.Version, newer)
}

// Each known pattern cuts in the same places as the reference.
func TestPatterns(t *testing.T) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "../../hf/testdata", "patterns.golden.json"), &file); err != nil {
		t.Fatal(err)
	}
	var texts []string
	if err := json.Unmarshal(file["texts"], &texts); err != nil || len(texts) < 200 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	for name, split := range map[string]Splitter{"gpt2": GPT2, "llama3": Llama3, "qwen2": Qwen2, "o200k": O200k} {
		var ends [][]int
		if err := json.Unmarshal(file[name], &ends); err != nil || len(ends) != len(texts) {
			t.Fatalf("%s: %d texts, %v", name, len(ends), err)
		}
		for i, text := range texts {
			got, n := []int{}, 0
			for piece := range tokenizertest.PiecesOf(split, text) {
				n += len([]rune(piece))
				got = append(got, n)
			}
			if !slices.Equal(got, ends[i]) {
				t.Errorf("%s: %q\n got %v\nwant %v", name, text, got, ends[i])
			}
		}
	}
}

func FuzzPretokenize(f *testing.F) {
	for _, c := range tokenizertest.Cases(f, "../../hf/testdata", "gpt2") {
		f.Add(c.Text)
	}
	f.Add("\xff\xfea \xe4\xb8 \xed\xa0\x80'\xc5\xbf")
	f.Fuzz(func(t *testing.T, text string) {
		for _, split := range []Splitter{GPT2, Llama3, Qwen2, O200k} {
			rest := text
			for piece := range tokenizertest.PiecesOf(split, text) {
				if piece == "" || !strings.HasPrefix(rest, piece) {
					t.Fatalf("%q: piece %q of %q", text, piece, rest)
				}
				rest = rest[len(piece):]
			}
			if rest != "" {
				t.Fatalf("%q: %q is left", text, rest)
			}
		}
	})
}
