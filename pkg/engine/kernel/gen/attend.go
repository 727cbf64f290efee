package main

import "fmt"

// Shape of attention, as in attend.go.
const (
	weighRows  = 6
	blockBytes = 4 * 128 // a row of a block's exponentials
	keyBytes   = 4 * 16  // a dimension of a panel of float32 keys, or a panel of scores
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
	for _, t.narrow = range []bool{true, false} {
		t.score()
		t.weigh()
		t.scoreRow()
		t.weighRow()
	}
	t.soften()
	if !t.wide() { // the other tier takes the same
		t.fetch()
		t.narrowAll()
	}
}

// kv adds the format of keys and values to the name of a routine.
func (t *asm) kv(name string) string {
	if t.narrow {
		return name + "BF16"
	}
	return name
}

// kvBytes returns the bytes of keys or values that take n as float32.
func (t *asm) kvBytes(n int) int {
	if t.narrow {
		return n / 2
	}
	return n
}

// kvShift returns the shift for bytes of keys or values, given that of float32.
func (t *asm) kvShift(n int) int {
	if t.narrow {
		return n - 1
	}
	return n
}

// loadKV loads a vector of keys or values.
func (t *asm) loadKV(addr, to string) {
	if !t.narrow {
		t.op("VMOVUPS", addr, to)
		return
	}
	t.op("VPMOVZXWD", addr, to)
	t.shift("$16", to, to)
}

// multiplyKV adds a vector of keys or values, times a factor, to a sum. A register is spare.
func (t *asm) multiplyKV(addr, factor, sum, spare string) {
	if t.narrow {
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
	loop := t.next("loop")
	t.label(loop)
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
	t.op("SUBQ", "$16", "CX")
	t.op("JNZ", loop)
	t.ret()
}

// fetch emits the prefetch of memory that is read soon.
func (t *asm) fetch() {
	p := "x *float32, lines int"
	t.fn("fetch", "asks for lines > 0 cache lines.", p)
	t.args(p, "SI", "CX")
	loop := t.next("loop")
	t.label(loop)
	t.op("PREFETCHT0", "(SI)")
	t.op("ADDQ", "$64", "SI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.op("RET")
}

// weigh emits the sums of values. Row 0 here is the last one, which sees the most
// tokens: all rows take the tokens that the first row sees, then all but that one take
// those that the second sees, and so on.
func (t *asm) weigh() {
	p := "sums, p, values, factors *float32, counts *int, rows, stride int"
	t.fn(t.kv("weigh"), fmt.Sprintf("computes sums = sums*factors (zero, if nil) + Σ p*values over the counts of each row; of sums, p, factors and counts it gets the last of 1 to %d rows; see weighGeneric.", weighRows), p)
	t.args(p, "DI", "SI", "R8", "R9", "R10", "R11", "R13")
	t.op("LEAQ", "(R13*4)", "R12")
	if t.narrow {
		t.op("LEAQ", "(R13*2)", "R15")
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
		t.op("ADDQ", imm(t.kvBytes(s.vectors*t.bytes())), "R8")
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
	t.op("MOVQ", "SI", "AX")
	t.op("MOVQ", "R8", "BX")
	t.op("XORL", "R14", "R14")
	for r := s.rows - 1; r >= 0; r-- {
		t.weighTokens(r, s, acc, value, factor)
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
	if r > 0 {
		t.op("CMPQ", "R11", imm(r))
		t.op("JLE", done)
	}
	t.op("MOVQ", mem(-8*r, "R10"), "CX")
	t.op("SUBQ", "R14", "CX")
	t.op("JLE", done)
	t.op("ADDQ", "CX", "R14")
	t.label(loop)
	if s.rows > 1 {
		for i := range s.vectors {
			t.loadKV(mem(t.kvBytes(i*t.bytes()), "BX"), value(i))
		}
	}
	for row := range r + 1 {
		t.op("VBROADCASTSS", mem(-blockBytes*row, "AX"), factor)
		for i := range s.vectors {
			if s.rows == 1 {
				t.multiplyKV(mem(t.kvBytes(i*t.bytes()), "BX"), factor, acc(row, i), value(1+i%2))
			} else {
				t.op("VFMADD231PS", value(i), factor, acc(row, i))
			}
		}
	}
	t.op("ADDQ", "$4", "AX")
	if t.narrow {
		t.op("ADDQ", "R15", "BX")
	} else {
		t.op("ADDQ", "R12", "BX")
	}
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.label(done)
}
