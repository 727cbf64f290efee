//go:build arm64 && !purego

package kernel

import "unsafe"

// quantize writes dst (blocks, 22) from x (blocks, 64).
func quantize(i isa, dst, x []float32, blocks int) {
	if i == isaGeneric {
		quantizeGeneric(dst, x, blocks)
		return
	}
	quantizeNEON(sd(dst[:22*blocks]), sd(x[:superCols*blocks]), blocks)
}

// tilePacked computes a span of at least one superblock, panel and row.
func tilePacked(i isa, kind Kind, t *span) {
	dst, w, act := sd(t.dst), unsafe.SliceData(t.w), sd(t.act)
	switch {
	case i == isaGeneric || kind.coded():
		tilePackedGeneric(i, kind, t)
	case kind == BF16:
		tileBF16NEON(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case i == isaDotprod && kind == Q8_0:
		tileQ8Dotprod(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case i == isaDotprod:
		tileQ4Dotprod(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case kind == Q8_0:
		tileQ8NEON(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	default:
		tileQ4NEON(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	}
}
