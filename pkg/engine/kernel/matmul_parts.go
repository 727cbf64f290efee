package kernel

import "unsafe"

// Products of many rows with coded kinds on x86 (I8MM widens them, see matMulPairs): a part of a panel is taken apart once for all rows
// instead of once for each tile. The products are the same integers, and the sums the same
// sums.

// A part of a panel is at most 512 inputs, which stay in the first-level cache (12 KiB, or 17 of levels
// that have signs); their activations of partTiles tiles (224 KiB) stay in the second-level cache while
// all panels pass over them.
const (
	partTiles    = 32
	partSlices   = 8
	expandedRoom = partSlices * packedRows * (2*superCols/4 + 2) // words of the longest part: levels, their absolute values and scales
)

// A partSpan is the work of one routine call: a part of a panel that has been widened or
// expanded, for some tiles of equally many rows.
type partSpan struct {
	kind   Kind
	dst    []float32 // (tiles*rows, 16)
	ldd    int       // distance of rows of dst, in values
	w      []float32 // the part
	act    []float32 // the part of the first tile
	stride int       // distance of tiles, in words
	blocks int       // slices of the part
	tiles  int
	rows   int  // of a tile
	more   bool // adds to dst
	paired bool // the part and its activations are widened, not expanded
}

// adds is more as assembly takes it.
func (t *partSpan) adds() int {
	if t.more {
		return 1
	}
	return 0
}

// hasParts reports whether products of n rows with this kind expand it.
func (k *Kernels) hasParts(kind Kind, n int) bool {
	from := partsFrom(k, kind)
	return from > 0 && n >= from
}

// matMulParts is matMulPanels with expanded weights.
func (k *Kernels) matMulParts(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to int) {
	var room [expandedRoom + line/4]float32
	skip := -uintptr(unsafe.Pointer(&room)) % line / 4
	part := room[skip:][:expandedRoom]
	f, tiles := &formats[w.Kind], a.Tiles(n)
	panel, each := w.superblocks()*f.bytes, f.cols/superCols // slices of a superblock
	slices := w.superblocks() * each
	for t := 0; t < tiles; t += partTiles {
		for s := 0; s < slices; s += partSlices {
			blocks := min(partSlices, slices-s)
			for p := from; p < to; p++ {
				expandPart(k.isa, w.Kind, part, w.data[p*panel+s/each*f.bytes:], blocks/each, panel)
				k.multiplyPart(partSpan{
					kind: w.Kind, dst: dst[p*packedRows:], ldd: ldd, w: part, stride: a.stride(), blocks: blocks, more: s > 0,
				}, a, n, s, t, min(t+partTiles, tiles))
			}
		}
	}
}

// multiplyPart multiplies the tiles from, ..., to-1 of n rows with the part of span that begins
// with slice s.
func (k *Kernels) multiplyPart(span partSpan, a *Activations, n, s, from, to int) {
	rows, larger := a.even(n)
	dst := span.dst
	for t := from; t < to; t += span.tiles {
		span.tiles, span.rows = to-t, rows
		if t < larger {
			span.tiles, span.rows = min(to, larger)-t, rows+1
		}
		first, _ := a.bounds(n, t)
		span.dst = dst[first*span.ldd:]
		if span.paired {
			span.act = a.pairsAt(t, s)
			tilePairs(&span)
		} else {
			span.act = a.at(t)[s*a.words*span.rows:]
			tileExpanded(k, &span)
		}
	}
}
