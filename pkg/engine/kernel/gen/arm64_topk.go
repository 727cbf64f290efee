package main

import "math"

// selection emits the operations that choose among logits.
func (t *neon) selection() {
	t.largest()
	t.atLeast()
	t.weights()
}

func (t *neon) largest() {
	p := "x *float32, n int"
	t.fn("largest", "returns the largest of n values, a multiple of 64, and of the least float32.", p, "top")
	t.args(p, "R0 R1")
	t.base()
	for _, r := range seq(16, 4) {
		t.c(-math.MaxFloat32, r)
	}
	t.whole("R1", 16, func() {
		t.loadQ("R0", 0, seq(0, 4)...)
		for i := range 4 {
			t.do3("fcmgt", vec(4+i), vec(i), vec(16+i)) // false for a NaN
			t.pick(vec(16+i), vec(i), vec(4+i))
		}
		t.advance(64, "R0")
	})
	t.do3("fmax", 16, 16, 17)
	t.do3("fmax", 18, 18, 19)
	t.do3("fmax", 16, 16, 18)
	t.do3("fmaxp", 16, 16, 16)
	t.do3("fmaxp", 16, 16, 16)
	t.result(16, "top", 16)
	t.ret()
}

// Registers of Finite.
const (
	leastReg    = vec(29)
	greatestReg = vec(30)
)

func (t *neon) finiteConstants() {
	t.base()
	t.c(-math.MaxFloat32, leastReg)
	t.c(math.MaxFloat32, greatestReg)
}

// finite returns where it computes the Finite of x: in y.
func (t *neon) finite(x, y, mask vec) vec {
	t.do3("fcmgt", mask, x, leastReg)
	t.move(y, leastReg)
	t.pick(y, x, mask)
	t.do3("fmin", y, y, greatestReg)
	return y
}

// atLeast adds up the bits of the lanes that reach the bound.
func (t *neon) atLeast() {
	p := "mask *uint64, x *float32, lanes *uint32, n int, bound float32"
	t.fn("atLeast", "sets the bits of mask where x >= bound; n is a multiple of 64.", p)
	t.args(p, "R0 R1 R2 R3", 28)
	t.finiteConstants()
	t.loadQ("R2", 0, seq(16, 4)...)
	t.whole("R3", 64, func() {
		t.op("MOVD", "$0", "R4")
		for i := range 4 {
			t.loadQ("R1", 64*i, seq(0, 4)...)
			for j := range 4 {
				y := t.finite(vec(j), 4, 5)
				t.do3("fcmge", vec(j), y, 28)
				t.op("VAND", vec(j).b16(), vec(16+j).b16(), vec(j).b16())
			}
			t.op("VADD", vec(0).s4(), vec(1).s4(), vec(1).s4())
			t.op("VADD", vec(2).s4(), vec(3).s4(), vec(3).s4())
			t.op("VADD", vec(1).s4(), vec(3).s4(), vec(0).s4())
			t.op("VADDV", vec(0).s4(), "V0")
			t.op("FMOVS", "F0", "R5")
			if i > 0 {
				t.op("LSL", imm(16*i), "R5", "R5")
			}
			t.op("ORR", "R5", "R4", "R4")
		}
		t.op("MOVD.P", "R4", "8(R0)")
		t.advance(256, "R1")
	})
	t.ret()
}

// Registers of weights that hold a value over the loop.
const (
	minusTopReg = vec(20)
	scaleReg    = vec(21)
	roundReg    = vec(22)
	unroundReg  = vec(23)
	floorReg    = vec(24)
	logReg      = vec(25)
	upperReg    = vec(26)
	lowerReg    = vec(27)
)

// weights works on eight values at a time; their sums are in registers 16 to 19.
func (t *neon) weights() {
	p := "w *float64, x *float32, n int, top, scale float64, constants, sum *float64"
	t.fn("weights", "computes w = exp((x-top)*scale) and the sum; n is a multiple of 8.", p)
	t.args(p, "R0 R1 R2 R3 R4 R5 R6")
	t.finiteConstants()
	t.op("FMOVD", "R3", minusTopReg.f())
	t.op("FNEGD", minusTopReg.f(), minusTopReg.f())
	t.op("VDUP", "V20.D[0]", minusTopReg.d2())
	t.op("VDUP", "R4", scaleReg.d2())
	for _, c := range []struct {
		row int
		reg vec
	}{{rowFloor, floorReg}, {rowLog2e, logReg}, {rowRound, roundReg}, {rowUnround, unroundReg}, {rowUpper, upperReg}, {rowLower, lowerReg}} {
		t.loadQ("R5", 32*c.row, c.reg)
	}
	t.accumulators(4)
	t.whole("R2", 8, func() {
		t.fourWeights(16, 17)
		t.fourWeights(18, 19)
	})
	t.word("fadd v16.2d, v16.2d, v18.2d")
	t.word("fadd v17.2d, v17.2d, v19.2d")
	t.word("fadd v16.2d, v16.2d, v17.2d")
	t.word("faddp v16.2d, v16.2d, v16.2d")
	t.op("FMOVD", "F16", "(R6)")
	t.ret()
}

// fourWeights computes four weights and adds them to two sums. The steps are those of
// the generic code, one by one; to multiply is to add to zero.
func (t *neon) fourWeights(sums ...vec) {
	a, shifted, p, q, above := seq(0, 2), seq(2, 2), seq(4, 2), seq(6, 2), seq(8, 2)
	t.loadQ("R1", 0, 10)
	x := t.finite(10, 11, 12)
	t.word("fcvtl v%d.2d, v%d.2s", p[0], x)
	t.word("fcvtl2 v%d.2d, v%d.4s", p[1], x)
	fma := func(acc, x, y vec) { t.op("VFMLA", x.d2(), y.d2(), acc.d2()) }
	for i := range 2 {
		t.word("fadd v%d.2d, v%d.2d, v%d.2d", p[i], p[i], minusTopReg)
		t.zero(a[i])
		fma(a[i], p[i], scaleReg)
		t.move(shifted[i], roundReg)
		fma(shifted[i], a[i], logReg)
		t.word("fadd v%d.2d, v%d.2d, v%d.2d", q[i], shifted[i], unroundReg)
		t.word("fcmgt v%d.2d, v%d.2d, v%d.2d", above[i], a[i], floorReg)
		fma(a[i], q[i], upperReg)
		fma(a[i], q[i], lowerReg)
	}
	t.loadQ("R5", 32*rowPoly, p[0])
	t.move(p[1], p[0])
	for row := rowPoly + 1; row < rowEnd; row++ {
		t.loadQ("R5", 32*row, q[0])
		t.move(q[1], q[0])
		for i := range 2 {
			fma(q[i], p[i], a[i])
		}
		p, q = q, p
	}
	for i := range 2 {
		t.op("VSHL", "$52", shifted[i].d2(), shifted[i].d2())
		t.op("VADD", shifted[i].d2(), p[i].d2(), p[i].d2())
		t.op("VAND", above[i].b16(), p[i].b16(), p[i].b16())
		t.word("fadd v%d.2d, v%d.2d, v%d.2d", sums[i], sums[i], p[i])
	}
	t.storeQ("R0", 0, p...)
	t.advance(32, "R0")
	t.advance(16, "R1")
}
