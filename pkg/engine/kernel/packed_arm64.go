//go:build arm64 && !purego

package kernel

// quantize writes dst (blocks, 22) from x (blocks, 64).
func quantize(i isa, dst, x []float32, blocks int) {
	if i == isaGeneric {
		quantizeGeneric(dst, x, blocks)
		return
	}
	quantizeNEON(sd(dst[:22*blocks]), sd(x[:superCols*blocks]), blocks)
}

// quantizeWide writes dst (blocks, 34) from x (blocks, 128).
func quantizeWide(i isa, dst, x []float32, blocks int) {
	if i == isaGeneric {
		quantizeWideGeneric(dst, x, blocks)
		return
	}
	quantizeWideNEON(sd(dst[:wideWords*blocks]), sd(x[:wideCols*blocks]), blocks)
}

// tilePacked computes a span of at least one superblock, panel and row.
func tilePacked(i isa, kind Kind, t *span) {
	switch {
	case i == isaGeneric:
		tilePackedGeneric(i, kind, t)
	case i == isaDotprod && kind != BF16:
		tileDotprod(kind, t)
	default:
		tileNEON(kind, t)
	}
}
