package arch_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/dtype"
)

// bytesOf returns bytes, of which each is the one before plus step.
func bytesOf(kind string, first, step byte, shape ...int) stored {
	t := stored{dtype: kind, shape: shape}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for i := range n {
		t.data = append(t.data, first+step*byte(i))
	}
	return t
}

// exponents returns scales that are powers of 2 near 1.
func exponents(shape ...int) stored {
	t := bytesOf("U8", 0, 1, shape...)
	for i := range t.data {
		t.data[i] = 124 + t.data[i]%7
	}
	return t
}

// typed returns the same bytes as numbers of another type.
func (s stored) typed(kind string, shape ...int) stored { return stored{kind, shape, s.data} }

// four returns value i of those in FP4 of which a byte has two.
func (s stored) four(i int) float32 {
	return []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}[s.data[i/2]>>(i%2*4)&15]
}

// power returns scale i of those that are powers of 2.
func (s stored) power(i int) float32 { return float32(math.Ldexp(1, int(s.data[i])-127)) }

// fp4 returns the settings of compressed-tensors for FP4.
func fp4(size int) members {
	strategy := "group"
	if size == 16 {
		strategy = "tensor_group"
	}
	c := compression(members{"num_bits": 4, "type": "float", "strategy": strategy, "group_size": size, "symmetric": true})
	c["format"] = map[int]string{16: "nvfp4-pack-quantized", 32: "mxfp4-pack-quantized"}[size]
	return c
}

// modelOpt returns the settings of ModelOpt.
func modelOpt(algorithm string) members {
	return members{"quant_method": "modelopt", "quant_algo": algorithm, "ignore": []string{"lm_head"}, "producer": members{"name": "modelopt"}}
}

// Weights in FP4 and FP8 with scales of one byte have the values of their formats.
func TestMicroscaled(t *testing.T) {
	const rows, cols = quantisedRows, quantisedCols
	codes, eight := bytesOf("U8", 1, 29, rows, cols/2), eights("F8_E4M3", rows, cols)
	scales, powers, whole := eights("F8_E4M3", rows, cols/16), exponents(rows, cols/32), floatsOf([]float32{3}, 1)
	nvidia := map[string]stored{"weight": codes, "weight_scale": scales, "weight_scale_2": whole.typed("F32"), "input_scale": whole.typed("F32")}
	mlx := func(mode string, size, bits int) members {
		return members{"mode": mode, "group_size": size, "bits": bits}
	}
	for name, c := range map[string]struct {
		config members
		parts  map[string]stored
		want   func(r, c int) float32
	}{
		"NVFP4": {members{"quantization_config": fp4(16)}, map[string]stored{"weight_packed": codes, "weight_scale": scales, "weight_global_scale": whole, "input_global_scale": whole},
			func(r, c int) float32 {
				return dtype.FromBFloat16(dtype.ToBFloat16(codes.four(r*cols+c) * (scales.float(r*2+c/16) / 3)))
			}},
		"MXFP4": {members{"quantization_config": fp4(32)}, map[string]stored{"weight_packed": codes, "weight_scale": powers},
			func(r, c int) float32 { return codes.four(r*cols+c) * powers.power(r) }},
		"MXFP8": {members{"quantization_config": compression(members{"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32})}, map[string]stored{"weight": eight, "weight_scale": powers},
			func(r, c int) float32 { return eight.float(r*cols+c) * powers.power(r) }},
		"NVFP4 of ModelOpt": {members{"quantization_config": modelOpt("NVFP4")}, nvidia,
			func(r, c int) float32 { return codes.four(r*cols+c) * (scales.float(r*2+c/16) * 3) }},
		"FP8 of ModelOpt": {members{"quantization_config": modelOpt("FP8")}, map[string]stored{"weight": eight, "weight_scale": whole.typed("F32"), "input_scale": whole.typed("F32")},
			func(r, c int) float32 { return eight.float(r*cols+c) * 3 }},
		"mxfp4 of MLX": {members{"quantization": mlx("mxfp4", 32, 4)}, map[string]stored{"weight": codes.typed("U32", rows, cols/8), "scales": powers},
			func(r, c int) float32 { return codes.four(r*cols+c) * powers.power(r) }},
		"nvfp4 of MLX": {members{"quantization": mlx("nvfp4", 16, 4)}, map[string]stored{"weight": codes.typed("U32", rows, cols/8), "scales": scales.typed("U8", rows, cols/16)},
			func(r, c int) float32 { return codes.four(r*cols+c) * scales.float(r*2+c/16) }},
		"mxfp8 of MLX": {members{"quantization": mlx("mxfp8", 32, 8)}, map[string]stored{"weight": eight.typed("U32", rows, cols/4), "scales": powers},
			func(r, c int) float32 { return eight.float(r*cols+c) * powers.power(r) }},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := quantised(t, nil, c.parts)
			set(t, fsys, "config.json", c.config)
			weight := openIn(t, fsys, "m").Weights.Decoder[1].Gate.Weight
			var want []float32
			for i := range rows * cols {
				want = append(want, c.want(i/cols, i%cols))
			}
			if got := valuesOf(t, weight); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got[:40], want[:40])
			}
			for _, part := range [][2]int{{0, 1}, {7, 2}, {31, 40}, {95, 1}} {
				got := make([]float32, part[1]*cols)
				if err := weight[0].Read(got, part[0]*cols); err != nil || !slices.Equal(got, want[part[0]*cols:][:len(got)]) {
					t.Errorf("%d rows from %d: %v, %v", part[1], part[0], got[:8], err)
				}
			}
		})
	}
}

