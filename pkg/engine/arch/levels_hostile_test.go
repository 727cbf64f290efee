package arch_test

import (
	"math"
	"strings"
	"testing"

	"glossa/pkg/engine/transformer"
)

// Quantised weights whose parts do not fit each other are rejected with the tensor's name.
func TestHostileLevels(t *testing.T) {
	gptq := func(more members) members {
		q := members{"quant_method": "gptq", "bits": 4}
		for key, value := range more {
			q[key] = value
		}
		return members{"quantization_config": q}
	}
	awq := members{"quantization_config": members{"quant_method": "awq"}}
	mlx := members{"quantization": members{"bits": 4, "group_size": 32}}
	m := newLevelled(4, 32, 96, 3, false)
	for _, c := range []struct {
		what    string
		config  members
		parts   map[string]stored
		part    string
		changed *stored
		want    string
	}{
		{"no zeros", gptq(nil), m.gptq(downProj, 1), ".qzeros", nil, `qweight": tensor "layers.1.mlp.down_proj.qzeros" is missing`},
		{"no scales", gptq(nil), m.gptq(downProj, 1), ".scales", nil, `tensor "layers.1.mlp.down_proj.scales" is missing`},
		{"levels of another type", gptq(nil), m.gptq(downProj, 1), ".qweight", &stored{"I16", []int{12, 64}, make([]byte, 1536)}, "type I16"},
		{"levels of no inputs", gptq(nil), m.gptq(downProj, 1), ".qweight", &stored{"I32", []int{0, 32}, nil}, "shape [0 32]"},
		{"a vector of levels", gptq(nil), m.gptq(downProj, 1), ".qweight", &stored{"I32", []int{384}, make([]byte, 1536)}, "shape [384]"},
		{"no groups", gptq(nil), m.gptq(downProj, 1), ".scales", &stored{"F32", []int{0, 32}, nil}, `scales": type F32 and shape [0 32] do not fit a weight of shape [32 96]`},
		{"scales of other outputs", gptq(nil), m.gptq(downProj, 1), ".scales", &stored{"F32", []int{3, 31}, make([]byte, 372)}, "shape [3 31]"},
		{"zeros of other groups", gptq(nil), m.gptq(downProj, 1), ".qzeros", &stored{"I32", []int{2, 4}, make([]byte, 32)}, `qzeros": type I32 and shape [2 4] do not fit 3 groups`},
		{"no inputs in order", gptq(nil), m.gptq(downProj, 1), ".g_idx", &stored{"I32", []int{0}, nil}, "shape [12 32] for 1 inputs does not have"},
		{"7 bits", gptq(nil), m.gptq(downProj, 1), ".g_idx", &stored{"I32", []int{54}, make([]byte, 216)}, "shape [12 32] for 54 inputs does not have 2, 3, 4 or 8 bits"},
		{"9 bits", gptq(members{"bits": 9}), m.gptq(downProj, 1), "", nil, "quantization_config.bits: 9 is not in 2..8"},
		{"marlin", gptq(members{"checkpoint_format": "marlin"}), m.gptq(downProj, 1), "", nil, `quantization_config.checkpoint_format: "marlin" is not supported, only gptq and gptq_v2`},
		{"awq without zeros", awq, m.awq(downProj), ".qzeros", nil, `tensor "layers.1.mlp.down_proj.qzeros" is missing`},
		{"awq with 5 groups", awq, m.awq(downProj), ".scales", &stored{"F32", []int{5, 32}, make([]byte, 640)}, "shape [5 32] do not fit a weight of shape [32 96]"},
		{"awq of gemv", members{"quantization_config": members{"quant_method": "awq", "version": "gemv"}}, m.awq(downProj), "", nil, `quantization_config.version: "gemv" is not supported, only gemm`},
		{"mlx without offsets", mlx, m.mlx(downProj), ".biases", nil, `tensor "layers.1.mlp.down_proj.biases" is missing`},
		{"mlx of no groups", mlx, m.mlx(downProj), ".scales", &stored{"F32", []int{32, 0}, nil}, "shape [32 0] do not fit levels of shape [32 12]"},
		{"mlx of 7 bits", mlx, m.mlx(downProj), ".weight", &stored{"U32", []int{32, 21}, make([]byte, 2688)}, "does not have 2, 3, 4, 5, 6 or 8 bits"},
	} {
		if c.part != "" {
			if delete(c.parts, downProj+c.part); c.changed != nil {
				c.parts[downProj+c.part] = *c.changed
			}
		}
		checkRejected(t, c.what, replaced(t, c.config, c.parts), c.want)
	}
}

