package transformer_test

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// Streams, the branch next to attention and gates that are cut off are refused where they cannot be
// computed.
func TestStreamsRefused(t *testing.T) {
	type spec = transformer.Spec
	for want, change := range map[string]func(s *spec, k *transformer.Kind){
		"streams: -1 is not 0":                                          func(s *spec, _ *transformer.Kind) { s.Streams = -1 },
		"streams: 1 is not 0 or greater than 1":                         func(s *spec, _ *transformer.Kind) { s.Streams = 1 },
		"streams: 2 is not 0 or greater than 1, or there is an encoder": func(s *spec, _ *transformer.Kind) { s.Streams, s.Encoder = 2, []int{1} },
		"or layers have scales":                                         func(s *spec, _ *transformer.Kind) { s.Streams, s.LayerScale = 2, true },
		"laurel: -1 is negative":                                        func(s *spec, _ *transformer.Kind) { s.Laurel = -1 },
		"laurel: 2 is negative, or there is an encoder":                 func(s *spec, _ *transformer.Kind) { s.Laurel, s.Encoder = 2, []int{1} },
		"laurel: kinds[0] has no attention behind a norm": func(s *spec, k *transformer.Kind) {
			s.Laurel, k.Attention.Norms = 2, transformer.PostNorm
		},
		"laurel: kinds[0] has no attention": func(s *spec, k *transformer.Kind) {
			s.Laurel, k.Attention, k.Convolution, s.Rotaries = 2, transformer.Attention{}, &transformer.Convolution{Taps: 2}, s.Rotaries[1:]
			s.Kinds[1].Attention.Rotary = 1
		},
		"or parallel branches": func(s *spec, k *transformer.Kind) {
			s.Laurel, k.Parallel, k.Attention.Norms, k.FeedForward.Experts, k.FeedForward.Norms = 2, true, transformer.PreNorm, nil, transformer.PreNorm
		},
		"kinds[0].feed_forward.sparsity: 1 is not in":      func(_ *spec, k *transformer.Kind) { k.FeedForward.Sparsity, k.FeedForward.Experts = 1, nil },
		"kinds[0].feed_forward.sparsity: there is no gate": func(_ *spec, k *transformer.Kind) { k.FeedForward.Sparsity = 0.5 },
		"kinds[0].parallel: the gate is cut off": func(_ *spec, k *transformer.Kind) {
			k.FeedForward.Sparsity, k.FeedForward.Experts, k.FeedForward.Norms = 0.5, nil, transformer.PreNorm
			k.Parallel, k.Attention.Norms = true, transformer.PreNorm
		},
	} {
		s := rich()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The weights of streams are counted, and refused without one of the matrices that merge streams.
func TestStreamsWeights(t *testing.T) {
	s := rich()
	s.Streams, s.Laurel, s.LayerInputs = 3, 4, 5
	m := transformertest.New(s, 1)
	if got, want := m.Weights.Elements(), load(t, m, kernel.Best(), transformer.F32).Parameters(); got != want {
		t.Errorf("%d weights, the model has %d", got, want)
	}
	m.Weights.StreamsOut = m.Weights.StreamsOut[:1]
	if _, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32); err == nil || !strings.Contains(err.Error(), "streams_out: 1 matrices, 2 are needed") {
		t.Error(err)
	}
}

// A pass allocates at most what [transformer.Spec.PassBytes] says, with several streams too.
func TestStreamsPassBytes(t *testing.T) {
	const tokens = 300
	spec := &transformer.Spec{
		Vocab: 64, Context: tokens, Width: 96, Norm: transformer.RMSNorm, Eps: 1e-5, Decoder: slices.Repeat([]int{0}, 2), Streams: 9, Laurel: 64,
		Kinds: []transformer.Kind{{
			Attention:   transformer.Attention{Heads: 2, KVHeads: 2, HeadDim: 8},
			FeedForward: transformer.FeedForward{Width: 48, Gated: true, Activation: transformer.GELU, Sparsity: 0.5},
		}},
	}
	checkPassBytes(t, spec, tokens)
}
