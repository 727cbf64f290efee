package alpha

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

// TestExport: an exported tokenizer.json, read again, gives the same tokens for every
// text, including characters that are not in the vocabulary.
func TestExport(t *testing.T) {
	text := strings.Repeat("the cat sat on the mat, aaaa aaa a;\nthe rat sat on that cat ü€ ", 30)
	for _, kind := range []string{Char, BPE} {
		a, err := Train(kind, text, 90)
		if err != nil {
			t.Fatal(err)
		}
		addSpecial(a, "<|user|>")
		own, err := a.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := own.(tokenizer.Exporter).Export()
		if err != nil {
			t.Fatal(err)
		}
		read, err := hf.Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		letters := []rune("thecasonm, aaab;\nür€z<|>")
		rng := rand.New(rand.NewPCG(1, 2))
		for range 500 {
			var b strings.Builder
			for range rng.IntN(40) {
				if rng.IntN(20) == 0 {
					b.WriteString("<|user|>")
				}
				b.WriteRune(letters[rng.IntN(len(letters))])
			}
			want, got := own.Encode(b.String()), read.Encode(b.String())
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %q is %v, read again %v", kind, b.String(), want, got)
			}
			if got, want := tokenizer.Decode(read, want), tokenizer.Decode(own, want); got != want {
				t.Fatalf("%s: %v says %q, read again %q", kind, want, want, got)
			}
			want, got = own.EncodeSpecial(b.String()), read.EncodeSpecial(b.String())
			if !slices.Equal(got, want) {
				t.Fatalf("%s: with special tokens %q is %v, read again %v", kind, b.String(), want, got)
			}
		}
	}
}

// addSpecial adds a special token after the characters.
func addSpecial(a *Artifacts, mark string) {
	base := len(a.Vocab) - len(a.Merges)
	a.Vocab = slices.Insert(a.Vocab, base, mark)
	a.VocabSize++
	a.SpecialTokens = append(a.SpecialTokens, mark)
	for i := range a.Merges {
		for side := range a.Merges[i] {
			if a.Merges[i][side] >= base {
				a.Merges[i][side]++
			}
		}
	}
}

// TestNotExported: a tokenizer that a tokenizer.json would not reproduce is rejected.
func TestNotExported(t *testing.T) {
	many := &Artifacts{Type: BPE, Vocab: []string{"a"}}
	for i := range heapMerges {
		many.Vocab = append(many.Vocab, strings.Repeat("a", i+2))
		many.Merges = append(many.Merges, [2]int{i, 0})
	}
	for name, a := range map[string]*Artifacts{
		"itself": many,
		"twice":  {Type: BPE, Vocab: []string{"a", "b", "ab", "ba", "aba", "aba"}, Merges: [][2]int{{0, 1}, {1, 0}, {2, 0}, {0, 3}}},
	} {
		a.VocabSize = len(a.Vocab)
		own, err := a.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := own.(tokenizer.Exporter).Export(); err == nil {
			t.Errorf("%s: %.200s", name, raw)
		}
	}
	words := &Artifacts{Type: Word, Vocab: []string{"a"}, VocabSize: 1}
	own, err := words.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := own.(tokenizer.Exporter); ok {
		t.Error("words are exported")
	}
}
