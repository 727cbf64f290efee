package main

import "fmt"

// elementwise emits the operations on vectors of n floats.
func (t *asm) elementwise() {
	x, y, a := t.v(0), t.v(1), t.v(2)
	binary := func(name, doc, op string) {
		p := "dst, x *float32, n int"
		t.fn(name, doc, p)
		t.args(p, "DI", "SI", "CX")
		t.loop([]string{"DI", "SI"}, func(m bool) {
			t.load("(DI)", x, m)
			t.load("(SI)", y, m)
			t.op(op, y, x, x)
			t.store(x, "(DI)", m)
		})
		t.ret()
	}
	binary("add", "computes dst += x.", "VADDPS")
	binary("mul", "computes dst *= x.", "VMULPS")

	p := "dst, x *float32, n int, a float32"
	t.fn("axpy", "computes dst += a*x.", p)
	t.args(p, "DI", "SI", "CX", a)
	t.loop([]string{"DI", "SI"}, func(m bool) {
		t.load("(DI)", x, m)
		t.load("(SI)", y, m)
		t.op("VFMADD231PS", y, a, x)
		t.store(x, "(DI)", m)
	})
	t.ret()

	p = "dst, x, y *float32, n int"
	t.fn("mulAdd", "computes dst += x*y.", p)
	t.args(p, "DI", "SI", "DX", "CX")
	t.loop([]string{"DI", "SI", "DX"}, func(m bool) {
		t.load("(DI)", x, m)
		t.load("(SI)", y, m)
		t.load("(DX)", a, m)
		t.op("VFMADD231PS", y, a, x)
		t.store(x, "(DI)", m)
	})
	t.ret()

	t.unary("scale", "computes x *= a.", true, func() { t.op("VMULPS", a, x, x) })
	t.unary("relu", "computes x = max(x, 0).", false, func() {
		t.zero(y)
		t.op("VMAXPS", x, y, x) // a NaN in the first operand stays
	})
	t.unary("clamp", "computes x = min(max(x, -a), a).", true, func() {
		t.zero(y)
		t.op("VSUBPS", a, y, y)
		t.op("VMAXPS", x, y, x)
		t.op("VMINPS", x, a, x)
	})
}

// unary emits an operation in place on register 0; register 2 holds a, if there is one.
func (t *asm) unary(name, doc string, scalar bool, body func()) {
	p, regs := "x *float32, n int", []string{"DI", "CX"}
	if scalar {
		p, regs = p+", a float32", append(regs, t.v(2))
	}
	t.fn(name, doc, p)
	t.args(p, regs...)
	t.loop([]string{"DI"}, func(m bool) {
		t.load("(DI)", t.v(0), m)
		body()
		t.store(t.v(0), "(DI)", m)
	})
	t.ret()
}

// chain is unary for an operation of many steps: body changes that many registers, and vectors are
// computed several at a time.
func (t *asm) chain(name, doc string, registers int, body func()) {
	p, n := "x *float32, n int", 2*t.lanes/registers // the processor has two registers a lane
	t.fn(name, doc, p)
	t.args(p, "DI", "CX")
	t.loopBy(n, []string{"DI"}, func() {
		t.sideBySide(n, registers, func() {
			at := mem(t.copy*t.bytes(), "DI")
			t.load(at, t.v(0), false)
			body()
			t.store(t.v(0), at, false)
		})
	})
	t.loop([]string{"DI"}, func(m bool) {
		t.load("(DI)", t.v(0), m)
		body()
		t.store(t.v(0), "(DI)", m)
	})
	t.ret()
}

// Constants as in generic.go.
const (
	expLow    = -104
	expHigh   = 89
	expSmall  = -87
	log2e     = 1.44269504088896341
	ln2High   = 0.693359375
	ln2Low    = -2.12194440e-4
	geluScale = 1.5957691216057308
	geluCubic = 0.044715
	tanhSmall = 0.625
	tailScale = 0.305
)

var (
	expPoly  = []float64{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}
	tanhPoly = []float64{-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1}
	tailPoly = []float64{3.66959028005e-2, -1.52973378646e-1, 1.85688612001e-1, -3.79479421145e-2, 1.21004565295e-1, 1.0342673035e-1, 1.22465743826e-1, 1.21639813408e-1}
)

// exp computes e**x in place; p, q and s are changed.
func (t *asm) exp(x, p, q, s string) {
	t.op("VMOVUPS", t.c(expLow), p)
	t.op("VMAXPS", x, p, x)
	t.op("VMOVUPS", t.c(expHigh), p)
	t.op("VMINPS", x, p, x)
	t.expInRange(x, p, q, s)
}

// expInRange is exp between expLow and expHigh.
func (t *asm) expInRange(x, p, q, s string) {
	t.op("VMULPS", t.c(log2e), x, p)
	if t.wide() {
		t.op("VRNDSCALEPS", "$0", p, p)
	} else {
		t.op("VROUNDPS", "$0", p, p)
	}
	t.op("VFNMADD231PS", t.c(ln2High), p, x)
	t.op("VFNMADD231PS", t.c(ln2Low), p, x)
	t.poly(expPoly, x, q)
	t.op("VMULPS", x, x, s)
	t.op("VFMADD213PS", x, s, q)
	t.op("VADDPS", t.c(1), q, q)
	if t.wide() {
		t.op("VSCALEFPS", p, q, x)
		return
	}
	t.op("VCVTPS2DQ", p, p)
	t.op("VPSRAD", "$1", p, s)
	t.op("VPSUBD", s, p, p)
	for _, r := range []string{p, s} {
		t.op("VPADDD", t.bits(127), r, r)
		t.op("VPSLLD", "$23", r, r)
	}
	t.op("VMULPS", s, q, x)
	t.op("VMULPS", p, x, x)
}

