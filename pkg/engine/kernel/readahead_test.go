package kernel

import (
	"fmt"
	"testing"
)

// The calls for a group of panels bring all bytes of the next group, and hardly more.
func TestSpread(t *testing.T) {
	for _, kind := range Kinds() {
		for calls := 1; calls <= 70; calls++ {
			const superblocks = 48
			pieces := superblocks * kind.pieces()
			bytes := superblocks * formats[kind].bytes
			each := formats[kind].bytes / kind.pieces()
			brought, end := 0, bytes
			for i := range calls {
				r := spread(i, calls, bytes, bytes, each)
				if r.ahead > end {
					t.Fatalf("%v: call %d of %d begins at %d, the one before ended at %d", kind, i, calls, r.ahead, end)
				}
				end = r.ahead + r.step*pieces
				brought += r.step * pieces
			}
			if what := fmt.Sprintf("%v: %d calls", kind, calls); end < 2*bytes-calls {
				t.Errorf("%s end at %d of %d bytes", what, end, 2*bytes)
			} else if brought > bytes+calls*pieces {
				t.Errorf("%s bring %d of %d bytes", what, brought, bytes)
			}
		}
	}
}
