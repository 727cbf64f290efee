package transformer_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// matrix is a weight whose values are small numbers.
func matrix(name string, rows, cols int) transformer.Linear {
	return transformer.Linear{Weight: []transformer.Tensor{{
		Name: name, Rows: rows, Cols: cols,
		Read: func(dst []float32, from int) error {
			for i := range dst {
				dst[i] = float32((from+i)%17-8) / 64
			}
			return nil
		},
	}}}
}

func vector(name string, n int) transformer.Vector { return matrix(name, n, 1).Weight }

// plain is a small GPT of some megabytes.
func plain(width, depth, vocab int) (*transformer.Spec, *transformer.Weights) {
	spec := &transformer.Spec{
		Vocab: vocab, Context: 64, Width: width, Eps: 1e-5, Position: transformer.Learned, Decoder: make([]int, depth),
		Kinds: []transformer.Kind{{
			Attention:   transformer.Attention{Heads: 4, KVHeads: 4, HeadDim: width / 4},
			FeedForward: transformer.FeedForward{Width: 4 * width, Activation: transformer.GELU},
		}},
	}
	norm := transformer.Norm{Weight: vector("norm.weight", width), Bias: vector("norm.bias", width)}
	w := &transformer.Weights{
		Embed: matrix("embed", vocab, width), Positions: matrix("positions", 64, width), Head: matrix("head", vocab, width), DecoderNorm: norm,
	}
	for range depth {
		w.Decoder = append(w.Decoder, transformer.Layer{
			AttentionNorm: norm, FFNNorm: norm, QKV: matrix("qkv", 3*width, width), Out: matrix("out", width, width),
			Up: matrix("up", 4*width, width), Down: matrix("down", width, 4*width),
		})
	}
	return spec, w
}

// Loading allocates at most 1.1 times the memory of the weights, including garbage.
func TestLoadingMemory(t *testing.T) {
	spec, w := plain(256, 6, 6000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := transformer.New(spec, w, kernel.Best(), transformer.F32)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	taken, limit := after.TotalAlloc-before.TotalAlloc, uint64(m.Bytes()*11/10)
	if taken > limit || taken < uint64(m.Bytes()) {
		t.Errorf("%d bytes were allocated for weights of %d", taken, m.Bytes())
	}
}

// Weights that do not fit the spec are refused with an error that names the tensor.
func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*transformer.Spec, *transformer.Weights)
		want   string
	}{
		{"shape", func(_ *transformer.Spec, w *transformer.Weights) { w.Decoder[1].Up = matrix("ffn.up", 5, 32) }, `decoder.1.up: 5 rows`},
		{"columns", func(_ *transformer.Spec, w *transformer.Weights) { w.Decoder[1].Up = matrix("ffn.up", 128, 31) }, `tensor "ffn.up"`},
		{"missing", func(_ *transformer.Spec, w *transformer.Weights) { w.Decoder[0].Out = transformer.Linear{} }, "decoder.0.out"},
		{"too many rows", func(_ *transformer.Spec, w *transformer.Weights) {
			w.Head.Weight = append(w.Head.Weight, matrix("more", 1, 32).Weight...)
		}, `tensor "more"`},
		{"transposed table", func(_ *transformer.Spec, w *transformer.Weights) { w.Embed.Weight[0].Transposed = true }, `tensor "embed"`},
		{"layers", func(s *transformer.Spec, _ *transformer.Weights) { s.Decoder = make([]int, 3) }, "2 layers of weights"},
		{"heads", func(s *transformer.Spec, _ *transformer.Weights) { s.Kinds[0].Attention.KVHeads = 3 }, "3 key-value heads do not divide 4"},
		{"rotary", func(s *transformer.Spec, _ *transformer.Weights) {
			s.Kinds[0].Attention.Rotary, s.Rotaries = 1, []transformer.Rotary{{Dims: 6}}
		}, "6 rotary dimensions"},
		{"activation", func(s *transformer.Spec, _ *transformer.Weights) { s.Kinds[0].FeedForward.Activation = "mish" }, `"mish"`},
		{"parameters of the activation", func(s *transformer.Spec, _ *transformer.Weights) {
			s.Kinds[0].FeedForward.Activation = transformer.KANSpline
		}, "0 vectors"},
		{"gated parameters", func(s *transformer.Spec, _ *transformer.Weights) {
			s.Kinds[0].FeedForward.Activation, s.Kinds[0].FeedForward.Gated = transformer.Universal, true
		}, "cannot be gated"},
		{"gated expression", func(s *transformer.Spec, _ *transformer.Weights) {
			f := &s.Kinds[0].FeedForward
			f.Activation, f.Gated, f.Graph = transformer.Composed, true, []byte(`{"type":"basis"}`)
		}, "cannot be gated"},
		{"no norm", func(s *transformer.Spec, _ *transformer.Weights) { s.Kinds[0].SharedNorm = true }, "shared_norm"},
		{"no vocabulary", func(s *transformer.Spec, _ *transformer.Weights) { s.Vocab = 0 }, "0 tokens"},
		{"unreadable", func(_ *transformer.Spec, w *transformer.Weights) {
			w.Decoder[1].Down.Weight[0].Read = func([]float32, int) error { return errors.New("the file ends") }
		}, "the file ends"},
	} {
		spec, w := plain(32, 2, 50)
		test.change(spec, w)
		if _, err := transformer.New(spec, w, kernel.Best(), transformer.F32); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// A pass over packed weights, shared or not, allocates nothing once it has seen its
// largest input.
func TestPackedForwardAllocatesNothing(t *testing.T) {
	spec, w := plain(64, 2, 200)
	for _, f := range []transformer.Format{transformer.BF16, transformer.F16, transformer.Q8_0, transformer.Q8W, transformer.Q4_0} {
		m, err := transformer.New(spec, w, kernel.Best(), f)
		if err != nil {
			t.Fatal(err)
		}
		m.StoreKV(transformer.KVAuto)
		for _, size := range []int{1, 2} {
			team := transformer.NewTeam(size)
			p, cache := m.NewPass(team), m.NewCache(m.Context)
			p.ShareAll = true
			seqs := []transformer.Sequence{{Cache: cache, Tokens: []int{1}, Logits: 1}}
			if n := testing.AllocsPerRun(20, func() { must(p.Forward(seqs)) }); n != 0 {
				t.Errorf("format %v, %d workers: %v allocations a token", f, size, n)
			}
			team.Close()
		}
	}
}

// The memory of a model equals the prediction before loading.
func TestBytes(t *testing.T) {
	spec, w := plain(64, 2, 200)
	if got, least := w.Bytes(spec, transformer.F32), 4*w.Elements(); got < least || got > least*11/10 {
		t.Errorf("float32: %d for values of %d bytes", got, least)
	}
	sizes := []int64{}
	for _, f := range []transformer.Format{transformer.Q4_0, transformer.Q8_0, transformer.BF16, transformer.F16, transformer.F32} {
		m, err := transformer.New(spec, w, kernel.Best(), f)
		if err != nil {
			t.Fatal(err)
		}
		if m.Bytes() != w.Bytes(spec, f) {
			t.Errorf("format %v: %d, before reading %d", f, m.Bytes(), w.Bytes(spec, f))
		}
		sizes = append(sizes, m.Bytes())
	}
	if !slices.IsSorted(sizes) {
		t.Errorf("4 bits to 32: %v", sizes)
	}
}
