package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// wideVocabulary has 50,000 merges: the beginnings of made-up words.
func wideVocabulary() (map[string]int, [][2]string) {
	rng := rand.New(rand.NewPCG(5, 6))
	vocab := map[string]int{}
	for _, r := range byteAlphabet {
		vocab[string(r)] = len(vocab)
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

func benchmarkEncode(b *testing.B, tok Tokenizer, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tok.Encode(text)
	}
}

func BenchmarkByteLevel(b *testing.B) {
	vocab, merges := wideVocabulary()
	var text strings.Builder
	for _, c := range goldenCases(b, "gpt2")[11:60] {
		text.WriteString(c.Text)
	}
	words := rand.New(rand.NewPCG(7, 8))
	for text.Len() < 1<<20 {
		m := merges[words.IntN(len(merges))]
		text.WriteString(strings.Replace(m[0]+m[1], "Ġ", " ", 1) + " the")
	}
	for name, split := range map[string]splitter{"gpt2": splitGPT2, "llama3": splitLlama3} {
		tok, err := newByteTokenizer(vocab, merges, nil, byteOptions{split: split})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/words", func(b *testing.B) { benchmarkEncode(b, tok, text.String()) })
		b.Run(name+"/run", func(b *testing.B) { benchmarkEncode(b, tok, strings.Repeat("a", 1<<20)) })
	}
}
