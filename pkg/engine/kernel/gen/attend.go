package main

import "fmt"

// Shape of attention, as in attend.go.
const (
	weighRows  = 6
	blockBytes = 4 * 128 // a row of a block's exponentials
	keyBytes   = 4 * 16  // a dimension of a panel of float32 keys, or a panel of scores
	nearKeys   = 128     // as in readahead.go
)

// A weighShape is a tile of weigh: up to so many rows, so many vectors of each.
type weighShape struct{ rows, vectors int }

// weighShapes: the first that fits is taken. One row has more vectors, to hide the
// latency of the multiply-adds.
func (t *asm) weighShapes() []weighShape {
	if t.wide() {
		return []weighShape{{2, 8}, {weighRows, 4}, {weighRows, 2}, {weighRows, 1}}
	}
	return []weighShape{{1, 8}, {1, 4}, {weighRows, 2}}
}

// attention emits the steps of a block of keys.
func (t *asm) attention() {
	for _, t.stored = range storedFormats {
		t.score()
		t.weigh()
		if t.stored != quarters {
			t.scoreRow()
			t.weighRow()
		}
	}
	if t.wide() {
		t.stored = dots
		t.score()
		t.weigh()
		t.pairUp()
		t.softenFull()
	}
	t.soften()
	if !t.wide() { // the other tier takes the same
		t.narrowAll()
		t.shrink()
	}
}

// A stored is the format of keys and values: package kernel's KVFormat, in its order.
type stored int

const (
	floats   stored = iota
	halves          // bfloat16
	quarters        // bytes; after a panel of keys are the 16 scales of them, and those of their values
	dots            // bfloat16, multiplied in pairs; not a KVFormat
)

var storedFormats = []stored{halves, quarters, floats}

// name adds the format to the name of a routine.
func (f stored) name(routine string) string { return routine + []string{"", "BF16", "Q8", "Dots"}[f] }

// bytes returns the bytes of keys or values that take n as float32.
func (f stored) bytes(n int) int { return n >> f.halvings() }

// shift returns the shift for bytes of keys or values, given that of float32.
func (f stored) shift(n int) int { return n - f.halvings() }

// halvings returns the logarithm of the share of float32's size.
func (f stored) halvings() int { return []int{0, 1, 2, 1}[f] }

// scales is the size of the scales after a panel of keys.
func (f stored) scales() int {
	if f == quarters {
		return 2 * keyBytes
	}
	return 0
}

// loadKV loads a vector of keys or values.
func (t *asm) loadKV(addr, to string) {
	switch t.stored {
	case floats:
		t.op("VMOVUPS", addr, to)
	case halves:
		t.op("VPMOVZXWD", addr, to)
		t.shift("$16", to, to)
	case quarters:
		t.op("VPMOVSXBD", addr, to)
		t.op("VCVTDQ2PS", to, to)
	}
}

// multiplyKV adds a vector of keys or values, times a factor, to a sum. A register is spare.
func (t *asm) multiplyKV(addr, factor, sum, spare string) {
	if t.stored != floats {
		t.loadKV(addr, spare)
		addr = spare
	}
	t.op("VFMADD231PS", addr, factor, sum)
}

// narrowAll emits the rounding to bfloat16: half of the last bit that stays, less a bit if that is
// even, is added before the others are dropped.
func (t *asm) narrowAll() {
	p := "dst *uint16, x *float32, n int"
	t.fn("narrow", "rounds n numbers, a multiple of 16, to bfloat16; see narrowGeneric.", p)
	t.args(p, "DI", "SI", "CX")
	t.op("VMOVUPS", t.bits(1), t.v(8))
	t.op("VMOVUPS", t.bits(0x7fff), t.v(9))
	t.op("VMOVUPS", t.bits(0x40), t.v(10))
	t.each16("CX", func() {
		for i := range 2 {
			x, high, nan := t.v(i), t.v(2+i), t.v(4+i)
			t.op("VMOVUPS", mem(32*i, "SI"), x)
			t.op("VCMPPS", "$3", x, x, nan) // unordered
			t.op("VPSRLD", "$16", x, high)
			t.op("VPAND", high, t.v(8), t.v(6))
			t.op("VPADDD", t.v(9), x, x)
			t.op("VPADDD", t.v(6), x, x)
			t.op("VPSRLD", "$16", x, x)
			t.op("VPOR", t.v(10), high, high)
			t.op("VBLENDVPS", nan, high, x, x)
		}
		t.op("VPACKUSDW", t.v(1), t.v(0), t.v(0))
		t.op("VPERMQ", "$0xd8", t.v(0), t.v(0))
		t.op("VMOVDQU", t.v(0), "(DI)")
		t.op("ADDQ", "$64", "SI")
		t.op("ADDQ", "$32", "DI")
	})
	t.ret()
}

