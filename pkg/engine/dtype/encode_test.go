package dtype

import (
	"bytes"
	"slices"
	"testing"
)

// The blocks of ggml's formulas, computed by hand.
func TestEncodeBlocks(t *testing.T) {
	x := make([]float32, 32)
	x[0], x[1], x[2], x[17] = -8, 7, 0.5, 1
	b, err := encodeQ4_0(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte{0x00, 0x3c}, slices.Repeat([]byte{0x88}, 16)...) // d = 1
	want[2], want[3], want[4] = 0x80, 0x9f, 0x89                           // 0 and 8, 15 and 9, 9 (0.5+8.5) and 8
	if !bytes.Equal(b, want) {
		t.Errorf("Q4_0: % x, want % x", b, want)
	}
	x[0], x[1], x[2], x[17] = 127, -127, 2.5, -0.5
	if b, err = encodeQ8_0(nil, x); err != nil {
		t.Fatal(err)
	}
	want = append([]byte{0x00, 0x3c}, make([]byte, 32)...)
	want[2], want[3], want[4], want[19] = 127, 0x81, 3, 0xff // halves go away from zero
	if !bytes.Equal(b, want) {
		t.Errorf("Q8_0: % x, want % x", b, want)
	}
}

// Numbers beyond those of half precision are an error.
func TestEncodeF16(t *testing.T) {
	for _, c := range []struct {
		x    float32
		want []byte // nil: an error
	}{
		{1, []byte{0x00, 0x3c}}, {-2.5, []byte{0x00, 0xc1}}, {0x1p-24, []byte{0x01, 0x00}}, {65519, []byte{0xff, 0x7b}}, {65520, nil}, {-3e38, nil},
	} {
		if got, err := F16.Encoder()(nil, []float32{c.x}); !bytes.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%g becomes % x (%v), want % x", c.x, got, err, c.want)
		}
	}
}
