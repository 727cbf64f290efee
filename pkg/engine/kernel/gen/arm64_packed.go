package main

import "fmt"

// Rows of activations in the widest tile of packed products.
const (
	packedDotprod = 8
	packedNEON    = 4 // without SDOT, of which a product of bytes takes four
)

// packedChunk is the number of superblocks of a panel that a tile passes over before
// it takes the next: so few that both stay in a first-level cache of 64 KiB.
var packedChunk = map[string]int{"Q8": 16, "Q4": 16, "Q8W": 8, "BF16": 8, "F16": 8}

// chunk is packedChunk of a kind.
func (t *packedTile) chunk() int {
	switch {
	case t.headed():
		return 4
	case t.k.coding != nil:
		return 16
	}
	return packedChunk[t.k.kind]
}

// headed reports whether superblocks have a header.
func (t *packedTile) headed() bool { return t.k.coding != nil && t.k.coding.headed() }

// scaleBytes is the size of a scale.
func (k packed) scaleBytes() int {
	if k.coding != nil {
		return k.coding.scaleBytes()
	}
	return 2
}

// packedProducts emits the products with packed weights of these kinds.
func (t *neon) packedProducts(kinds []packed, rows int) {
	for _, k := range kinds {
		p := "dst *float32, ldd int, w *byte, act *float32, blocks, panels, rows int"
		t.fn("tile"+k.kind, fmt.Sprintf("computes dst (rows <= %d, 16*panels) = act · w; see span.", rows), p)
		t.args(p, "R0 R1 R2 R3 R4 R5 R6")
		t.op("LSL", "$2", "R1")
		labels := make([]string, rows+1)
		for n := rows; n > 1; n-- {
			labels[n] = t.next("rows")
			t.op("CMP", imm(n), "R6")
			t.op("BEQ", labels[n])
		}
		for n := 1; n <= rows; n++ {
			if n > 1 {
				t.label(labels[n])
			}
			newPackedTile(t, k, n).emit()
			t.ret()
		}
	}
}

// A packedTile emits the product of n rows of activations with the 16 rows of a panel
// of weights. Parts vectors of four rows of weights are added up at once, in 4/parts
// passes over a chunk of superblocks; sums stay in dst from chunk to chunk.
//
//	R0       dst, advancing by panels
//	R1       the distance of its rows in bytes
//	R2       weights, advancing by chunks and panels
//	R3, R4   activations; superblocks of a panel
//	R5       panels that are left
//	R7, R8   superblocks of the panel that are left, and of the chunk
//	R9       passes that are left
//	R10, R11 the weights of a block, and its scales
//	R12, R13 its words of activations, and the word with their scale
//	R14, R19 superblocks of the pass and blocks of the superblock that are left
//	R20      activations of the chunk
//	R21      dst of the pass
//	R22, R24 weights and scales of the pass
//	R23      whether dst holds sums
type packedTile struct {
	*neon
	k        packed
	n, parts int
	sums     []vec // (row, part)
}

// newPackedTile divides the registers: 16 for the sums of BF16 and F16, or 8 for the sums and 8
// for the whole-number products of a block.
func newPackedTile(t *neon, k packed, n int) *packedTile {
	most := 8
	if k.floating() {
		most = 16
	}
	parts := 4
	for n*parts > most {
		parts /= 2
	}
	return &packedTile{neon: t, k: k, n: n, parts: parts, sums: seq(0, n*parts)}
}

// at is register r*parts+p.
func (t *packedTile) at(registers []vec, r, p int) vec { return registers[r*t.parts+p] }

// emit emits the loop over panels.
func (t *packedTile) emit() {
	t.masks()
	t.whole("R5", 1, func() {
		chunk := t.next("chunk")
		t.op("MOVD", "R4", "R7")
		t.op("MOVD", "R3", "R20")
		t.op("MOVD", "$0", "R23")
		t.label(chunk)
		t.op("MOVD", imm(t.chunk()), "R8")
		t.op("CMP", "R8", "R7")
		t.op("CSEL", "LT", "R7", "R8", "R8")
		t.op("MOVD", "R2", "R22")
		t.op("ADD", imm(t.k.scales), "R2", "R24")
		if t.headed() {
			t.op("MOVD", "R2", codedPassHead)
		}
		t.op("MOVD", "R0", "R21")
		t.passes()
		t.op("SUB", imm(t.stripe(4)-t.stripe(t.parts)), "R10", "R2")
		t.op("MOVD", "R12", "R20")
		t.op("MOVD", "$1", "R23")
		t.op("SUBS", "R8", "R7", "R7")
		t.op("BNE", chunk)
		t.advance(panelRowBytes, "R0")
	})
}

// panelRowBytes is the size of a row of a panel's results, and of four inputs of its
// rows of weights.
const panelRowBytes = 64

// width is the size of the parts of a pass.
func (t *packedTile) width() int { return t.parts * vecBytes }

// stripe is the size of what lies together of so many parts of weights.
func (t *packedTile) stripe(parts int) int {
	if t.k.kind == "F16" {
		return parts * vecBytes / 2
	}
	return parts * vecBytes
}

// passes emits the passes over a chunk.
func (t *packedTile) passes() {
	pass, block, fresh, start := t.next("pass"), t.next("superblock"), t.next("fresh"), t.next("start")
	if t.parts < 4 {
		t.op("MOVD", imm(4/t.parts), "R9")
		t.label(pass)
	}
	for _, pair := range [][2]string{{"R22", "R10"}, {"R24", "R11"}, {"R20", "R12"}, {"R8", "R14"}} {
		t.op("MOVD", pair[0], pair[1])
	}
	if t.headed() {
		t.op("MOVD", codedPassHead, codedHead)
	}
	t.op("CBZ", "R23", fresh)
	t.rows(t.loadQ)
	t.op("B", start)
	t.label(fresh)
	for _, r := range t.sums {
		t.zero(r)
	}
	t.label(start)
	t.label(block)
	switch {
	case t.k.coding != nil:
		t.coded()
	case t.k.floating():
		t.floats()
	default:
		t.quantized()
	}
	t.op("SUBS", "$1", "R14", "R14")
	t.op("BNE", block)
	t.rows(t.storeQ)
	if t.parts < 4 {
		t.advance(t.width(), "R21")
		t.advance(t.stripe(t.parts), "R22")
		t.advance(t.width()/4*t.k.scaleBytes(), "R24")
		if t.headed() {
			t.advance(t.width()/2, codedPassHead)
		}
		t.op("SUBS", "$1", "R9", "R9")
		t.op("BNE", pass)
	}
}

// rows loads or stores the sums of a pass.
func (t *packedTile) rows(move func(pointer string, off int, regs ...vec)) {
	t.op("MOVD", "R21", "R15")
	for r := range t.n {
		move("R15", 0, t.sums[r*t.parts:][:t.parts]...)
		if r < t.n-1 {
			t.op("ADD", "R1", "R15")
		}
	}
}

// A words is a register through which the words of activations pass in their order.
type words struct {
	t        *packedTile
	register vec
	held     int // the vector that it holds
}

func (t *packedTile) words(register vec) *words { return &words{t: t, register: register, held: -1} }

// lane loads word i past R12, if it is not there, and returns its lane.
func (w *words) lane(i int) int {
	if i/lane4 != w.held {
		w.held = i / lane4
		w.t.loadQ("R12", vecBytes*w.held, w.register)
	}
	return i % lane4
}
