package transformer_test

import (
	"math"
	"strings"
	"testing"

	"glossa/pkg/engine/transformer"
)

// Descriptions of heads and of activations that cannot be computed are refused as well.
func TestSpecRefusesHeads(t *testing.T) {
	type spec = transformer.Spec
	for want, change := range map[string]func(s *spec, k *transformer.Kind){
		"kinds[0].attention.rotated_norm: there is no": func(_ *spec, k *transformer.Kind) {
			k.Attention.RotatedNorm, k.Attention.QKNorm = true, transformer.QKNormAll
		},
		"kinds[0].attention.growth_step: 0": func(_ *spec, k *transformer.Kind) { k.Attention.Growth = 1 },
		"kinds[0].attention.growth: there is an encoder": func(s *spec, k *transformer.Kind) {
			k.Attention.Growth, k.Attention.GrowthStep, s.Encoder = 1, 4, []int{1}
		},
		"kinds[0].attention.growth: +Inf": func(_ *spec, k *transformer.Kind) {
			k.Attention.Growth, k.Attention.GrowthStep = float32(math.Inf(1)), 4
		},
		"kinds[0].feed_forward.activation: activation \"xielu\" cannot": func(_ *spec, k *transformer.Kind) {
			k.FeedForward.Activation = transformer.XIELU
		},
	} {
		s := rich()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
