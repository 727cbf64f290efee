package kernel

import (
	"math"
	"math/big"
	"testing"
)

// FuzzFMA compares fma32 with exact arithmetic.
func FuzzFMA(f *testing.F) {
	for _, c := range [][3]float32{{1, 1, 1}, {0x1.000002p0, 0x1.000002p0, -1}, {0x1p-75, 0x1p-75, 1}, {0x1.fffffep127, 2, -0x1.fffffep127}, {3, 5, 0x1p30}, {0x1.000002p0, 0x1.8p-24, 1}} {
		f.Add(math.Float32bits(c[0]), math.Float32bits(c[1]), math.Float32bits(c[2]))
	}
	f.Fuzz(func(t *testing.T, x, y, z uint32) { testFMA(t, x, y, z) })
}

func testFMA(t *testing.T, x, y, z uint32) {
	t.Helper()
	a, b, c := math.Float32frombits(x), math.Float32frombits(y), math.Float32frombits(z)
	got := fma32(a, b, c)
	if a-a != 0 || b-b != 0 || c-c != 0 {
		if want := float32(float64(a)*float64(b) + float64(c)); got != want && (got == got || want == want) {
			t.Fatalf("fma(%g, %g, %g) = %g, want %g", a, b, c, got, want)
		}
		return
	}
	exact := func(v float32) *big.Float { return new(big.Float).SetPrec(800).SetFloat64(float64(v)) }
	sum := exact(a)
	sum.Mul(sum, exact(b)).Add(sum, exact(c))
	if want, _ := sum.Float32(); got != want {
		t.Fatalf("fma(%g, %g, %g) = %g, want %g", a, b, c, got, want)
	}
}

func TestFMA(t *testing.T) {
	r := source()
	for range 200_000 {
		e := r.IntN(50)
		a, b := r.Uint32()>>9|uint32(127-r.IntN(3))<<23, r.Uint32()>>9|uint32(127-r.IntN(3))<<23
		testFMA(t, a, b&^(1<<r.IntN(20)-1), r.Uint32()>>9|uint32(127-25+e)<<23|r.Uint32()&(1<<31))
	}
}
