package tokenizer

import (
	"encoding/json"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func golden(t testing.TB, name string) *pipeline {
	t.Helper()
	tok, err := FromHF(readGolden(t, name+".tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok.(*pipeline)
}

// goldenCase is what testdata/goldens.py writes for a text.
type goldenCase struct {
	Text    string   `json:"text"`
	Pieces  []string `json:"pieces"`  // of the pre-tokenizer alone
	Plain   []int    `json:"plain"`   // special tokens are text
	Special []int    `json:"special"` // absent where it is plain
}

func goldenCases(t testing.TB, name string) []goldenCase {
	t.Helper()
	var cases []goldenCase
	if err := json.Unmarshal(readGolden(t, name+".golden.json"), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 70 {
		t.Fatalf("%s has %d cases", name, len(cases))
	}
	return cases
}

var families = []string{"gpt2", "llama3"}

func TestGoldenPieces(t *testing.T) {
	for _, name := range families {
		split := golden(t, name).steps[0].split
		for _, c := range goldenCases(t, name) {
			if got := slices.Collect(split.pieces(c.Text)); !slices.Equal(got, c.Pieces) {
				t.Errorf("%s: %q\n got %q\nwant %q", name, c.Text, got, c.Pieces)
			}
		}
	}
}

func TestGoldenIDs(t *testing.T) {
	for _, name := range families {
		tok := golden(t, name)
		special := 0
		for _, c := range goldenCases(t, name) {
			if c.Special == nil {
				c.Special = c.Plain
			} else {
				special++
			}
			if got := tok.Encode(c.Text); !slices.Equal(got, c.Plain) {
				t.Errorf("%s: Encode(%q)\n got %v\nwant %v", name, c.Text, got, c.Plain)
			}
			if got := tok.EncodeSpecial(c.Text); !slices.Equal(got, c.Special) {
				t.Errorf("%s: EncodeSpecial(%q)\n got %v\nwant %v", name, c.Text, got, c.Special)
			}
			back := c.Text
			if tok.normalize != nil {
				back = norm.NFC.String(back)
			}
			got := Decode(tok, tok.Encode(c.Text))
			if tok.normalize != nil { // an added token stands for what its file spells
				got = norm.NFC.String(got)
			}
			if got != back {
				t.Errorf("%s: %q decodes to %q", name, c.Text, got)
			}
		}
		if special < 5 {
			t.Errorf("%s: only %d cases with special tokens", name, special)
		}
	}
}

// The two files say the same as tokenizer.json, but for what is added to it.
func TestFromVocabMerges(t *testing.T) {
	tok, err := FromVocabMerges(readGolden(t, "gpt2.vocab.json"), readGolden(t, "gpt2.merges.txt"))
	if err != nil {
		t.Fatal(err)
	}
	full := golden(t, "gpt2")
	same := 0
	for _, c := range goldenCases(t, "gpt2") {
		if norm.NFC.String(c.Text) != c.Text || slices.ContainsFunc(c.Plain, func(id int) bool { return id >= tok.Size() }) {
			continue
		}
		same++
		if got := tok.EncodeSpecial(c.Text); !slices.Equal(got, c.Plain) {
			t.Errorf("%q: %v, want %v", c.Text, got, c.Plain)
		}
	}
	if same < 40 || tok.Size() >= full.Size() || tok.Piece(500) != full.Piece(500) {
		t.Errorf("%d cases, %d of %d ids", same, tok.Size(), full.Size())
	}
	var vocab map[string]int
	if err := json.Unmarshal(readGolden(t, "gpt2.vocab.json"), &vocab); err != nil {
		t.Fatal(err)
	}
	end := len(vocab)
	vocab["<|endoftext|>"] = end
	raw, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	if tok, err = FromVocabMerges(raw, readGolden(t, "gpt2.merges.txt")); err != nil {
		t.Fatal(err)
	}
	if got := tok.EncodeSpecial("<|endoftext|>"); !slices.Equal(got, []int{end}) {
		t.Errorf("EncodeSpecial: %v, want %d", got, end)
	}
	if got := tok.Encode("<|endoftext|>"); slices.Contains(got, end) {
		t.Errorf("Encode: %v", got)
	}
	if got := tok.(Specials).SpecialTokens(); len(got) != 1 || got["<|endoftext|>"] != end {
		t.Errorf("special tokens: %v", got)
	}
}

// Every code point is of the class that the reference gives it; what differs is
// not assigned in the Unicode version of the Go toolchain.
func TestClasses(t *testing.T) {
	var ranges map[string][][2]rune
	if err := json.Unmarshal(readGolden(t, "classes.json"), &ranges); err != nil {
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

// Text never becomes a special token, even if the vocabulary has it as a piece.
func TestSpecialPiece(t *testing.T) {
	vocab := map[string]int{"abc": 256}
	for b, r := range byteAlphabet {
		vocab[string(r)] = b
	}
	added := []addedToken{{ID: 256, Content: "abc", Special: true}}
	tok := &pipeline{steps: []preStep{{split: splitLlama3}}}
	if err := tok.setBytes(vocab, nil, added, true); err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("abc"); !slices.Equal(got, []int{'a', 'b', 'c'}) {
		t.Errorf("Encode: %v", got)
	}
	if got := tok.EncodeSpecial("abc"); !slices.Equal(got, []int{256}) {
		t.Errorf("EncodeSpecial: %v", got)
	}
}

// naive is the definition: while a pair can be merged, merge the leftmost of the
// lowest rank.
func naive(m *byteBPE, piece string) []int32 {
	var ids []int32
	for i := range len(piece) {
		ids = append(ids, m.bytes[piece[i]])
	}
	for {
		at, best := -1, merged{rank: never}
		for i := range max(len(ids)-1, 0) {
			if to := m.pairs.get(ids[i], ids[i+1]); to.rank < best.rank {
				at, best = i, to
			}
		}
		if at < 0 {
			break
		}
		ids = slices.Replace(ids, at, at+2, best.id)
	}
	return ids
}

func checkMerges(t *testing.T, m *byteBPE, piece string) {
	t.Helper()
	want := naive(m, piece)
	check := func(name string, merge func([]int32) []int32) {
		t.Helper()
		var tokens []int32
		for i := range len(piece) {
			tokens = append(tokens, m.bytes[piece[i]])
		}
		if got := merge(tokens); !slices.Equal(got, want) {
			t.Fatalf("%s(%q): %v, want %v", name, piece, got, want)
		}
	}
	check("mergeLong", func(tokens []int32) []int32 { return m.mergeLong(tokens, &mergeRoom{}).tokens() })
	if m.ordered {
		check("mergeRanks", func(tokens []int32) []int32 { return m.mergeRanks(tokens, &mergeRoom{}).tokens() })
	}
	if len(piece) <= shortPiece {
		check("merge", m.merge)
		check("mergeFew", func(tokens []int32) []int32 { return m.mergeFew(tokens, piece) })
	}
}

// oddMerges has several merges that make the same token and, half the time, merges
// in any order, so that some come before their parts can be made.
func oddMerges(rng *rand.Rand, alphabet string, n int) (map[string]int, [][2]string) {
	vocab, list, seen := map[string]int{}, strings.Split(alphabet, ""), map[[2]string]bool{}
	for _, r := range byteAlphabet {
		vocab[string(r)] = len(vocab)
	}
	var merges [][2]string
	for range n {
		m := [2]string{list[rng.IntN(len(list))], list[rng.IntN(len(list))]}
		if made := m[0] + m[1]; !seen[m] && len(made) <= 12 {
			seen[m] = true
			merges = append(merges, m)
			list = append(list, made)
			if _, ok := vocab[made]; !ok {
				vocab[made] = len(vocab)
			}
		}
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(merges), func(i, j int) { merges[i], merges[j] = merges[j], merges[i] })
	}
	return vocab, merges
}

func TestMergesNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ordered := 0
	for range 100 {
		alphabet := []string{"a", "ab", "abc"}[rng.IntN(3)]
		m, err := oddMergesModel(rng, alphabet)
		if err != nil {
			t.Fatal(err)
		}
		if m.ordered {
			ordered++
		}
		for i := range 20 {
			m.window = []int{0, 5, 30}[i%3]
			piece := make([]byte, 1+rng.IntN(2*shortPiece)+i%3*shortPiece)
			for i := range piece {
				piece[i] = alphabet[rng.IntN(len(alphabet))]
			}
			checkMerges(t, m, string(piece))
			var want []int
			for _, id := range naive(m, string(piece)) {
				want = append(want, int(id))
			}
			if got := encodePiece(m, string(piece)); !slices.Equal(got, want) {
				t.Fatalf("encode(%q): %v, want %v", piece, got, want)
			}
		}
	}
	if ordered < 20 || ordered > 80 {
		t.Errorf("%d of 100 models are ordered", ordered)
	}
}

func oddMergesModel(rng *rand.Rand, alphabet string) (*byteBPE, error) {
	vocab, merges := oddMerges(rng, alphabet, 1+rng.IntN(60))
	return newByteBPE(vocab, merges, false, nil)
}

// pieces cuts text; the pieces joined are text.
func (split splitter) pieces(text string) iter.Seq[string] {
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
