package transformer_test

import (
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// alone leaves the layers of kind 0 of rich nothing but their feed-forward block.
func alone() *transformer.Spec {
	s := rich()
	s.Kinds[0].Attention, s.Rotaries = transformer.Attention{}, s.Rotaries[1:]
	s.Kinds[1].Attention.Rotary = 1
	return s
}

// Layers that mix no tokens keep nothing of them.
func TestAloneCache(t *testing.T) {
	bytes := func(layers ...int) int64 {
		s := alone()
		s.Decoder = layers
		return load(t, transformertest.New(s, 5), kernel.Best(), transformer.F32).CacheBytes(60)
	}
	if one, more := bytes(1, 0), bytes(0, 1, 0, 0); one != more || one == 0 {
		t.Errorf("the cache has %d bytes, with more layers that mix no tokens %d", one, more)
	}
}

// Descriptions of layers without a mixer, and of experts without gates, that cannot be computed are refused.
func TestSpecRefusesAlone(t *testing.T) {
	for want, change := range map[string]func(s *transformer.Spec, k *transformer.Kind){
		"kinds[0].attention.kv_heads: 0":                                               func(_ *transformer.Spec, k *transformer.Kind) { k.FeedForward = transformer.FeedForward{} },
		"kinds[0].parallel: there is not attention alone":                              func(_ *transformer.Spec, k *transformer.Kind) { k.Parallel = true },
		"encoder[0]: kinds[0] mixes no tokens, which is for models without an encoder": func(s *transformer.Spec, _ *transformer.Kind) { s.Decoder, s.Encoder = []int{1}, []int{0} },
		"kinds: no layer mixes tokens": func(s *transformer.Spec, _ *transformer.Kind) {
			s.Kinds, s.Decoder, s.Rotaries = s.Kinds[:1], []int{0}, nil
		},
		`kinds[0].feed_forward.activation: "xielu" has parameters, and there are experts`: func(_ *transformer.Spec, k *transformer.Kind) {
			k.FeedForward.Activation, k.FeedForward.Gated = transformer.XIELU, false
		},
	} {
		s := alone()
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
