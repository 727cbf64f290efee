package kernel

import (
	"math"
	"math/big"
	"testing"
)

func TestHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := halfFloat(h)
		if got := floatHalf(f); got != h && (f == f || got != h|0x200) {
			t.Fatalf("%#04x widens to %g, which rounds to %#04x", h, f, got)
		}
		if e := int(h >> 10 & 31); e < 31 {
			want := math.Ldexp(float64(1024+int(h&1023)), e-25)
			if e == 0 {
				want = math.Ldexp(float64(h&1023), -24)
			}
			if got := math.Abs(float64(f)); got != want || math.Signbit(float64(f)) != (h>>15 == 1) {
				t.Fatalf("%#04x is %g, want %g", h, f, want)
			}
		}
		if b := bfloatFloat(h); floatBfloat(b) != h && (b == b || floatBfloat(b) != h|0x40) {
			t.Fatalf("bfloat16 %#04x is %g, which rounds to %#04x", h, b, floatBfloat(b))
		}
	}
}

// TestHalfRounds tries what lies between neighbours: below, at and above the middle.
func TestHalfRounds(t *testing.T) {
	for h := range uint16(0x7c00) {
		low, high := float64(halfFloat(h)), float64(halfFloat(h+1))
		if h == 0x7bff {
			high = 65536
		}
		mid := float32((low + high) / 2)
		even := h + h&1
		for _, c := range []struct {
			f    float32
			want uint16
		}{{math.Nextafter32(mid, 0), h}, {mid, even}, {math.Nextafter32(mid, math.MaxFloat32), h + 1}} {
			if got := floatHalf(c.f); got != c.want {
				t.Fatalf("%g rounds to %#04x, want %#04x", c.f, got, c.want)
			}
			if got := floatHalf(-c.f); got != c.want|0x8000 {
				t.Fatalf("%g rounds to %#04x, want %#04x", -c.f, got, c.want|0x8000)
			}
		}
	}
	for f, want := range map[float32]uint16{1: 0x3f80, 1 + 0x1p-8: 0x3f80, 1 + 0x1.8p-7: 0x3f82, 1 + 0x1.2p-8: 0x3f81, math.MaxFloat32: 0x7f80, -0.5: 0xbf00} {
		if got := floatBfloat(f); got != want {
			t.Errorf("%g rounds to bfloat16 %#04x, want %#04x", f, got, want)
		}
	}
}

// FuzzFMA holds fma32 to exact arithmetic.
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
