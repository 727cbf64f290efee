package arch_test

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
)

// The experts of MLX's directories, of which a tensor has all, are those of the same model as transformers saves it.
func TestSwitchedExperts(t *testing.T) {
	const end = ".experts.gate_up_proj"
	fsys := bare(t, "qwen3_moe-sparse")
	tensors(t, fsys, func(all map[string]stored) {
		for name, both := range all {
			stem, ok := strings.CutSuffix(name, end)
			if !ok {
				continue
			}
			shape := []int{both.shape[0], both.shape[1] / 2, both.shape[2]}
			gate, up := stored{both.dtype, shape, nil}, stored{both.dtype, shape, nil}
			for half := range slices.Chunk(both.data, len(both.data)/both.shape[0]/2) {
				if len(gate.data) == len(up.data) {
					gate.data = append(gate.data, half...)
				} else {
					up.data = append(up.data, half...)
				}
			}
			down := stem + ".experts.down_proj"
			all[stem+".switch_mlp.gate_proj.weight"], all[stem+".switch_mlp.up_proj.weight"], all[stem+".switch_mlp.down_proj.weight"] = gate, up, all[down]
			delete(all, name)
			delete(all, down)
		}
	})
	experts := func(m *arch.Model) (all []float32) {
		for _, layer := range m.Weights.Decoder {
			for _, e := range layer.Experts {
				all = slices.Concat(all, valuesOf(t, e.Gate.Weight), valuesOf(t, e.Up.Weight), valuesOf(t, e.Down.Weight))
			}
		}
		return all
	}
	want, got := experts(open(t, "qwen3_moe-sparse")), experts(openIn(t, fsys, "m"))
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%d values of experts differ from %d", len(got), len(want))
	}
}
