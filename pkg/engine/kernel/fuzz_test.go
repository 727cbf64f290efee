package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// floats decodes any bit patterns, including NaN and infinities.
func floats(data []byte) []float32 {
	x := make([]float32, len(data)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return x
}

func encode(x ...float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// FuzzUnary compares every tier with the generic code, on any values.
func FuzzUnary(f *testing.F) {
	inf := float32(math.Inf(1))
	f.Add(encode(0, 1, -1, inf, -inf, float32(math.NaN()), 1e-40, 3e38, -3e38, 88.7, -103.9, 0.625))
	f.Add(encode(random(source(), 37)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := floats(data)
		for _, c := range unaryCases {
			want := slices.Clone(x)
			c.run(&Kernels{}, want)
			for _, k := range Implementations()[1:] {
				got := slices.Clone(x)
				c.run(k, got)
				for i, w := range want {
					if !closeTo(got[i], float64(w), 1e-6*max(math.Abs(float64(w)), min(math.Abs(float64(x[i])), 1))) {
						t.Fatalf("%s %s(%g) = %g, generic %g", k.Name(), c.name, x[i], got[i], w)
					}
				}
			}
		}
		softmaxAgrees(t, x)
	})
}

// softmaxAgrees also covers rows whose result is not a number.
func softmaxAgrees(t *testing.T, x []float32) {
	want := slices.Clone(x)
	(&Kernels{}).softmax(want)
	for _, k := range Implementations()[1:] {
		got := slices.Clone(x)
		k.softmax(got)
		for i, w := range want {
			if !closeTo(got[i], float64(w), 1e-6) {
				t.Fatalf("%s: softmax of %g at %d = %g, generic %g", k.Name(), x, i, got[i], w)
			}
		}
	}
}

// FuzzMatMul compares shapes with float64, and one row with many.
func FuzzMatMul(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint16(1))
	f.Add(uint8(13), uint8(33), uint16(257))
	f.Fuzz(func(t *testing.T, n, rows uint8, cols uint16) {
		n, rows, cols = n%64+1, max(rows, 1), cols%600+1
		r, h := source(), int(rows)
		x, w := random(r, int(n)*int(cols)), random(r, h*int(cols))
		want, size := matMulReference(x, w, int(n), h, int(cols))
		for _, k := range Implementations() {
			packed := Pack(w, h, int(cols))
			got, alone := make([]float32, int(n)*h), make([]float32, h)
			k.MatMul(got, x, int(n), packed)
			for i := range want {
				if !closeTo(got[i], want[i], 1e-6*size[i]+1e-30) {
					t.Fatalf("%s n %d rows %d cols %d: element %d is %g, want %g", k.Name(), n, rows, cols, i, got[i], want[i])
				}
			}
			last := int(n) - 1
			k.MatMul(alone, x[last*int(cols):], 1, packed)
			if !slices.Equal(alone, got[last*h:]) {
				t.Fatalf("%s n %d rows %d cols %d: the last row differs from itself alone", k.Name(), n, rows, cols)
			}
		}
	})
}
