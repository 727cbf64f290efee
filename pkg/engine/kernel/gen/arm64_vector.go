package main

// elementwise emits the operations on vectors of n floats.
func (t *neon) elementwise() {
	const a = vec(30)
	t.binary("add", "computes dst += x.", false, func(x, y vec) { t.do3("fadd", x, x, y) })
	t.binary("mul", "computes dst *= x.", false, func(x, y vec) { t.do3("fmul", x, x, y) })
	t.binary("axpy", "computes dst += a*x.", true, func(x, y vec) { t.fma(x, y, a) })

	p := "dst, x, y *float32, n int"
	t.fn("mulAdd", "computes dst += x*y.", p)
	t.args(p, "R0 R1 R2 R3")
	t.loop("R3", 4, 3, []string{"R0", "R1", "R2"}, func(b block) {
		for i, pointer := range []string{"R0", "R1", "R2"} {
			b.load(pointer, b.r(i))
		}
		t.fma(b.r(0), b.r(1), b.r(2))
		b.store(b.r(0), "R0")
	})
	t.ret()

	none := func() {}
	t.unary("scale", "computes x *= a.", true, 4, none, func(b block) { t.do3("fmul", b.r(0), b.r(0), a) })
	t.unary("relu", "computes x = max(x, 0).", false, 4, func() { t.zero(a) }, func(b block) {
		t.do3("fmax", b.r(0), b.r(0), a)
	})
	t.unary("clamp", "computes x = min(max(x, -a), a).", true, 4, func() { t.do2("fneg", 29, a) }, func(b block) {
		t.do3("fmax", b.r(0), b.r(0), 29)
		t.do3("fmin", b.r(0), b.r(0), a)
	})
}

// binary emits dst = op(dst, x); V30 holds a, if there is one.
func (t *neon) binary(name, doc string, scalar bool, op func(x, y vec)) {
	p := "dst, x *float32, n int"
	if scalar {
		p += ", a float32"
	}
	t.fn(name, doc, p)
	t.args(p, "R0 R1 R2", 30)
	t.loop("R2", 4, 2, []string{"R0", "R1"}, func(b block) {
		b.load("R0", b.r(0))
		b.load("R1", b.r(1))
		op(b.r(0), b.r(1))
		b.store(b.r(0), "R0")
	})
	t.ret()
}

// unary emits an operation in place on register 0 of each block, which has eight; V30
// holds a, if there is one. before comes before the loop.
func (t *neon) unary(name, doc string, scalar bool, units int, before func(), body func(b block)) {
	p := "x *float32, n int"
	if scalar {
		p += ", a float32"
	}
	t.fn(name, doc, p)
	t.args(p, "R0 R1", 30)
	before()
	t.loop("R1", units, 32/units/2, []string{"R0"}, func(b block) {
		b.load("R0", b.r(0))
		body(b)
		b.store(b.r(0), "R0")
	})
	t.ret()
}

// Registers that hold constants over a loop.
const (
	lowReg     = vec(24) // of exp, as one is
	highReg    = vec(25)
	log2eReg   = vec(26)
	ln2HighReg = vec(27)
	ln2LowReg  = vec(28)
	oneReg     = vec(29)
	cubicReg   = vec(22) // of GELU
	slopeReg   = vec(23)
)

// expConstants loads what exp wants.
func (t *neon) expConstants() {
	t.base()
	t.c(expLow, lowReg)
	t.c(expHigh, highReg)
	t.c(log2e, log2eReg)
	t.c(ln2High, ln2HighReg)
	t.c(ln2Low, ln2LowReg)
	t.c(1, oneReg)
}

// exp computes e**x in place; p, q and s are changed.
func (t *neon) exp(x, p, q, s vec) {
	t.do3("fmax", x, x, lowReg)
	t.do3("fmin", x, x, highReg)
	t.expInRange(x, p, q, s)
}

// expInRange is exp between expLow and expHigh.
func (t *neon) expInRange(x, p, q, s vec) {
	t.do3("fmul", p, x, log2eReg)
	t.do2("frintn", p, p)
	t.fms(x, p, ln2HighReg)
	t.fms(x, p, ln2LowReg)
	y, s := t.poly(expPoly, x, q, s)
	t.do3("fmul", s, x, x)
	t.fma(x, y, s)
	t.do3("fadd", x, x, oneReg)
	// times 2**p in two steps, whose exponents are added to that of 1
	t.do2("fcvtns", p, p)
	t.word("sshr v%d.4s, v%d.4s, #1", s, p)
	t.op("VSUB", s.s4(), p.s4(), p.s4())
	for _, r := range []vec{s, p} {
		t.op("VSHL", "$23", r.s4(), r.s4())
		t.op("VADD", oneReg.s4(), r.s4(), r.s4())
		t.do3("fmul", x, x, r)
	}
}

