package corpus_test

import (
	"math"
	"slices"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
	starters "glossa/pkg/starter"
)

// quantisedTokens is the number of held-out tokens scored in each format.
const quantisedTokens = 20_000

// Perplexity with 8-bit weights is within 0.1 % of that with float32, with 4 bits within
// a bound for a model of a million parameters, and with bfloat16, which rounds only
// weights, within 0.1 %. Keys and values in bfloat16, which all of these have, change it by less than
// 0.02 %.
func TestQuantisedPerplexity(t *testing.T) {
	ids, exact := scored(t)
	for _, c := range []struct {
		format transformer.Format
		kv     transformer.KVFormat
		limit  float64
	}{
		{transformer.F32, transformer.KVBF16, 0.0002}, {transformer.F32, transformer.KVQ8, 0.001}, {transformer.BF16, transformer.KVAuto, 0.001},
		{transformer.Q8_0, transformer.KVAuto, 0.001}, {transformer.Q4_0, transformer.KVAuto, 0.02},
	} {
		e, err := engine.New(trained(t, "novels"), engine.Config{Name: "novels", Format: c.format, KV: c.kv})
		if err != nil {
			t.Fatal(err)
		}
		got := perplexity(t, e, ids)
		t.Logf("format %v, keys and values %d: perplexity %.4f, float32 %.4f: %+.4f %%", c.format, c.kv, got, exact, 100*(got/exact-1))
		if got == exact || math.Abs(got/exact-1) > c.limit {
			t.Errorf("format %v, keys and values %d: perplexity %.4f, float32 has %.4f: %+.4f %%", c.format, c.kv, got, exact, 100*(got/exact-1))
		}
	}
}

// scored returns held-out tokens of the starter novels and their perplexity in float32.
func scored(t *testing.T) (ids []int, exact float64) {
	t.Helper()
	if testing.Short() {
		t.Skip("scores 100,000 tokens and more")
	}
	s := open(t, "novels")
	ids = s.tok.Encode(s.heldOut(t, 10*quantisedTokens))[:quantisedTokens]
	return ids, perplexity(t, s.engine, ids)
}

// trained returns the model of a starter's newest checkpoint.
func trained(t *testing.T, name string) *arch.Model {
	ck, err := checkpoint.ReadAlphaFile(starters.Runs(), newest(t, name).Checkpoint, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What rounding costs the embedding and the head, and what it costs all other matrices. The table in
// ../../engine/README.md has these numbers. Rows of the starter are shorter than blocks of 256, which
// hold two of them here.
func TestHeadPerplexity(t *testing.T) {
	ids, exact := scored(t)
	for _, c := range []struct {
		kind        dtype.Type
		head, other float64 // most percent that the perplexity grows
	}{{dtype.Q8_0, 0.01, 0.01}, {dtype.Q6K, 0.1, 0.1}, {dtype.Q4K, 0.75, 1.2}, {dtype.Q4_0, 1.3, 1.8}} {
		for _, head := range []bool{true, false} {
			m, most := trained(t, "novels"), c.other
			w := m.Weights
			if head {
				most = c.head
				round(c.kind, &w.Embed)
				round(c.kind, &w.Head)
			}
			for i := range w.Decoder {
				if l := &w.Decoder[i]; !head {
					round(c.kind, &l.QKV, &l.Out, &l.Up, &l.Gate, &l.Down)
				}
			}
			e, err := engine.New(m, engine.Config{Name: "novels"})
			if err != nil {
				t.Fatal(err)
			}
			got := 100 * (perplexity(t, e, ids)/exact - 1)
			t.Logf("%s, head %v: %+.3f %%", c.kind, head, got)
			if got == 0 || got > most {
				t.Errorf("%s, head %v: perplexity grows by %.3f %%, want at most %g", c.kind, head, got, most)
			}
		}
	}
}

// round makes the values of matrices those that they have as a type.
func round(kind dtype.Type, list ...*transformer.Linear) {
	for _, l := range list {
		for i := range l.Weight {
			read := l.Weight[i].Read
			l.Weight[i].Read = func(dst []float32, from int) error {
				if err := read(dst, from); err != nil {
					return err
				}
				values, _ := kind.Block()
				padded := append(slices.Clip(dst), make([]float32, (values-len(dst)%values)%values)...)
				raw, err := kind.Encoder()(nil, padded)
				if err != nil {
					return err
				}
				kind.Decoder()(padded, raw)
				copy(dst, padded)
				return nil
			}
		}
	}
}

// perplexity returns the perplexity of windows of the model's context.
func perplexity(t *testing.T, e *engine.Engine, ids []int) float64 {
	sum, n, context := 0.0, 0, e.Info().Context
	for from := 0; from+context <= len(ids); from += context {
		for i, tok := range score(t, e, ids[from:from+context]) {
			if i > 0 {
				sum -= tok.Logprob
				n++
			}
		}
	}
	return math.Exp(sum / float64(n))
}
