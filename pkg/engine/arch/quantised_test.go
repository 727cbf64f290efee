package arch_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// The matrix that tests quantise: (quantisedRows, quantisedCols).
const (
	quantisedStem = "model.layers.1.mlp.gate_proj."
	quantisedRows = 96
	quantisedCols = 32
)

// quantised returns llama with the parts of a matrix, and a quantization_config.
func quantised(t *testing.T, config members, parts map[string]stored) fstest.MapFS {
	t.Helper()
	fsys := bare(t, "llama")
	set(t, fsys, "config.json", members{"quantization_config": config})
	tensors(t, fsys, func(all map[string]stored) {
		delete(all, quantisedStem+"weight")
		for ending, part := range parts {
			all[quantisedStem+ending] = part
		}
	})
	return fsys
}

// eights returns bytes, all of which are finite as E4M3.
func eights(kind string, shape ...int) stored {
	t := stored{dtype: kind, shape: shape}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for i := range n {
		t.data = append(t.data, byte(i*37+i/31)&0xfe)
	}
	return t
}

// words returns numbers of 32 bits with various digits.
func words(shape ...int) stored {
	t := stored{dtype: "I32", shape: shape}
	for i := range shape[0] * shape[1] {
		t.data = binary.LittleEndian.AppendUint32(t.data, uint32(i+1)*2654435761)
	}
	return t
}

// wholes returns whole numbers of 32 bits.
func wholes(values ...int) stored {
	t := stored{dtype: "I32", shape: []int{len(values)}}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint32(t.data, uint32(v))
	}
	return t
}

// shapeOf returns a tensor of a shape.
func shapeOf(values ...int) stored {
	t := stored{dtype: "I64", shape: []int{len(values)}}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint64(t.data, uint64(v))
	}
	return t
}

// halved returns the upper halves of float32.
func halved(s stored) stored {
	half := stored{dtype: "BF16", shape: s.shape}
	for b := range slices.Chunk(s.data, 4) {
		half.data = append(half.data, b[2:]...)
	}
	return half
}

// thirds returns a third of each value.
func thirds(s stored) stored {
	all := stored{dtype: "F32", shape: s.shape}
	for i := range len(s.data) / 4 {
		all.data = binary.LittleEndian.AppendUint32(all.data, math.Float32bits(s.float(i)/3))
	}
	return all
}

// float returns a value of a tensor.
func (s stored) float(i int) float32 {
	var v [1]float32
	switch kind := dtype.Type(s.dtype); kind {
	case dtype.I8:
		v[0] = float32(int8(s.data[i]))
	default:
		_, size := kind.Block()
		kind.Decoder()(v[:], s.data[i*size:])
	}
	return v[0]
}

// across returns a number of some bits of those that follow each other from a word on; half of the range is
// zero.
func (s stored) across(word, i, bits int) float32 { return s.bits(word, 1, i, bits) }

// down returns a number of some bits of those in a column of words, of which a row has so many.
func (s stored) down(column, words, i, bits int) float32 { return s.bits(column, words, i, bits) }

func (s stored) bits(word, step, i, bits int) float32 {
	v := 0
	for b := range bits {
		at := i*bits + b
		v |= int(s.data[4*(word+at/32*step)+at%32/8]>>(at%8)&1) << b
	}
	return float32(v - 1<<(bits-1))
}

// compression returns a quantization_config of compressed-tensors.
func compression(weights members) members {
	return members{
		"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": []string{"lm_head"},
		"config_groups": members{"group_0": members{"targets": []string{"Linear"}, "weights": weights, "input_activations": nil}},
	}
}