// poly evaluates a polynomial in x, highest power first, in two registers by turns. It
// returns the one that holds the result and the other.
func (t *neon) poly(coefficients []float64, x, q, s vec) (result, other vec) {
	t.c(coefficients[0], q)
	for _, c := range coefficients[1:] {
		t.c(c, s)
		t.fma(s, q, x)
		q, s = s, q
	}
	return q, s
}

// tanh returns where it computes tanh of x, which is changed; so are the other registers.
func (t *neon) tanh(x, a, big, p, q, s vec) vec {
	t.do2("fabs", a, x)
	t.do3("fadd", big, a, a)
	t.exp(big, p, q, s)
	t.do3("fadd", big, big, oneReg)
	t.c(2, p)
	t.do3("fdiv", big, p, big)
	t.do3("fsub", big, oneReg, big)
	t.bits(0x80000000, p)
	t.pick(big, x, p) // the sign of x
	t.do3("fmul", p, x, x)
	y, s := t.poly(tanhPoly, p, q, s)
	t.do3("fmul", y, y, p)
	t.fma(x, x, y)
	t.c(tanhSmall, s)
	t.do3("fcmgt", s, s, a)
	t.pick(big, x, s)
	return big
}

// geluConstants loads what exp and sigmoidGELU want.
func (t *neon) geluConstants() {
	t.expConstants()
	t.c(geluCubic, cubicReg)
	t.c(-geluScale, slopeReg)
}

// sigmoidGELU computes 1/sigmoid(2u) of x into s: see geluGeneric.
func (t *neon) sigmoidGELU(x, s, p, q, r vec) {
	t.do3("fmul", s, x, x)
	t.do3("fmul", s, s, x)
	t.move(p, x)
	t.fma(p, s, cubicReg)
	t.do3("fmul", s, p, slopeReg)
	t.exp(s, p, q, r)
	t.do3("fadd", s, s, oneReg)
}

// activations emits the operations that need exp.
func (t *neon) activations() {
	t.unary("silu", "computes x = x/(1+exp(-x)).", false, 2, t.expConstants, func(b block) {
		t.do2("fneg", b.r(1), b.r(0))
		t.exp(b.r(1), b.r(2), b.r(3), b.r(4))
		t.do3("fadd", b.r(1), b.r(1), oneReg)
		t.do3("fdiv", b.r(0), b.r(0), b.r(1))
	})
	t.unary("gelu", "computes x = x·sigmoid(2u).", false, 2, t.geluConstants, func(b block) {
		t.sigmoidGELU(b.r(0), b.r(1), b.r(2), b.r(3), b.r(4))
		t.do3("fdiv", b.r(0), b.r(0), b.r(1))
	})
	t.unary("geluErf", "computes x = x·Φ(x).", false, 2, t.expConstants, t.geluErf)
	t.unary("tanhCap", "computes x = a·tanh(x/a).", true, 2, t.expConstants, func(b block) {
		t.do3("fdiv", b.r(0), b.r(0), 30)
		y := t.tanh(b.r(0), b.r(1), b.r(2), b.r(3), b.r(4), b.r(5))
		t.do3("fmul", b.r(0), y, 30)
	})
}

// geluErf computes x·Φ(x) in register 0 of the block.
func (t *neon) geluErf(b block) {
	x, e, p, tail, s, d := b.r(0), b.r(1), b.r(2), b.r(3), b.r(4), b.r(5)
	t.do3("fmul", e, x, x)
	t.c(-0.5, p)
	t.do3("fmul", e, e, p)
	t.exp(e, p, tail, s)
	t.do2("fabs", p, x)
	t.c(tailScale, s)
	t.move(d, oneReg)
	t.fma(d, p, s)
	t.do3("fdiv", d, oneReg, d) // 1/(1+tailScale·|x|)
	tail, s = t.poly(tailPoly, d, tail, s)
	t.do3("fmul", tail, tail, d)
	t.do3("fmul", tail, tail, e) // Φ(-|x|)
	t.do3("fsub", p, oneReg, tail)
	t.zero(s)
	t.do3("fcmgt", s, s, x)
	t.pick(p, tail, s)
	t.do3("fmul", x, x, p)
}
