package transformer_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// latent returns a description of layers of which all but the last but one have latent attention.
func latent() *transformer.Spec {
	s := rich()
	a := &s.Kinds[0].Attention
	a.Latent = &transformer.Latent{QueryRank: 10, KeyDim: 12, Shared: 8, ValueDim: 6}
	a.KVHeads, a.HeadDim, a.KeysAsValues, a.QKNorm, a.Scale = 1, 24, true, transformer.NoQKNorm, 0
	return s
}

// Every field has an effect, as [TestFieldsMatter] says of the others.
func TestLatentFieldsMatter(t *testing.T) {
	ids := tokens(30, 31)
	for name, change := range map[string]func(s *transformer.Spec, a *transformer.Attention){
		"nothing":       func(*transformer.Spec, *transformer.Attention) {},
		"query rank":    func(_ *transformer.Spec, a *transformer.Attention) { a.Latent.QueryRank = 0 },
		"key dim":       func(_ *transformer.Spec, a *transformer.Attention) { a.Latent.KeyDim = 20 },
		"shared":        func(_ *transformer.Spec, a *transformer.Attention) { a.Latent.Shared = 16 },
		"value dim":     func(_ *transformer.Spec, a *transformer.Attention) { a.Latent.ValueDim = 17 },
		"head dim":      func(_ *transformer.Spec, a *transformer.Attention) { a.HeadDim = 40 },
		"eps":           func(_ *transformer.Spec, a *transformer.Attention) { a.Latent.Eps = 1 },
		"scale":         func(_ *transformer.Spec, a *transformer.Attention) { a.Scale = 0.9 },
		"no window":     func(_ *transformer.Spec, a *transformer.Attention) { a.Window = 0 },
		"layers inputs": func(s *transformer.Spec, _ *transformer.Attention) { s.LayerInputs = 6 },
	} {
		s := latent()
		change(s, &s.Kinds[0].Attention)
		m := transformertest.New(s, 5)
		want := formulas{Model: m}.logits(nil, ids)
		model := load(t, m, kernel.Best(), transformer.F32)
		compare(t, name, must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(30), Tokens: ids, Logits: 30}})), want)
		if d := far(want, formulas{Model: transformertest.New(latent(), 5)}.logits(nil, ids)); name != "nothing" && !(d > 1e-3) {
			t.Errorf("%s: changes logits by %v: the test shows nothing", name, d)
		}
	}
}

// Descriptions of latent attention that cannot be computed are refused.
func TestSpecRefusesLatents(t *testing.T) {
	type spec = transformer.Spec
	for want, change := range map[string]func(s *spec, k *transformer.Kind){
		"kinds[0].attention.latent: vectors of -1":                 func(_ *spec, k *transformer.Kind) { k.Attention.Latent.QueryRank = -1 },
		"kinds[0].attention.latent: vectors of 10, 0":              func(_ *spec, k *transformer.Kind) { k.Attention.Latent.KeyDim = 0 },
		"kinds[0].attention.latent: vectors of 10, 12, -1":         func(_ *spec, k *transformer.Kind) { k.Attention.Latent.Shared = -1 },
		"kinds[0].attention.latent: vectors of 10, 12, 24":         func(_ *spec, k *transformer.Kind) { k.Attention.Latent.Shared = 24 },
		"kinds[0].attention.latent: vectors of 10, 12, 8 and 0":    func(_ *spec, k *transformer.Kind) { k.Attention.Latent.ValueDim = 0 },
		"kinds[0].attention.latent.eps: 2":                         func(_ *spec, k *transformer.Kind) { k.Attention.Latent.Eps = 2 },
		"kinds[0].attention.latent.shared: 8 rotary dimensions of": func(_ *spec, k *transformer.Kind) { k.Attention.Latent.Shared = 6 },
		"kinds[0].attention.latent: there are several":             func(_ *spec, k *transformer.Kind) { k.Attention.KVHeads = 2 },
		"there are several heads of keys, values of their own":     func(_ *spec, k *transformer.Kind) { k.Attention.KeysAsValues = false },
		"values of their own, norms of heads":                      func(_ *spec, k *transformer.Kind) { k.Attention.QKNorm = transformer.QKNormHead },
		"norms of heads or gates":                                  func(_ *spec, k *transformer.Kind) { k.Attention.Gated = true },
		"own, norms of heads or gates":                             func(_ *spec, k *transformer.Kind) { k.Attention.ValueNorm = true },
		"kinds[0].attention.latent: there are states too, or a parallel": func(_ *spec, k *transformer.Kind) {
			k.Attention.Norms, k.FeedForward.Norms, k.FeedForward.Experts, k.Parallel = transformer.PreNorm, transformer.PreNorm, nil, true
		},
		"kinds[0].attention.latent is for models without an encoder": func(s *spec, _ *transformer.Kind) { s.Encoder = []int{1} },
		"kinds[2].attention.kv_layer: there is an encoder, or layer 1 is not": func(s *spec, k *transformer.Kind) {
			other := s.Kinds[1]
			other.Attention.KVHeads, other.Attention.HeadDim, other.Attention.KVLayer = 1, k.Attention.HeadDim, 1
			s.Kinds, s.Decoder[3] = append(s.Kinds, other), 2
		},
	} {
		s := latent()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := latent().Check(); err != nil {
		t.Error(err)
	}
	m := transformertest.New(latent(), 5)
	m.Weights.Decoder[1].LatentHeads = m.Weights.Decoder[1].LatentHeads[1:]
	if _, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32); err == nil || !strings.Contains(err.Error(), "decoder.1: 3 heads of latent attention, 4 are needed") {
		t.Errorf("heads without matrices: %v", err)
	}
}

