package automaton

import (
	"iter"
	"math/bits"
)

// cuts holds the numbers from 0 to 256 at which the moves of a state change.
type cuts [5]uint64

// edges adds the first byte of each edge and the byte after its last.
func (c *cuts) edges(of []Edge) {
	for _, e := range of {
		c[e.Lo>>6] |= 1 << (e.Lo & 63)
		past := int(e.Hi) + 1
		c[past>>6] |= 1 << (past & 63)
	}
}

// join adds the cuts of o.
func (c *cuts) join(o *cuts) {
	for i, w := range o {
		c[i] |= w
	}
}

// all yields the cuts in order.
func (c *cuts) all(yield func(int) bool) {
	for i, w := range c {
		for ; w != 0; w &= w - 1 {
			if !yield(i<<6 | bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// before returns the last cut that is at most b, or 0.
func (c *cuts) before(b byte) byte {
	for i, w := int(b>>6), c[b>>6]<<(63-b&63)>>(63-b&63); ; w = c[i] {
		if w != 0 {
			return byte(i<<6 | bits.Len64(w) - 1)
		}
		if i--; i < 0 {
			return 0
		}
	}
}

// ranges splits the bytes from lo to hi at the cuts.
func (c *cuts) ranges(lo, hi byte) iter.Seq2[byte, byte] {
	return func(yield func(lo, hi byte) bool) {
		first := lo
		for cut := range c.all {
			if cut > int(hi) {
				break
			}
			if cut > int(first) {
				if !yield(first, byte(cut-1)) {
					return
				}
				first = byte(cut)
			}
		}
		yield(first, hi)
	}
}
