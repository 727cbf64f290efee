package main

import (
	"fmt"
	"slices"
)

// Products of many rows with coded kinds: a part of a panel is taken apart once for all tiles
// of activations. An expanded slice of 64 inputs has lines of four inputs, (row, input) bytes,
// in the order of the quarters of its sub-blocks, each followed by a line of absolute values if they
// have signs on AVX2, and then the scales and the minima, both
// (sub-block, row) float32.
//
// With AVX-512, codes have what makes their offset 128: so sums of activations undo it for
// all kinds alike.
type expanded struct {
	*asm
	k packed // a kind that is expanded in this way
	c coding // what of its coding is left
}

// expanded returns what is left of a coding: the products of kinds with the same are the same.
func (t *asm) expanded(k packed) *expanded {
	c := coding{sub: k.coding.sub, minima: k.coding.minima}
	switch {
	case t.wide() && !c.minima:
		c.offset = 128
	case !t.wide():
		c.offset, c.low = k.coding.excess(), 6
		if t.short(k.coding) {
			c.low = 4
		}
		if t.signed(k.coding) {
			c.levels = k.coding.levels
		}
	}
	return &expanded{t, k, c}
}

// name is part of the routine's name.
func (e *expanded) name() string {
	name := fmt.Sprintf("Expanded%d", e.c.sub)
	if e.c.minima {
		name += "Minima"
	}
	if e.c.offset > 0 && !e.wide() {
		name += fmt.Sprintf("Offset%d", e.c.offset)
	}
	if e.c.low == 4 {
		name += "Short" // products are added in 16 bits
	}
	if e.c.levels != nil {
		name += "Signed"
	}
	return name
}

// lineBytes is the size of four inputs of an expanded slice: weights with signs have their absolute
// values after them.
func (e *expanded) lineBytes() int {
	if e.c.levels != nil {
		return 128
	}
	return 64
}

// Offsets in an expanded slice.
func (e *expanded) scalesAt(sub int) int { return 16*e.lineBytes() + 64*sub }
func (e *expanded) minimaAt(sub int) int { return e.scalesAt(64/e.c.sub + sub) }

// bytes is the size of an expanded slice.
func (e *expanded) bytes() int {
	if e.c.minima {
		return e.minimaAt(64 / e.c.sub)
	}
	return e.minimaAt(0)
}

// expandedKinds returns the kinds that are expanded: not those of 4 bits on AVX-512, nor levels on
// AVX-VNNI, which take them apart as fast as they load them.
func (t *asm) expandedKinds() (list []packed) {
	for _, k := range codedKinds {
		if four := k.coding.low+k.coding.high == 4; !four || !t.wide() && (k.coding.levels == nil || !t.vnni) {
			list = append(list, k)
		}
	}
	return list
}

// expandedProducts emits the products with expanded panels and what expands each kind, unless
// that is another instruction set's: AVX-VNNI's panels are those of AVX2.
func (t *asm) expandedProducts() {
	var done []string
	for _, k := range t.expandedKinds() {
		e := t.expanded(k)
		if !t.vnni {
			e.expand()
		}
		if name := e.name(); !slices.Contains(done, name) {
			done = append(done, name)
			e.tiles()
		}
	}
	if !t.vnni {
		t.byKind(t.expandedKinds(), "expands superblocks of a panel.", "expand"+t.name+"(kind Kind, dst []float32, w []byte, blocks, ahead int)", "to, from := sd(dst), unsafe.SliceData(w)", func(k packed) string {
			return fmt.Sprintf("expand%s%s(to, from, blocks, ahead)", k.kind, t.name)
		})
	}
	t.dispatchTiles("tileExpanded", t.expandedKinds(), func(k packed) string { return t.expanded(k).name() })
}

// expand emits the routine that expands superblocks of a panel.
func (e *expanded) expand() {
	p := "dst *float32, w *byte, blocks, ahead int"
	e.fn("expand"+e.k.kind, "expands superblocks of a panel of "+e.k.kind+" weights, and brings those ahead bytes after them.", p)
	e.args(p, rDst, rW, rCount, rFar)
	e.packedConstants(e.k)
	loop := e.next("superblock")
	e.label(loop)
	bring := func(line int) { e.op("PREFETCHT1", fmt.Sprintf("%s(%s*1)", mem(64*line, rW), rFar)) }
	e.superblock(e.k, 0, rSlices, func() { bring(0) }, func() {
		for line := range e.k.bytes / 64 {
			bring(line)
		}
		if e.wide() {
			e.expandWide()
		} else {
			e.expandNarrow()
		}
		e.op("ADDQ", imm(e.k.bytes), rW)
		e.op("ADDQ", imm(e.bytes()), rDst)
	})
	e.op("DECQ", rCount)
	e.op("JNZ", loop)
	e.ret()
}

func (e *expanded) expandWide() {
	b := &wideSlice{wideBlock: wideBlock{asm: e.asm, k: e.k}, c: e.k.coding}
	b.forget()
	line := 0
	for sub := range 64 / e.c.sub {
		for _, q := range e.k.coding.quarters(sub) {
			codes := b.codes(q)
			if add := 128 - e.k.coding.offset; e.c.offset > 0 {
				e.op("VPADDB", e.bits(uint32(add)*0x01010101), codes, codes)
			}
			e.op("VMOVDQU32", codes, mem(64*line, rDst))
			line++
		}
		b.multipliers(sub)
		e.op("VMOVUPS", wideScale, mem(e.scalesAt(sub), rDst))
		if e.c.minima {
			e.op("VMOVUPS", wideMin, mem(e.minimaAt(sub), rDst))
		}
	}
}

