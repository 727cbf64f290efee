package main

import (
	"fmt"
	"math"
)

// score goes through the panels, and for each through the rows; a row alone takes two
// panels. Registers: R0 a panel's place in dst, R9 a row's; R10 to R12 the rows of q;
// R13 and R14 the keys.
func (t *neon) score() {
	const panel = keyBytes / vecBytes // vectors
	p := "dst, q, keys *float32, dim, panels, rows int"
	t.fn(t.stored.name("score"), scoreDoc, p)
	t.args(p, "R0 R1 R2 R3 R4 R5")
	t.op("LSL", "$2", "R3", "R6")
	if t.stored == halves {
		t.zero(scoreZero)
	}
	many := t.next("many")
	t.op("CMP", "$1", "R5")
	t.op("BGT", many)
	t.scorePanels(scoreShape{1, 2 * panel})
	t.label(many)
	t.scorePanels(scoreShape{3, panel}, scoreShape{2, panel}, scoreShape{1, panel})
	t.ret()
}

// scorePanels goes through panels while there are as many as the shapes take.
func (t *neon) scorePanels(shapes ...scoreShape) {
	panels := shapes[0].vectors * vecBytes / keyBytes
	t.whole("R4", panels, func() {
		t.op("MOVD", "R1", "R10")
		t.op("MOVD", "R0", "R9")
		t.op("MOVD", "R5", "R7")
		for _, s := range shapes {
			t.whole("R7", s.rows, func() {
				t.scoreTile(s)
				t.advance(s.rows*blockBytes, "R9")
			})
		}
		t.advance(panels*keyBytes, "R0")
		t.op("ADD", fmt.Sprintf("R6<<%d", t.stored.shift(3+panels)), "R2", "R2")
		if s := t.stored.scales(); s > 0 {
			t.advance(panels*s, "R2")
		}
	})
}

// scoreTile emits the rows from R10 on, and leaves R10 behind them.
func (t *neon) scoreTile(s scoreShape) {
	q := []string{"R10", "R11", "R12"}[:s.rows]
	for i := 1; i < s.rows; i++ {
		t.op("ADD", "R6", q[i-1], q[i])
	}
	for _, r := range seq(0, s.rows*s.vectors*chains) {
		t.zero(r)
	}
	t.op("MOVD", "R2", "R13")
	t.op("ADD", fmt.Sprintf("R6<<%d", t.stored.shift(4)), "R2", "R14")
	if s := t.stored.scales(); s > 0 {
		t.advance(s, "R14")
	}
	t.op("MOVD", "R3", "R8")
	for _, n := range []int{chains, 1} {
		t.whole("R8", n, func() { t.scoreDims(s, q, n) })
	}
	t.scoreStore(s)
	if s.rows > 1 {
		t.op("MOVD", q[s.rows-1], "R10")
	}
}

// scoreDims adds n dimensions, each to its sum.
func (t *neon) scoreDims(s scoreShape, q []string, n int) {
	keys := s.rows * s.vectors * chains
	for r, pointer := range q {
		load := map[int]string{1: "FMOVS.P", 2: "FMOVD.P"}[n]
		t.op(load, mem(4*n, pointer), vec(31-r).f())
	}
	panels := []string{"R13", "R14"}[:s.vectors*vecBytes/keyBytes]
	for c := range n {
		for i, panel := range panels {
			through := seq(keys, keyBytes/vecBytes)
			t.loadKV(panel, c*keyBytes, scoreZero, through...)
			for r := range q {
				for j, k := range through {
					t.fmaLane(s.sum(r, i*len(through)+j, c), k, vec(31-r), c)
				}
			}
		}
	}
	t.advance(t.stored.bytes(n*keyBytes), panels...)
}

// sum is the register of sum c of row r, vector i.
func (s scoreShape) sum(r, i, c int) vec { return vec((r*s.vectors+i)*chains + c) }

// scoreStore adds up the sums and stores them. The pointers of the panels are behind their keys.
func (t *neon) scoreStore(s scoreShape) {
	for r := range s.rows {
		for i := range s.vectors {
			t.do3("fadd", s.sum(r, i, 0), s.sum(r, i, 0), s.sum(r, i, 1))
			if at := i * vecBytes; t.stored == quarters {
				scale := s.sum(r, i, 1)
				t.op("FMOVQ", mem(at%keyBytes, []string{"R13", "R14"}[at/keyBytes]), scale.f())
				t.do3("fmul", s.sum(r, i, 0), s.sum(r, i, 0), scale)
			}
			t.op("FMOVQ", s.sum(r, i, 0).f(), mem(r*blockBytes+i*vecBytes, "R9"))
		}
	}
}

// soften is as that of amd64. V30 is what is subtracted, V23 the factor.
func (t *neon) soften() {
	p := "scores *float32, counts *int, top, total, factors *float32, rows int"
	const shift, factor = vec(30), vec(23)
	t.fn("soften", softenDoc, p)
	t.args(p, "R0 R1 R2 R3 R4 R5")
	t.expConstants()
	t.c(expSmall, lowReg)
	t.whole("R5", 1, func() {
		t.op("FMOVS", "(R2)", factor.f())
		t.broadcast(factor)
		t.move(16, factor)
		t.softenRow(1, func(b block) {
			t.op("FMOVQ", "(R8)", "F0")
			if b.masked {
				t.move(1, 16)
				b.mask()
				t.pick(1, 0, maskReg)
				t.move(0, 1)
			}
			t.do3("fmax", 16, 16, 0)
		})
		t.do3("fmaxp", 16, 16, 16)
		t.do3("fmaxp", 16, 16, 16)
		t.op("FMOVS.P", "F16", "4(R2)")
		t.broadcast(16)
		t.c(-math.MaxFloat32, shift)
		t.do3("fmax", shift, shift, 16)
		t.do3("fsub", factor, factor, shift)
		t.softExp(factor, 0)
		t.op("FMOVS.P", factor.f(), "4(R4)")
		t.accumulators(2)
		t.softenRow(2, func(b block) {
			x := b.r(0)
			t.op("FMOVQ", mem(b.unit*vecBytes, "R8"), x.f())
			t.do3("fsub", x, x, shift)
			b.clip(x)
			t.softExp(x, b.r(1))
			b.clip(x)
			t.op("FMOVQ", x.f(), mem(b.unit*vecBytes, "R8"))
			t.do3("fadd", vec(16+b.unit), vec(16+b.unit), x)
		})
		t.total(2)
		t.op("FMOVS", "(R3)", "F0")
		t.do3("fmul", 0, 0, factor)
		t.do3("fadd", 16, 16, 0)
		t.op("FMOVS.P", "F16", "4(R3)")
		t.advance(8, "R1")
		t.advance(blockBytes, "R0")
	})
	t.ret()
}

// softExp computes e**x of x <= 0 in place, 0 below expSmall, which lowReg holds; four
// registers from first on are changed.
func (t *neon) softExp(x, first vec) {
	small := first + 3
	t.do3("fcmgt", small, lowReg, x)
	t.do3("fmax", x, x, lowReg)
	t.expInRange(x, first, first+1, first+2)
	t.zero(first)
	t.pick(x, first, small)
}

// softenRow runs body over the scores of a row, so many vectors side by side, with R8
// at the first.
func (t *neon) softenRow(units int, body func(b block)) {
	t.op("MOVD", "R0", "R8")
	t.op("MOVD", "(R1)", "R6")
	t.loop("R6", units, 8, []string{"R8"}, body)
}
