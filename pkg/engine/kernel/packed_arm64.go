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
func tilePacked(k *Kernels, kind Kind, t *span) {
	switch {
	case k.isa == isaGeneric:
		tilePackedGeneric(k.isa, kind, t)
	case k.isa >= isaDotprod && !kind.floating():
		tileDotprod(kind, t)
	default:
		tileNEON(kind, t)
	}
}

// pairsFrom returns the number of rows from which on products pair rows, or 0 for never. 8 rows
// would save 3 to 18 % of the instructions, less what pairing the activations takes.
func pairsFrom(k *Kernels) int {
	if k.isa == isaI8MM {
		return 16
	}
	return 0
}

// widens reports whether products of many rows widen weights of a kind.
func widens(kind Kind) bool { return !kind.floating() }

// pairsOf returns the shape of widened activations whose slices have that many words. For coded
// kinds the panel has the size of the largest.
func pairsOf(words int) pairShape {
	switch words {
	case quantWords:
		return pairShape{words: 20, panel: 320, blocks: 8}
	case wideWords:
		return pairShape{words: 34, panel: 544, blocks: 4}
	case codedWords:
		return pairShape{words: 32, panel: 512, blocks: 8}
	}
	return pairShape{}
}

// widenPanel expands superblocks of a panel.
func widenPanel(kind Kind, dst []float32, w []byte, blocks, _ int) {
	expandI8MM(kind, dst, w, blocks)
}

// widenActivations makes pairs of the rows of a tile. If their number is odd, it may read a word
// past the last.
func widenActivations(words int, dst, act []float32, blocks, rows int) {
	switch words {
	case quantWords:
		pairNarrowI8MM(sd(dst), sd(act), blocks, rows)
	case wideWords:
		pairWideI8MM(sd(dst), sd(act), blocks, rows)
	default:
		pairCodedI8MM(sd(dst), sd(act), blocks, rows)
	}
}

// tilePairs computes dst (t.tiles * t.rows, 16) from an expanded panel and pairs, or adds to it.
func tilePairs(t *partSpan) { tileI8MM(t.kind, t) }