// Values of quantised weights are checked when they are read.
func TestHostileLevelValues(t *testing.T) {
	m := newLevelled(4, 32, 96, 3, true)
	for _, c := range []struct {
		what, part string
		value      uint32
		want       string
	}{
		{"a group too many", ".g_idx", 3, `down_proj.g_idx": input 0 is in group 3 of 3`},
		{"a negative group", ".g_idx", math.MaxUint32, "input 0 is in group -1 of 3"},
		{"NaN", ".scales", math.Float32bits(float32(math.NaN())), `down_proj.scales": value 0 is NaN`},
		{"overflow", ".scales", math.Float32bits(math.MaxFloat32), "Inf"},
	} {
		parts := m.gptq(downProj, 1)
		all := parts[downProj+c.part]
		copy(all.data, wordsOf("", []uint32{c.value}).data)
		opened := openIn(t, replaced(t, members{"quantization_config": members{"quant_method": "gptq", "bits": 4}}, parts), "m")
		err := readTensor(&opened.Weights.Decoder[1].Down.Weight[0])
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), downProj) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

func readTensor(t *transformer.Tensor) error { return t.Read(make([]float32, t.Rows*t.Cols), 0) }

// The parts of bitsandbytes that do not fit each other are rejected with the tensor's name.
func TestHostileBitsAndBytes(t *testing.T) {
	name := downProj + ".weight"
	text := func(s string) *stored { return &stored{"U8", []int{len(s)}, []byte(s)} }
	for _, c := range []struct {
		what, part string
		changed    *stored
		want       string
	}{
		{"no weight", "", nil, `absmax": tensor "layers.1.mlp.down_proj.weight" is missing`},
		{"no table", ".quant_map", nil, `quant_map" is missing`},
		{"a table of 15", ".quant_map", &stored{"F32", []int{15}, make([]byte, 60)}, "shape [15] instead of 16 values"},
		{"no state", ".quant_state.bitsandbytes__nf4", nil, `nf4" is missing`},
		{"broken JSON", ".quant_state.bitsandbytes__nf4", text(`{"blocksize": `), "quant_state.bitsandbytes__nf4"},
		{"no blocks", ".quant_state.bitsandbytes__nf4", text(`{"blocksize": 0, "shape": [32, 96]}`), "blocksize: 0"},
		{"a huge shape", ".quant_state.bitsandbytes__nf4", text(`{"blocksize": 64, "shape": [4294967296, 4294967296]}`), "is not that of a matrix"},
		{"a vector", ".quant_state.bitsandbytes__nf4", text(`{"blocksize": 64, "shape": [3072]}`), "is not that of a matrix"},
		{"another shape", ".quant_state.bitsandbytes__nf4", text(`{"blocksize": 64, "shape": [96, 32], "nested_blocksize": 5}`), "but the configuration has [32 96]"},
		{"no nested blocks", ".quant_state.bitsandbytes__nf4", text(`{"blocksize": 64, "shape": [32, 96]}`), "in blocks of 0"},
		{"few scales", ".absmax", &stored{"U8", []int{47}, make([]byte, 47)}, "shape [47] do not fit 48 blocks"},
		{"few nested scales", ".nested_absmax", &stored{"F32", []int{9}, make([]byte, 36)}, "do not fit 48 scales in blocks of 5"},
	} {
		parts, _ := nibblesOf(64, 5)
		if delete(parts, name+c.part); c.changed != nil {
			parts[name+c.part] = *c.changed
		}
		checkRejected(t, c.what, replaced(t, bitsAndBytes, parts), c.want)
	}
}
