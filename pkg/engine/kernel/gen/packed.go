package main

import "fmt"

// A packed describes one kind of packed weights.
type packed struct {
	kind   string
	bytes  int     // of a superblock: 16 rows of 64 inputs, or 128
	scales int     // offset of its scales: (block, row)
	blocks int     // of a superblock: inputs that share a scale
	words  int     // 32-bit words of one row of activations for a superblock
	scale  int     // the word that holds the first block's scale
	sums   int     // the word that holds the first block's correction
	busy   int     // rows of activations from which on AVX-512 computes longer than it reads
	ahead  int     // bytes from where on the weights of fewer rows are brought to the second level; twice as many with AVX2
	coding *coding // of codes; bytes is then the size of a slice
}

var kinds = []packed{
	{kind: "Q8", bytes: 1088, scales: 1024, blocks: 2, words: 22, scale: scaleWord, sums: 18, busy: 5, ahead: 4096},
	{kind: "Q4", bytes: 576, scales: 512, blocks: 2, words: 22, scale: scaleWord, sums: 20, busy: 3, ahead: 8192},
	{kind: "Q8W", bytes: 2112, scales: 2048, blocks: 1, words: 34, scale: 32, sums: 33, busy: 5, ahead: 4096},
	{kind: "BF16", bytes: 2048, words: 64, busy: 4, ahead: 4096},
	{kind: "F16", bytes: 2048, words: 64, busy: 4, ahead: 4096},
}

const scaleWord = 16 // the word that holds the first scale of 64 inputs

// Kinds whose products are of whole numbers, and the others.
var byteKinds, floatKinds = kinds[:3], kinds[3:]

// floating reports whether weights are floating-point numbers without scales.
func (k packed) floating() bool { return k.coding == nil && k.blocks == 0 }

// lines is the number of cache lines of a block.
func (k packed) lines() int { return k.scales / 64 / k.blocks }

// quants is the number of words of a block of activations.
func (k packed) quants() int { return k.scale / k.blocks }

// Blocks of bytes are emitted as loops over parts of eight lines, if they have several.
const partLines = 8

// parts is the number of parts of a block.
func (k packed) parts() int {
	if k.blocks == 0 {
		return 1
	}
	return max(1, k.lines()/partLines)
}

// walked returns by how much the pointers to weights and to n rows of activations have
// advanced after the parts of a block, in bytes.
func (k packed) walked(n int) (weights, acts int) {
	if k.parts() == 1 {
		return 0, 0
	}
	return 64 * k.lines(), 4 * k.quants() * n
}

// Registers of the packed products: the parameters in order, then what runs on.
const (
	rDst, rStep, rWeights, rActs, rBlocks, rPanels, rRows = "DI", "R8", "SI", "DX", "R10", "R11", "R12"
	rW, rA, rCount, rRow                                  = "AX", "BX", "CX", "R13"
	rFar                                                  = rRows // weights to bring to the second level
)

// packedProducts emits the products with packed weights of these kinds.
func (t *asm) packedProducts(kinds []packed) {
	for _, k := range kinds {
		p := "dst *float32, ldd int, w *byte, act *float32, blocks, panels, rows, ahead, step int"
		t.fn("tile"+k.kind, fmt.Sprintf("computes dst (rows <= %d, 16*panels) = act · w; see span.", t.packedTile()), p)
		t.args(p, rDst, rStep, rWeights, rActs, rBlocks, rPanels, rRows, rW, rW)
		t.op("SHLQ", "$2", rStep)
		t.packedConstants(k)
		label := func(n int) string { return fmt.Sprintf("%srows%d", k.kind, n) }
		for n := t.packedTile(); n > 1; n-- {
			t.op("CMPQ", rRows, imm(n))
			t.op("JEQ", label(n))
		}
		for n := 1; n <= t.packedTile(); n++ {
			if n > 1 {
				t.label(label(n))
			}
			if !t.computes(k, n) {
				t.near(k, n)
			}
			t.packedRows(k, n)
			t.ret()
		}
	}
}

// near emits n rows of activations that fetch weights at a short distance only. The caller
// chooses them with ahead = 0.
func (t *asm) near(k packed, n int) {
	far := t.next("far")
	t.op("CMPQ", "ahead+56(FP)", "$0")
	t.op("JNE", far)
	k.ahead = 0
	t.packedRows(k, n)
	t.ret()
	t.label(far)
}

