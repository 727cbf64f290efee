package kernel

import "unsafe"

// Products of many rows on instruction sets that multiply int16 faster than signed bytes:
// activations are kept as int16 too, and a part of a panel of weights is widened for all
// rows. The products are the same integers.

// A pairShape has the words of widened activations, of one row, and of a widened panel, for a
// superblock. A part of a panel has that many superblocks at most (17 KiB), which stay in the
// first-level cache; their activations of partTiles tiles (140 KiB) stay in the second-level
// cache while all panels pass over them.
type pairShape struct{ words, panel, blocks int }

var (
	narrowPairs = pairShape{words: 34, panel: 544, blocks: 8}  // 64 inputs
	widePairs   = pairShape{words: 65, panel: 1040, blocks: 4} // 128 inputs
)

const pairRoom = 8 * 544 // words of the longest part of a panel

// pairShape returns the shape of the superblocks of a.
func (a *Activations) pairShape() pairShape {
	if a.inputs == wideCols {
		return widePairs
	}
	return narrowPairs
}

// hasPairs reports whether n rows are kept as int16 too.
func (a *Activations) hasPairs(k *Kernels, n int) bool {
	from := pairsFrom(k.isa)
	return from > 0 && n >= from && (a.words == quantWords || a.words == wideWords)
}

// pairsAt returns the part of widened tile t that begins with superblock s. The tiles of a
// part lie next to each other, for the processor to read ahead.
func (a *Activations) pairsAt(t, s int) []float32 {
	per := a.pairShape().words * a.tile
	return a.pairs[s*per*a.Tiles(a.Rows)+t*a.part(s)*per:][:a.part(s)*per]
}

// part returns the number of superblocks of the part that begins with superblock s.
func (a *Activations) part(s int) int { return min(a.pairShape().blocks, a.slices-s) }

// widen sets widened tile t of that many rows.
func (a *Activations) widen(t, rows int) {
	for s := 0; s < a.slices; s += a.pairShape().blocks {
		widenActivations(a.inputs, a.pairsAt(t, s), a.at(t)[s*a.words*rows:], a.part(s), rows)
	}
}

// matMulPairs is matMulPanels with widened weights and activations.
func (k *Kernels) matMulPairs(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to int) {
	var room [pairRoom + line/4]float32
	skip := -uintptr(unsafe.Pointer(&room)) % line / 4
	part := room[skip:][:pairRoom]
	tiles, size := a.Tiles(n), formats[w.Kind].bytes
	for t := 0; t < tiles; t += partTiles {
		for s := 0; s < w.superblocks(); s += a.pairShape().blocks {
			for p := from; p < to; p++ {
				widenPanel(w.Kind, part, w.data[(p*w.superblocks()+s)*size:], a.part(s))
				k.multiplyPart(partSpan{
					kind: w.Kind, dst: dst[p*packedRows:], ldd: ldd, w: part, stride: a.part(s) * a.pairShape().words * a.tile, blocks: a.part(s), more: s > 0,
				}, a, n, s, t, min(t+partTiles, tiles))
			}
		}
	}
}
