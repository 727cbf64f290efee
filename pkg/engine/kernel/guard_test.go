//go:build linux

package kernel

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// A fence returns slices that end where memory ends: reading or writing past them is a
// fault.
type fence struct {
	t     *testing.T
	pages [][]byte // each followed by a page without access
}

// slice returns a copy of x that ends at a fence.
func (f *fence) slice(x []float32) []float32 {
	f.t.Helper()
	page := syscall.Getpagesize()
	size := (4*len(x) + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		f.t.Fatal(err)
	}
	f.pages = append(f.pages, m)
	if err := syscall.Mprotect(m[size:], syscall.PROT_NONE); err != nil {
		f.t.Fatal(err)
	}
	if len(x) == 0 {
		return []float32{}
	}
	s := unsafe.Slice((*float32)(unsafe.Pointer(&m[size-4*len(x)])), len(x))
	copy(s, x)
	return s
}

func (f *fence) random(n int) []float32 { return f.slice(random(source(), n)) }

func (f *fence) free() {
	for _, m := range f.pages {
		if err := syscall.Munmap(m); err != nil {
			f.t.Error(err)
		}
	}
	f.pages = nil
}

// run fails the test if do reads or writes past a slice.
func (f *fence) run(name string, n int, do func()) {
	f.t.Helper()
	defer f.free()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if err := recover(); err != nil {
			f.t.Errorf("%s of %d: %v", name, n, err)
		}
	}()
	do()
}

// TestStaysInside: no operation touches memory past its slices.
func TestStaysInside(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		f := &fence{t: t}
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 31, 33, 70} {
			for _, c := range unaryCases {
				f.run(c.name, n, func() { c.run(k, f.random(n)) })
			}
			for name, op := range vectorOps(f, k, n) {
				f.run(name, n, op)
			}
			for name, op := range matrixOps(f, k, n) {
				f.run(name, n, op)
			}
		}
	})
}

// matrixOps returns the matrix products of n columns.
func matrixOps(f *fence, k *Kernels, n int) map[string]func() {
	const rows = 35
	return map[string]func(){
		"MatMul": func() {
			for _, m := range []int{1, 3, 13} {
				k.MatMul(f.random(m*rows), f.random(m*n), m, Pack(random(source(), rows*n), rows, n))
			}
		},
		"tile": func() {
			for m := 1; m <= tileRows(k.isa); m++ {
				gemmTile(k.isa, &floatTile{c: f.random((m-1)*rows + panel), ldc: rows, a: f.random(m * n), w: f.random(n * panel), depth: n, rows: m, accumulate: true})
			}
		},
		"gemv":     func() { gemv(k.isa, f.random(3*panel), f.random(n), f.random(3*n*panel), n, 3) },
		"LoadRows": func() { k.LoadRows(NewMatrix(40, n), 3, f.random(n*rows)) },
		"GEMM": func() {
			for mode := range 4 {
				a, b := View{f.random(13 * n), n, false}, View{f.random(n * rows), rows, false}
				if mode&1 != 0 {
					a = View{f.random(n * 13), 13, true}
				}
				if mode&2 != 0 {
					b = View{f.random(rows * n), n, true}
				}
				k.GEMM(NewScratch(), f.random(13*rows), rows, a, b, 13, rows, n, true)
			}
		},
	}
}

// TestPackedStaysInside: products with packed weights touch no memory past their
// operands. Activations have room after them.
func TestPackedStaysInside(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		f := &fence{t: t}
		for blocks := 1; blocks < 4; blocks++ {
			f.run("quantize", blocks, func() {
				quantize(k.isa, f.random(formats[Q8_0].words*blocks), f.random(superCols*blocks), blocks)
				quantizeWide(k.isa, f.random(wideWords*blocks), f.random(wideCols*blocks), blocks)
			})
			for _, kind := range kinds {
				for rows := 1; rows <= packedTile(k.isa); rows++ {
					for ahead := range 2 {
						f.run(kind.String(), rows, func() {
							t := f.span(kind, blocks, rows)
							t.ahead = ahead
							tilePacked(k, kind, t)
						})
					}
				}
			}
		}
	})
}