// A packed file gives the same model back.
func TestLatentPacked(t *testing.T) {
	m := transformertest.New(latent(), 5)
	want := forward(t, m.Spec, m.Weights, transformer.Stored)
	if got := forward(t, m.Spec, unpacked(t, m.Spec, m.Weights), transformer.Stored); !slices.Equal(got, want) {
		t.Error("packed weights compute something else")
	}
}

// A token of a cache takes the memory of one key of all heads and of the value that it is.
func TestLatentCacheBytes(t *testing.T) {
	const tokens = 1280
	s := latent()
	s.Context, s.Kinds, s.Decoder, s.Rotaries = tokens, s.Kinds[:1], []int{0, 0}, s.Rotaries[:1]
	s.Kinds[0].Attention.Window = 0
	model := load(t, transformertest.New(s, 5), kernel.Best(), transformer.F32)
	want := int64(2 * tokens * 4 * (24 + 32)) // values are padded to whole lines
	if got := model.CacheBytes(tokens); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// A pass allocates at most what PassBytes says.
func TestLatentPassBytes(t *testing.T) {
	const tokens = 500
	for _, rank := range []int{0, 96} {
		s := &transformer.Spec{
			Vocab: 64, Context: 4 * tokens, Width: 64, Norm: transformer.RMSNorm, Eps: 1e-5, Decoder: []int{0, 0},
			Kinds: []transformer.Kind{{
				Attention: transformer.Attention{
					Heads: 6, KVHeads: 1, HeadDim: 144, KeysAsValues: true, Latent: &transformer.Latent{QueryRank: rank, KeyDim: 32, Shared: 16, ValueDim: 64},
				},
				FeedForward: transformer.FeedForward{Width: 96, Gated: true, Activation: "silu"},
			}},
		}
		m := transformertest.New(s, 1)
		for _, format := range []transformer.Format{transformer.F32, transformer.Q8_0} {
			model := load(t, m, kernel.Best(), format)
			pass, cache := model.NewPass(nil), model.NewCache(tokens)
			seqs := []transformer.Sequence{{Cache: cache, Tokens: slices.Repeat([]int{1}, tokens), Logits: 0}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			must(pass.Forward(seqs))
			runtime.ReadMemStats(&after)
			got, most := int64(after.TotalAlloc-before.TotalAlloc), s.PassBytes(tokens, 1)
			if got > most || got < most/4 {
				t.Errorf("rank %d, %v: %d bytes, at most %d expected", rank, format, got, most)
			}
		}
	}
}
