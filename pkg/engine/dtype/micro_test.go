package dtype

import (
	"math"
	"slices"
	"testing"
)

// The values of FP4 and of its scales are those of OCP Microscaling Formats 1.0.
func TestMicroscaling(t *testing.T) {
	got := make([]float32, 16)
	DecodeE2M1(got, []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe})
	if want := []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}; !slices.Equal(got, want) {
		t.Errorf("E2M1 %v, want %v", got, want)
	}
	scales := make([]float32, 5)
	DecodeE8M0(scales, []byte{0, 126, 127, 128, 254})
	if want := []float32{0x1p-127, 0.5, 1, 2, 0x1p127}; !slices.Equal(scales, want) {
		t.Errorf("E8M0 %v, want %v", scales, want)
	}
	if DecodeE8M0(scales, []byte{255}); !math.IsNaN(float64(scales[0])) {
		t.Errorf("E8M0 255 is %v", scales[0])
	}
}
