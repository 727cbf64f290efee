//go:build amd64 && !purego

package kernel

import "unsafe"

// quantize writes dst (blocks, 22) from x (blocks, 64).
func quantize(i isa, dst, x []float32, blocks int) {
	if i == isaGeneric {
		quantizeGeneric(dst, x, blocks)
		return
	}
	quantizeAVX2(sd(dst[:22*blocks]), sd(x[:superCols*blocks]), blocks)
}

// tilePacked computes a span of at least one superblock, panel and row.
func tilePacked(i isa, kind Kind, t *span) {
	switch i {
	case isaGeneric:
		tilePackedGeneric(i, kind, t)
	case isaAVX512:
		tileAVX512(kind, t)
	default:
		tileAVX2(kind, t)
	}
}

// pairsFrom returns the number of rows from which on products with Q8_0 weights widen
// weights and activations to int16, or 0 for never.
func pairsFrom(i isa) int {
	if i == isaAVX2 {
		return 24
	}
	return 0
}

// widenPanel widens superblocks of a panel of Q8_0 weights.
func widenPanel(dst []float32, w []byte, blocks int) {
	widenPanelAVX2(sd(dst[:blocks*pairPanelWords]), unsafe.SliceData(w), blocks)
}

// widenActivations widens superblocks of a tile of 3 or 4 rows.
func widenActivations(dst, act []float32, blocks, rows int) {
	widenActivationsAVX2(sd(dst), sd(act), blocks, rows)
}

// tilePairs computes dst (t.tiles * t.rows, 16) from widened weights and activations, or
// adds to it.
func tilePairs(t *pairSpan) {
	more := 0
	if t.more {
		more = 1
	}
	tilePairsAVX2(sd(t.dst), t.ldd, sd(t.w), sd(t.act), 4*t.stride, t.blocks, t.tiles, t.rows, more)
}