func (e *expanded) expandNarrow() {
	for p := range 2 {
		b := &narrowSlice{narrowBlock: narrowBlock{asm: e.asm, k: e.k, parts: 1, part: p}, c: e.k.coding}
		line := 0
		for sub := range 64 / e.c.sub {
			for _, q := range e.k.coding.quarters(sub) {
				b.load(q, 0, narrowWeights)
				e.op("VMOVDQU", narrowWeights, mem(e.lineBytes()*line+32*p, rDst))
				if e.c.levels != nil {
					e.op("VPABSB", narrowWeights, narrowMore)
					e.op("VMOVDQU", narrowMore, mem(e.lineBytes()*line+64+32*p, rDst))
				}
				line++
			}
			b.multipliers(sub, 0)
			e.op("VMOVUPS", narrowWeights, mem(e.scalesAt(sub)+32*p, rDst))
			if e.c.minima {
				e.op("VMOVUPS", narrowMore, mem(e.minimaAt(sub)+32*p, rDst))
			}
		}
	}
}

// Registers of the tiles, as far as they are not those of other packed products.
const rExpandedStride, rExpandedTiles = "R9", "R11"

// tiles emits the products of tiles with an expanded part of a panel.
func (e *expanded) tiles() {
	least := 3
	if e.wide() {
		least = 6
	}
	p := "dst *float32, ldd int, w, act *float32, stride, blocks, tiles, rows, more int"
	e.fn("tile"+e.name(), fmt.Sprintf("computes dst (tiles * rows, 16) from an expanded panel and tiles of %d to %d rows, stride bytes apart, or adds to it.", least, e.packedTile()), p)
	e.args(p, rDst, rStep, rWeights, rActs, rExpandedStride, rBlocks, rExpandedTiles, rRows, rCount)
	e.op("SHLQ", "$2", rStep)
	if !e.wide() && !e.vnni {
		e.op("VMOVDQU", e.bits(0x00010001), narrowOnes)
	}
	labels := make([]string, e.packedTile()+1)
	for n := least + 1; n < len(labels); n++ {
		labels[n] = e.next("rows")
		e.op("CMPQ", rRows, imm(n))
		e.op("JEQ", labels[n])
	}
	for n := least; n < len(labels); n++ {
		if n > least {
			e.label(labels[n])
		}
		if !e.wide() {
			e.tilesInDst(n, rWeights, rActs, rExpandedStride, rExpandedTiles, func() { e.bothSlice(n) })
		} else {
			e.tilesOf(n)
		}
		e.ret()
	}
}

// tilesOf emits the loop over tiles of n rows with AVX-512. The sums stay in registers.
func (e *expanded) tilesOf(n int) {
	tile, loop, fresh, start := e.next("tile"), e.next("slice"), e.next("fresh"), e.next("start")
	rows := func(each func(r int)) {
		e.op("MOVQ", rDst, rRow)
		for r := range n {
			if r > 0 {
				e.op("ADDQ", rStep, rRow)
			}
			each(r)
		}
	}
	e.label(tile)
	e.op("MOVQ", rWeights, rW)
	e.op("MOVQ", rActs, rA)
	e.op("MOVQ", rBlocks, rCount)
	e.op("CMPQ", "more+64(FP)", "$0")
	e.op("JEQ", fresh)
	rows(func(r int) { e.op("VMOVUPS", mem(0, rRow), e.v(r)) })
	e.op("JMP", start)
	e.label(fresh)
	for r := range n {
		e.zero(e.v(r))
	}
	e.label(start)
	e.op("MOVQ", rDst, rRow)
	for range n {
		e.op("ADDQ", rStep, rRow)
	}
	for range n { // the next tile
		e.op("PREFETCHT0", "("+rRow+")")
		e.op("ADDQ", rStep, rRow)
	}
	e.label(loop)
	e.wideProducts(n)
	e.op("ADDQ", imm(e.bytes()), rW)
	e.op("ADDQ", imm(4*codedWords*n), rA)
	e.op("DECQ", rCount)
	e.op("JNZ", loop)
	rows(func(r int) { e.op("VMOVUPS", e.v(r), mem(0, rRow)) })
	for range n {
		e.op("ADDQ", rStep, rDst)
	}
	e.op("ADDQ", rExpandedStride, rActs)
	e.op("DECQ", rExpandedTiles)
	e.op("JNZ", tile)
}

// wideProducts multiplies a slice.
func (e *expanded) wideProducts(n int) {
	b := &wideSlice{wideBlock: wideBlock{asm: e.asm, k: e.k, n: n}, c: &e.c}
	line := 0
	for sub := range 64 / e.c.sub {
		b.begin(sub)
		for _, q := range e.c.quarters(sub) {
			codes := b.v(wideCodes + line%3)
			e.op("VMOVDQU32", mem(64*line, rW), codes)
			b.multiply(q, codes)
			line++
		}
		e.op("VMOVUPS", mem(e.scalesAt(sub), rW), wideScale)
		if e.c.minima {
			e.op("VMOVUPS", mem(e.minimaAt(sub), rW), wideMin)
		}
		b.add(sub)
	}
}
