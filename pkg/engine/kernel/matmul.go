package kernel

// Block sizes of the matrix product, in floats. One packed tile of x (tile rows of
// kBlock columns, 12 KiB) stays in the first-level cache while the panels of a group
// (256 KiB) stream from the second level, to which the next group comes.
const (
	kBlock   = 256
	rowBlock = 120 // rows of x that are packed at once; more would leave the stack for the heap
	maxTile  = 12
	slack    = 16 // transpose writes past the end of a tile

	panelBytes = 4 * panel // of a column
)

// weightGroup returns the number of panels of a group. The tiles of AVX2 have 6 rows, for
// which the second level would deliver 11 bytes of weights a cycle: one panel (kBlock
// columns, 32 KiB) stays near while the tiles (96 KiB) stream (on Zen 3, with 768
// inputs and 128 rows, 69-80 % of the peak instead of 68-70 %, on a busy machine).
func weightGroup(i isa) int {
	if i == isaAVX2 {
		return 1
	}
	return 8
}

// tileRows returns the number of rows of the widest tile.
func tileRows(i isa) int {
	return [...]int{isaGeneric: 8, isaAVX2: 6, isaAVX512: maxTile, isaNEON: maxTile, isaDotprod: maxTile, isaI8MM: maxTile}[i]
}

// MatMul computes dst (n, w.Rows) = x (n, w.Cols) · wᵀ, all row-major. Each output sums
// its columns in order with one rounding per column on every path of one implementation,
// so a row's result is the same to the bit for every n.
func (k *Kernels) MatMul(dst, x []float32, n int, w *Matrix) {
	k.MatMulPanels(dst, x, n, w, 0, w.Panels())
}

// MatMulPanels computes MatMul for the outputs of some panels, from*32 to to*32 of a row;
// the others are unchanged. Workers share a product in this way.
func (k *Kernels) MatMulPanels(dst, x []float32, n int, w *Matrix, from, to int) {
	k.MatMulPanelsWithin(dst, w.Rows, x, n, w, from, to)
}

// MatMulPanelsWithin is MatMulPanels for a dst whose rows are ldd >= w.Rows values apart:
// some columns of a wider result, of which dst begins with the first.
func (k *Kernels) MatMulPanelsWithin(dst []float32, ldd int, x []float32, n int, w *Matrix, from, to int) {
	x = x[:n*w.Cols]
	if n > 0 {
		dst = dst[:(n-1)*ldd+w.Rows]
	}
	switch {
	case from >= to:
	case n == 1:
		k.matVec(dst, x, w, from, to)
	case n <= maxTile:
		var pack [maxTile*kBlock + slack]float32
		k.matMul(dst, ldd, x, n, w, pack[:], maxTile, from, to)
	case n > 0:
		var pack [rowBlock*kBlock + slack]float32
		k.matMul(dst, ldd, x, n, w, pack[:], rowBlock, from, to)
	}
}

// matVec computes MatMulPanels for one row.
func (k *Kernels) matVec(dst, x []float32, w *Matrix, from, to int) {
	whole := min(w.Rows/panel, to)
	if from < whole {
		gemv(k.isa, dst[from*panel:], x, w.data[from*panel*w.Cols:], w.Cols, whole-from)
	}
	if rest := w.Rows - whole*panel; whole < to && rest > 0 {
		var out [panel]float32
		gemv(k.isa, out[:], x, w.data[whole*panel*w.Cols:], w.Cols, 1)
		copy(dst[whole*panel:], out[:rest])
	}
}

// matMul loops over blocks of columns, then of rows, then of panels.
func (k *Kernels) matMul(dst []float32, ldd int, x []float32, n int, w *Matrix, pack []float32, block, from, to int) {
	blocks := (n + block - 1) / block
	for c := 0; c < w.Cols; c += kBlock {
		for b := range blocks {
			r, end := n*b/blocks, n*(b+1)/blocks
			next := c // the columns of the next block
			if b == blocks-1 {
				next += kBlock
			}
			k.matMulBlock(dst[r*ldd:], ldd, x[r*w.Cols:], end-r, w, pack, c, next, from, to)
		}
	}
}

// matMulBlock adds the products of the block of columns that begins with c, of some rows. The
// tiles of a group of panels together bring the next group.
func (k *Kernels) matMulBlock(dst []float32, ldd int, x []float32, rows int, w *Matrix, pack []float32, c, next, from, to int) {
	depth := min(kBlock, w.Cols-c)
	tiles := (rows + tileRows(k.isa) - 1) / tileRows(k.isa)
	for t := range tiles {
		first, end := rows*t/tiles, rows*(t+1)/tiles
		k.packRows(pack[first*depth:], x[first*w.Cols+c:], w.Cols, depth, end-first)
	}
	group := weightGroup(k.isa)
	if tiles == 1 {
		group = 1
	}
	for g := from; g < to; g += group {
		later, column, each := group, c, panelBytes
		if g+group >= to { // the next block begins
			later, column = from-g, next
		}
		if column >= w.Cols {
			each = 0
		}
		tile := floatTile{ldc: ldd, depth: depth, accumulate: c > 0}
		for t := range tiles {
			first, end := rows*t/tiles, rows*(t+1)/tiles
			tile.a, tile.rows = pack[first*depth:], end-first
			tile.readahead = spread(t, tiles, depth*panelBytes, (later*w.Cols+column-c)*panelBytes, each)
			for p := g; p < min(g+group, to); p++ {
				tile.c, tile.w = dst[first*ldd+p*panel:], w.data[(p*w.Cols+c)*panel:]
				k.tile(&tile, min(panel, w.Rows-p*panel))
			}
		}
	}
}

// A floatTile is the work of one routine call: c (rows, 32) = or += a (depth, rows) · w
// (depth, 32).
type floatTile struct {
	c           []float32
	ldc         int // distance of rows of c
	a, w        []float32
	depth, rows int
	accumulate  bool
	readahead   // a piece is one of depth, for which AVX2 and AVX-512 bring two lines at most
}

// tile computes a tile and stores its first width columns.
func (k *Kernels) tile(t *floatTile, width int) {
	if width == panel {
		gemmTile(k.isa, t)
		return
	}
	var out [maxTile * panel]float32
	if t.accumulate {
		for r := range t.rows {
			copy(out[r*panel:r*panel+width], t.c[r*t.ldc:])
		}
	}
	full := *t
	full.c, full.ldc = out[:], panel
	gemmTile(k.isa, &full)
	for r := range t.rows {
		copy(t.c[r*t.ldc:r*t.ldc+width], out[r*panel:])
	}
}

// packRows writes dst (depth, rows) from x (rows, depth) with stride ldx. It may write
// slack floats past the end of dst.
func (k *Kernels) packRows(dst, x []float32, ldx, depth, rows int) {
	step := lanes(k.isa)
	done := 0
	if step >= rows && step > 1 {
		done = depth / step * step
		transpose(k.isa, dst, rows, x, ldx, depth/step, rows)
	}
	for r := range rows {
		for p := done; p < depth; p++ {
			dst[p*rows+r] = x[r*ldx+p]
		}
	}
}