// TestPairsStayInside: the same of products with widened weights.
func TestPairsStayInside(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		if pairsFrom(k) == 0 {
			return
		}
		for _, kind := range Kinds() {
			if widens(kind) {
				(&fence{t: t}).pairs(k, kind)
			}
		}
	})
}

func (f *fence) pairs(k *Kernels, kind Kind) {
	const tiles, ldd = 3, 50
	form, inputs := &formats[kind], kind.inputs()
	shape, each := pairsOf(form.words), form.cols/inputs // slices of a superblock
	for blocks := each; blocks <= shape.blocks; blocks += each {
		f.run("widenPanel "+kind.String(), blocks, func() {
			widenPanel(kind, f.random(blocks*shape.panel), f.bytes(make([]byte, blocks/each*form.bytes)), blocks/each, 0)
		})
		for rows := packedTile(k.isa)/2 + 1; rows <= packedTile(k.isa); rows++ {
			words, act := blocks*shape.words*rows, blocks*form.words*rows
			room := words + 2*superCols/inputs*(packedTile(k.isa)-rows) // AVX2 widens three rows as four
			if k.isa == isaI8MM {
				words = blocks * shape.words * (rows + rows%2)
				room, act = words, act+1
			}
			f.run("widenActivations", blocks, func() {
				widenActivations(form.words, f.random(room), f.random(act), blocks, rows)
			})
			f.run("tilePairs "+kind.String(), rows, func() {
				tilePairs(&partSpan{
					dst: f.random((tiles*rows-1)*ldd + packedRows), ldd: ldd, kind: kind, w: f.random(blocks * shape.panel),
					act: f.random(tiles * words), stride: words, blocks: blocks, tiles: tiles, rows: rows, more: rows%2 == 0,
				})
			})
		}
	}
}

// TestPartsStayInside: the same of products with expanded weights.
func TestPartsStayInside(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, kind := range Kinds() {
			if partsFrom(k, kind) > 0 {
				(&fence{t: t}).parts(k, kind)
			}
		}
	})
}

func (f *fence) parts(k *Kernels, kind Kind) {
	const tiles, ldd = 3, 50
	c, words := &codings[kind], packedRows*superCols/4 // of an expanded slice
	if c.levels && kind != MXFP4 {                     // their absolute values too
		words *= 2
	}
	words += packedRows * superCols / c.sub
	if c.minima {
		words += packedRows * superCols / c.sub
	}
	for superblocks := 1; superblocks < 3; superblocks++ {
		slices := superblocks * formats[kind].cols / superCols
		f.run("expandPart "+kind.String(), superblocks, func() {
			expandPart(k.isa, kind, f.random(slices*words), f.bytes(make([]byte, superblocks*formats[kind].bytes)), superblocks, 0)
		})
		for rows := packedTile(k.isa) * 3 / 4; rows <= packedTile(k.isa); rows++ {
			stride := slices * codedWords * rows
			f.run("tileExpanded "+kind.String(), superblocks, func() {
				tileExpanded(k, &partSpan{
					kind: kind, dst: f.random((tiles*rows-1)*ldd + packedRows), ldd: ldd, w: f.random(slices * words),
					act: f.random(tiles * stride), stride: stride, blocks: slices, tiles: tiles, rows: rows, more: rows%2 == 0,
				})
			})
		}
	}
}

// TestSquaresStayInside: the same of products on AMX.
func TestSquaresStayInside(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		if !k.amx {
			return
		}
		f := &fence{t: t}
		const ldd = 100
		for blocks := 1; blocks < 4; blocks++ {
			for panels := 1; panels < 5; panels++ {
				for squares := 1; squares < 3; squares++ {
					f.run("tileSquares", blocks, func() {
						var room squareScratch
						tileSquares(&squareSpan{
							dst: f.random((squares*squareRows-1)*ldd + panels*packedRows), ldd: ldd, w: f.bytes(make([]byte, panels*blocks*formats[Q8W].bytes)),
							act: f.random(squares * blocks * squareWords), stride: blocks * squareWords, blocks: blocks, panels: panels, squares: squares, room: room.aligned(),
						})
					})
				}
			}
		}
	})
}

