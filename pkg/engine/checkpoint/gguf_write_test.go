package checkpoint

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/dtype"
)

// tensorOf returns a tensor of known values.
func tensorOf(name string, d dtype.Type, values []float32, shape ...int) GGUFTensor {
	return GGUFTensor{Name: name, Type: d, Shape: shape, Read: func(dst []float32, from int) error {
		copy(dst, values[from:from+len(dst)])
		return nil
	}}
}

func writeAndOpen(t *testing.T, meta Meta, tensors ...GGUFTensor) *File {
	t.Helper()
	var b bytes.Buffer
	if err := WriteGGUF(&b, meta, tensors); err != nil {
		t.Fatal(err)
	}
	f, err := OpenGGUF(bytes.NewReader(b.Bytes()), int64(b.Len()), "made")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, f *File, name string, n int) []float32 {
	t.Helper()
	values := make([]float32, n)
	if err := f.Values(name, 0, values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestWriteGGUFKeys(t *testing.T) {
	meta := Meta{
		"a.text": "some", "empty": "", "n": uint32(7), "i": int32(-3), "x": float32(0.5), "yes": true, "no": false,
		"words": []string{"one", "", "three"}, "numbers": []int32{1, -1}, "none": []string{},
	}
	if f := writeAndOpen(t, meta); !reflect.DeepEqual(f.Meta, meta) {
		t.Errorf("got  %#v\nwant %#v", f.Meta, meta)
	}
}

// Every type is read back with the error of its rounding, and rounded values do not
// change when they are written again.
func TestWriteGGUFTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, cols = 300, 1024 // more than one piece
	values := make([]float32, rows*cols)
	for i := range values {
		values[i] = float32(r.NormFloat64()) * float32(math.Exp2(float64(i/cols%20-3)))
	}
	clear(values[:64])
	for _, c := range []struct {
		kind dtype.Type
		step float64 // half of it is the largest error, relative to the block's largest value
	}{{dtype.F32, 0}, {dtype.BF16, 1.0 / 128}, {dtype.Q8_0, 1.2 / 127}, {dtype.Q4_0, 2.02 / 8}} {
		t.Run(string(c.kind), func(t *testing.T) {
			f := writeAndOpen(t, nil, tensorOf("odd", dtype.F32, []float32{1, 2, 3}, 3), tensorOf("w", c.kind, values, rows, cols), tensorOf("last", dtype.F32, []float32{4}, 1))
			got := read(t, f, "w", len(values))
			for at := 0; at < len(values); at += 32 {
				top := 0.0
				for _, v := range values[at : at+32] {
					top = max(top, math.Abs(float64(v)))
				}
				for i := at; i < at+32; i++ {
					if e := math.Abs(float64(got[i] - values[i])); e > c.step/2*top {
						t.Fatalf("value %d is %v, was %v", i, got[i], values[i])
					}
				}
			}
			if again := read(t, writeAndOpen(t, nil, tensorOf("w", c.kind, got, rows, cols)), "w", len(got)); !slices.Equal(again, got) {
				t.Error("what was rounded is rounded again")
			}
			if last := read(t, f, "last", 1); last[0] != 4 || read(t, f, "odd", 3)[2] != 3 {
				t.Error("the neighbours are not what they were")
			}
			if info, _ := f.Tensor("w"); info.Type != c.kind || !slices.Equal(info.Shape, []int{rows, cols}) {
				t.Errorf("it is %s %v", info.Type, info.Shape)
			}
		})
	}
}

func TestWriteGGUFRefuses(t *testing.T) {
	nan, inf := slices.Repeat([]float32{float32(math.NaN())}, 32), slices.Repeat([]float32{float32(math.Inf(1))}, 32)
	fine := make([]float32, 64)
	for want, c := range map[string]struct {
		meta    Meta
		tensors []GGUFTensor
	}{
		"twice":              {nil, []GGUFTensor{tensorOf("a", dtype.F32, fine, 2), tensorOf("a", dtype.F32, fine, 2)}},
		"type float64":       {Meta{"k": 1.5}, nil},
		"aligned":            {Meta{ggufAlignmentKey: uint32(64)}, nil},
		"element 0":          {Meta{"k": []string{strings.Repeat("x", maxGGUFString+1)}}, nil},
		"at most 65535":      {Meta{strings.Repeat("k", 65536): "v"}, nil},
		`"Q5_K" cannot`:      {nil, []GGUFTensor{tensorOf("a", dtype.Q5K, fine, 256)}},
		"whole blocks":       {nil, []GGUFTensor{tensorOf("a", dtype.Q8_0, fine, 2, 33)}},
		"0 dimensions":       {nil, []GGUFTensor{tensorOf("a", dtype.F32, fine)}},
		"5 dimensions":       {nil, []GGUFTensor{tensorOf("a", dtype.F32, fine, 1, 1, 1, 1, 1)}},
		"shape [-1]":         {nil, []GGUFTensor{tensorOf("a", dtype.F32, fine, -1)}},
		"values 0 to 31":     {nil, []GGUFTensor{tensorOf("a", dtype.Q8_0, nan, 32)}},
		`"a": values 0 to 3`: {nil, []GGUFTensor{tensorOf("a", dtype.Q4_0, nan, 32)}},
		"scale is +Inf":      {nil, []GGUFTensor{tensorOf("a", dtype.Q8_0, inf, 32)}},
		"scale is -Inf":      {nil, []GGUFTensor{tensorOf("a", dtype.Q4_0, inf, 32)}},
	} {
		var b bytes.Buffer
		if err := WriteGGUF(&b, c.meta, c.tensors); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
