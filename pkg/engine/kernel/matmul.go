package kernel

// Block sizes of the matrix product, in floats. One packed tile of x (tile rows of
// kBlock columns, 12 KiB) stays in the first-level cache while the panels of a group
// (512 KiB) stream from the second level.
const (
	kBlock   = 256
	rowBlock = 96 // rows of x that are packed at once
	maxTile  = 12
	slack    = 16 // transpose writes past the end of a tile
)

// weightGroup returns the number of panels of a group. The tiles of AVX2 have 6 rows, for
// which the second level would deliver 11 bytes of weights a cycle: one panel (kBlock
// columns, 32 KiB) stays near while the tiles (96 KiB) stream (on Zen 3, with 768
// inputs and 128 rows, 69-80 % of the peak instead of 68-70 %, on a busy machine).
func weightGroup(i isa) int {
	if i == isaAVX2 {
		return 1
	}
	return 16
}

// tileRows returns the number of rows of the widest tile.
func tileRows(i isa) int {
	return [...]int{isaGeneric: 8, isaAVX2: 6, isaAVX512: maxTile, isaNEON: maxTile, isaDotprod: maxTile}[i]
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
	group := weightGroup(k.isa)
	for c := 0; c < w.Cols; c += kBlock {
		depth := min(kBlock, w.Cols-c)
		for r := 0; r < n; r += block {
			rows := min(block, n-r)
			tiles := (rows + tileRows(k.isa) - 1) / tileRows(k.isa)
			for t := range tiles {
				first, end := rows*t/tiles, rows*(t+1)/tiles
				k.packRows(pack[first*depth:], x[(r+first)*w.Cols+c:], w.Cols, depth, end-first)
			}
			for g := from; g < to; g += group {
				for t := range tiles {
					first, end := rows*t/tiles, rows*(t+1)/tiles
					for p := g; p < min(g+group, to); p++ {
						k.tile(dst[(r+first)*ldd+p*panel:], ldd, min(panel, w.Rows-p*panel),
							pack[first*depth:], w.data[(p*w.Cols+c)*panel:], depth, end-first, c > 0)
					}
				}
			}
		}
	}
}

// tile computes a tile and stores its first width columns.
func (k *Kernels) tile(c []float32, ldc, width int, a, w []float32, depth, rows int, accumulate bool) {
	if width == panel {
		gemmTile(k.isa, c, ldc, a, w, depth, rows, accumulate)
		return
	}
	var full [maxTile * panel]float32
	if accumulate {
		for r := range rows {
			copy(full[r*panel:r*panel+width], c[r*ldc:])
		}
	}
	gemmTile(k.isa, full[:], panel, a, w, depth, rows, accumulate)
	for r := range rows {
		copy(c[r*ldc:r*ldc+width], full[r*panel:])
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
