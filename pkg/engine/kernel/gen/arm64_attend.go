package main

import "fmt"

// attention emits the three steps of a block of keys, as those of amd64.
func (t *neon) attention() {
	t.score()
	t.soften()
	t.weigh()
}

// weigh emits the sums of values.
func (t *neon) weigh() {
	p := "sums, p, values, factors *float32, counts *int, rows, stride int"
	t.fn("weigh", fmt.Sprintf("computes sums = sums*factors (zero, if nil) + Σ p*values over the counts of each row; of sums, p, factors and counts it gets the last of 1 to %d rows; see weighGeneric.", weighRows), p)
	t.args(p, "R0 R1 R2 R3 R4 R5 R6")
	t.op("LSL", "$2", "R6", "R7")
	for _, s := range []weighShape{{1, 16}, {weighRows, 4}} {
		end := t.next("end")
		if s.rows < weighRows {
			t.op("CMP", imm(s.rows), "R5")
			t.op("BGT", end)
		}
		t.whole("R6", s.vectors*lane4, func() {
			t.weighTile(s)
			t.advance(s.vectors*vecBytes, "R0", "R2")
		})
		t.label(end)
	}
	t.ret()
}

// weighTile emits one shape. Accumulator r*vectors+i holds row r, vector i.
func (t *neon) weighTile(s weighShape) {
	acc := func(r int) []vec { return seq(r*s.vectors, s.vectors) }
	p := vec(s.rows * s.vectors) // of two rows by turns
	through := seq(int(p)+2, min(s.vectors, 6))
	fresh, begin, end := t.next("fresh"), t.next("begin"), t.next("end")
	t.op("CBZ", "R3", fresh)
	t.eachRow(s.rows, begin, func(r int) {
		t.op("FMOVS", mem(-4*r, "R3"), p.f())
		t.loadQ("R8", 0, acc(r)...)
		t.broadcast(p)
		for _, a := range acc(r) {
			t.do3("fmul", a, a, p)
		}
	})
	t.op("B", begin)
	t.label(fresh)
	for _, r := range seq(0, s.rows*s.vectors) {
		t.zero(r)
	}
	t.label(begin)
	t.op("SUB", imm((weighRows-1)*blockBytes), "R1", "R9") // offsets are not negative
	t.op("MOVD", "R2", "R10")
	t.op("MOVD", "ZR", "R11")
	for r := s.rows - 1; r >= 0; r-- {
		t.weighTokens(r, s, acc, p, through)
	}
	t.eachRow(s.rows, end, func(r int) { t.storeQ("R8", 0, acc(r)...) })
	t.label(end)
}

// eachRow emits body for every row that there is, with R8 at its sums; end is the label
// behind.
func (t *neon) eachRow(rows int, end string, body func(r int)) {
	t.op("MOVD", "R0", "R8")
	for r := range rows {
		if r > 0 {
			t.op("CMP", imm(r), "R5")
			t.op("BLE", end)
			t.op("SUB", "R7", "R8", "R8")
		}
		body(r)
	}
}

// weighTokens adds the tokens that row r sees and rows behind it do not, to rows 0 to r.
// R11 counts the tokens that are done.
func (t *neon) weighTokens(r int, s weighShape, acc func(r int) []vec, p vec, through []vec) {
	loop, done := t.next("tokens"), t.next("done")
	if r > 0 {
		t.op("CMP", imm(r), "R5")
		t.op("BLE", done)
	}
	t.op("MOVD", mem(-8*r, "R4"), "R12")
	t.op("SUBS", "R11", "R12", "R12")
	t.op("BLE", done)
	t.op("ADD", "R12", "R11", "R11")
	t.label(loop)
	if s.rows > 1 {
		t.loadQ("R10", 0, through...)
	}
	for row := range r + 1 {
		factor := p + vec(row%2)
		t.op("FMOVS", mem(blockBytes*(weighRows-1-row), "R9"), factor.f())
		if s.rows == 1 {
			t.stream("R10", 0, through, acc(row), factor, 0)
			continue
		}
		for i, a := range acc(row) {
			t.fmaLane(a, through[i], factor, 0)
		}
	}
	t.advance(4, "R9")
	t.op("ADD", "R7", "R10")
	t.op("SUBS", "$1", "R12", "R12")
	t.op("BNE", loop)
	t.label(done)
}

// stream adds to each accumulator the vector that lies in its place past the pointer,
// times one lane of b. The vectors pass through the given registers.
func (t *neon) stream(pointer string, off int, through, acc []vec, b vec, lane int) {
	for len(acc) > 0 {
		n := min(len(through), len(acc))
		t.loadQ(pointer, off, through[:n]...)
		for i, r := range acc[:n] {
			t.fmaLane(r, through[i], b, lane)
		}
		off, acc = off+n*vecBytes, acc[n:]
	}
}
