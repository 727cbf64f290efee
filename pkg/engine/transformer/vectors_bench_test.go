package transformer_test

import (
	"fmt"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// BenchmarkPatches encodes one frame with the encoder of SmolVLM-256M: 1,024 patches, 12 layers of
// width 768.
func BenchmarkPatches(b *testing.B) {
	const n, width, ffn, layers = 1024, 768, 3072, 12
	spec := &transformer.Spec{
		Patch: 3 * 16 * 16, Context: n, Width: width, Position: transformer.Learned, Eps: 1e-6, Encoder: make([]int, layers),
		Kinds: []transformer.Kind{{
			Attention:   transformer.Attention{Heads: 12, KVHeads: 12, HeadDim: width / 12},
			FeedForward: transformer.FeedForward{Width: ffn, Activation: transformer.GELU},
		}},
	}
	m := transformertest.New(spec, 3)
	values := make([]float32, n*spec.Patch)
	for i := range values {
		values[i] = float32(i%255)/127 - 1
	}
	for _, f := range []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0} {
		model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), f)
		if err != nil {
			b.Fatal(err)
		}
		for threads := range 2 {
			b.Run(fmt.Sprintf("%v/threads=%d", f, threads+1), func(b *testing.B) {
				team := transformer.NewTeam(threads + 1)
				defer team.Close()
				pass := model.NewPass(team)
				for b.Loop() {
					if err := pass.EncodePatches([]transformer.Patches{{Values: values}}); err != nil {
						b.Fatal(err)
					}
				}
				const products = layers * n * (4*width*width + 2*width*ffn + 2*n*width)
				b.ReportMetric(2*products*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
