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
	dst, w, act := sd(t.dst), unsafe.SliceData(t.w), sd(t.act)
	switch {
	case i == isaGeneric:
		tilePackedGeneric(i, kind, t)
	case i == isaAVX512 && kind == Q8_0:
		tileQ8AVX512(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case i == isaAVX512 && kind == Q4_0:
		tileQ4AVX512(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case i == isaAVX512:
		tileBF16AVX512(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case kind == Q8_0:
		tileQ8AVX2(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	case kind == Q4_0:
		tileQ4AVX2(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	default:
		tileBF16AVX2(dst, t.ldd, w, act, t.blocks, t.panels, t.rows)
	}
}
