package dtype

import (
	"slices"
	"testing"
)

// Every row of the table is found by its name and by ggml's number, once.
func TestRows(t *testing.T) {
	names, numbers := map[Type]bool{}, map[uint32]bool{}
	for _, r := range rows {
		values, bytes := r.name.Block()
		if names[r.name] || values != r.values || bytes != r.bytes || values < 1 || bytes < 1 {
			t.Errorf("%s: blocks of %d values and %d bytes", r.name, values, bytes)
		}
		names[r.name] = true
		number, ok := r.name.GGUF()
		if !ok {
			continue
		}
		if numbers[number] || FromGGUF(number) != r.name {
			t.Errorf("%s: number %d is %q", r.name, number, FromGGUF(number))
		}
		numbers[number] = true
	}
	for _, number := range []uint32{4, 5, 16, 29, 31, 1 << 31, 1<<32 - 1} {
		if got := FromGGUF(number); got != "" {
			t.Errorf("number %d is %q", number, got)
		}
	}
	unknown := Type("F8_E5M2")
	if values, bytes := unknown.Block(); values != 0 || bytes != 0 || unknown.Convertible() || unknown.InSafetensors() || unknown.Encoder() != nil {
		t.Errorf("an unknown type has blocks of %d values and %d bytes", values, bytes)
	}
	if _, ok := unknown.GGUF(); ok {
		t.Error("an unknown type has a number")
	}
}

// A decoder reads an encoder's output and consumes the bytes of a block.
func TestBlocks(t *testing.T) {
	for _, r := range rows {
		if r.decode == nil {
			continue
		}
		out := make([]float32, 2*r.values)
		r.decode(out, make([]byte, 2*r.bytes))
		if r.encode == nil {
			continue
		}
		in := make([]float32, 2*r.values)
		for i := range in {
			in[i] = float32(i%8) - 4
		}
		raw, err := r.encode(nil, in)
		if err != nil || len(raw) != 2*r.bytes {
			t.Errorf("%s: %d bytes of two blocks, %v", r.name, len(raw), err)
			continue
		}
		r.decode(out, raw)
		for i := range in {
			if d := out[i] - in[i]; d > 0.02 || d < -0.02 {
				t.Errorf("%s: value %d is %v, was %v", r.name, i, out[i], in[i])
			}
		}
	}
}

func TestOptions(t *testing.T) {
	if got := Options(); !slices.Equal(got, []string{"f32", "bf16", "q8_0", "q8_128", "q6_k", "q4_k", "q4_0"}) {
		t.Errorf("%q", got)
	}
	for _, w := range Weights() {
		if !w.Convertible() || w.Encoder() == nil {
			t.Errorf("%s cannot be read and written", w)
		}
	}
}