// Values come from codes, scales and codes of zero as the method has them: in blocks that end within
// the matrix or not, and in any order.
func TestQuantisedValues(t *testing.T) {
	const rows, cols = quantisedRows, quantisedCols
	codes, ints, four := eights("F8_E4M3", rows, cols), eights("I8", rows, cols), words(rows, cols/8)
	three, threeZeros := words(rows, cols*3/32), words(rows*3/32, 4)
	blocks, one, perRow, groups := numbers(3, 3, 2), numbers(5), numbers(2, rows, 1), numbers(1, rows, 4)
	zeros, fourZeros, order := eights("I8", rows, 1), words(rows/8, 4), []int{}
	for i := range cols {
		order = append(order, i*5%4)
	}
	fp8 := func(block any) members {
		return members{"quant_method": "fp8", "weight_block_size": block, "activation_scheme": "dynamic"}
	}
	per := func(kind, strategy string, bits int, rest members) members {
		w := members{"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": true}
		for key, value := range rest {
			w[key] = value
		}
		return compression(w)
	}
	eight := func(r, c int) float32 { return codes.float(r*cols + c) }
	number := func(r, c int) float32 { return ints.float(r*cols + c) }
	nibble := func(r, c int) float32 { return four.across(r*cols/8, c, 4) }
	for name, c := range map[string]struct {
		config members
		parts  map[string]stored
		want   func(r, c int) float32
	}{
		"fp8 in blocks": {fp8([]int{40, 20}), map[string]stored{"weight": codes, "weight_scale_inv": blocks},
			func(r, c int) float32 { return eight(r, c) * blocks.float(r/40*2+c/20) }},
		"fp8 with one scale": {fp8(nil), map[string]stored{"weight": codes, "weight_scale_inv": one, "activation_scale": one},
			func(r, c int) float32 { return eight(r, c) * one.float(0) }},
		"fp8 of older files": {members{"quant_method": "fp8", "activation_scheme": "static"}, map[string]stored{"weight": codes, "weight_scale": numbers(5, 1), "input_scale": one},
			func(r, c int) float32 { return eight(r, c) * one.float(0) }},
		"fbgemm_fp8": {members{"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200}, map[string]stored{"weight": codes, "weight_scale": perRow},
			func(r, c int) float32 { return eight(r, c) * perRow.float(r) }},
		"fp8 compressed by row": {per("float", "channel", 8, nil), map[string]stored{"weight": codes, "weight_scale": perRow},
			func(r, c int) float32 { return eight(r, c) * perRow.float(r) }},
		"fp8 compressed in blocks": {per("float", "block", 8, members{"block_structure": []int{32, 16}}), map[string]stored{"weight": codes, "weight_scale": blocks},
			func(r, c int) float32 { return eight(r, c) * blocks.float(r/32*2+c/16) }},
		"int8": {per("int", "channel", 8, nil), map[string]stored{"weight": ints, "weight_scale": perRow},
			func(r, c int) float32 { return number(r, c) * perRow.float(r) }},
		"int8 with zeros": {per("int", "channel", 8, nil), map[string]stored{
			"weight": ints, "weight_scale": perRow, "weight_zero_point": zeros, "input_scale": one, "input_zero_point": eights("I8", 1)},
			func(r, c int) float32 { return (number(r, c) - zeros.float(r)) * perRow.float(r) }},
		"int4": {per("int", "group", 4, members{"group_size": 8}), map[string]stored{"weight_packed": four, "weight_scale": groups, "weight_shape": shapeOf(rows, cols)},
			func(r, c int) float32 { return nibble(r, c) * groups.float(r*4+c/8) }},
		"int3": {per("int", "group", 3, members{"group_size": 8}), map[string]stored{
			"weight_packed": three, "weight_scale": groups, "weight_shape": shapeOf(rows, cols), "weight_zero_point": threeZeros},
			func(r, c int) float32 {
				return (three.across(r*3, c, 3) - threeZeros.down(c/8, 4, r, 3)) * groups.float(r*4+c/8)
			}},
		"int4 with zeros in an order": {per("int", "group", 4, members{"group_size": 8, "actorder": "group"}), map[string]stored{
			"weight_packed": four, "weight_scale": groups, "weight_shape": shapeOf(rows, cols), "weight_zero_point": fourZeros, "weight_g_idx": wholes(order...)},
			func(r, c int) float32 {
				return (nibble(r, c) - fourZeros.down(order[c], 4, r, 4)) * groups.float(r*4+order[c])
			}},
	} {
		t.Run(name, func(t *testing.T) {
			m := openIn(t, quantised(t, c.config, c.parts), "m")
			weight := &m.Weights.Decoder[1].Gate.Weight[0]
			if weight.Stored != transformer.F32 || weight.ReadStored != nil {
				t.Errorf("stored as %v", weight.Stored)
			}
			var want []float32
			for i := range rows * cols {
				want = append(want, c.want(i/cols, i%cols))
			}
			if got := valuesOf(t, m.Weights.Decoder[1].Gate.Weight); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got[:40], want[:40])
			}
			for _, part := range [][2]int{{0, 1}, {7, 2}, {31, 40}, {95, 1}} {
				got := make([]float32, part[1]*cols)
				if err := weight.Read(got, part[0]*cols); err != nil || !slices.Equal(got, want[part[0]*cols:][:len(got)]) {
					t.Errorf("%d rows from %d: %v, %v", part[1], part[0], got[:8], err)
				}
			}
		})
	}
}

