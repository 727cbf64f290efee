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

// quantizeWide writes dst (blocks, 34) from x (blocks, 128).
func quantizeWide(i isa, dst, x []float32, blocks int) {
	if i == isaGeneric {
		quantizeWideGeneric(dst, x, blocks)
		return
	}
	quantizeWideAVX2(sd(dst[:wideWords*blocks]), sd(x[:wideCols*blocks]), blocks)
}

// tilePacked computes a span of at least one superblock, panel and row.
func tilePacked(k *Kernels, kind Kind, t *span) {
	switch {
	case k.isa == isaGeneric:
		tilePackedGeneric(k.isa, kind, t)
	case k.vnni && !kind.floating():
		tileVNNI(kind, t)
	case k.isa == isaAVX512:
		tileAVX512(kind, t)
	default:
		tileAVX2(kind, t)
	}
}

// busyRows returns the number of rows from which on computing a product takes longer than reading its
// weights. The caller then says which bytes to fetch.
func busyRows(i isa, kind Kind) int {
	switch i {
	case isaAVX2:
		return busyAVX2[kind]
	case isaAVX512:
		return busyAVX512[kind]
	}
	return 0
}

// quantizeSquare quantises slices into a row of a square.
func quantizeSquare(dst []float32, row int, x []float32, slices int) {
	const words = 16 // of a row of a tile
	dst, x = dst[:slices*squareWords], x[:slices*wideCols]
	quantizeSquareAMX(&dst[words*row], &dst[squareScale+row], sd(x), slices)
}

// tileSquares computes a span of at least one superblock and panel.
func tileSquares(t *squareSpan) {
	tileSquaresAMX(sd(t.dst), t.ldd, unsafe.SliceData(t.w), sd(t.act), 4*t.stride, t.blocks, t.panels, t.squares, &t.room[0], t.ahead, t.step)
}

// pairsFrom returns the number of rows from which on products with Q8_0 and Q8W weights
// widen weights and activations to int16, or 0 for never.
func pairsFrom(k *Kernels) int {
	if k.isa == isaAVX2 && !k.vnni {
		return 16
	}
	return 0
}

// partsFrom returns the number of rows from which on products with a kind expand weights, or 0 for
// never. AVX-512 takes codes of 4 bits apart as fast as it loads them, and AVX-VNNI looks levels up as
// fast. On AVX2, what takes longest to take apart, or has most to gain, begins with fewer rows.
func partsFrom(k *Kernels, kind Kind) int {
	c := &codings[kind]
	four := c.low+c.high == 4
	switch {
	case !kind.coded(), k.isa == isaAVX2 && k.vnni && c.levels:
		return 0
	case k.isa == isaAVX512 && !four:
		return 32
	case k.isa != isaAVX2:
		return 0
	case !k.vnni && (!four || kind == MXFP4):
		return 12
	}
	return 24
}

// expandPart expands superblocks of a panel of coded weights, and brings those ahead bytes
// after them.
func expandPart(i isa, kind Kind, dst []float32, w []byte, blocks, ahead int) {
	if i == isaAVX512 {
		expandAVX512(kind, dst, w, blocks, ahead)
	} else {
		expandAVX2(kind, dst, w, blocks, ahead)
	}
}

// tileExpanded computes dst (t.tiles * t.rows, 16) from expanded weights, or adds to it.
func tileExpanded(k *Kernels, t *partSpan) {
	switch {
	case k.vnni:
		tileExpandedVNNI(t.kind, t)
	case k.isa == isaAVX512:
		tileExpandedAVX512(t.kind, t)
	default:
		tileExpandedAVX2(t.kind, t)
	}
}

// widens reports whether products of many rows widen weights of a kind.
func widens(kind Kind) bool { return kind == Q8_0 || kind == Q8W }

// pairsOf returns the shape of widened activations whose slices have that many words.
func pairsOf(words int) pairShape {
	switch words {
	case quantWords:
		return narrowPairs
	case wideWords:
		return widePairs
	}
	return pairShape{}
}

var (
	narrowPairs = pairShape{words: 34, panel: 544, blocks: 8}  // 64 inputs
	widePairs   = pairShape{words: 65, panel: 1040, blocks: 4} // 128 inputs
)

// widenPanel widens superblocks of a panel of Q8_0 or Q8W weights, and brings those ahead bytes after
// them.
func widenPanel(kind Kind, dst []float32, w []byte, blocks, ahead int) {
	if kind == Q8W {
		panelWidePairsAVX2(sd(dst[:blocks*widePairs.panel]), unsafe.SliceData(w), blocks, ahead)
		return
	}
	panelPairsAVX2(sd(dst[:blocks*narrowPairs.panel]), unsafe.SliceData(w), blocks, ahead)
}

// widenActivations widens superblocks of a tile of 3 or 4 rows.
func widenActivations(words int, dst, act []float32, blocks, rows int) {
	if words == wideWords {
		activationsWidePairsAVX2(sd(dst), sd(act), blocks, rows)
		return
	}
	activationsPairsAVX2(sd(dst), sd(act), blocks, rows)
}

// tilePairs computes dst (t.tiles * t.rows, 16) from widened weights and activations, or
// adds to it.
func tilePairs(t *partSpan) {
	if t.kind == Q8W {
		tileWidePairsAVX2(sd(t.dst), t.ldd, sd(t.w), sd(t.act), 4*t.stride, t.blocks, t.tiles, t.rows, t.adds())
		return
	}
	tilePairsAVX2(sd(t.dst), t.ldd, sd(t.w), sd(t.act), 4*t.stride, t.blocks, t.tiles, t.rows, t.adds())
}
