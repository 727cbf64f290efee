package main

// Products of many rows with Q8_0 and Q8W weights on AVX2. A panel is widened once for all rows:
// words hold two int16 inputs, which VPMADDWD multiplies and adds exactly, without the
// signs and absolute values that products of bytes need.
//
// For a superblock a widened panel holds, for each word of four bytes, the inputs 0 and 2
// and then the inputs 1 and 3 of 16 rows, and at the end (block, row) float32 scales.
// Widened activations hold eight words (word, row) of inputs 0 and 2, then the same of
// inputs 1 and 3, and at the end (block, row) scales.
type pairs struct {
	*asm
	k    packed
	name string // in routines' names
}

// scales is the offset of the scales of a panel.
func (t *pairs) scales() int { return 2 * t.k.scales }

func (t *pairs) panelBytes() int { return t.scales() + 64*t.k.blocks }

// scaleWord is the word of one row of activations with the first scale.
func (t *pairs) scaleWord() int { return 2 * t.k.scale }

func (t *pairs) actWords() int { return t.scaleWord() + t.k.blocks }

// pairProducts emits the products with widened panels.
func (t *asm) pairProducts() {
	if t.wide() {
		return
	}
	for _, p := range []*pairs{{t, kinds[0], "Pairs"}, {t, kinds[2], "WidePairs"}} {
		p.widenPanel()
		p.widenActivations()
		p.tiles()
	}
}

// split stores the even and the odd bytes of register 0 as two vectors of int16.
func (t *asm) split(even, odd string) {
	t.op("VPSLLW", "$8", t.v(0), t.v(1))
	t.op("VPSRAW", "$8", t.v(0), t.v(0))
	t.op("VPSRAW", "$8", t.v(1), t.v(1))
	t.op("VMOVDQU", t.v(1), even)
	t.op("VMOVDQU", t.v(0), odd)
}

