package main

import "fmt"

// Shape of attention, as in attend.go.
const (
	weighRows  = 6
	blockBytes = 4 * 128 // a row of a block's exponentials
	keyBytes   = 4 * 16  // a dimension of a panel of keys
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
	t.score()
	t.soften()
	t.weigh()
	t.scoreRow()
	t.weighRow()
	if !t.wide() { // the other tier takes the same
		t.fetch()
	}
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
	t.fn("weigh", fmt.Sprintf("computes sums = sums*factors (zero, if nil) + Σ p*values over the counts of each row; of sums, p, factors and counts it gets the last of 1 to %d rows; see weighGeneric.", weighRows), p)
	t.args(p, "DI", "SI", "R8", "R9", "R10", "R11", "R13")
	t.op("LEAQ", "(R13*4)", "R12")
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
		for _, r := range []string{"DI", "R8"} {
			t.op("ADDQ", imm(s.vectors*t.bytes()), r)
		}
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
			t.op("VMOVUPS", mem(i*t.bytes(), "BX"), value(i))
		}
	}
	for row := range r + 1 {
		t.op("VBROADCASTSS", mem(-blockBytes*row, "AX"), factor)
		for i := range s.vectors {
			if s.rows == 1 {
				t.op("VFMADD231PS", mem(i*t.bytes(), "BX"), factor, acc(row, i))
			} else {
				t.op("VFMADD231PS", value(i), factor, acc(row, i))
			}
		}
	}
	t.op("ADDQ", "$4", "AX")
	t.op("ADDQ", "R12", "BX")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.label(done)
}
