// Package tokenizertest has the shared parts of the tests of several kinds of tokenizers:
// checks that every tokenizer passes, and the golden files.
package tokenizertest

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/tokenizer"
)

// ReadFile returns the content of a file of tests.
func ReadFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// CheckBounds checks that a collector returns the tokenizer's ids, that AtLeast is a
// lower bound of their number, and that a text is rejected exactly if it has more tokens
// than the collector's maximum.
func CheckBounds(t *testing.T, name string, tok tokenizer.Tokenizer, text string) {
	t.Helper()
	for _, special := range []bool{false, true} {
		want := tok.Encode(text)
		if special {
			want = tok.EncodeSpecial(text)
		}
		if least := tokenizer.AtLeast(tok, text, special); least > len(want) {
			t.Fatalf("%s: %q has %d tokens, not at least %d", name, text, len(want), least)
		}
		for _, limit := range []int{0, len(want) - 1, len(want)} {
			c := tokenizer.Collector{Max: limit}
			err := c.Add(t.Context(), tok, text, special)
			if limit == len(want)-1 && limit > 0 {
				e, ok := errors.AsType[*tokenizer.LimitError](err)
				if !ok || e.AtLeast <= limit || e.AtLeast > len(want) || e.Max != limit {
					t.Fatalf("%s: %q of %d tokens: %v", name, text, len(want), err)
				}
				continue
			}
			if limit < 0 {
				continue
			}
			if err != nil || !slices.Equal(c.IDs(), want) || c.Total() != len(want) {
				t.Fatalf("%s: %q is %v (%v), want %v", name, text, c.IDs(), err, want)
			}
		}
	}
}

// CheckIDs checks that every id is in range, and decodes them.
func CheckIDs(t *testing.T, tok tokenizer.Tokenizer, text string) {
	t.Helper()
	CheckBounds(t, "", tok, text)
	for _, ids := range [][]int{tok.Encode(text), tok.EncodeSpecial(text)} {
		for _, id := range ids {
			if id < 0 || id >= tok.Size() {
				t.Fatalf("%q: id %d of %d", text, id, tok.Size())
			}
		}
		tokenizer.Decode(tok, ids)
	}
}

// CheckRoundTrip checks that ids are in range, that decoded text is valid UTF-8, and that
// lossless tokenizers return the text.
func CheckRoundTrip(t *testing.T, name string, tok tokenizer.Tokenizer, text string) {
	t.Helper()
	CheckBounds(t, name, tok, text)
	ids := tok.Encode(text)
	for _, id := range append(tok.EncodeSpecial(text), ids...) {
		if id < 0 || id >= tok.Size() {
			t.Fatalf("%s: id %d of %d", name, id, tok.Size())
		}
	}
	for _, special := range tok.(tokenizer.Specials).SpecialTokens() {
		if slices.Contains(ids, special) && tok.Piece(special) != "<unk>" {
			t.Fatalf("%s: Encode(%q) reads %s", name, text, tok.Piece(special))
		}
	}
	decoded := tokenizer.Decode(tok, ids)
	plain := strings.ReplaceAll(text, "\u2581", " ")
	switch {
	case name == "gguf": // also for invalid UTF-8
		if decoded != plain {
			t.Fatalf("%s: %q is decoded to %q", name, text, decoded)
		}
	case name == "bpebytes" || name == "unigrambytes":
		if plain = eachByteReplaced(plain); decoded != plain {
			t.Fatalf("%s: %q is decoded to %q", name, text, decoded)
		}
	default:
		if again := tokenizer.Decode(tok, tok.Encode(decoded)); name != "t5" && !utf8.ValidString(again) {
			t.Fatalf("%s: %q is decoded to %q", name, text, again)
		}
	}
}

// eachByteReplaced replaces each byte that is not part of a rune by U+FFFD.
func eachByteReplaced(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}

