package main

import "fmt"

// attention emits the three steps of a block of keys, as those of amd64.
func (t *neon) attention() {
	for _, t.stored = range storedFormats {
		t.score()
		t.weigh()
	}
	t.soften()
	t.narrowAll()
	t.shrink()
}

// loadKV loads vectors of keys or values that lie off bytes past a pointer as float32. Zeros below
// a bfloat16 make it one: zero is a register of them, and regs are a multiple of two.
func (t *neon) loadKV(pointer string, off int, zero vec, regs ...vec) {
	switch t.stored {
	case floats:
		t.loadQ(pointer, off, regs...)
	case halves:
		t.loadHalves(pointer, off/2, zero, regs)
	case quarters:
		for i := 0; i < len(regs); i += 2 {
			low, high := regs[i], regs[i+1]
			t.op("FMOVD", mem(off/4+8*(i/2), pointer), low.f())
			t.word("sxtl v%d.8h, v%d.8b", low, low)
			t.word("sxtl2 v%d.4s, v%d.8h", high, low)
			t.word("sxtl v%d.4s, v%d.4h", low, low)
			t.do2("scvtf", low, low)
			t.do2("scvtf", high, high)
		}
	}
}

// loadHalves is loadKV for bfloat16.
func (t *neon) loadHalves(pointer string, off int, zero vec, regs []vec) {
	var narrow, high []vec
	for i := 0; i < len(regs); i += 2 {
		narrow, high = append(narrow, regs[i]), append(high, regs[i+1])
	}
	t.loadQ(pointer, off, narrow...)
	for i, r := range narrow {
		t.op("VZIP2", r.h8(), zero.h8(), high[i].h8())
		t.op("VZIP1", r.h8(), zero.h8(), r.h8())
	}
}

// narrowAll is as that of amd64.
func (t *neon) narrowAll() {
	p := "dst *uint16, x *float32, n int"
	t.fn("narrow", "rounds n numbers, a multiple of 16, to bfloat16; see narrowGeneric.", p)
	t.args(p, "R0 R1 R2")
	t.base()
	t.bits(1, 16)
	t.bits(0x7fff, 17)
	t.bits(0x40, 18)
	t.whole("R2", 16, func() {
		t.loadQ("R1", 0, seq(0, 4)...)
		for x := range vec(4) {
			high, low, real := x+4, x+8, x+12
			t.word("fcmge v%d.4s, v%d.4s, v%d.4s", real, x, x) // false for a NaN
			t.op("VUSHR", "$16", x.s4(), high.s4())
			t.op("VAND", high.b16(), vec(16).b16(), low.b16())
			t.op("VADD", x.s4(), vec(17).s4(), x.s4())
			t.op("VADD", x.s4(), low.s4(), x.s4())
			t.op("VUSHR", "$16", x.s4(), x.s4())
			t.op("VORR", high.b16(), vec(18).b16(), high.b16())
			t.op("VBIT", real.b16(), x.b16(), high.b16())
		}
		for i := range vec(2) {
			t.op("VUZP1", (5 + 2*i).h8(), (4 + 2*i).h8(), i.h8())
		}
		t.storeQ("R0", 0, 0, 1)
		t.advance(32, "R0")
		t.advance(64, "R1")
	})
	t.ret()
}

// shrink is as that of amd64.
func (t *neon) shrink() {
	t.fn("shrink", shrinkDoc, shrinkParams)
	t.args(shrinkParams, "R0 R1 R2 R4")
	t.load127()
	t.op("MOVD", "R1", "R5")
	t.op("MOVD", "R2", "R6")
	t.zero(8)
	t.whole("R6", 16, func() {
		t.loadQ("R5", 0, seq(0, 4)...)
		for _, r := range seq(0, 4) {
			t.do2("fabs", r, r)
			t.op("VUMAX", r.s4(), vec(8).s4(), vec(8).s4())
		}
		t.advance(64, "R5")
	})
	strange, zero, clear, done := t.next("strange"), t.next("zero"), t.next("clear"), t.next("done")
	t.divisor("(R4)", strange, zero)
	t.whole("R2", 16, func() {
		t.loadQ("R1", 0, seq(0, 4)...)
		for _, r := range seq(0, 4) {
			t.word("fmul v%d.4s, v%d.4s, v9.s[0]", r, r)
			t.do2("fcvtns", r, r)
		}
		t.op("VUZP1", "V1.H8", "V0.H8", "V0.H8")
		t.op("VUZP1", "V3.H8", "V2.H8", "V2.H8")
		t.op("VUZP1", "V2.B16", "V0.B16", "V0.B16")
		t.op("FMOVQ", "F0", "(R0)")
		t.advance(64, "R1")
		t.advance(16, "R0")
	})
	t.op("B", done)
	t.label(strange)
	t.op("MOVD", "$0x7fc00000", "R3")
	t.op("B", clear)
	t.label(zero)
	t.op("MOVD", "$0", "R3")
	t.label(clear)
	t.op("MOVW", "R3", "(R4)")
	t.zero(0)
	t.whole("R2", 16, func() {
		t.op("FMOVQ", "F0", "(R0)")
		t.advance(16, "R0")
	})
	t.label(done)
	t.ret()
}

// Registers that are zero while bfloat16 is widened.
const (
	weighZero = vec(31)
	scoreZero = vec(28)
)

// weigh emits the sums of values.
func (t *neon) weigh() {
	p := "sums, p, values, factors *float32, counts *int, rows, stride int"
	t.fn(t.stored.name("weigh"), fmt.Sprintf("computes sums = sums*factors (zero, if nil) + Σ p*values over the counts of each row; of sums, p, factors and counts it gets the last of 1 to %d rows; see weighGeneric.", weighRows), p)
	t.args(p, "R0 R1 R2 R3 R4 R5 R6")
	t.op("LSL", "$2", "R6", "R7")
	t.op("LSL", imm(t.stored.shift(2)), "R6", "R13")
	if t.stored == halves {
		t.zero(weighZero)
	}
	for _, s := range []weighShape{{1, 16}, {weighRows, 4}} {
		end := t.next("end")
		if s.rows < weighRows {
			t.op("CMP", imm(s.rows), "R5")
			t.op("BGT", end)
		}
		t.whole("R6", s.vectors*lane4, func() {
			t.weighTile(s)
			t.advance(s.vectors*vecBytes, "R0")
			t.advance(t.stored.bytes(s.vectors*vecBytes), "R2")
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
		t.loadKV("R10", 0, weighZero, through...)
	}
	for row := range r + 1 {
		factor := p + vec(row%2)
		t.op("FMOVS", mem(blockBytes*(weighRows-1-row), "R9"), factor.f())
		if s.rows == 1 {
			t.streamKV("R10", through, acc(row), factor)
			continue
		}
		for i, a := range acc(row) {
			t.fmaLane(a, through[i], factor, 0)
		}
	}
	t.advance(4, "R9")
	t.op("ADD", "R13", "R10")
	t.op("SUBS", "$1", "R12", "R12")
	t.op("BNE", loop)
	t.label(done)
}

// streamKV is stream for values.
func (t *neon) streamKV(pointer string, through, acc []vec, factor vec) {
	if t.stored == floats {
		t.stream(pointer, 0, through, acc, factor, 0)
		return
	}
	for off := 0; len(acc) > 0; {
		n := min(len(through), len(acc))
		t.loadKV(pointer, off, weighZero, through[:n]...)
		for i, r := range acc[:n] {
			t.fmaLane(r, through[i], factor, 0)
		}
		off, acc = off+n*vecBytes, acc[n:]
	}
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