// superblockBytes is the size of a superblock.
func (k packed) superblockBytes() int {
	if k.coding != nil && k.coding.headed() {
		return headerBytes + sliceCount*k.bytes
	}
	return k.bytes
}

// packedTile is the number of rows of activations in a tile.
func (t *asm) packedTile() int {
	if t.wide() {
		return 8
	}
	return 4
}

// packedConstants loads a mask into the last register and, for AVX2 without VNNI, sixteen ones
// into the last but one.
func (t *asm) packedConstants(k packed) {
	switch {
	case k.coding != nil && t.wide():
		t.wideConstants(k.coding)
		return
	case k.coding != nil:
		t.narrowConstants(k.coding)
		return
	}
	load, last := "VMOVDQU", t.v(15)
	if t.wide() {
		load, last = "VMOVDQU32", t.v(31)
	}
	switch {
	case t.vnni && k.kind == "Q8": // none
	case k.kind == "Q8W" && (t.wide() || t.vnni):
		t.op(load, t.bits(0x80808080), last)
	case k.kind == "Q8W":
	case k.kind == "Q4":
		t.op(load, t.bits(0x0f0f0f0f), last)
	case k.kind == "F16":
	case k.kind == "BF16":
		t.op(load, t.bits(0xffff0000), last)
	case !t.wide():
		t.op(load, t.bits(0x80808080), last)
	}
	if !k.floating() && !t.wide() && !t.vnni {
		t.op(load, t.bits(0x00010001), t.v(14))
	}
}

// packedRows emits the loop over panels for n rows of activations.
func (t *asm) packedRows(k packed, n int) {
	if t.computes(k, n) {
		t.op("MOVQ", "ahead+56(FP)", rFar)
		t.op("ADDQ", rWeights, rFar)
	}
	if k.floating() && n == 1 {
		t.fewPanels(k, 4)
	}
	loop, done := t.next("panel"), t.next("done")
	t.label(loop)
	t.op("TESTQ", rPanels, rPanels)
	t.op("JZ", done)
	t.panel(k, n)
	t.op("MOVQ", rW, rWeights)
	t.op("ADDQ", "$64", rDst)
	t.op("DECQ", rPanels)
	t.op("JMP", loop)
	t.label(done)
}

// panel emits one panel.
func (t *asm) panel(k packed, n int) {
	switch {
	case t.vnni && k.coding == nil:
		t.panelInDst(k, n, func() { (&vnniBlock{narrowBlock{asm: t, k: k, n: n}}).emit() })
	case t.wide() || n <= 2 || k.floating():
		t.packedPanel(k, n, 0, packedVectors(t))
	case k.kind == "Q4":
		t.nibblePanel(k, n)
	case k.coding != nil && t.short(k.coding):
		t.codedPanel(k, n)
	default:
		t.packedPanel(k, n, 0, 1)
		t.packedPanel(k, n, 1, 1)
	}
}

// packedVectors is the number of registers that hold 16 rows.
func packedVectors(t *asm) int { return 64 / t.bytes() }

// packedPanel emits one panel, or a half of it: parts vectors of rows of weights from
// part on. Register r*parts+p sums up row r of activations and part p.
func (t *asm) packedPanel(k packed, n, part, parts int) {
	loop := t.next("block")
	t.op("MOVQ", rWeights, rW)
	t.op("MOVQ", rActs, rA)
	t.op("MOVQ", rBlocks, rCount)
	for i := range n * parts {
		t.zero(t.v(i))
	}
	t.label(loop)
	header := func() {
		if part == 0 {
			t.prefetchOdd(k, n)
		}
	}
	t.superblock(k, n, rSlices, header, func() {
		switch {
		case k.floating():
			t.floatBlock(k, n, parts)
		case k.coding != nil && t.wide():
			(&wideSlice{wideBlock: wideBlock{asm: t, k: k, n: n}, c: k.coding}).emit()
		case k.coding != nil:
			(&narrowSlice{narrowBlock: narrowBlock{asm: t, k: k, n: n, part: part, parts: parts}, c: k.coding}).emit()
		case t.wide():
			(&wideBlock{asm: t, k: k, n: n}).emit()
		default:
			(&narrowBlock{asm: t, k: k, n: n, part: part, parts: parts}).emit()
		}
		if n == 1 {
			t.op("PREFETCHT0", mem(256, rA))
		}
		weights, acts := k.walked(n)
		t.op("ADDQ", imm(k.bytes-weights), rW)
		t.op("ADDQ", imm(4*k.words*n-acts), rA)
		if !k.floating() && k.parts() == 1 {
			t.bring(k, n, part)
		}
	})
	t.op("DECQ", rCount)
	t.op("JNZ", loop)
	t.op("MOVQ", rDst, rRow)
	for r := range n {
		if r > 0 {
			t.op("ADDQ", rStep, rRow)
		}
		for p := range parts {
			t.op("VMOVUPS", t.v(r*parts+p), mem((part+p)*t.bytes(), rRow))
		}
	}
}