// Case is the output of testdata/goldens.py for a text.
type Case struct {
	Text    string   `json:"text"`
	Pieces  []string `json:"pieces"`  // of the pre-tokenizer only
	Plain   []int    `json:"plain"`   // special tokens are text
	Special []int    `json:"special"` // absent if equal to Plain
}

// Cases reads the cases of a tokenizer.
func Cases(t testing.TB, dir, name string) []Case {
	t.Helper()
	var cases []Case
	if err := json.Unmarshal(ReadFile(t, dir, name+".golden.json"), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 70 {
		t.Fatalf("%s has %d cases", name, len(cases))
	}
	return cases
}

// ModelNames are the models sp.NAME.model.
var ModelNames = []string{"unigram", "unigramuser", "unigrambytes", "bpe", "bpebytes", "bpesuffix"}

// PieceGoldens is testdata/sp.golden.json.
type PieceGoldens struct {
	Texts  []string
	Broken []string // hexadecimal
	Models map[string]PieceGolden
	XGLM   struct {
		PieceGolden
		Size    int
		Special map[string]int
	}
	M2M100 struct {
		PieceGolden
		French    []int
		Languages map[string]int
	}
}

// PieceGolden holds a model's results for the texts.
type PieceGolden struct {
	IDs           [][]int // of Texts and, in models, of Broken after them
	Decoded       []string
	Sequences     [][]int
	SequenceTexts []string
}

// ReadPieceGoldens reads sp.golden.json in dir.
func ReadPieceGoldens(t testing.TB, dir string) *PieceGoldens {
	t.Helper()
	var g PieceGoldens
	if err := json.Unmarshal(ReadFile(t, dir, "sp.golden.json"), &g); err != nil {
		t.Fatal(err)
	}
	return &g
}

// Inputs returns all texts, including those that are not UTF-8.
func (g *PieceGoldens) Inputs(t testing.TB) []string {
	inputs := slices.Clone(g.Texts)
	for _, digits := range g.Broken {
		raw, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, string(raw))
	}
	return inputs
}

// CheckDecoding checks the decoded text of ids, and that a decoder never revises text
// that it has returned.
func CheckDecoding(t *testing.T, tok tokenizer.Tokenizer, ids [][]int, texts []string) {
	t.Helper()
	if len(ids) != len(texts) || len(ids) == 0 {
		t.Fatalf("%d texts of %d", len(texts), len(ids))
	}
	for i, list := range ids {
		if got := tokenizer.Decode(tok, list); got != texts[i] {
			t.Errorf("Decode(%v)\n %q, want\n %q", list, got, texts[i])
		}
	}
}

// WideVocabulary returns a vocabulary of 50,000 merges: the prefixes of invented words,
// short ones first.
func WideVocabulary(byteRune func(b byte) rune) (map[string]int, [][2]string) {
	rng := rand.New(rand.NewPCG(5, 6))
	vocab := map[string]int{}
	for b := range 256 {
		vocab[string(byteRune(byte(b)))] = len(vocab)
	}
	var merges [][2]string
	for len(merges) < 50_000 {
		head := []string{"Ġ", "a", "b", "c", "d", "e"}[rng.IntN(6)]
		for range 2 + rng.IntN(6) {
			next := string("etaoinshrdlucmfwypvbgkjqxz"[min(rng.IntN(26), rng.IntN(26))])
			if _, ok := vocab[head+next]; !ok {
				vocab[head+next] = len(vocab)
				merges = append(merges, [2]string{head, next})
			}
			head += next
		}
	}
	return vocab, merges
}

// RandomText returns n random letters of an alphabet.
func RandomText(alphabet string, n int) string {
	rng := rand.New(rand.NewPCG(9, 10))
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(text)
}

// PiecesOf splits text; the pieces concatenate to text.
func PiecesOf(split func(text string, i int) int, text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			j := split(text, i)
			if !yield(text[i:j]) {
				return
			}
			i = j
		}
	}
}
