package kernel

// A View is a matrix inside a slice: element (i, j) is Data[i*Stride+j], or
// Data[j*Stride+i] when Transposed.
type View struct {
	Data       []float32
	Stride     int
	Transposed bool
}

// from returns the view whose element (0, 0) is (i, j) of v.
func (v View) from(i, j int) View {
	if v.Transposed {
		i, j = j, i
	}
	v.Data = v.Data[i*v.Stride+j:]
	return v
}

// check panics, as indexing does, if the view has no (rows, cols) elements.
func (v View) check(rows, cols int) {
	if v.Transposed {
		rows, cols = cols, rows
	}
	_ = v.Data[(rows-1)*v.Stride+cols-1]
}

// columnBlock is the number of columns of b that are packed at once (256 KiB).
const columnBlock = 256

// A Scratch is the working memory of GEMM. One call at a time may use it.
type Scratch struct{ a, b []float32 }

// NewScratch returns working memory for GEMM.
func NewScratch() *Scratch {
	return &Scratch{a: aligned(maxTile*kBlock + slack), b: aligned(columnBlock*kBlock + slack)}
}

// GEMM computes c (m, n), with stride ldc, = a (m, depth) · b (depth, n), or adds the
// product to c. It packs both operands: for weights that are used more than once, MatMul
// is faster. An empty product leaves c unchanged.
func (k *Kernels) GEMM(s *Scratch, c []float32, ldc int, a, b View, m, n, depth int, accumulate bool) {
	if m < 1 || n < 1 || depth < 1 {
		return
	}
	a.check(m, depth)
	b.check(depth, n)
	View{Data: c, Stride: ldc}.check(m, n)
	for j := 0; j < n; j += columnBlock {
		width := min(columnBlock, n-j)
		for p := 0; p < depth; p += kBlock {
			d := min(kBlock, depth-p)
			k.packColumns(s.b, b.from(p, j), d, width)
			k.block(s, c[j:], ldc, a.from(0, p), m, width, d, accumulate || p > 0)
		}
	}
}

// block multiplies rows of a with the packed columns.
func (k *Kernels) block(s *Scratch, c []float32, ldc int, a View, rows, width, depth int, accumulate bool) {
	tiles := (rows + tileRows(k.isa) - 1) / tileRows(k.isa)
	for t := range tiles {
		first, end := rows*t/tiles, rows*(t+1)/tiles
		if sub := a.from(first, 0); a.Transposed {
			k.copyTile(s.a, sub, depth, end-first)
		} else {
			k.packRows(s.a, sub.Data, a.Stride, depth, end-first)
		}
		for j := 0; j < width; j += panel {
			k.tile(&floatTile{c: c[first*ldc+j:], ldc: ldc, a: s.a, w: s.b[j*depth:], depth: depth, rows: end - first, accumulate: accumulate}, min(panel, width-j))
		}
	}
}

// copyTile writes dst (depth, rows) from a view whose columns are contiguous. It may
// write slack floats past the end of dst.
func (k *Kernels) copyTile(dst []float32, a View, depth, rows int) {
	if step := lanes(k.isa); step > 1 && step >= rows {
		copyBlock(k.isa, dst, rows, a.Data, a.Stride, depth, rows)
		return
	}
	for p := range depth {
		copy(dst[p*rows:(p+1)*rows], a.Data[p*a.Stride:])
	}
}

// packColumns writes panels dst (width/32, depth, 32) of b (depth, width). The content of
// columns past the last is undefined.
func (k *Kernels) packColumns(dst []float32, b View, depth, width int) {
	step := lanes(k.isa)
	for j := 0; j < width; j += panel {
		out, w := dst[j*depth:], min(panel, width-j)
		sub := b.from(0, j)
		switch {
		case step == 1:
			packPanelGeneric(out, sub, depth, w)
		case b.Transposed:
			for h := 0; h < w; h += step {
				k.packHalf(out[h:], sub.from(0, h), depth, min(step, w-h))
			}
		default:
			for h := 0; h < w; h += step {
				copyBlock(k.isa, out[h:], panel, sub.Data[h:], b.Stride, depth, min(step, w-h))
			}
		}
	}
}

// packHalf transposes rows contiguous columns of b into a panel.
func (k *Kernels) packHalf(dst []float32, b View, depth, rows int) {
	step := lanes(k.isa)
	transpose(k.isa, dst, panel, b.Data, b.Stride, depth/step, rows)
	for r := range rows {
		for p := depth / step * step; p < depth; p++ {
			dst[p*panel+r] = b.Data[r*b.Stride+p]
		}
	}
}

// packPanelGeneric packs width columns of b.
func packPanelGeneric(dst []float32, b View, depth, width int) {
	for p := range depth {
		for j := range width {
			if b.Transposed {
				dst[p*panel+j] = b.Data[j*b.Stride+p]
			} else {
				dst[p*panel+j] = b.Data[p*b.Stride+j]
			}
		}
	}
}
