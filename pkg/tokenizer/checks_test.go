package tokenizer

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
)

// readFile returns the content of a file of tests.
func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkBounds checks that a collector gives the ids of the tokenizer, that no text has
// fewer than it is said to have at least, and that a text is refused exactly if it has
// more than a collector takes.
func checkBounds(t *testing.T, name string, tok Tokenizer, text string) {
	t.Helper()
	for _, special := range []bool{false, true} {
		want := tok.Encode(text)
		if special {
			want = tok.EncodeSpecial(text)
		}
		if least := AtLeast(tok, text, special); least > len(want) {
			t.Fatalf("%s: %q has %d tokens, not at least %d", name, text, len(want), least)
		}
		for _, limit := range []int{0, len(want) - 1, len(want)} {
			c := Collector{Max: limit}
			err := c.Add(t.Context(), tok, text, special)
			if limit == len(want)-1 && limit > 0 {
				e, ok := errors.AsType[*LimitError](err)
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

// checkIDs encodes and decodes, whatever comes of it.
func checkIDs(t *testing.T, tok Tokenizer, text string) {
	t.Helper()
	checkBounds(t, "", tok, text)
	for _, ids := range [][]int{tok.Encode(text), tok.EncodeSpecial(text)} {
		for _, id := range ids {
			if id < 0 || id >= tok.Size() {
				t.Fatalf("%q: id %d of %d", text, id, tok.Size())
			}
		}
		Decode(tok, ids)
	}
}

// checkRoundTrip checks that ids are in range, that what is decoded is UTF-8, and
// that what loses nothing gives the text back.
func checkRoundTrip(t *testing.T, name string, tok Tokenizer, text string) {
	t.Helper()
	checkBounds(t, name, tok, text)
	ids := tok.Encode(text)
	for _, id := range append(tok.EncodeSpecial(text), ids...) {
		if id < 0 || id >= tok.Size() {
			t.Fatalf("%s: id %d of %d", name, id, tok.Size())
		}
	}
	for _, special := range tok.(Specials).SpecialTokens() {
		if slices.Contains(ids, special) && tok.Piece(special) != "<unk>" {
			t.Fatalf("%s: Encode(%q) reads %s", name, text, tok.Piece(special))
		}
	}
	decoded := Decode(tok, ids)
	plain := strings.ReplaceAll(text, "\u2581", " ")
	switch {
	case name == "gguf": // also of what is no UTF-8
		if decoded != plain {
			t.Fatalf("%s: %q is decoded to %q", name, text, decoded)
		}
	case name == "bpebytes" || name == "unigrambytes":
		if plain = eachByteReplaced(plain); decoded != plain {
			t.Fatalf("%s: %q is decoded to %q", name, text, decoded)
		}
	default:
		if again := Decode(tok, tok.Encode(decoded)); name != "t5" && !utf8.ValidString(again) {
			t.Fatalf("%s: %q is decoded to %q", name, text, again)
		}
	}
}

// eachByteReplaced replaces each byte that is in no rune by U+FFFD.
func eachByteReplaced(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}

// goldenCase is what testdata/goldens.py writes for a text.
type goldenCase struct {
	Text    string   `json:"text"`
	Pieces  []string `json:"pieces"`  // of the pre-tokenizer alone
	Plain   []int    `json:"plain"`   // special tokens are text
	Special []int    `json:"special"` // absent where it is plain
}

func goldenCases(t testing.TB, dir, name string) []goldenCase {
	t.Helper()
	var cases []goldenCase
	if err := json.Unmarshal(readFile(t, dir, name+".golden.json"), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 70 {
		t.Fatalf("%s has %d cases", name, len(cases))
	}
	return cases
}

// pieceModelNames are the models sp.NAME.model.
var pieceModelNames = []string{"unigram", "unigramuser", "unigrambytes", "bpe", "bpebytes", "bpesuffix"}

// pieceGoldens is testdata/sp.golden.json.
type pieceGoldens struct {
	Texts  []string
	Broken []string // hexadecimal
	Models map[string]pieceGolden
	XGLM   struct {
		pieceGolden
		Size    int
		Special map[string]int
	}
	M2M100 struct {
		pieceGolden
		French    []int
		Languages map[string]int
	}
}

type pieceGolden struct {
	IDs           [][]int // of Texts and, in models, of Broken after them
	Decoded       []string
	Sequences     [][]int
	SequenceTexts []string
}

// inputs are all texts, also those that are no UTF-8.
func (g *pieceGoldens) inputs(t testing.TB) []string {
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

// checkDecoding compares what ids are decoded to, and that what a decoder has
// returned so far is never taken back.
func checkDecoding(t *testing.T, tok Tokenizer, ids [][]int, texts []string) {
	t.Helper()
	if len(ids) != len(texts) || len(ids) == 0 {
		t.Fatalf("%d texts of %d", len(texts), len(ids))
	}
	for i, list := range ids {
		if got := Decode(tok, list); got != texts[i] {
			t.Errorf("Decode(%v)\n %q, want\n %q", list, got, texts[i])
		}
	}
}

// wideVocabulary has 50,000 merges: the beginnings of made-up words, short ones first.
func wideVocabulary(byteRune func(b byte) rune) (map[string]int, [][2]string) {
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

// randomText is n random letters of an alphabet.
func randomText(alphabet string, n int) string {
	rng := rand.New(rand.NewPCG(9, 10))
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(text)
}

// piecesOf cuts text; the pieces joined are text.
func piecesOf(split func(text string, i int) int, text string) iter.Seq[string] {
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