// bytes returns a copy of b, of whole words, that ends at a fence.
func (f *fence) bytes(b []byte) []byte {
	words := f.slice(make([]float32, len(b)/4))
	copied := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(b))
	copy(copied, b)
	return copied
}

// span returns three panels for rows rows, in rows of 50.
func (f *fence) span(kind Kind, blocks, rows int) *span {
	const panels, ldd = 3, 50
	return &span{
		dst: f.random((rows-1)*ldd + panels*packedRows), ldd: ldd,
		w:      f.bytes(make([]byte, panels*blocks*formats[kind].bytes)),
		act:    f.random(blocks*formats[kind].cols/kind.inputs()*formats[kind].words*rows + slack),
		blocks: blocks, panels: panels, rows: rows,
	}
}

// weigh runs tiles of every height whose slices end at their last readable element.
func (f *fence) weigh(k *Kernels, format KVFormat, stride int) {
	const tokens = 5
	for rows := 1; rows <= weighRows; rows++ {
		counts := make([]int, rows)
		for r := range counts {
			counts[r] = min(r+1, tokens)
		}
		p := f.random((rows-1)*attendBlock + counts[rows-1])
		weigh(k.isa, format, f.random(rows*stride), p, f.random(format.words(counts[rows-1]*stride)), f.random(rows), counts, stride, nearKeys, rows%2 == 0)
	}
}

// vectorOps returns the operations on vectors of n values, except those in place.
func vectorOps(f *fence, k *Kernels, n int) map[string]func() {
	return map[string]func(){
		"Add":     func() { k.Add(f.random(n), f.random(n)) },
		"Mul":     func() { k.Mul(f.random(n), f.random(n)) },
		"Axpy":    func() { k.Axpy(f.random(n), 2, f.random(n)) },
		"Dot":     func() { k.Dot(f.random(n), f.random(n)) },
		"Softmax": func() { k.softmax(f.random(n)) },
		"LayerNorm": func() {
			k.LayerNorm(f.random(n), f.random(n), f.random(n), f.random(n), 1)
			k.LayerNorm(f.random(n), f.random(n), f.random(n), nil, 1)
		},
		"RMSNorm": func() { k.RMSNorm(f.random(n), f.random(n), f.random(n), 1) },
		"Rotate": func() {
			k.Rotate(f.random(2*n), f.random(n), f.random(n), true)
			k.Rotate(f.random(2*n), f.random(n), f.random(n), false)
		},
		"Attend": func() {
			d := valueStride(n)
			const keys = 40
			for i, s := range [][2]int{{5, 3}, {1, 1}, {5, 3}, {1, 1}, {5, 3}, {1, 1}} { // tokens, heads
				a, tokens, heads, format := NewAttention(n), s[0], s[1], KVFormat(i/2)
				a.queries, a.scores, a.sums = f.slice(a.queries), f.slice(a.scores), f.slice(a.sums)
				keyLen, valueLen := KVLen(format, keys, n)
				kv := KV{Keys: f.random(keyLen), Values: f.random(valueLen), Dim: n, Format: format}
				k.Store(kv, 1, f.random(32*(n+1)-1), f.random(32*(n+1)-1), 32, n+1)
				q := Queries{In: f.random(tokens * heads * n), Out: f.random(tokens * heads * n), Tokens: tokens, Heads: heads, Causal: true, Scale: 1}
				q.InStride, q.OutStride, q.Seen = heads*n, heads*n, keys-tokens+1
				k.Attend(a, &q, kv)
			}
			for _, format := range formatsKV {
				f.weigh(k, format, d)
			}
		},
		"GELUBackward":    func() { k.GELUBackward(f.random(n), f.random(n)) },
		"SoftmaxBackward": func() { k.SoftmaxBackward(f.random(n), f.random(n), 2) },
		"LayerNormBackward": func() {
			k.LayerNormBackward(f.random(n), f.random(n), f.random(n), f.random(n), f.random(n), f.random(n), 1, 2)
		},
		"AdamW": func() {
			k.AdamW(f.random(n), f.random(n), f.random(n), f.random(n), &AdamW{Rate: 1, Beta1: 0.9, Beta2: 0.9, Eps: 1, T: 1})
		},
	}
}
