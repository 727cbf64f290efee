package arch_test

import (
	"fmt"
	"slices"
	"testing"
)

// nibblesOf returns the tensors of bitsandbytes for downProj with blocks of a size, and its values. If
// nested is not 0, it is the size of blocks of scales.
func nibblesOf(block, nested int) (parts map[string]stored, want []float32) {
	const out, in = 32, 96
	var table, scales, outer, outerTable []float32
	for i := range 16 {
		table = append(table, float32(i-7)/8)
	}
	for i := range 256 {
		outerTable = append(outerTable, float32(i)/256)
	}
	var weights, codes []byte
	for i := range (out*in-1)/block + 1 {
		codes = append(codes, byte(37*i))
		scales = append(scales, float32(1+i%13)/4)
	}
	if nested != 0 {
		for i := range (len(scales)-1)/nested + 1 {
			outer = append(outer, float32(i+1)/2)
		}
		for i := range scales {
			scales[i] = outerTable[codes[i]]*outer[i/nested] + 0.5
		}
	}
	for i := range out * in {
		n := (5*i + i/7) % 16
		if want = append(want, table[n]*scales[i/block]); i%2 == 0 {
			weights = append(weights, byte(n<<4))
		} else {
			weights[i/2] |= byte(n)
		}
	}
	state := fmt.Sprintf(`{"quant_type": "nf4", "blocksize": %d, "dtype": "float32", "shape": [%d, %d]`, block, out, in)
	name := downProj + ".weight"
	parts = map[string]stored{
		name:                {"U8", []int{len(weights), 1}, weights},
		name + ".absmax":    floatsOf(scales, len(scales)),
		name + ".quant_map": floatsOf(table, 16),
	}
	if nested != 0 {
		state += fmt.Sprintf(`, "nested_blocksize": %d, "nested_dtype": "float32", "nested_offset": 0.5`, nested)
		parts[name+".absmax"] = stored{"U8", []int{len(codes)}, codes}
		parts[name+".nested_absmax"], parts[name+".nested_quant_map"] = floatsOf(outer, len(outer)), floatsOf(outerTable, 256)
	}
	parts[name+".quant_state.bitsandbytes__nf4"] = stored{"U8", []int{len(state) + 1}, []byte(state + "}")}
	return parts, want
}

var bitsAndBytes = members{"quantization_config": members{"quant_method": "bitsandbytes", "load_in_4bit": true}}

// Values of 4 bits are read with scales of blocks, which may be bytes with scales of their own, and which
// do not end where rows do.
func TestBitsAndBytes(t *testing.T) {
	for _, c := range []struct{ block, nested int }{{64, 0}, {128, 0}, {64, 5}, {32, 256}} {
		parts, want := nibblesOf(c.block, c.nested)
		m := openIn(t, replaced(t, bitsAndBytes, parts), "m")
		if got := valuesOf(t, m.Weights.Decoder[1].Down.Weight); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
		some := make([]float32, 2*96)
		if err := m.Weights.Decoder[1].Down.Weight[0].Read(some, 5*96); err != nil || !slices.Equal(some, want[5*96:7*96]) {
			t.Errorf("%v: rows 5 and 6 differ (%v)", c, err)
		}
	}
}

// Values of 8 bits are read with a scale for each row.
func TestInt8(t *testing.T) {
	var weights []byte
	var scales, want []float32
	for row := range 32 {
		scales = append(scales, 127*float32(1+row%5))
		for i := range 96 {
			weights = append(weights, byte(int8(3*i-row-140)))
			want = append(want, float32(int8(3*i-row-140))*scales[row]*(1.0/127))
		}
	}
	m := openIn(t, replaced(t, bitsAndBytes, map[string]stored{
		downProj + ".weight":        {"I8", []int{32, 96}, weights},
		downProj + ".SCB":           floatsOf(scales, 32),
		downProj + ".weight_format": {"U8", nil, []byte{0}},
	}), "m")
	if got := valuesOf(t, m.Weights.Decoder[1].Down.Weight); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
