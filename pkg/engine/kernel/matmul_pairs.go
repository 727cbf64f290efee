package kernel

import "unsafe"

// Products of many rows whose activations are kept in a second form too, for which a part of a
// panel of weights is widened for all rows: AVX2 multiplies int16 faster than signed bytes, and
// I8MM multiplies pairs of rows. The products are the same integers.

// A pairShape has the words of widened activations, of one row, and of a widened panel, for a
// slice of 64 inputs, or 128. A part of a panel has that many slices at most (17 KiB), which
// stay in the first-level cache; their activations of partTiles tiles (136 to 256 KiB) stay in
// the second-level cache while all panels pass over them.
type pairShape struct{ words, panel, blocks int }

const pairRoom = 8 * 544 // words of the longest part of a panel

// pairShape returns the shape of the slices of a.
func (a *Activations) pairShape() pairShape { return pairsOf(a.words) }

// hasPairs reports whether n rows are kept in a second form.
func (a *Activations) hasPairs(k *Kernels, n int) bool {
	from := pairsFrom(k)
	return from > 0 && n >= from && a.pairShape().blocks > 0
}

// pairsAt returns the part of widened tile t that begins with slice s. The tiles of a
// part lie next to each other, for the processor to read ahead.
func (a *Activations) pairsAt(t, s int) []float32 {
	per := a.pairShape().words * a.tile
	return a.pairs[s*per*a.Tiles(a.Rows)+t*a.part(s)*per:][:a.part(s)*per]
}

// part returns the number of slices of the part that begins with slice s.
func (a *Activations) part(s int) int { return min(a.pairShape().blocks, a.slices-s) }

// widen sets widened tile t of that many rows.
func (a *Activations) widen(t, rows int) {
	for s := 0; s < a.slices; s += a.pairShape().blocks {
		widenActivations(a.words, a.pairsAt(t, s), a.at(t)[s*a.words*rows:], a.part(s), rows)
	}
}

// matMulPairs is matMulPanels with widened weights and activations.
func (k *Kernels) matMulPairs(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to int) {
	var room [pairRoom + line/4]float32
	skip := -uintptr(unsafe.Pointer(&room)) % line / 4
	part := room[skip:][:pairRoom]
	f, tiles, shape := &formats[w.Kind], a.Tiles(n), a.pairShape()
	panel, each := w.superblocks()*f.bytes, f.cols/a.inputs // slices of a superblock
	slices := w.superblocks() * each
	for t := 0; t < tiles; t += partTiles {
		for s := 0; s < slices; s += shape.blocks {
			blocks := min(shape.blocks, slices-s)
			for p := from; p < to; p++ {
				widenPanel(w.Kind, part, w.data[p*panel+s/each*f.bytes:], blocks/each, panel)
				k.multiplyPart(partSpan{
					kind: w.Kind, dst: dst[p*packedRows:], ldd: ldd, w: part, stride: a.part(s) * shape.words * a.tile, blocks: blocks, more: s > 0, paired: true,
				}, a, n, s, t, min(t+partTiles, tiles))
			}
		}
	}
}
