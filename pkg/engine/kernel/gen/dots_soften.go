package main

import "math"

const (
	fullVectors = 8    // of the scores of a whole block
	exp2Small   = -126 // smaller results are 0: numbers that are not normal may be slow
)

// exp2Poly is 2**x for x between -1/2 and 1/2, which is 1 for 0: the coefficients of Chebyshev
// interpolation of (2**x-1)/x, highest power first. The relative error is 7e-6, and bfloat16 rounds
// to 4e-3.
var exp2Poly = []float64{0.009656710288545166, 0.055838282946219404, 0.2402253009741223, 0.6931367338836215}

// softenFull emits soften of rows whose blocks are whole, with a simpler exponential than that of
// float32, whose results stay in registers until they are rounded to bfloat16. The maxima of all rows come
// first, then all factors together, then the exponentials: each row alone would wait for its maximum.
// Registers: 16 to 23 hold the scores, 8 the subtrahend; R13 is the number of a row, DX its scores.
func (t *asm) softenFull() {
	p := "scores, top, total, factors *float32, rows int"
	t.fn("softenFull", "is soften of 1 to 16 rows of 128 scores, whose exponentials become bfloat16 in the first half of a row.", p)
	t.args(p, "SI", "R8", "R9", "R11", "R12")
	held := []float64{log2e, exp2Small, -math.MaxFloat32, 1}
	t.hold(24, append(held, exp2Poly...), func() {
		t.eachFullRow(t.fullMaximum)
		t.setMask("R12")
		t.op("VMOVUPS.Z", "(R11)", "K1", t.v(9))
		t.exp2(t.v(9))
		t.op("VMOVUPS", t.v(9), "K1", "(R11)")
		t.eachFullRow(t.fullExponentials)
	})
	t.ret()
}

// eachFullRow emits body for each row.
func (t *asm) eachFullRow(body func()) {
	rows := t.next("rows")
	t.op("XORL", "R13", "R13")
	t.op("MOVQ", "SI", "DX")
	t.label(rows)
	body()
	t.op("ADDQ", imm(blockBytes), "DX")
	t.op("INCQ", "R13")
	t.op("CMPQ", "R13", "R12")
	t.op("JLT", rows)
}

// ofRow is the address of a row's number.
func ofRow(numbers string) string { return "(" + numbers + ")(R13*4)" }

// fullMaximum sets the largest score of a row, and its factor to the largest one before, less the
// subtrahend.
func (t *asm) fullMaximum() {
	for i := range 4 {
		t.op("VMOVUPS", mem(i*t.bytes(), "DX"), t.v(i))
	}
	for i := range 4 {
		t.op("VMAXPS", mem((4+i)*t.bytes(), "DX"), t.v(i), t.v(i))
	}
	t.op("VMAXPS", t.v(1), t.v(0), t.v(0))
	t.op("VMAXPS", t.v(3), t.v(2), t.v(2))
	t.op("VMAXPS", t.v(2), t.v(0), t.v(0))
	t.reduce("VMAXPS")
	t.op("VMOVSS", ofRow("R8"), "X2")
	t.op("VMAXSS", "X2", "X0", "X0")
	t.op("VMOVSS", "X0", ofRow("R8"))
	t.op("VMAXSS", "X"+t.c(-math.MaxFloat32)[1:], "X0", "X0")
	t.op("VSUBSS", "X0", "X2", "X2")
	t.op("VMOVSS", "X2", ofRow("R11"))
}

// fullExponentials turns the scores of a row into exponentials, and adds these up.
func (t *asm) fullExponentials() {
	score := func(i int) string { return t.v(16 + i) }
	t.op("VBROADCASTSS", ofRow("R8"), t.v(8))
	t.op("VMAXPS", t.c(-math.MaxFloat32), t.v(8), t.v(8))
	for i := range fullVectors {
		t.op("VMOVUPS", mem(i*t.bytes(), "DX"), score(i))
		t.op("VSUBPS", t.v(8), score(i), score(i))
		t.exp2(score(i))
	}
	for i := range fullVectors {
		t.evex("vcvtneps2bf16", 0x72, "Y1", "", score(i))
		t.op("VMOVDQU", "Y1", mem(i*t.bytes()/2, "DX"))
	}
	for n := fullVectors / 2; n > 0; n /= 2 {
		for i := range n {
			t.op("VADDPS", score(i+n), score(i), score(i))
		}
	}
	t.op("VMOVAPS", score(0), t.v(0))
	t.sum()
	t.op("VMOVSS", ofRow("R11"), "X1")
	t.op("VMULSS", ofRow("R9"), "X1", "X1")
	t.op("VADDSS", "X1", "X0", "X0")
	t.op("VMOVSS", "X0", ofRow("R9"))
}

// exp2 computes e**x in place; registers 4 and 5 and K2 are changed.
func (t *asm) exp2(x string) {
	whole, p := t.v(4), t.v(5)
	t.op("VMULPS", t.c(log2e), x, x)
	t.op("VCMPPS", "$5", t.c(exp2Small), x, "K2") // not less: a NaN stays
	t.op("VRNDSCALEPS", "$0", x, whole)
	t.op("VSUBPS", whole, x, x)
	t.poly(append(exp2Poly, 1), x, p)
	t.op("VSCALEFPS.Z", whole, p, "K2", x)
}
