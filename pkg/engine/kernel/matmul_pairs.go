package kernel

import "unsafe"

// Products of many rows on instruction sets that multiply int16 faster than signed bytes:
// activations are kept as int16 too, and a part of a panel of weights is widened for all
// rows. The products are the same integers.

// Words of widened activations, of one row, and of a widened panel, for 64 inputs.
const (
	pairWords      = 34
	pairPanelWords = 544
)

// A part of a panel has pairBlocks superblocks at most (17 KiB), which stay in the
// first-level cache; their activations of pairTiles tiles (140 KiB) stay in the second-level
// cache while all panels pass over them.
const (
	pairBlocks = 8
	pairTiles  = 32
)

// hasPairs reports whether n rows are kept as int16 too.
func (a *Activations) hasPairs(k *Kernels, n int) bool {
	from := pairsFrom(k.isa)
	return from > 0 && n >= from && a.words == quantWords
}

// pairStride returns the distance of tiles of widened activations, in words.
func (a *Activations) pairStride() int { return a.slices*pairWords*a.tile + slack }

// pairsAt returns widened tile t.
func (a *Activations) pairsAt(t int) []float32 {
	return a.pairs[t*a.pairStride():][:a.pairStride()]
}

// A pairSpan is the work of one routine call: a part of a widened panel, for some tiles of
// equally many rows.
type pairSpan struct {
	dst    []float32 // (tiles*rows, 16)
	ldd    int       // distance of rows of dst, in values
	w      []float32 // (blocks, pairPanelWords)
	act    []float32 // from the first superblock of the first tile on
	stride int       // distance of tiles, in words
	blocks int       // superblocks
	tiles  int
	rows   int  // of a tile: 3 or 4
	more   bool // adds to dst
}

// matMulPairs is matMulPanels with widened weights and activations.
func (k *Kernels) matMulPairs(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to int) {
	var room [pairBlocks*pairPanelWords + line/4]float32
	skip := -uintptr(unsafe.Pointer(&room)) % line / 4
	part := room[skip:][:pairBlocks*pairPanelWords]
	tiles, size := a.Tiles(n), formats[w.Kind].bytes
	for t := 0; t < tiles; t += pairTiles {
		for s := 0; s < w.superblocks(); s += pairBlocks {
			blocks := min(pairBlocks, w.superblocks()-s)
			for p := from; p < to; p++ {
				widenPanel(part, w.data[(p*w.superblocks()+s)*size:], blocks)
				a.multiplyPairs(dst[p*packedRows:], ldd, part, n, s, blocks, t, min(t+pairTiles, tiles))
			}
		}
	}
}

// multiplyPairs multiplies the tiles from, ..., to-1 of n rows with a part of a panel, the
// superblocks from s on.
func (a *Activations) multiplyPairs(dst []float32, ldd int, part []float32, n, s, blocks, from, to int) {
	rows, larger := a.even(n)
	for t := from; t < to; {
		span := pairSpan{ldd: ldd, w: part, stride: a.pairStride(), blocks: blocks, tiles: to - t, rows: rows, more: s > 0}
		if t < larger {
			span.tiles, span.rows = min(to, larger)-t, rows+1
		}
		first, _ := a.bounds(n, t)
		span.dst, span.act = dst[first*ldd:], a.pairsAt(t)[s*pairWords*span.rows:]
		tilePairs(&span)
		t += span.tiles
	}
}
