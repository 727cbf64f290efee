package main

// bothSlice multiplies a slice. Two registers hold the 16 rows of weights, so that there are more
// products than loads, and registers 0 to 7 the whole-number products of a sub-block, (row, vector).
// The sums stay in dst.
func (e *expanded) bothSlice(n int) {
	b := &narrowSlice{narrowBlock: narrowBlock{asm: e.asm, k: e.k, n: n}, c: &e.c}
	line := 0
	for sub := range 64 / e.c.sub {
		e.bothBegin(b, sub)
		for i, q := range e.c.quarters(sub) {
			for p := range 2 {
				e.op("VMOVDQU", mem(64*line+32*p, rW), e.v(8+p))
			}
			for r := range n {
				act := e.v(10 + r%2)
				e.op("VPBROADCASTD", b.word(q.word(), r), act)
				for p := range 2 {
					e.bothProducts(b, act, e.v(8+p), e.v(2*r+p), e.v(12+p), i == 0)
				}
			}
			line++
		}
		e.bothAdd(b, sub)
	}
	e.op("ADDQ", imm(e.bytes()), rW)
	e.op("ADDQ", imm(4*codedWords*n), rA)
}

// bothProducts adds the products of four inputs to dot, those of AVX2 in 16 bits, of which the first
// replace what was there.
func (e *expanded) bothProducts(b *narrowSlice, act, weights, dot, temp string, first bool) {
	switch {
	case e.vnni:
		e.dpbusd(act, weights, dot)
	case first:
		e.op("VPMADDUBSW", act, weights, dot)
	default:
		e.op("VPMADDUBSW", act, weights, temp)
		e.op("VPADDW", temp, dot, dot)
	}
}

// bothBegin sets the products to what undoes the offset of the codes, unless they are added in 16
// bits.
func (e *expanded) bothBegin(b *narrowSlice, sub int) {
	for r := range b.n {
		first, second := e.v(2*r), e.v(2*r+1)
		switch {
		case b.unset():
		case e.c.offset == 0:
			e.zero(first)
			e.zero(second)
		default:
			b.offset(sub, r, first)
			e.op("VMOVDQA", first, second)
		}
	}
}

// bothWhole turns the products of row r, if they are added in 16 bits, into whole numbers without the
// offset of the codes.
func (e *expanded) bothWhole(b *narrowSlice, sub, r int) {
	const undo = "Y10"
	if !b.short() {
		return
	}
	if e.c.offset > 0 {
		b.offset(sub, r, undo)
	}
	for p := range 2 {
		dot := e.v(2*r + p)
		e.op("VPMADDWD", narrowOnes, dot, dot)
		if e.c.offset > 0 {
			e.op("VPADDD", undo, dot, dot)
		}
	}
}

// bothAdd adds the products of a sub-block to the sums and subtracts the minima, as
// narrowSlice does.
func (e *expanded) bothAdd(b *narrowSlice, sub int) {
	const act, by, more = "Y10", "Y11", "Y15"
	half := sub * e.c.sub / 32
	for p := range 2 {
		e.op("VMOVUPS", mem(e.scalesAt(sub)+32*p, rW), e.v(8+p))
		if e.c.minima {
			e.op("VMOVUPS", mem(e.minimaAt(sub)+32*p, rW), e.v(12+p))
		}
	}
	for r := range b.n {
		e.bothWhole(b, sub, r)
		e.op("VBROADCASTSS", b.word(scaleWord+half, r), act)
		switch {
		case !e.c.minima:
		case e.c.sub == 32:
			e.op("VBROADCASTSS", b.word(shiftWord+half, r), more)
		default:
			e.op("VPBROADCASTD", b.word(sumWord+sub, r), more)
			e.op("VCVTDQ2PS", more, more)
		}
		for p := range 2 {
			dot, sum := e.v(2*r+p), mem(32*p, rowPointers[r])
			e.op("VCVTDQ2PS", dot, dot)
			e.op("VMULPS", e.v(8+p), act, by)
			e.op("VFMADD213PS", sum, by, dot)
			switch {
			case !e.c.minima:
			case e.c.sub == 32:
				e.op("VFMADD231PS", more, e.v(12+p), dot)
			default:
				e.op("VMULPS", e.v(12+p), act, by)
				e.op("VFMADD231PS", by, more, dot)
			}
			e.op("VMOVUPS", dot, sum)
		}
	}
}