// Weights in FP4 whose tensors or settings do not fit each other are rejected with the tensor's name or the key.
func TestHostileMicroscaled(t *testing.T) {
	const rows, cols = quantisedRows, quantisedCols
	codes, scales, powers, one := bytesOf("U8", 1, 29, rows, cols/2), eights("F8_E4M3", rows, cols/16), exponents(rows, cols/32), floatsOf([]float32{3}, 1)
	with := func(all map[string]stored, name string, part stored) map[string]stored {
		changed := map[string]stored{}
		for key, value := range all {
			changed[key] = value
		}
		if changed[name] = part; part.dtype == "" {
			delete(changed, name)
		}
		return changed
	}
	packed := map[string]stored{"weight_packed": codes, "weight_scale": scales, "weight_global_scale": one}
	nvidia := map[string]stored{"weight": codes, "weight_scale": scales, "weight_scale_2": one}
	mlx := map[string]stored{"weight": codes.typed("U32", rows, cols/8), "scales": powers}
	ct := func(c members) members { return members{"quantization_config": c} }
	of := func(mode string, more members) members {
		q := members{"mode": mode}
		for key, value := range more {
			q[key] = value
		}
		return members{"quantization": q}
	}
	for _, c := range []struct {
		what   string
		config members
		parts  map[string]stored
		want   string
	}{
		{"no global scale", ct(fp4(16)), with(packed, "weight_global_scale", stored{}), `weight_scale": tensor "layers.1.mlp.gate_proj.weight_global_scale" is missing`},
		{"two global scales", ct(fp4(16)), with(packed, "weight_global_scale", floatsOf([]float32{1, 2}, 2)), `weight_global_scale": type F32 and shape [2] instead of the scale of a weight`},
		{"a global scale of bytes", ct(fp4(16)), with(packed, "weight_global_scale", bytesOf("U8", 1, 1, 1)), `weight_global_scale": type U8 and shape [1] instead of`},
		{"few scales", ct(fp4(16)), with(packed, "weight_scale", eights("F8_E4M3", rows, 1)), `weight_scale": type F8_E4M3 and shape [96 1] do not fit a weight of shape [96 32] in blocks of 16`},
		{"one scale", ct(fp4(16)), with(packed, "weight_scale", eights("F8_E4M3", 1)), `weight_scale": type F8_E4M3 and shape [1] do not fit`},
		{"scales of another type", ct(fp4(16)), with(packed, "weight_scale", numbers(1, rows, 2)), `weight_scale": type F32 and shape [96 2] do not fit`},
		{"scales of MXFP4", ct(fp4(16)), with(packed, "weight_scale", powers), `weight_packed": type U8 with scales of type U8: the settings are not those of FP4 in groups of 32`},
		{"settings of MXFP4", ct(fp4(32)), packed, `weight_packed": type U8 with scales of type F8_E4M3: the settings are not those of FP4 in groups of 16`},
		{"settings of whole numbers", ct(compression(members{"num_bits": 4, "strategy": "group", "group_size": 16})), packed, "the settings are not those of FP4 in groups of 16"},
		{"a vector", ct(fp4(16)), with(packed, "weight_packed", bytesOf("U8", 1, 1, rows*cols/2)), `weight_packed": a quantised weight of shape [1536] is not supported`},
		{"no rows", ct(fp4(16)), with(packed, "weight_packed", bytesOf("U8", 1, 1, 0, cols/2)), `weight_packed": a quantised weight of shape [0 16] is not supported`},
		{"other rows", ct(fp4(16)), map[string]stored{"weight_packed": bytesOf("U8", 1, 29, cols, rows/2), "weight_scale": eights("F8_E4M3", cols, rows/16), "weight_global_scale": one}, `weight_packed": shape [32 96], but the configuration has [96 32]`},
		{"float8 under whole numbers", ct(compression(members{"num_bits": 8, "strategy": "tensor"})), map[string]stored{"weight": eights("F8_E4M3", rows, cols), "weight_scale": one}, `gate_proj.weight": type F8_E4M3, but the settings are those of`},
		{"ModelOpt without the second scale", ct(modelOpt("NVFP4")), with(nvidia, "weight_scale_2", stored{}), `weight_scale": tensor "layers.1.mlp.gate_proj.weight_scale_2" is missing`},
		{"ModelOpt with whole numbers", ct(modelOpt("NVFP4")), with(nvidia, "weight", eights("I8", rows, cols)), `gate_proj.weight": type I8, but `},
		{"ModelOpt with scales of inputs", ct(modelOpt("NVFP4")), with(nvidia, "pre_quant_scale", numbers(1, cols)), `gate_proj.pre_quant_scale": unknown in this architecture`},
		{"another algorithm", ct(modelOpt("W4A16_AWQ")), nvidia, `quantization_config.quant_algo: "W4A16_AWQ" is not supported, only FP8, `},
		{"no algorithm", ct(members{"quant_method": "modelopt"}), nvidia, `quantization_config.quant_algo: "" is not supported`},
		{"other blocks", ct(members{"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32}), nvidia, "quantization_config.group_size: 32 is not supported, only 16"},
		{"another algorithm of a layer", ct(members{"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": members{"x": members{"quant_algo": "W8A16"}}}), nvidia,
			`quantization_config.quantized_layers.x.quant_algo: "W8A16" is not supported`},
		{"an unknown mode", of("mxfp6", nil), mlx, `quantization.mode: "mxfp6" is not supported, only affine, mxfp4, mxfp8, nvfp4`},
		{"an unknown mode, and of a module", of("mxfp6", members{"lm_head": members{"bits": 4}}), mlx, `quantization.mode: "mxfp6"`},
		{"groups of another size", of("mxfp4", members{"group_size": 64}), mlx, "quantization.group_size: 64 is not in 32..32"},
		{"other bits", of("nvfp4", members{"bits": 8}), mlx, "quantization.bits: 8 is not in 4..4"},
		{"words of another type", of("mxfp4", nil), with(mlx, "weight", codes), `gate_proj.weight": type U8 instead of words`},
		{"groups of nvfp4", of("nvfp4", nil), mlx, `gate_proj.scales": type U8 and shape [96 1] do not fit a weight of shape [96 32] in blocks of 16`},
		{"offsets", of("mxfp4", nil), with(mlx, "biases", numbers(1, rows, 1)), `gate_proj.biases": unknown in this architecture`},
	} {
		fsys := quantised(t, nil, c.parts)
		set(t, fsys, "config.json", c.config)
		checkRejected(t, c.what, fsys, c.want)
	}
}

// Scales that are not finite, or make values that are not, are errors of the tensor when it is read.
func TestHostileMicroscales(t *testing.T) {
	const rows, cols = quantisedRows, quantisedCols
	codes, one := bytesOf("U8", 0x77, 0, rows, cols/2), floatsOf([]float32{3}, 1)
	nan, huge := eights("F8_E4M3", rows, cols/16), exponents(rows, cols/32)
	nan.data[5], huge.data[4] = 0x7f, 255
	for _, c := range []struct {
		config members
		parts  map[string]stored
		want   string
	}{
		{fp4(16), map[string]stored{"weight_packed": codes, "weight_scale": nan, "weight_global_scale": one}, `gate_proj.weight_scale": value 5 is NaN`},
		{fp4(32), map[string]stored{"weight_packed": codes, "weight_scale": huge}, `gate_proj.weight_scale": value 4 is NaN`},
		{fp4(16), map[string]stored{"weight_packed": codes, "weight_scale": eights("F8_E4M3", rows, 2), "weight_global_scale": floatsOf([]float32{0}, 1)}, `gate_proj.weight_global_scale": the scale is 0`},
		{fp4(16), map[string]stored{"weight_packed": codes, "weight_scale": eights("F8_E4M3", rows, 2), "weight_global_scale": floatsOf([]float32{float32(math.Inf(1))}, 1)}, `gate_proj.weight_global_scale": value 0 is +Inf`},
		{fp4(16), map[string]stored{"weight_packed": codes, "weight_scale": bytesOf("F8_E4M3", 0x7e, 0, rows, 2), "weight_global_scale": floatsOf([]float32{1e-38}, 1)}, `gate_proj.weight_packed": value 0 is +Inf`},
		{modelOpt("NVFP4"), map[string]stored{"weight": codes, "weight_scale": bytesOf("F8_E4M3", 0x7e, 0, rows, 2), "weight_scale_2": floatsOf([]float32{3e38}, 1)}, `gate_proj.weight": value 0 is +Inf`},
	} {
		m := openIn(t, quantised(t, c.config, c.parts), "m")
		if err := readTensor(&m.Weights.Decoder[1].Gate.Weight[0]); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
