package hf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/pretoken"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// wideText is a text for WideVocabulary with the statistics of 1.3 MB of Go and Markdown
// under r50k: 2.95 bytes a piece, 87 % of the pieces one token, 1.19 tokens a piece, few
// words frequent and most rare (Zipf). TestWideText checks them.
func wideText(m pieceModel, merges [][2]string, size int) string {
	var words []string // that are one token
	for _, parts := range merges {
		word := strings.Replace(parts[0]+parts[1], "Ġ", " ", 1)
		if len(encodePiece(m, word)) == 1 {
			words = append(words, word)
		}
	}
	rng := rand.New(rand.NewPCG(7, 8))
	zipf := func(n int) *rand.Zipf { return rand.NewZipf(rng, 1.1, 4, uint64(n-1)) }
	known, unknown := zipf(len(words)), zipf(8000)
	var names []string // that are not in the vocabulary
	for len(names) < 8000 {
		name := words[known.Uint64()] + strings.TrimSpace(words[known.Uint64()])
		if len(encodePiece(m, name)) != 1 {
			names = append(names, name)
		}
	}
	var text strings.Builder
	for text.Len() < size {
		word := names[unknown.Uint64()]
		if rng.IntN(100) < 83 {
			word = words[known.Uint64()]
		}
		text.WriteString(word)
		switch kind := rng.IntN(100); {
		case kind < 74:
			text.WriteString([]string{"(", ")", ".", "=", ",", "{", ":", "_", "[", "\"", "/", "-"}[rng.IntN(12)])
		case kind < 92:
			text.WriteString([]string{"\n", "\n", "\n\t"}[rng.IntN(3)])
		default:
			fmt.Fprint(&text, " ", rng.IntN(9))
		}
	}
	return text.String()
}

func widePipeline(t testing.TB, split pretoken.Splitter) (tok *Tokenizer, text string) {
	t.Helper()
	vocab, merges := tokenizertest.WideVocabulary(bpe.ByteRune)
	tok = &Tokenizer{steps: []preStep{{split: split}}}
	if err := tok.setBytes(vocab, merges, nil, false); err != nil {
		t.Fatal(err)
	}
	return tok, wideText(tok.model, merges, 1<<20)
}

func TestWideText(t *testing.T) {
	tok, text := widePipeline(t, pretoken.GPT2)
	pieces, whole := 0.0, 0.0
	for piece := range tokenizertest.PiecesOf(tok.steps[0].split, text) {
		pieces++
		if len(encodePiece(tok.model, piece)) == 1 {
			whole++
		}
	}
	for _, c := range []struct {
		name           string
		got, low, high float64
	}{
		{"bytes a piece", float64(len(text)) / pieces, 2.7, 3.1},
		{"share of pieces that are a token", whole / pieces, 0.85, 0.89},
		{"tokens a piece", float64(len(tok.Encode(text))) / pieces, 1.12, 1.25},
	} {
		t.Logf("%s: %.3f", c.name, c.got)
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s: %.3f, not %v to %v", c.name, c.got, c.low, c.high)
		}
	}
}

// benchmarkEncode also reports the best run, which other load on the machine disturbs
// least.
func benchmarkEncode(b *testing.B, tok tokenizer.Tokenizer, text string) time.Duration {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	best := time.Duration(1<<63 - 1)
	for b.Loop() {
		start := time.Now()
		tok.Encode(text)
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(len(text))/best.Seconds()/1e6, "best-MB/s")
	return best
}

// BenchmarkByteLevel encodes wideText and, with -vocabulary DIR, the sources of this
// package with the vocabulary in DIR. Both take about the same time per byte, so that the
// first represents r50k.
func BenchmarkByteLevel(b *testing.B) {
	for name, split := range map[string]pretoken.Splitter{"gpt2": pretoken.GPT2, "llama3": pretoken.Llama3, "o200k": pretoken.O200k} {
		tok, text := widePipeline(b, split)
		b.Run(name, func(b *testing.B) { benchmarkEncode(b, tok, text) })
	}
	if whole := wholeVocabulary(b); whole != nil {
		b.Run("vocabulary", func(b *testing.B) { benchmarkEncode(b, whole, sources(b)) })
	}
}

// sources returns the Go code of this package, repeated to 1 MB.
func sources(b *testing.B) string {
	b.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i := 0; text.Len() < 1<<20; i++ {
		raw, err := os.ReadFile(names[i%len(names)])
		if err != nil {
			b.Fatal(err)
		}
		text.Write(raw)
	}
	return text.String()
}

// BenchmarkLinear reports the ratio of the times for 8 times the text: 8 is linear, 64
// would be quadratic. The texts have no spaces. Random letters exceed the linear ratio:
// their steps are linear (TestLinearSteps), but the positions do not fit into the
// processor's caches.
func BenchmarkLinear(b *testing.B) {
	wide, _ := widePipeline(b, pretoken.Llama3)
	small := golden(b, "gpt2")
	llama2, err := Parse(tokenizertest.ReadFile(b, "testdata", "llama2.tokenizer.json"))
	if err != nil {
		b.Fatal(err)
	}
	xglm, err := Parse(tokenizertest.ReadFile(b, "testdata", "xglm.tokenizer.json"))
	if err != nil {
		b.Fatal(err)
	}
	texts := map[string]func(n int) string{
		"aaaa":    func(n int) string { return strings.Repeat("a", n) },
		"letters": func(n int) string { return tokenizertest.RandomText("etaoinshrdlu", n) },
		"base64": func(n int) string {
			return tokenizertest.RandomText("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", n)
		},
		"CJK": func(n int) string { return strings.Repeat("世界你好", n/12) },
	}
	for name, tok := range map[string]tokenizer.Tokenizer{"wide": wide, "gpt2": small, "llama2": llama2, "xglm": xglm} {
		for kind, text := range texts {
			b.Run(name+"/"+kind, func(b *testing.B) {
				once := text(1 << 18)
				least := time.Duration(1<<63 - 1)
				for range 5 {
					start := time.Now()
					tok.Encode(once)
					least = min(least, time.Since(start))
				}
				best := benchmarkEncode(b, tok, text(1<<21))
				b.ReportMetric(float64(best)/float64(least), "x-for-8x")
			})
		}
	}
}
