package tokenizer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/alpha"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/gguftest"
	"glossa/pkg/tokenizer/internal/tokenizertest"
	"glossa/pkg/tokenizer/sentencepiece"
)

// hfOf opens a tokenizer.json.
func hfOf(t testing.TB, name string) tokenizer.Tokenizer {
	t.Helper()
	tok, err := hf.Parse(tokenizertest.ReadFile(t, "hf/testdata", name+".tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// collectTokenizers are tokenizers of every kind.
func collectTokenizers(t testing.TB) map[string]tokenizer.Tokenizer {
	t.Helper()
	const pieces = "sentencepiece/testdata"
	unigram := tokenizertest.ReadFile(t, pieces, "sp.unigram.model")
	xglm, err := sentencepiece.ParseXGLM(unigram)
	if err != nil {
		t.Fatal(err)
	}
	m2m100, err := sentencepiece.ParseM2M100(tokenizertest.ReadFile(t, pieces, "sp.m2m100.vocab.json"), unigram)
	if err != nil {
		t.Fatal(err)
	}
	gpt2 := hfOf(t, "gpt2")
	toks := map[string]tokenizer.Tokenizer{
		"gpt2": gpt2, "llama3": hfOf(t, "llama3"), "hf llama2": hfOf(t, "llama2"), "hf xglm": hfOf(t, "xglm"), "xglm": xglm, "m2m100": m2m100,
		"gguf": gguftest.Open(t, pieces, "bpebytes"), "t5": gguftest.Open(t, pieces, "unigramuser"),
		"newline": tokenizer.WithNewline(xglm, 2), "wrapped": tokenizer.WithNewline(struct{ tokenizer.Tokenizer }{gpt2}, 2),
	}
	for _, name := range tokenizertest.ModelNames {
		if toks[name], err = sentencepiece.Parse(tokenizertest.ReadFile(t, pieces, "sp."+name+".model")); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{alpha.BPE, alpha.Char, alpha.Word} {
		a, err := alpha.Train(kind, "the cat sat on the mat, and the rat\nsat on the cat; aaaa aaa", 60)
		if err != nil {
			t.Fatal(err)
		}
		if toks[kind], err = a.Tokenizer(); err != nil {
			t.Fatal(err)
		}
	}
	many, err := alpha.Train(alpha.BPE, tokenizertest.RandomText("etaoinshrdlu  ", 1<<15), 1100)
	if err != nil || len(many.Merges) < 1000 {
		t.Fatalf("%d merges, %v", len(many.Merges), err)
	}
	if toks["bpe heap"], err = many.Tokenizer(); err != nil {
		t.Fatal(err)
	}
	return toks
}

func TestCollectorBounds(t *testing.T) {
	texts := []string{
		"", " ", "a", "the cat sat", "zzz \u2126\u212a\u00e9e\u0301 \U0001d400", "<s></s> <|endoftext|>\n\n\nthe",
		strings.Repeat("aaaa", 100), strings.Repeat(" ", 300), strings.Repeat("世", 300), "\xff\xfe" + strings.Repeat("\x80", 90),
		strings.Repeat("the cat ", 40), strings.Repeat("e\u0301", 50), strings.Repeat("\U0001d400", 50), strings.Repeat("\u212a\u1f71", 50),
	}
	for name, tok := range collectTokenizers(t) {
		for _, text := range texts {
			tokenizertest.CheckBounds(t, name, tok, text)
		}
	}
}

// A text of a megabyte is rejected by its bytes alone, if they suffice.
func TestAtLeast(t *testing.T) {
	text := strings.Repeat("the cat ", 1<<17)
	none := []string{"word", "hf xglm", "wrapped"} // drop or fold unknown text of any length
	for name, tok := range collectTokenizers(t) {
		if least := tokenizer.AtLeast(tok, text, false); (least == 0) != slices.Contains(none, name) {
			t.Errorf("%s: at least %d tokens", name, least)
		}
	}
}

func TestCollectorKeeps(t *testing.T) {
	text := strings.Repeat("the cat sat on the mat, and\n", 4000)
	for name, tok := range collectTokenizers(t) {
		want := tok.Encode(text)
		c := tokenizer.Collector{Keep: 10}
		for part := range strings.SplitAfterSeq(text, "and\n") {
			if err := c.Add(t.Context(), tok, part, false); err != nil {
				t.Fatal(err)
			}
		}
		if len(want) > 2*c.Keep+encode.KeepSlack && c.Held() > 2*c.Keep+encode.KeepSlack+1000 {
			t.Errorf("%s: %d ids are kept", name, c.Held())
		}
		whole := tokenizer.Collector{}
		for part := range strings.SplitAfterSeq(text, "and\n") {
			if err := whole.Add(t.Context(), tok, part, false); err != nil {
				t.Fatal(err)
			}
		}
		all := whole.IDs()
		tail, head := all[max(0, len(all)-10):], all[:min(len(all), encode.MaxHead)]
		if c.Total() != len(all) || !slices.Equal(c.IDs(), tail) || !slices.Equal(c.Head()[:min(len(head), len(c.Head()))], head) {
			t.Errorf("%s: %d tokens that end with %v and begin with %v, want %d, %v, %v", name, c.Total(), c.IDs(), c.Head(), len(all), tail, head)
		}
	}
}

// counted is a context that ends after a number of calls of Err.
type counted struct {
	context.Context
	left int
}

func (c *counted) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Every tokenizer stops soon after its context is done, and checks it in steps.
func TestCollectorCancels(t *testing.T) {
	texts := map[string]string{
		"one word": strings.Repeat("a", 1<<20), "words": strings.Repeat("the cat ", 1<<17), "unknown": strings.Repeat("\u4e16\u754c", 1<<17),
	}
	for name, tok := range collectTokenizers(t) {
		if name == "wrapped" { // not of this package
			continue
		}
		for kind, text := range texts {
			if name == alpha.Word && kind != "words" { // a word is looked up at once
				continue
			}
			var c tokenizer.Collector
			ctx := &counted{t.Context(), 3}
			if err := c.Add(ctx, tok, text, false); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			if c.Total() > 1<<19 {
				t.Errorf("%s, %s: %d tokens were made", name, kind, c.Total())
			}
		}
	}
}

// Allocation is proportional to the length of a text, for any text. At most half of it is
// in use at once.
func TestEncodeMemory(t *testing.T) {
	const n, most = 1 << 20, 100 // bytes of text, and bytes for each
	rng := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = "etaoinshrdlu"[rng.IntN(12)]
	}
	texts := map[string]string{
		"one word": strings.Repeat("a", n), "letters": string(letters), "words": strings.Repeat("the cat ", n/8),
		"CJK": strings.Repeat("世界你好", n/12), "digits": strings.Repeat("12 3 ", n/5), "spaces": strings.Repeat(" ", n),
	}
	var before, after runtime.MemStats
	for name, tok := range collectTokenizers(t) {
		for kind, text := range texts {
			c := tokenizer.Collector{Keep: 100}
			runtime.ReadMemStats(&before)
			if err := c.Add(t.Context(), tok, text, false); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if each := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text)); each > most {
				t.Errorf("%s, %s: %.1f bytes are allocated for a byte of text, more than %d", name, kind, each, most)
			} else {
				t.Logf("%s, %s: %.1f", name, kind, each)
			}
		}
	}
}

// If only the last tokens of a long text are kept, only its end is encoded where that
// makes no difference. The first tokens are still available.
func TestCollectorTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the cat sat on a mat, and 12 rats ran; \"what?\" é世 it's\n")
	var b strings.Builder
	for b.Len() < 1<<19 {
		b.WriteString(words[rng.IntN(len(words))] + " "[:min(1, rng.IntN(9))])
	}
	text, whole := b.String(), 0
	for name, tok := range collectTokenizers(t) {
		want := tok.Encode(text)
		c := tokenizer.Collector{Keep: 50}
		for _, part := range []string{text[:100], text[100:]} { // the part before is dropped with the rest
			if err := c.Add(t.Context(), tok, part, false); err != nil {
				t.Fatal(err)
			}
		}
		if n := min(len(want), c.Keep); !slices.Equal(c.IDs(), want[len(want)-n:]) {
			t.Errorf("%s: %v, want %v", name, c.IDs(), want[len(want)-n:])
		}
		one := tokenizer.Collector{Keep: 50}
		if err := one.Add(t.Context(), tok, text, false); err != nil {
			t.Fatal(err)
		}
		if head := want[:min(len(want), encode.MaxHead)]; !slices.Equal(one.Head(), head) || one.Total() > len(want) || one.Total() < len(one.IDs()) {
			t.Errorf("%s: %d tokens of %d begin with %v, want %v", name, one.Total(), len(want), one.Head(), head)
		}
		if tokenizer.EncodesWhole(tok, 50, text) {
			whole++
			t.Logf("%s is encoded as a whole", name)
		}
	}
	if whole > 13 {
		t.Errorf("%d tokenizers encode all of a text", whole)
	}
}