// poly evaluates a polynomial in x into dst, highest power first.
func (t *asm) poly(coefficients []float64, x, dst string) {
	t.op("VMOVUPS", t.c(coefficients[0]), dst)
	for _, c := range coefficients[1:] {
		t.op("VFMADD213PS", t.c(c), x, dst)
	}
}

// tanh computes tanh in register 0; registers 3 to 8 are changed.
func (t *asm) tanh() {
	x, a, big, p, q, s := t.v(0), t.v(3), t.v(4), t.v(5), t.v(6), t.v(7)
	and, or := "VPAND", "VPOR"
	if t.wide() {
		and, or = "VPANDD", "VPORD"
	}
	t.op(and, t.bits(0x7fffffff), x, a)
	t.op("VADDPS", a, a, big)
	t.exp(big, p, q, s)
	t.op("VADDPS", t.c(1), big, big)
	t.op("VMOVUPS", t.c(2), p)
	t.op("VDIVPS", big, p, big)
	t.op("VMOVUPS", t.c(1), p)
	t.op("VSUBPS", big, p, big)
	t.op(and, t.bits(0x80000000), x, p)
	t.op(or, p, big, big)
	t.op("VMULPS", x, x, p)
	t.poly(tanhPoly, p, q)
	t.op("VMULPS", p, q, q)
	t.op("VFMADD213PS", x, x, q)
	if t.wide() {
		t.op("VCMPPS", "$1", t.c(tanhSmall), a, "K2")
		t.op("VBLENDMPS", q, big, "K2", x)
		return
	}
	t.op("VCMPPS", "$1", t.c(tanhSmall), a, p)
	t.op("VBLENDVPS", p, q, big, x)
}

// sigmoidGELU computes sigmoid(2u) of register x into s: see geluGeneric.
func (t *asm) sigmoidGELU(x, s, p, q, r string) {
	t.op("VMULPS", x, x, s)
	t.op("VMULPS", x, s, s)
	t.op("VMOVAPS", x, p)
	t.op("VFMADD231PS", t.c(geluCubic), s, p)
	t.op("VMULPS", t.c(-geluScale), p, s)
	t.exp(s, p, q, r)
	t.op("VADDPS", t.c(1), s, s)
}

// activations emits the operations that need exp.
func (t *asm) activations() {
	t.chain("silu", "computes x = x/(1+exp(-x)).", 5, func() {
		x, e := t.v(0), t.v(1)
		t.zero(e)
		t.op("VSUBPS", x, e, e)
		t.exp(e, t.v(2), t.v(3), t.v(4))
		t.op("VADDPS", t.c(1), e, e)
		t.op("VDIVPS", e, x, x)
	})
	t.chain("gelu", "computes x = x·sigmoid(2u).", 5, func() {
		x, e := t.v(0), t.v(1)
		t.sigmoidGELU(x, e, t.v(2), t.v(3), t.v(4))
		t.op("VDIVPS", e, x, x)
	})
	t.chain("geluErf", "computes x = x·Φ(x).", 6, t.geluErf)
	x, a := t.v(0), t.v(2)
	t.unary("tanhCap", "computes x = a·tanh(x/a).", true, func() {
		t.op("VDIVPS", a, x, x)
		t.tanh()
		t.op("VMULPS", a, x, x)
	})
}

// geluErf computes x·Φ(x) in register 0; registers 1 to 5 are changed.
func (t *asm) geluErf() {
	x, e, p, tail, s, d := t.v(0), t.v(1), t.v(2), t.v(3), t.v(4), t.v(5)
	and := "VPAND"
	if t.wide() {
		and = "VPANDD"
	}
	t.op("VMULPS", x, x, e)
	t.op("VMULPS", t.c(-0.5), e, e)
	t.exp(e, p, tail, s)
	t.op(and, t.bits(0x7fffffff), x, d)
	t.op("VMOVUPS", t.c(1), p)
	t.op("VMOVUPS", t.c(tailScale), s)
	t.op("VFMADD213PS", p, s, d)
	t.op("VDIVPS", d, p, d) // 1/(1+tailScale·|x|)
	t.poly(tailPoly, d, tail)
	t.op("VMULPS", d, tail, tail)
	t.op("VMULPS", e, tail, tail) // Φ(-|x|)
	t.op("VSUBPS", tail, p, p)
	if t.wide() {
		t.zero(s)
		mask := fmt.Sprintf("K%d", 2+t.copy)
		t.op("VCMPPS", "$1", s, x, mask)
		t.op("VBLENDMPS", tail, p, mask, p)
	} else {
		t.op("VBLENDVPS", x, tail, p, p) // by the sign of x
	}
	t.op("VMULPS", p, x, x)
}