const (
	shrinkParams = "dst *int8, x *float32, n int, scale *float32"
	shrinkDoc    = "writes x, n > 0 numbers, a multiple of 16, divided by a scale as bytes; see shrinkGeneric."
)

// shrink emits the rounding to bytes. Magnitudes compare as their bits do.
func (t *asm) shrink() {
	t.fn("shrink", shrinkDoc, shrinkParams)
	t.args(shrinkParams, "DI", "SI", "CX", "DX")
	t.op("VMOVUPS", t.bits(0x7fffffff), "Y15")
	t.zero("Y4")
	t.zero("Y5")
	t.op("MOVQ", "SI", "R8")
	t.op("MOVQ", "CX", "R9")
	t.each16("R9", func() {
		for i := range 2 {
			t.op("VPAND", mem(32*i, "R8"), "Y15", t.v(i))
			t.op("VPMAXUD", t.v(i), t.v(4+i), t.v(4+i))
		}
		t.op("ADDQ", "$64", "R8")
	})
	t.op("VPMAXUD", "Y5", "Y4", "Y4")
	strange, small, zero := t.next("strange"), t.next("small"), t.next("zero")
	t.divisor("(DX)", strange, small)
	t.each16("CX", func() {
		for i := range 2 {
			t.op("VMULPS", mem(32*i, "SI"), "Y6", t.v(i))
			t.op("VCVTPS2DQ", t.v(i), t.v(i))
		}
		t.op("VPACKSSDW", "Y1", "Y0", "Y0")
		t.op("VPERMQ", "$0xd8", "Y0", "Y0")
		t.op("VEXTRACTI128", "$1", "Y0", "X1")
		t.op("VPACKSSWB", "X1", "X0", "X0")
		t.op("VMOVDQU", "X0", "(DI)")
		t.op("ADDQ", "$64", "SI")
		t.op("ADDQ", "$16", "DI")
	})
	t.ret()
	t.label(strange)
	t.op("MOVL", "$0x7fc00000", "(DX)")
	t.op("JMP", zero)
	t.label(small)
	t.op("MOVL", "$0", "(DX)")
	t.label(zero)
	t.op("VPXOR", "X0", "X0", "X0")
	t.each16("CX", func() {
		t.op("VMOVDQU", "X0", "(DI)")
		t.op("ADDQ", "$16", "DI")
	})
	t.ret()
}

// each16 repeats body for every 16 of count, which is a multiple of it and not zero.
func (t *asm) each16(count string, body func()) {
	loop := t.next("loop")
	t.label(loop)
	body()
	t.op("SUBQ", "$16", count)
	t.op("JNZ", loop)
}

// weigh emits the sums of values. Row 0 here is the last one, which sees the most
// tokens: all rows take the tokens that the first row sees, then all but that one take
// those that the second sees, and so on.
func (t *asm) weigh() {
	p := "sums, p, values, factors *float32, counts *int, rows, stride, ahead int"
	t.fn(t.stored.name("weigh"), fmt.Sprintf("computes sums = sums*factors (zero, if nil) + Σ p*values over the counts of each row; of sums, p, factors and counts it gets the last of 1 to %d rows; see weighGeneric. It brings the values that are ahead bytes later.", weighRows), p)
	t.args(p, "DI", "AX", "R8", "R9", "R10", "R11", "R13", "SI")
	t.op("LEAQ", "(R13*4)", "R12")
	if t.stored != floats {
		t.op("LEAQ", fmt.Sprintf("(R13*%d)", t.stored.bytes(4)), "R15")
	}
	if t.stored == dots {
		t.holdPairing()
	}
	for _, s := range t.weighShapes() {
		start, end := t.next("shape"), t.next("end")
		if s.rows < weighRows {
			t.op("CMPQ", "R11", imm(s.rows))
			t.op("JGT", end)
		}
		t.label(start)
		t.op("CMPQ", "R13", imm(s.vectors*t.lanes))
		t.op("JLT", end)
		t.weighTile(s)
		t.op("ADDQ", imm(s.vectors*t.bytes()), "DI")
		t.op("ADDQ", imm(t.stored.bytes(s.vectors*t.bytes())), "R8")
		t.op("SUBQ", imm(s.vectors*t.lanes), "R13")
		t.op("JMP", start)
		t.label(end)
	}
	t.ret()
}

