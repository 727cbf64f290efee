package dtype

import (
	"math"
	"testing"
)

// Values of float8_e4m3fn, as torch has them.
func TestFloat8(t *testing.T) {
	for code, want := range map[byte]float32{
		0x00: 0, 0x01: 0x1p-9, 0x07: 7 * 0x1p-9, 0x08: 0x1p-6, 0x09: 9 * 0x1p-9, 0x38: 1, 0x39: 1.125, 0x40: 2, 0x7e: 448, 0x78: 256,
		0x81: -0x1p-9, 0xb8: -1, 0xfe: -448,
	} {
		var got [1]float32
		F8E4M3.Decoder()(got[:], []byte{code})
		if got[0] != want {
			t.Errorf("%#x is %v, want %v", code, got[0], want)
		}
	}
	for _, code := range []byte{0x7f, 0xff, 0x80} {
		var got [1]float32
		F8E4M3.Decoder()(got[:], []byte{code})
		if bits := math.Float32bits(got[0]); (got[0] != got[0]) != (code != 0x80) || bits>>31 != uint32(code>>7) {
			t.Errorf("%#x is %v", code, got[0])
		}
	}
}