// Values are rounded to the type of the scales, or of the model, and can be kept in it.
func TestQuantisedRounding(t *testing.T) {
	codes, scales := eights("F8_E4M3", quantisedRows, quantisedCols), thirds(numbers(3, 3, 2))
	for name, c := range map[string]struct {
		model  string
		scales stored
		want   transformer.Format
	}{
		"scales of 16 bits": {"float32", halved(scales), transformer.BF16},
		"models in bf16":    {"bfloat16", scales, transformer.BF16},
		"models in f16":     {"float16", scales, transformer.F16},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := quantised(t, members{"quant_method": "fp8", "weight_block_size": []int{40, 20}}, map[string]stored{"weight": codes, "weight_scale_inv": c.scales})
			set(t, fsys, "config.json", members{"dtype": c.model})
			m := openIn(t, fsys, "m")
			weight := &m.Weights.Decoder[1].Gate.Weight[0]
			raw, got := make([]byte, 2*quantisedRows*quantisedCols), make([]float32, quantisedRows*quantisedCols)
			if weight.Stored != c.want {
				t.Fatalf("stored as %v, want %v", weight.Stored, c.want)
			}
			if err := weight.ReadStored(raw, 0); err != nil {
				t.Fatal(err)
			}
			weight.Stored.Type().Decoder()(got, raw)
			if all := valuesOf(t, m.Weights.Decoder[1].Gate.Weight); !slices.Equal(got, all) {
				t.Errorf("as stored %v, else %v", got[:8], all[:8])
			}
			changed := false
			for i, v := range got {
				exact := codes.float(i) * c.scales.float(i/quantisedCols/40*2+i%quantisedCols/20)
				if changed = changed || v != exact; math.Abs(float64(v-exact)) > math.Abs(float64(exact))/256 {
					t.Fatalf("value %d is %v, exactly %v", i, v, exact)
				}
			}
			if !changed {
				t.Error("no value was rounded")
			}
		})
	}
}

// The memory of a quantised directory is that of what its weights become.
func TestQuantisedMemory(t *testing.T) {
	plain, err := arch.Describe(os.DirFS("testdata"), "llama")
	if err != nil {
		t.Fatal(err)
	}
	for _, scales := range []stored{numbers(3, 32, 1), halved(numbers(3, 32, 1))} {
		fsys := bare(t, "llama")
		set(t, fsys, "config.json", members{"quantization_config": members{"quant_method": "fbgemm_fp8"}})
		tensors(t, fsys, func(all map[string]stored) {
			all["model.layers.1.mlp.down_proj.weight"] = eights("F8_E4M3", 32, quantisedRows)
			all["model.layers.1.mlp.down_proj.weight_scale"] = scales
		})
		info, err := arch.Describe(fsys, "m")
		if err != nil {
			t.Fatal(err)
		}
		stored, all := info.Bytes[transformer.Stored], plain.Bytes[transformer.Stored]
		if smaller := stored < all; info.Parameters != plain.Parameters || stored > all || smaller != (scales.dtype == "BF16") {
			t.Errorf("scales of %s: %d parameters in %d bytes, and %d in %d without quantisation", scales.dtype, info.Parameters, stored, plain.Parameters, all)
		}
	}
}

