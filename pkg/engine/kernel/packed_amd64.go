//go:build amd64 && !purego

package kernel

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
