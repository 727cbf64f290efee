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

// Inputs of layers, and layers that read the keys and values of others, are refused where they cannot be
// computed.
func TestLayerInputsRefused(t *testing.T) {
	type spec = transformer.Spec
	for want, change := range map[string]func(s *spec, k *transformer.Kind){
		"kinds[1].attention.keys_as_values: the keys": func(s *spec, _ *transformer.Kind) {
			s.Kinds[1].Attention.KVLayer, s.Kinds[1].Attention.KeysAsValues = 1, true
		},
		"layer_inputs: -1": func(s *spec, _ *transformer.Kind) { s.LayerInputs = -1 },
		"layer_inputs: 0 is negative, or there is an encoder": func(s *spec, _ *transformer.Kind) { s.LayerScale, s.Encoder = true, []int{1} },
		"layer_inputs: 4 is negative, or there is an encoder": func(s *spec, _ *transformer.Kind) { s.LayerInputs, s.Mutual = 4, 2 },
		"decoder[0]: kinds[0].feed_forward.gated: inputs": func(s *spec, k *transformer.Kind) {
			s.LayerInputs, k.FeedForward.Experts, k.FeedForward.Gated = 4, nil, false
		},
		"decoder[0]: kinds[0].attention.kv_layer: there": func(_ *spec, k *transformer.Kind) { k.Attention.KVLayer = 1 },
		"decoder[2]: kinds[1].attention.kv_layer: there": func(s *spec, _ *transformer.Kind) { s.Kinds[1].Attention.KVLayer = -1 },
		"kinds[1].attention.kv_layer: there is an encoder, or layer 2": func(s *spec, _ *transformer.Kind) {
			s.Kinds[1].Attention.KVLayer, s.Kinds[1].Attention.HeadDim = 2, 4
		},
		"decoder[3]: kinds[2].attention.kv_layer: there is an encoder, or layer 3": func(s *spec, _ *transformer.Kind) {
			s.Kinds[1].Attention.KVLayer = 2
			s.Kinds, s.Decoder[3] = append(s.Kinds, s.Kinds[1]), 2
			s.Kinds[2].Attention.KVLayer = 3
		},
		"decoder[3]: kinds[2].attention.kv_layer: there is an encoder": func(s *spec, k *transformer.Kind) {
			s.Kinds, s.Encoder, s.Decoder[3] = append(s.Kinds, *k), []int{0}, 2
			s.Kinds[2].Attention.KVLayer = 1
		},
	} {
		s := rich()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A pass allocates at most what [transformer.Spec.PassBytes] says, with inputs of layers too.
func TestLayerInputsPassBytes(t *testing.T) {
	const tokens = 300
	spec := &transformer.Spec{
		Vocab: 64, Context: tokens, Width: 32, Norm: transformer.RMSNorm, Eps: 1e-5, Decoder: slices.Repeat([]int{0}, 40), LayerInputs: 128,
		Kinds: []transformer.Kind{{
			Attention:   transformer.Attention{Heads: 2, KVHeads: 2, HeadDim: 8},
			FeedForward: transformer.FeedForward{Width: 48, Gated: true, Activation: transformer.GELU},
		}},
	}
	checkPassBytes(t, spec, tokens)
}

// checkPassBytes checks the estimate for a model of an architecture.
func checkPassBytes(t *testing.T, spec *transformer.Spec, tokens int) {
	t.Helper()
	m := transformertest.New(spec, 1)
	for _, format := range []transformer.Format{transformer.F32, transformer.Q8_0} {
		model := load(t, m, kernel.Best(), format)
		pass, cache := model.NewPass(nil), model.NewCache(tokens)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: slices.Repeat([]int{1}, tokens)}}))
		runtime.ReadMemStats(&after)
		got, most := int64(after.TotalAlloc-before.TotalAlloc), spec.PassBytes(tokens, 1)
		if got > most || got < most/2 {
			t.Errorf("%v: %d bytes, at most %d expected", format, got, most)
		}
	}
}
