package dtype

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

func TestHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := FromFloat16(h)
		if got := ToFloat16(f); got != h && (f == f || got != h|0x200) {
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
		if b := FromBFloat16(h); ToBFloat16(b) != h && (b == b || ToBFloat16(b) != h|0x40) {
			t.Fatalf("bfloat16 %#04x is %g, which rounds to %#04x", h, b, ToBFloat16(b))
		}
	}
}

// TestHalfRounds tests values between neighbours: below, at and above the middle.
func TestHalfRounds(t *testing.T) {
	for h := range uint16(0x7c00) {
		low, high := float64(FromFloat16(h)), float64(FromFloat16(h+1))
		if h == 0x7bff {
			high = 65536
		}
		mid := float32((low + high) / 2)
		even := h + h&1
		for _, c := range []struct {
			f    float32
			want uint16
		}{{math.Nextafter32(mid, 0), h}, {mid, even}, {math.Nextafter32(mid, math.MaxFloat32), h + 1}} {
			if got := ToFloat16(c.f); got != c.want {
				t.Fatalf("%g rounds to %#04x, want %#04x", c.f, got, c.want)
			}
			if got := ToFloat16(-c.f); got != c.want|0x8000 {
				t.Fatalf("%g rounds to %#04x, want %#04x", -c.f, got, c.want|0x8000)
			}
		}
	}
	for f, want := range map[float32]uint16{1: 0x3f80, 1 + 0x1p-8: 0x3f80, 1 + 0x1.8p-7: 0x3f82, 1 + 0x1.2p-8: 0x3f81, math.MaxFloat32: 0x7f80, -0.5: 0xbf00} {
		if got := ToBFloat16(f); got != want {
			t.Errorf("%g rounds to bfloat16 %#04x, want %#04x", f, got, want)
		}
	}
}

// A signalling NaN becomes quiet and keeps its sign and payload.
func TestHalfNaN(t *testing.T) {
	if got := math.Float32bits(FromFloat16(0xfc01)); got != 0xffc02000 {
		t.Errorf("0xfc01 widens to %#08x", got)
	}
	if got := ToFloat16(math.Float32frombits(0xff802000)); got != 0xfe01 {
		t.Errorf("0xff802000 rounds to %#04x", got)
	}
	if got := ToBFloat16(math.Float32frombits(0x7f810000)); got != 0x7fc1 {
		t.Errorf("0x7f810000 rounds to bfloat16 %#04x", got)
	}
	if got := math.Float32bits(FromBFloat16(0x7f81)); got != 0x7f810000 {
		t.Errorf("bfloat16 0x7f81 widens to %#08x", got)
	}
}

// A number that is not finite is found wherever it is.
func TestNotFinite(t *testing.T) {
	for _, c := range []struct {
		Type
		largest uint16 // magnitude
		bad     []uint16
		value   func(uint16) float32
	}{
		{BF16, 0xff7f, []uint16{0x7f80, 0xff80, 0x7fff, 0xff81}, FromBFloat16},
		{F16, 0xfbff, []uint16{0x7c00, 0xfc00, 0x7fff, 0xfe01}, FromFloat16},
	} {
		for n := range 11 {
			raw := make([]byte, 2*n)
			for i := range n {
				binary.LittleEndian.PutUint16(raw[2*i:], c.largest)
			}
			if at, _ := c.NotFinite(raw); at != -1 {
				t.Errorf("%s: %d finite numbers: %d", c.Type, n, at)
			}
			for i := range n {
				for _, bad := range c.bad {
					changed := bytes.Clone(raw)
					binary.LittleEndian.PutUint16(changed[2*i:], bad)
					if at, v := c.NotFinite(changed); at != i || math.Float32bits(v) != math.Float32bits(c.value(bad)) {
						t.Errorf("%s: %04x at %d of %d: %d, %v", c.Type, bad, i, n, at, v)
					}
				}
			}
		}
	}
}
