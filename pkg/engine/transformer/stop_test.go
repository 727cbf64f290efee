package transformer_test

import (
	"errors"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// A pass of an encoder ends after the layer before which it was stopped, also if several workers
// compute it, and the next pass computes what it would have without it.
func TestStop(t *testing.T) {
	texts, tried := [][]int{{1, 2, 3}, {2}}, 0
	for seed := uint64(0); tried < 5; seed++ {
		m := transformertest.Random(seed)
		layers := len(m.Spec.Encoder)
		if layers < 2 {
			continue
		}
		tried++
		model := must(transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32))
		for _, size := range []int{1, 3} {
			team := transformer.NewTeam(size)
			pass := model.NewPass(team)
			pass.ShareAll = true
			must(pass.Encode(texts))
			want := slices.Clone(pass.Last())
			for last := 1; last <= layers+1; last++ {
				asked := 0
				pass.Stop = func() bool {
					asked++
					return asked >= last
				}
				memories, err := pass.Encode(texts)
				if stopped := last <= layers; errors.Is(err, transformer.ErrStopped) != stopped || (memories == nil) != stopped || asked != min(last, layers) {
					t.Errorf("seed %d, %d workers, stopped before layer %d of %d: %v, asked %d times", seed, size, last, layers, err, asked)
				}
				pass.Stop = nil
				if must(pass.Encode(texts)); !slices.Equal(pass.Last(), want) {
					t.Errorf("seed %d, %d workers: after a stop the pass computes something else", seed, size)
				}
			}
			team.Close()
		}
	}
}