// weighTile emits one shape. Accumulator r*vectors+i holds row r, vector i.
func (t *asm) weighTile(s weighShape) {
	acc := func(r, i int) string { return t.v(r*s.vectors + i) }
	value := func(i int) string { return t.v(s.rows*s.vectors + i) }
	factor := value(s.vectors)
	if s.rows == 1 { // values are read where they are used
		factor = value(0)
	}
	fresh, begin, end := t.next("fresh"), t.next("begin"), t.next("end")
	t.op("TESTQ", "R9", "R9")
	t.op("JZ", fresh)
	t.eachRow(s.rows, begin, func(r int) {
		t.op("VBROADCASTSS", mem(-4*r, "R9"), factor)
		for i := range s.vectors {
			t.op("VMULPS", mem(i*t.bytes(), "DX"), factor, acc(r, i))
		}
	})
	t.op("JMP", begin)
	t.label(fresh)
	for i := range s.rows * s.vectors {
		t.zero(t.v(i))
	}
	t.label(begin)
	t.op("MOVQ", "p+8(FP)", "AX")
	t.op("MOVQ", "R8", "BX")
	t.op("MOVQ", "R8", "SI")
	t.op("ADDQ", "ahead+56(FP)", "SI")
	t.op("XORL", "R14", "R14")
	for r := s.rows - 1; r >= 0; r-- {
		if t.stored == dots {
			t.weighPairs(r, s, acc, value, factor)
		} else {
			t.weighTokens(r, s, acc, value, factor)
		}
	}
	t.eachRow(s.rows, end, func(r int) {
		for i := range s.vectors {
			t.op("VMOVUPS", acc(r, i), mem(i*t.bytes(), "DX"))
		}
	})
	t.label(end)
}

// eachRow emits body for every row that there is, with DX at its sums; end is the label
// behind.
func (t *asm) eachRow(rows int, end string, body func(r int)) {
	t.op("MOVQ", "DI", "DX")
	for r := range rows {
		if r > 0 {
			t.op("CMPQ", "R11", imm(r))
			t.op("JLE", end)
			t.op("SUBQ", "R12", "DX")
		}
		body(r)
	}
}

// weighTokens adds the tokens that row r sees and rows behind it do not, to rows 0 to r.
// R14 counts the tokens that are done.
func (t *asm) weighTokens(r int, s weighShape, acc func(r, i int) string, value func(i int) string, factor string) {
	loop, done := t.next("tokens"), t.next("done")
	t.tokensLeft(r, done)
	t.op("ADDQ", "CX", "R14")
	t.label(loop)
	t.bringTokens(s, 1)
	if s.rows > 1 {
		for i := range s.vectors {
			t.loadKV(mem(t.stored.bytes(i*t.bytes()), "BX"), value(i))
		}
	}
	for row := range r + 1 {
		t.op("VBROADCASTSS", mem(-blockBytes*row, "AX"), factor)
		for i := range s.vectors {
			if s.rows == 1 {
				t.multiplyKV(mem(t.stored.bytes(i*t.bytes()), "BX"), factor, acc(row, i), value(1+i%2))
			} else {
				t.op("VFMADD231PS", value(i), factor, acc(row, i))
			}
		}
	}
	t.op("ADDQ", "$4", "AX")
	stride := "R15"
	if t.stored == floats {
		stride = "R12"
	}
	t.op("ADDQ", stride, "BX")
	t.op("ADDQ", stride, "SI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.label(done)
}

// tokensLeft sets CX to the number of tokens that row r sees and that are not done, or jumps to done if
// there is no such row or token.
func (t *asm) tokensLeft(r int, done string) {
	if r > 0 {
		t.op("CMPQ", "R11", imm(r))
		t.op("JLE", done)
	}
	t.op("MOVQ", mem(-8*r, "R10"), "CX")
	t.op("SUBQ", "R14", "CX")
	t.op("JLE", done)
}

// bringTokens brings the values of n later tokens, from SI on, that lie at the distance in R15, or of one.
func (t *asm) bringTokens(s weighShape, n int) {
	for token := range n {
		for at := 0; at < t.stored.bytes(s.vectors*t.bytes()); at += 64 {
			t.op("PREFETCHT0", mem(at, "SI")+[]string{"", "(R15*1)"}[token])
		}
	}
}