func (t *pairs) widenPanel() {
	k := t.k
	p := "dst *float32, w *byte, blocks, ahead int"
	t.fn("panel"+t.name, "widens superblocks of a panel of "+k.kind+" weights, and brings those ahead bytes after them.", p)
	t.args(p, "DI", "SI", "CX", "DX")
	if k.kind == "Q8" {
		t.op("VMOVDQU", t.bits(0x80808080), t.v(15))
	}
	loop := t.next("superblock")
	t.label(loop)
	for line := range k.bytes / 64 {
		t.op("PREFETCHT1", mem(64*line, "SI")+"(DX*1)")
	}
	for i := range k.scales / 32 {
		if k.kind == "Q8" {
			t.op("VPXOR", mem(32*i, "SI"), t.v(15), t.v(0))
		} else {
			t.op("VMOVDQU", mem(32*i, "SI"), t.v(0))
		}
		at := 128*(i/2) + 32*(i%2)
		t.split(mem(at, "DI"), mem(at+64, "DI"))
	}
	for i := range 2 * k.blocks {
		t.op("VCVTPH2PS", mem(k.scales+16*i, "SI"), t.v(0))
		t.op("VMOVUPS", t.v(0), mem(t.scales()+32*i, "DI"))
	}
	t.op("ADDQ", imm(k.bytes), "SI")
	t.op("ADDQ", imm(t.panelBytes()), "DI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.ret()
}

// widenActivations copies the scales of four rows: those past the rows' are overwritten by
// the next superblock.
func (t *pairs) widenActivations() {
	p := "dst, act *float32, blocks, rows int"
	t.fn("activations"+t.name, "widens superblocks of a tile of 3 or 4 rows; it may write a scale more of each block past the end of 3 rows.", p)
	t.args(p, "DI", "SI", "CX", "DX")
	loop, vector := t.next("superblock"), t.next("vector")
	t.op("IMUL3Q", imm(4*(t.k.words-t.k.scale)), "DX", "R8") // bytes of the scales and of the words after them
	t.op("IMUL3Q", imm(t.k.blocks), "DX", "R9")
	t.op("IMUL3Q", imm(t.k.scale/8), "DX", "DX")
	t.label(loop)
	t.op("MOVQ", "DX", "BX")
	t.label(vector)
	t.op("VMOVDQU", "(SI)", t.v(0))
	t.split("(DI)", mem(32, "DI"))
	t.op("ADDQ", "$32", "SI")
	t.op("ADDQ", "$64", "DI")
	t.op("DECQ", "BX")
	t.op("JNZ", vector)
	scales := t.v(0)
	if t.k.blocks == 1 {
		scales = t.half(scales)
	}
	t.op("VMOVDQU", "(SI)", scales)
	t.op("VMOVDQU", scales, "(DI)")
	t.op("ADDQ", "R8", "SI")
	t.op("LEAQ", "(DI)(R9*4)", "DI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.ret()
}

// Rows of dst.
var rowPointers = []string{rDst, "R13", "R14", "R15"}

// pointRows sets the pointers to n rows of dst, which rDst is the first of.
func (t *asm) pointRows(n int) {
	for r := 1; r < n; r++ {
		t.op("LEAQ", "("+rowPointers[r-1]+")("+rStep+"*1)", rowPointers[r])
	}
}

// tiles emits the products of tiles with a widened panel. Registers 0 to 7 hold the
// whole-number products of a block, (row, vector); the sums stay in dst, because the
// registers that they would take halve the loads of weights and activations instead.
func (t *pairs) tiles() {
	p := "dst *float32, ldd int, w, act *float32, stride, blocks, tiles, rows, more int"
	t.fn("tile"+t.name, "computes dst (tiles * rows, 16) from a widened panel and widened tiles of 3 or 4 rows, stride bytes apart, or adds to it.", p)
	t.args(p, rDst, rStep, rPairPanel, rPairActs, rPairStride, rBlocks, rPairTiles, rCount, rPairParts)
	t.op("SHLQ", "$2", rStep)
	four := t.next("rows")
	t.op("CMPQ", rCount, "$4")
	t.op("JEQ", four)
	t.tilesOf(3)
	t.label(four)
	t.tilesOf(4)
}

// Registers of tilePairs, as far as they are not those of other packed products.
const (
	rPairPanel, rPairActs, rPairStride, rPairTiles, rPairParts = "R9", "SI", "R12", "R11", "DX"
)

// tilesOf emits the loop over tiles of n rows.
func (t *pairs) tilesOf(n int) {
	t.tilesInDst(n, rPairPanel, rPairActs, rPairStride, rPairTiles, func() { t.superblockOf(n) })
	t.ret()
}

// tilesInDst emits a loop over tiles of n rows, whose sums stay in dst. panel, acts, stride and tiles
// name the registers of the panel, the activations, the distance of tiles and the number of tiles
// left; body multiplies a superblock or a slice and advances.
func (t *asm) tilesInDst(n int, panel, acts, stride, tiles string, body func()) {
	tile, loop := t.next("tile"), t.next("superblock")
	t.label(tile)
	t.op("MOVQ", acts, rA)
	t.op("MOVQ", rBlocks, rCount)
	t.pointRows(n)
	t.op("MOVQ", rowPointers[n-1], rW)
	for range n { // rows of the next tile
		t.op("ADDQ", rStep, rW)
		t.op("PREFETCHT0", "("+rW+")")
	}
	t.op("MOVQ", panel, rW)
	t.op("CMPQ", "more+64(FP)", "$0")
	t.op("JNE", loop)
	t.clearSums(n)
	t.label(loop)
	body()
	t.op("DECQ", rCount)
	t.op("JNZ", loop)
	t.op("LEAQ", "("+rowPointers[n-1]+")("+rStep+"*1)", rDst)
	t.op("ADDQ", stride, acts)
	t.op("DECQ", tiles)
	t.op("JNZ", tile)
}

// superblockOf emits a superblock of n rows.
func (t *pairs) superblockOf(n int) {
	weights, acts := t.k.walked(n)
	weights, acts = 2*weights, 2*acts // they are twice as wide
	for half := range t.k.blocks {
		t.products(n, half)
		for p := range 2 {
			t.op("VMOVUPS", mem(t.scales()+64*half+32*p-weights, rW), t.v(8+p))
		}
		for r := range n {
			t.op("VBROADCASTSS", mem(4*(n*(t.scaleWord()+half)+r)-acts, rA), t.v(10))
			t.addSums(r)
		}
	}
	t.op("ADDQ", imm(t.panelBytes()-weights), rW)
	t.op("ADDQ", imm(4*t.actWords()*n-acts), rA)
}

// products multiplies a block, in a loop over its parts if it has several.
func (t *pairs) products(n, half int) {
	parts := t.k.parts()
	if parts == 1 {
		for g := range 2 * t.k.quants() {
			t.multiply(n, t.k.quants()*half+g/2, g%2, g == 0)
		}
		return
	}
	loop := t.next("part")
	weights, acts := t.k.walked(n)
	for i := range 2 * n {
		t.zero(t.v(i))
	}
	t.op("MOVQ", imm(parts), rPairParts)
	t.label(loop)
	for g := range 2 * partLines {
		t.multiply(n, g/2, g%2, false)
	}
	t.op("ADDQ", imm(2*weights/parts), rW)
	t.op("ADDQ", imm(2*acts/parts), rA)
	t.op("DECQ", rPairParts)
	t.op("JNZ", loop)
}

// multiply adds two inputs of word i: the even or the odd ones. Four multiplications come before their
// four additions, which is 2 to 4 % faster on Zen 4 than one after the other.
func (t *pairs) multiply(n, i, odd int, first bool) {
	const group = 2 // rows
	for p := range 2 {
		t.op("VMOVDQU", mem(128*i+64*odd+32*p, rW), t.v(8+p))
	}
	for r := 0; r < n; r += group {
		count := 2 * min(group, n-r) // (row, vector)
		for j := range count {
			if at := n*i + r + j/2; j%2 == 0 {
				t.op("VPBROADCASTD", mem(64*(at/8)+32*odd+4*(at%8), rA), t.v(10))
			}
			products := t.v(11 + j)
			if first {
				products = t.v(2*r + j)
			}
			t.op("VPMADDWD", t.v(8+j%2), t.v(10), products)
		}
		for j := range count {
			if dot := t.v(2*r + j); !first {
				t.op("VPADDD", t.v(11+j), dot, dot)
			}
		}
	}
}

// clearSums sets n rows of dst to zero.
func (t *asm) clearSums(n int) {
	t.zero(t.v(0))
	for r := range n {
		for p := range 2 {
			t.op("VMOVUPS", t.v(0), mem(32*p, rowPointers[r]))
		}
	}
}

// addSums adds the products of row r to the sums in dst. Registers 8 and 9 hold the scales
// of the weights, 10 that of the activations.
func (t *asm) addSums(r int) {
	for p := range 2 {
		dot, sum := t.v(2*r+p), mem(32*p, rowPointers[r])
		t.op("VCVTDQ2PS", dot, dot)
		t.op("VMULPS", t.v(8+p), t.v(10), t.v(11))
		t.op("VFMADD213PS", sum, t.v(11), dot)
		t.op("VMOVUPS", dot, sum)
	}
}
