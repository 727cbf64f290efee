package pushdown

import "testing"

func TestAllows(t *testing.T) {
	mask := &Mask{Bits: []uint64{1<<3 | 1<<63, 1}}
	for id, want := range map[int]bool{3: true, 63: true, 64: true, 2: false, 65: false, 128: false, 1 << 40: false, -1: false} {
		if mask.Allows(id) != want {
			t.Errorf("token %d: %v", id, !want)
		}
	}
}
