package transformer_test

import (
	"runtime"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// The first passes allocate at most what [transformer.Spec.PassBytes] says, and a quarter at least:
// several, since a worker has packed inputs from the first product on of which it computes a piece.
func TestPassBytes(t *testing.T) {
	const tokens = 500
	for _, gated := range []bool{false, true} {
		spec := &transformer.Spec{
			Vocab: 64, Context: tokens, Width: 256, Norm: transformer.LayerNorm, Eps: 1e-5, Encoder: []int{0, 0},
			Kinds: []transformer.Kind{{
				Attention:   transformer.Attention{Heads: 8, KVHeads: 8, HeadDim: 32},
				FeedForward: transformer.FeedForward{Width: 1024, Gated: gated, Activation: "gelu"},
			}},
		}
		m := transformertest.New(spec, 1)
		for _, format := range []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0} {
			for _, workers := range []int{1, 3} {
				model := must(transformer.New(m.Spec, m.Weights, kernel.Best(), format))
				team := transformer.NewTeam(workers)
				pass := model.NewPass(team)
				pass.ShareAll = true
				must(pass.Encode([][]int{{1}})) // starts the team
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				passes := 1
				if workers > 1 && format != transformer.F32 {
					passes = 4
				}
				for range passes {
					must(pass.Encode([][]int{slices.Repeat([]int{1}, tokens)}))
				}
				runtime.ReadMemStats(&after)
				got, most := int64(after.TotalAlloc-before.TotalAlloc), m.Spec.PassBytes(tokens, workers)
				if got > most || got < most/4 {
					t.Errorf("gated %v, %v, %d workers: %d bytes, at most %d expected", gated, format, workers, got, most)
				}
				team.Close()
			}
		}
	}
}
