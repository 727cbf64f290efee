package engine

import (
	"slices"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
)

// A model never writes the tokens that its files suppress, whatever the temperature and the client's
// biases; ids beyond the tokenizer's tokens only pad the vocabulary.
func TestNeverWritten(t *testing.T) {
	tok := characters(t)
	open := func(suppressed ...int) *Engine {
		ck := weighted(checkpoint.ModelConfig{VocabSize: tok.Size(), BlockSize: 64, NLayer: 2, NEmbd: 32, NHead: 4})
		ck.Tokenizer = alphaTokenizer(tok.Size())
		m, err := arch.FromAlpha(ck, "")
		if err != nil {
			t.Fatal(err)
		}
		m.Tokenizer, m.Suppress = tok, append(suppressed, 1<<20)
		e, err := New(m, Config{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	params := func(temperature float64) llm.Params {
		return llm.Params{MaxTokens: new(20), Temperature: new(temperature), Seed: new(int64(7)), Tokens: new(true)}
	}
	written := func(e *Engine, p llm.Params) []int {
		rows, _ := collect(t, e, with(p))
		return ids(rows[0])
	}
	for _, temperature := range []float64{0, 1, 3} {
		first := written(open(), params(temperature))
		banned := first[:1]
		liked := params(temperature)
		liked.LogitBias = map[int]float64{banned[0]: 100}
		for _, p := range []llm.Params{params(temperature), liked} {
			if got := written(open(banned...), p); len(got) == 0 || slices.Contains(got, banned[0]) {
				t.Errorf("temperature %v: %v has %d", temperature, got, banned[0])
			}
		}
		if liked.LogitBias[banned[0]] != 100 {
			t.Error("the client's biases changed")
		}
	}
}
