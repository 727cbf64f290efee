package kernel

import "fmt"

// maxPackedTile is the number of rows of the widest tile of packed products.
const maxPackedTile = 8

// packedTile returns the number of rows of a tile.
func packedTile(i isa) int {
	return [...]int{isaGeneric: maxPackedTile, isaAVX2: 4, isaAVX512: maxPackedTile, isaNEON: 4, isaDotprod: maxPackedTile, isaI8MM: maxPackedTile}[i]
}

// groupBytes bounds the weights that stay in the second-level cache while all tiles of
// activations pass over them.
const groupBytes = 192 << 10

// A span is the work of one routine call: some panels, for the rows of one tile.
type span struct {
	dst    []float32 // (rows, panels*16)
	ldd    int       // distance of rows of dst, in values
	w      []byte    // panels
	act    []float32 // a tile
	blocks int       // superblocks of a panel
	panels int
	rows   int
	readahead
}

// MatMulPacked computes the columns of dst (n, w.Rows), row-major, that belong to the
// panels from, ..., to-1 of w, of dst = a (n, w.Cols) · wᵀ. Panels are 16 columns,
// w.Panels() in all; goroutines may share a product by splitting them.
//
// Quantised: each block of inputs that share scales gives an exact integer i, and the output sums fma(i,
// dw*da, sum) in the order of blocks, each rounded once: the result is the same to the
// bit on all implementations. BF16: each output sums its inputs in order with one
// rounding per input, as [Kernels.MatMul] does with the widened weights. In either case
// the result of a row is the same to the bit for every n and every range.
func (k *Kernels) MatMulPacked(dst []float32, a *Activations, n int, w *Packed, from, to int) {
	k.MatMulPackedWithin(dst, w.Rows, a, n, w, from, to, to)
}

// MatMulPackedWithin is MatMulPacked for a dst whose rows are ldd >= w.Rows values apart:
// some columns of a wider result, of which dst begins with the first. It brings the panels to, ...,
// until-1 into the cache, as far as there is time: those that the caller multiplies next.
func (k *Kernels) MatMulPackedWithin(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to, until int) {
	a.check(k, n)
	if a.Cols != w.Cols || a.words != formats[w.Kind].words || ldd < w.Rows || from < 0 || to > w.Panels() {
		panic(fmt.Sprintf("kernel: panels %d to %d of %v weights (%d, %d) with activations of %d inputs", from, to, w.Kind, w.Rows, w.Cols, a.Cols))
	}
	if n > 0 {
		dst = dst[:(n-1)*ldd+w.Rows]
	}
	full := min(to, w.Rows/packedRows)
	if n > 0 && a.hasSquares(k, n) {
		k.matMulSquares(dst, ldd, a, n, w, from, full, until)
		if from < to && to > full {
			a.lastSquares(dst, ldd, n, w)
		}
		return
	}
	switch {
	case n < 1 || from >= full:
	case k.hasParts(w.Kind, n):
		k.matMulParts(dst, ldd, a, n, w, from, full)
	case widens(w.Kind) && a.hasPairs(k, n):
		k.matMulPairs(dst, ldd, a, n, w, from, full)
	default:
		k.matMulPanels(dst, ldd, a, n, w, from, full, until)
	}
	if n > 0 && from < to && to > full {
		k.lastPanel(dst, ldd, a, n, w)
	}
}

// matMulPanels loops over groups of panels, then tiles. A tile covers all inputs: even
// 14336 of them leave it in the second-level cache together with the weights.
func (k *Kernels) matMulPanels(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to, until int) {
	const far = 12288                               // ahead of the only call, or the first
	size := w.superblocks() * formats[w.Kind].bytes // of a panel
	group, tiles, each := to-from, a.Tiles(n), formats[w.Kind].bytes/w.Kind.pieces()
	if tiles > 1 {
		group = evenly(to-from, max(1, groupBytes/size))
	}
	for p := from; p < to; p += group {
		end := min(p+group, to)
		bytes := (end - p) * size
		for t := range tiles {
			first, last := a.bounds(n, t)
			work := span{
				dst: dst[first*ldd+p*packedRows:], ldd: ldd, w: w.data[p*size : end*size],
				act: a.at(t), blocks: w.superblocks(), panels: end - p, rows: last - first,
			}
			switch {
			case n < busyRows(k.isa, w.Kind):
				k.tileFew(w, &work)
				continue
			case tiles > 1 && w.follows(end, from, until):
				work.readahead = spread(t, tiles, bytes, bytes, each)
			case t == 0:
				work.readahead = readahead{ahead: far, step: each}
			}
			tilePacked(k, w.Kind, &work)
		}
	}
}

// evenly returns the size of like parts of n, of which the largest has most.
func evenly(n, most int) int {
	parts := max(1, (n+most-1)/most)
	return (n + parts - 1) / parts
}

// lastPanel computes the last panel, of which only some rows are used.
func (k *Kernels) lastPanel(dst []float32, ldd int, a *Activations, n int, w *Packed) {
	size := w.superblocks() * formats[w.Kind].bytes
	p := w.Rows / packedRows
	for t := range a.Tiles(n) {
		var out [maxPackedTile * packedRows]float32
		first, end := a.bounds(n, t)
		tilePacked(k, w.Kind, &span{
			dst: out[:], ldd: packedRows, w: w.data[p*size : (p+1)*size],
			act: a.at(t), blocks: w.superblocks(), panels: 1, rows: end - first,
		})
		for r := first; r < end; r++ {
			copy(dst[r*ldd+p*packedRows:r*ldd+w.Rows], out[(r-first)*packedRows:])
		}
	}
}
