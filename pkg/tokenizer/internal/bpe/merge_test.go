package bpe

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// naive implements the definition: while a pair can be merged, merge the leftmost of the
// lowest rank.
func naive(m *ByteLevel, piece string) []int32 {
	var ids []int32
	for i := range len(piece) {
		ids = append(ids, m.bytes[piece[i]])
	}
	for {
		at, best := -1, Merged{Rank: Never}
		for i := range max(len(ids)-1, 0) {
			if to := m.Pairs.Get(ids[i], ids[i+1]); to.Rank < best.Rank {
				at, best = i, to
			}
		}
		if at < 0 {
			break
		}
		ids = slices.Replace(ids, at, at+2, best.ID)
	}
	return ids
}

func checkMerges(t *testing.T, m *ByteLevel, piece string) {
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
	if m.Ordered {
		check("mergeRanks", func(tokens []int32) []int32 { return m.mergeRanks(tokens, &mergeRoom{}).tokens() })
	}
	if len(piece) <= ShortPiece {
		check("merge", m.Merge)
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
		if m.Ordered {
			ordered++
		}
		for i := range 20 {
			m.Window = []int{0, 5, 30}[i%3]
			piece := make([]byte, 1+rng.IntN(2*ShortPiece)+i%3*ShortPiece)
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

func oddMergesModel(rng *rand.Rand, alphabet string) (*ByteLevel, error) {
	vocab, merges := oddMerges(rng, alphabet, 1+rng.IntN(60))
	return NewByteLevel(vocab, merges, false, nil, nil)
}

// The number of positions visited for a piece without spaces is linear in its length.
func TestLinearSteps(t *testing.T) {
	vocab, merges := tokenizertest.WideVocabulary(ByteRune)
	m, err := NewByteLevel(vocab, merges, false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	places := func(text string) float64 {
		tokens := make([]int32, len(text))
		for i := range tokens {
			tokens[i] = m.bytes[text[i]]
		}
		var room mergeRoom
		m.mergeRanks(tokens, &room)
		return float64(len(room.ranks.places))
	}
	for name, text := range map[string]func(n int) string{
		"a":       func(n int) string { return strings.Repeat("a", n) },
		"letters": func(n int) string { return tokenizertest.RandomText("etaoinshrdlu", n) },
	} {
		if ratio := places(text(1<<18)) / places(text(1<<14)); ratio < 15 || ratio > 17 {
			t.Errorf("%s: 16 times the text takes %.2f times the steps", name, ratio)
		}
	}
}

// FuzzMerges merges pieces of text, and all of it, by trained vocabularies.
func FuzzMerges(f *testing.F) {
	var models []*ByteLevel
	for _, name := range []string{"llama3", "gpt2"} {
		var file struct {
			Model struct {
				Vocab  map[string]int
				Merges [][2]string
			}
		}
		if err := json.Unmarshal(tokenizertest.ReadFile(f, "../../hf/testdata", name+".tokenizer.json"), &file); err != nil {
			f.Fatal(err)
		}
		m, err := NewByteLevel(file.Model.Vocab, file.Model.Merges, false, nil, nil)
		if err != nil {
			f.Fatal(err)
		}
		models = append(models, m)
	}
	for _, c := range tokenizertest.Cases(f, "../../hf/testdata", "llama3") {
		f.Add(c.Text)
	}
	f.Add("\xff\xfe\xe4\xb8a\x80")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		for _, m := range models {
			for _, piece := range append(strings.SplitAfter(text, " "), text) {
				if piece != "" { // pieces are not empty
					checkMerges(t, m, piece)
				}
			}
		}
	})
}

// encodePiece returns m's ids of a piece.
func encodePiece(m *ByteLevel, piece string) []int {
	o := encode.Output{Limit: math.MaxInt}
	m.Encode(&o, piece)
	return o.IDs
}