// inParts emits a block of bytes, a part of which body multiplies.
func (t *asm) inParts(k packed, n, part int, body func()) {
	if k.parts() == 1 {
		body()
		return
	}
	loop, left := t.next("part"), rSlices
	if t.vnni { // rSlices points to a row of dst
		left = rSliceHead
	}
	weights, acts := k.walked(n)
	t.op("MOVQ", imm(k.parts()), left)
	t.label(loop)
	body()
	t.op("ADDQ", imm(weights/k.parts()), rW)
	t.op("ADDQ", imm(acts/k.parts()), rA)
	t.bring(k, n, part)
	t.op("DECQ", left)
	t.op("JNZ", loop)
}

// superblock emits body for 64 inputs and n rows of activations, or header and a loop over four
// slices. The register left counts them.
func (t *asm) superblock(k packed, n int, left string, header, body func()) {
	if k.coding == nil || !k.coding.headed() {
		body()
		return
	}
	loop := t.next("slice")
	t.op("MOVQ", rW, rSliceHead)
	switch {
	case t.wide():
		t.op("VCVTPH2PS", mem(0, rW), wideD)
		if k.coding.minima {
			t.op("VCVTPH2PS", mem(32, rW), wideDMin)
		}
	case n <= keptRows:
		t.narrowHeader(k.coding)
	}
	header()
	t.op("ADDQ", imm(headerBytes), rW)
	t.op("MOVQ", imm(sliceCount), left)
	t.label(loop)
	body()
	t.op("DECQ", left)
	t.op("JNZ", loop)
}

// prefetch prefetches a later cache line. If n rows of activations keep the arithmetic
// busier than the memory, it reaches far ahead, into the second-level cache; what comes from
// there, the caller says. Otherwise it supports the hardware's prefetching at a short distance,
// and at a long one if k.ahead is not 0. Distances are measured on Zen 4, Zen 5 and Emerald Rapids.
func (t *asm) prefetch(k packed, n, line int) {
	if t.computes(k, n) {
		t.op("PREFETCHT1", mem(64*line, rFar))
		return
	}
	short, long := 128, k.ahead
	switch {
	case t.wide() && long == 0:
		short = 320
	case !t.wide():
		long *= 2
	}
	t.op("PREFETCHT0", mem(short+64*line, rW))
	if long > 0 {
		t.op("PREFETCHT1", mem(long+64*line, rW))
	}
}

// prefetchOdd prefetches the line of a later superblock that is not one of its parts or slices: that
// of the scales after parts, or the header before slices, to which the pointer to the weights points.
// What is brought to the second level is beyond it.
func (t *asm) prefetchOdd(k packed, n int) {
	if t.computes(k, n) {
		t.prefetch(k, n, -1)
	} else {
		t.prefetch(k, n, 0)
	}
}

// prefetchScales prefetches the line of a later superblock's scales, number line.
func (t *asm) prefetchScales(k packed, n, line int) {
	if k.parts() > 1 {
		t.prefetchOdd(k, n)
	} else {
		t.prefetch(k, n, line)
	}
}

// busy is the number of rows of activations from which on a product takes longer than reading its
// weights does.
func (t *asm) busy(k packed) int {
	if t.wide() {
		return k.busy
	}
	return min(k.busy, 3)
}

// computes reports whether n rows of activations take longer than reading their weights does.
func (t *asm) computes(k packed, n int) bool { return n >= t.busy(k) }

// bring advances what is brought to the second level, on the first pass over the panel.
func (t *asm) bring(k packed, n, part int) {
	if part == 0 && t.computes(k, n) {
		t.op("ADDQ", "step+64(FP)", rFar)
	}
}
