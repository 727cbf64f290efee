package main

import "fmt"

// transpose emits blocks of sixteen columns of up to sixteen rows, four columns at a
// time, in one version for each number of groups of four rows.
func (t *neon) transpose() {
	p := "dst *float32, ldd int, x *float32, ldx, blocks, rows int"
	t.fn("transpose", fmt.Sprintf("writes dst (%d*blocks, rows) from x (1 <= rows <= %d, %d*blocks), rows rounded up to fours; rows past the last repeat it; dst rows ascend, so a stride below that overwrites their excess; ldd, ldx in floats.", blockARM64, blockARM64, blockARM64), p)
	t.args(p, "R0 R1 R2 R3 R4 R5")
	t.op("LSL", "$2", "R1")
	t.op("LSL", "$2", "R3")
	t.op("LSL", "$2", "R4") // blocks of four columns
	t.byGroups("R5", t.transposeGroups)
}

// byGroups emits one version for each number of groups of four that up to sixteen fill.
func (t *neon) byGroups(count string, emit func(groups int)) {
	const most = blockARM64 / lane4
	var labels [most + 1]string
	for g := most; g > 1; g-- {
		labels[g] = t.next("groups")
		t.op("CMP", imm(lane4*(g-1)), count)
		t.op("BGT", labels[g])
	}
	for g := 1; g <= most; g++ {
		if g > 1 {
			t.label(labels[g])
		}
		emit(g)
		t.ret()
	}
}

// transposeGroups reads groups of four rows into V0 to V15 and writes four columns.
func (t *neon) transposeGroups(groups int) {
	t.whole("R4", 1, func() {
		t.op("MOVD", "R2", "R6")
		t.op("MOVD", "R3", "R7")
		for r := range groups * lane4 {
			t.op("FMOVQ", "(R6)", vec(r).f())
			if r == groups*lane4-1 {
				break
			}
			if r >= (groups-1)*lane4 {
				t.op("CMP", imm(r+1), "R5")
				t.op("CSEL", "EQ", "ZR", "R7", "R7")
			}
			t.op("ADD", "R7", "R6")
		}
		for g := range groups {
			t.transpose4(vec(g*lane4), vec(16+g*lane4))
		}
		for c := range lane4 {
			for g := range groups {
				t.op("FMOVQ", vec(g*lane4+c).f(), mem(g*vecBytes, "R0"))
			}
			t.op("ADD", "R1", "R0")
		}
		t.advance(vecBytes, "R2")
	})
}

// transpose4 transposes four registers by way of four others.
func (t *neon) transpose4(r, s vec) {
	for i := range vec(2) { // pairs of rows: columns 0 and 2 in one, 1 and 3 in the other
		t.op("VTRN1", (r + 2*i + 1).s4(), (r + 2*i).s4(), (s + 2*i).s4())
		t.op("VTRN2", (r + 2*i + 1).s4(), (r + 2*i).s4(), (s + 2*i + 1).s4())
	}
	for i := range vec(2) {
		t.op("VTRN1", (s + i + 2).d2(), (s + i).d2(), (r + i).d2())
		t.op("VTRN2", (s + i + 2).d2(), (s + i).d2(), (r + i + 2).d2())
	}
}

// copyBlock emits the copy of a column of vectors: the packing of columns that need not
// be transposed.
func (t *neon) copyBlock() {
	p := "dst *float32, ldd int, x *float32, ldx, n, width int"
	t.fn("copyBlock", fmt.Sprintf("writes n rows of width floats, 1 <= width <= %d, to dst; ldd, ldx in floats.", blockARM64), p)
	t.args(p, "R0 R1 R2 R3 R4 R5")
	t.op("LSL", "$2", "R1")
	t.op("LSL", "$2", "R3")
	small := t.next("small")
	t.op("CMP", imm(lane4), "R5")
	t.op("BLT", small)
	t.op("SUB", imm(lane4), "R5", "R8")
	t.op("ADD", "R8<<2", "R0", "R6") // the last vector, which may overlap the one before
	t.op("ADD", "R8<<2", "R2", "R7")
	t.byGroups("R5", func(groups int) {
		t.whole("R4", 1, func() {
			t.loadQ("R2", 0, seq(0, groups-1)...)
			t.op("FMOVQ", "(R7)", vec(groups).f())
			t.storeQ("R0", 0, seq(0, groups-1)...)
			t.op("FMOVQ", vec(groups).f(), "(R6)")
			for _, pair := range [][2]string{{"R1", "R0"}, {"R1", "R6"}, {"R3", "R2"}, {"R3", "R7"}} {
				t.op("ADD", pair[0], pair[1])
			}
		})
	})
	t.label(small)
	t.whole("R4", 1, func() {
		b := block{t: t, count: "R5", masked: true}
		b.load("R2", 0)
		b.store(0, "R0")
		t.op("ADD", "R1", "R0")
		t.op("ADD", "R3", "R2")
	})
	t.ret()
}

// peak emits independent multiply-adds, to measure the machine's limit.
func (t *neon) peak() {
	const many = 24
	t.rounds("peak", fmt.Sprintf("runs n rounds of %d independent multiply-adds; benchmarks relate to it.", many), many, func(r vec) {
		t.fma(r, many, many+1)
	})
}

// peakBytes emits independent multiply-adds of bytes, sixteen an instruction.
func (t *neon) peakBytes() {
	const many = 24
	t.rounds("peakBytes", fmt.Sprintf("runs n rounds of %d independent multiply-adds of 16 bytes; benchmarks relate to it.", many), many, func(r vec) {
		t.word("sdot v%d.4s, v%d.16b, v%d.4b[0]", r, many, many+1)
	})
}

// rounds emits a loop over an instruction for many registers, and zeros in these and two more.
func (t *neon) rounds(name, doc string, many int, emit func(r vec)) {
	p := "n int"
	t.fn(name, doc, p)
	t.args(p, "R0")
	for _, r := range seq(0, many+2) {
		t.zero(r)
	}
	loop := t.next("loop")
	t.label(loop)
	for _, r := range seq(0, many) {
		emit(r)
	}
	t.op("SUBS", "$1", "R0", "R0")
	t.op("BNE", loop)
	t.ret()
}