// Directories whose settings or tensors do not fit each other.
func TestHostileQuantisation(t *testing.T) {
	const rows, cols = quantisedRows, quantisedCols
	codes, scales := eights("F8_E4M3", rows, cols), numbers(3, 3, 2)
	fp8 := members{"quant_method": "fp8", "weight_block_size": []int{40, 20}}
	four := compression(members{"num_bits": 4, "type": "int", "strategy": "group", "group_size": 8})
	packed := func(changes map[string]stored) map[string]stored {
		all := map[string]stored{"weight_packed": words(rows, cols/8), "weight_scale": numbers(1, rows, 4), "weight_shape": shapeOf(rows, cols)}
		for name, part := range changes {
			if all[name] = part; part.dtype == "" {
				delete(all, name)
			}
		}
		return all
	}
	with := func(c members, changes members) members {
		all := members{}
		for _, m := range []members{c, changes} {
			for key, value := range m {
				all[key] = value
			}
		}
		return all
	}
	huge := numbers(3, 3, 2)
	binary.LittleEndian.PutUint32(huge.data, math.Float32bits(3e38))
	nan, bad := numbers(3, 3, 2), eights("F8_E4M3", rows, cols)
	binary.LittleEndian.PutUint32(nan.data[8:], 0x7fc00000)
	bad.data[33] = 0x7f
	for _, c := range []struct {
		config members
		parts  map[string]stored
		want   string
	}{
		{members{"quant_method": "exl2"}, nil, `quantization_config.quant_method: "exl2" is not supported, only awq, bitsandbytes, compressed-tensors, `},
		{members{"bits": 4}, nil, `quantization_config.quant_method: "" is not supported`},
		{with(fp8, members{"weight_block_size": []int{40}}), nil, "quantization_config.weight_block_size: [40] is not"},
		{with(fp8, members{"weight_block_size": []int{0, 20}}), nil, "quantization_config.weight_block_size: [0 20] is not"},
		{with(fp8, members{"weight_block_size": "128"}), nil, "quantization_config.weight_block_size: "},
		{with(fp8, members{"fmt": "e5m2"}), nil, `quantization_config.fmt: "e5m2" is not supported`},
		{fp8, map[string]stored{"weight": codes}, `gate_proj.weight": its scale is missing`},
		{fp8, map[string]stored{"weight_scale_inv": scales}, `gate_proj.weight": missing`},
		{fp8, map[string]stored{"weight": codes, "weight_scale_inv": numbers(3, 3, 3)}, `gate_proj.weight_scale_inv": shape [3 3] does not fit a weight of shape [96 32]`},
		{fp8, map[string]stored{"weight": codes, "weight_scale_inv": numbers(3, 0, 2)}, `gate_proj.weight_scale_inv": shape [0 2] does not fit`},
		{fp8, map[string]stored{"weight": codes, "weight_scale_inv": eights("U8", 3, 2)}, `gate_proj.weight_scale_inv": scales of type U8 are not supported`},
		{fp8, map[string]stored{"weight": eights("I8", rows, cols), "weight_scale_inv": scales}, `gate_proj.weight": type I8`},
		{fp8, map[string]stored{"weight": eights("F8_E4M3", cols, rows), "weight_scale_inv": numbers(5)}, `gate_proj.weight": shape [32 96], but the configuration has [96 32]`},
		{fp8, map[string]stored{"weight": eights("F8_E4M3", rows*cols), "weight_scale_inv": numbers(5)}, `gate_proj.weight": a quantised weight of shape [3072]`},
		{fp8, map[string]stored{"weight": eights("F8_E4M3", 0, cols), "weight_scale_inv": numbers(5)}, `gate_proj.weight": a quantised weight of shape [0 32]`},
		{with(four, members{"config_groups": nil}), packed(nil), "quantization_config.config_groups: missing"},
		{with(four, members{"format": "marlin-24"}), packed(nil), `quantization_config.format: "marlin-24" is not supported`},
		{with(four, members{"sparsity_config": members{"format": "sparse-bitmask"}}), packed(nil), `quantization_config.sparsity_config.format: "sparse-bitmask" is not supported`},
		{with(four, members{"transform_config": members{"config_groups": members{}}}), packed(nil), "quantization_config.transform_config: "},
		{compression(members{"num_bits": 9, "type": "int"}), packed(nil), "quantization_config.config_groups.group_0.weights.num_bits: 9 is not in 1..8"},
		{compression(members{"num_bits": 6, "type": "float"}), packed(nil), `quantization_config.config_groups.group_0.weights.type: "float" of 6 bits`},
		{compression(members{"num_bits": 4, "strategy": "group"}), packed(nil), "quantization_config.config_groups.group_0.weights.group_size: missing"},
		{compression(members{"num_bits": 4, "strategy": "group", "group_size": 0}), packed(nil), "quantization_config.config_groups.group_0.weights.group_size: missing"},
		{compression(members{"num_bits": 4, "strategy": "token"}), packed(nil), `quantization_config.config_groups.group_0.weights.strategy: "token" is not supported`},
		{four, packed(map[string]stored{"weight_shape": {}}), `gate_proj.weight_packed": tensor "layers.1.mlp.gate_proj.weight_shape" is missing`},
		{four, packed(map[string]stored{"weight_shape": shapeOf(rows)}), `gate_proj.weight_shape": shape [1]`},
		{four, packed(map[string]stored{"weight_shape": shapeOf(rows, 1<<62)}), `gate_proj.weight_shape": [96 4611686018427387904] is not the shape`},
		{four, packed(map[string]stored{"weight_shape": shapeOf(-1, cols)}), `gate_proj.weight_shape": [-1 32] is not the shape`},
		{four, packed(map[string]stored{"weight_shape": shapeOf(rows, 0)}), `gate_proj.weight_shape": [96 0] is not the shape`},
		{four, packed(map[string]stored{"weight_shape": shapeOf(rows, 33)}), `gate_proj.weight_packed": type I32 and shape [96 4] do not fit`},
		{four, packed(map[string]stored{"weight_shape": shapeOf(rows-1, cols)}), `gate_proj.weight_packed": type I32 and shape [96 4] do not fit`},
		{four, packed(map[string]stored{"weight_scale": numbers(1, rows, 5)}), `gate_proj.weight_scale": shape [96 5] does not fit`},
		{four, packed(map[string]stored{"weight_zero_point": words(rows/8, 3)}), `gate_proj.weight_zero_point": type I32 and shape [12 3] do not fit`},
		{four, packed(map[string]stored{"weight_zero_point": words(rows, 4)}), `gate_proj.weight_zero_point": type I32 and shape [96 4] do not fit`},
		{four, packed(map[string]stored{"weight_g_idx": wholes(0, 1)}), `gate_proj.weight_g_idx": shape [2], but the weight has 32 columns`},
		{four, packed(map[string]stored{"weight_more": numbers(1)}), `gate_proj.weight_more": unknown in this architecture`},
	} {
		checkRejected(t, fmt.Sprint(c.config, c.want), quantised(t, c.config, c.parts), c.want)
	}
	for _, c := range []struct {
		config members
		parts  map[string]stored
		want   string
	}{
		{fp8, map[string]stored{"weight": codes, "weight_scale_inv": nan}, `gate_proj.weight_scale_inv": value 2 is NaN`},
		{fp8, map[string]stored{"weight": codes, "weight_scale_inv": huge}, `gate_proj.weight": value `},
		{fp8, map[string]stored{"weight": bad, "weight_scale_inv": scales}, `gate_proj.weight": value 33 is NaN`},
		{four, packed(map[string]stored{"weight_g_idx": wholes(append(make([]int, 31), 4)...)}), `gate_proj.weight_g_idx": column 31 is in group 4 of 4`},
	} {
		m := openIn(t, quantised(t, c.config, c.parts), "m")
		if _, err := readAll(m.Weights); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A weight of more values than are decoded at once has all of them.
func TestQuantisedChunks(t *testing.T) {
	const rows, cols = 2112, quantisedCols
	codes, scales := eights("F8_E4M3", rows, cols), numbers(2, rows, 1)
	fsys := quantised(t, members{"quant_method": "fbgemm_fp8"}, map[string]stored{"weight": codes, "weight_scale": scales})
	set(t, fsys, "config.json", members{"intermediate_size": rows})
	tensors(t, fsys, func(all map[string]stored) {
		for _, name := range []string{"0.mlp.gate_proj", "0.mlp.up_proj", "1.mlp.up_proj"} {
			all["model.layers."+name+".weight"] = numbers(1, rows, cols)
		}
		for _, name := range []string{"0", "1"} {
			all["model.layers."+name+".mlp.down_proj.weight"] = numbers(1, cols, rows)
		}
	})
	for i, v := range valuesOf(t, openIn(t, fsys, "m").Weights.Decoder[1].Gate.Weight) {
		if want := codes.float(i) * scales.float(i/cols); v != want {
			t.Fatalf("value %d is %v, want %v", i, v, want)
		}
	}
}

// Tensors of all experts have a grid of scales for each, one scale, or one for gate and one for up.
func TestQuantisedExperts(t *testing.T) {
	const name = "model.layers.0.mlp.experts.gate_up_proj"
	shape := load(t, copyOf(t, "qwen3_moe-sparse"), "m/model.safetensors")[name].shape
	count, rows, cols := shape[0], shape[1], shape[2]
	down, across := (rows+9)/10, (cols+6)/7
	codes := eights("F8_E4M3", shape...)
	for _, c := range []struct {
		scales []int
		at     func(expert, row, col int) int
	}{
		{[]int{count, down, across}, func(e, r, c int) int { return (e*down+r/10)*across + c/7 }},
		{[]int{count, 1, 1}, func(e, _, _ int) int { return e }},
		{[]int{count, 2, 1}, func(e, r, _ int) int { return 2*e + r/(rows/2) }},
		{[]int{}, func(_, _, _ int) int { return 0 }},
	} {
		fsys, scales := bare(t, "qwen3_moe-sparse"), numbers(2, c.scales...)
		set(t, fsys, "config.json", members{"quantization_config": members{"quant_method": "fp8", "weight_block_size": []int{10, 7}}})
		tensors(t, fsys, func(all map[string]stored) { all[name], all[name+"_scale_inv"] = codes, scales })
		for e, expert := range openIn(t, fsys, "m").Weights.Decoder[0].Experts {
			got := append(valuesOf(t, expert.Gate.Weight), valuesOf(t, expert.Up.Weight)...)
			for i, v := range got {
				if want := codes.float(e*rows*cols+i) * scales.float(c.at(e, i/cols, i%cols)); v != want {
					t.Fatalf("scales %v, expert %d: value %d is %v, want %v", c.scales, e, i, v, want)
				}
			}
		}
	}
}

// An adapter adds to dequantised values what it adds to others.
func TestQuantisedAdapter(t *testing.T) {
	fsys := quantised(t, members{"quant_method": "fbgemm_fp8"}, map[string]stored{"weight": eights("F8_E4M3", quantisedRows, quantisedCols), "weight_scale": numbers(2, quantisedRows, 1)})
	for name, file := range copyOf(t, "adapters/llama-all") {
		fsys[strings.Replace(name, "m/", "a/", 1)] = file
	}
	fsys["a/adapter_config.json"] = &fstest.MapFile{Data: []byte(strings.Replace(string(fsys["a/adapter_config.json"].Data), `"base_model_name_or_path": "tiny/llama"`, `"base_model_name_or_path": "m"`, 1))}
	gate := func(m *arch.Model) []float32 { return valuesOf(t, m.Weights.Decoder[1].Gate.Weight) }
	base, merged := gate(openIn(t, fsys, "m")), gate(openIn(t, fsys, "a"))
	plain, added := gate(open(t, "llama")), gate(open(t, "adapters/llama-all"))
	for i, v := range merged {
		if d := float64(v-base[i]) - float64(added[i]-plain[i]); math.Abs(d) > 1e-4 || added[i] == plain[i] {
			t.Fatalf("value %d is %v, of the base %v; without quantisation %v and %v", i, v, base[i], added[i], plain[i])
		}
	}
}
