package main

// reductions emits the operations that reduce a vector to a number. Zero lengths give
// zero, except in maxOf, which requires n > 0.
func (t *asm) reductions() {
	t.dot()
	t.maxOf()
	t.expSum()
	t.moments()
	t.rootMeanSquare()
	t.normalize()
}

func (t *asm) dot() {
	p := "a, b *float32, n int"
	t.fn("dot", "returns a·b.", p, "sum")
	t.args(p, "DI", "SI", "CX")
	for i := range 4 {
		t.zero(t.v(i))
	}
	four, rest := t.next("four"), t.next("rest")
	t.label(four)
	t.op("CMPQ", "CX", imm(4*t.lanes))
	t.op("JLT", rest)
	for i := range 4 {
		t.op("VMOVUPS", mem(i*t.bytes(), "DI"), t.v(4+i))
		t.op("VFMADD231PS", mem(i*t.bytes(), "SI"), t.v(4+i), t.v(i))
	}
	t.op("ADDQ", imm(4*t.bytes()), "DI")
	t.op("ADDQ", imm(4*t.bytes()), "SI")
	t.op("SUBQ", imm(4*t.lanes), "CX")
	t.op("JMP", four)
	t.label(rest)
	t.loop([]string{"DI", "SI"}, func(m bool) {
		t.load("(DI)", t.v(4), m)
		t.load("(SI)", t.v(5), m)
		t.op("VFMADD231PS", t.v(5), t.v(4), t.v(0))
	})
	t.op("VADDPS", t.v(1), t.v(0), t.v(0))
	t.op("VADDPS", t.v(3), t.v(2), t.v(2))
	t.op("VADDPS", t.v(2), t.v(0), t.v(0))
	t.sum()
	t.op("VMOVSS", "X0", "sum+24(FP)")
	t.ret()
}

func (t *asm) maxOf() {
	p := "x *float32, n int"
	t.fn("maxOf", "returns the largest of n > 0 values.", p, "top")
	t.args(p, "DI", "CX")
	short, loop, last, scalar, done := t.next("short"), t.next("loop"), t.next("last"), t.next("scalar"), t.next("done")
	t.op("CMPQ", "CX", imm(t.lanes))
	t.op("JLT", short)
	t.op("VMOVUPS", "(DI)", t.v(0))
	t.label(loop)
	t.op("CMPQ", "CX", imm(t.lanes))
	t.op("JLE", last)
	t.op("VMAXPS", "(DI)", t.v(0), t.v(0))
	t.op("ADDQ", imm(t.bytes()), "DI")
	t.op("SUBQ", imm(t.lanes), "CX")
	t.op("JMP", loop)
	t.label(last) // the last full vector, which may overlap the one before
	t.op("LEAQ", mem(-t.bytes(), "DI")+"(CX*4)", "DI")
	t.op("VMAXPS", "(DI)", t.v(0), t.v(0))
	t.reduce("VMAXPS")
	t.op("JMP", done)
	t.label(short)
	t.op("VMOVSS", "(DI)", "X0")
	t.label(scalar)
	t.op("VMAXSS", "(DI)", "X0", "X0")
	t.op("ADDQ", "$4", "DI")
	t.op("DECQ", "CX")
	t.op("JNZ", scalar)
	t.label(done)
	t.op("VMOVSS", "X0", "top+16(FP)")
	t.ret()
}

func (t *asm) expSum() {
	p := "x *float32, n int, top float32"
	t.fn("expSum", "computes x = exp(x-top) and returns the sum.", p, "sum")
	t.args(p, "DI", "CX", t.v(2))
	t.zero(t.v(0))
	t.loop([]string{"DI"}, func(m bool) {
		t.load("(DI)", t.v(3), m)
		t.op("VSUBPS", t.v(2), t.v(3), t.v(3))
		t.exp(t.v(3), t.v(4), t.v(5), t.v(6))
		t.clip(t.v(3), m)
		t.store(t.v(3), "(DI)", m)
		t.op("VADDPS", t.v(3), t.v(0), t.v(0))
	})
	t.sum()
	t.op("VMOVSS", "X0", "sum+24(FP)")
	t.ret()
}

// moments: two passes, so that a large mean does not cost the variance its digits.
func (t *asm) moments() {
	p := "x *float32, n int, eps float32"
	t.fn("moments", "returns the mean of x and 1/sqrt(variance+eps).", p, "mean", "scale")
	t.args(p, "DI", "CX", t.v(8))
	t.op("MOVQ", "DI", "SI")
	t.op("MOVQ", "CX", "DX")
	t.op("VCVTSI2SSQ", "CX", "X9", "X9")
	t.zero(t.v(0))
	t.loop([]string{"DI"}, func(m bool) {
		t.load("(DI)", t.v(2), m)
		t.op("VADDPS", t.v(2), t.v(0), t.v(0))
	})
	t.sum()
	t.op("VDIVSS", "X9", "X0", "X0")
	t.op("VMOVSS", "X0", "mean+24(FP)")
	t.op("VBROADCASTSS", "X0", t.v(3))
	t.zero(t.v(0))
	t.op("MOVQ", "DX", "CX")
	t.loop([]string{"SI"}, func(m bool) {
		t.load("(SI)", t.v(2), m)
		t.op("VSUBPS", t.v(3), t.v(2), t.v(2))
		t.clip(t.v(2), m)
		t.op("VFMADD231PS", t.v(2), t.v(2), t.v(0))
	})
	t.sum()
	t.op("VDIVSS", "X9", "X0", "X0")
	t.op("VADDSS", "X8", "X0", "X0")
	t.op("VSQRTSS", "X0", "X0", "X0")
	t.op("VMOVSS", t.c(1), "X1")
	t.op("VDIVSS", "X0", "X1", "X0")
	t.op("VMOVSS", "X0", "scale+28(FP)")
	t.ret()
}

// rootMeanSquare adds up in float64, so that neither the width nor large values cost
// digits.
func (t *asm) rootMeanSquare() {
	p := "x *float32, n int, eps float32"
	t.fn("rootMeanSquare", "returns 1/sqrt(mean(x²)+eps).", p, "scale")
	t.args(p, "DI", "CX", t.v(8))
	t.op("VCVTSS2SD", "X8", "X8", "X8")
	t.op("VCVTSI2SDQ", "CX", "X9", "X9")
	low, high := t.v(2), t.v(3)
	t.zero(t.v(0))
	t.zero(t.v(1))
	t.loop([]string{"DI"}, func(m bool) {
		if m {
			t.load("(DI)", low, true)
			if t.wide() {
				t.op("VEXTRACTF64X4", "$1", low, t.half(high))
			} else {
				t.op("VEXTRACTF128", "$1", low, t.half(high))
			}
			t.op("VCVTPS2PD", t.half(low), low)
			t.op("VCVTPS2PD", t.half(high), high)
		} else {
			t.op("VCVTPS2PD", "(DI)", low)
			t.op("VCVTPS2PD", mem(t.bytes()/2, "DI"), high)
		}
		t.op("VFMADD231PD", low, low, t.v(0))
		t.op("VFMADD231PD", high, high, t.v(1))
	})
	t.op("VADDPD", t.v(1), t.v(0), t.v(0))
	if t.wide() {
		t.op("VEXTRACTF64X4", "$1", "Z0", "Y1")
		t.op("VADDPD", "Y1", "Y0", "Y0")
	}
	t.op("VEXTRACTF128", "$1", "Y0", "X1")
	t.op("VADDPD", "X1", "X0", "X0")
	t.op("VUNPCKHPD", "X0", "X0", "X1")
	t.op("VADDSD", "X1", "X0", "X0")
	t.op("VDIVSD", "X9", "X0", "X0")
	t.op("VADDSD", "X8", "X0", "X0")
	t.op("VSQRTSD", "X0", "X0", "X0")
	t.op("VMOVSS", t.c(1), "X1")
	t.op("VCVTSS2SD", "X1", "X1", "X1")
	t.op("VDIVSD", "X0", "X1", "X0")
	t.op("VCVTSD2SS", "X0", "X0", "X0")
	t.op("VMOVSS", "X0", "scale+24(FP)")
	t.ret()
}

func (t *asm) normalize() {
	p := "dst, x, weight, bias *float32, n int, mean, scale float32"
	t.fn("normalize", "computes dst = (x-mean)*scale*weight + bias; bias may be nil.", p)
	t.args(p, "DI", "SI", "R8", "R9", "CX", t.v(2), t.v(3))
	body := func(bias bool) func(bool) {
		return func(m bool) {
			t.load("(SI)", t.v(0), m)
			t.load("(R8)", t.v(1), m)
			t.op("VSUBPS", t.v(2), t.v(0), t.v(0))
			t.op("VMULPS", t.v(3), t.v(0), t.v(0))
			if bias {
				t.load("(R9)", t.v(4), m)
				t.op("VFMADD213PS", t.v(4), t.v(1), t.v(0))
			} else {
				t.op("VMULPS", t.v(1), t.v(0), t.v(0))
			}
			t.store(t.v(0), "(DI)", m)
		}
	}
	plain := t.next("plain")
	t.op("TESTQ", "R9", "R9")
	t.op("JZ", plain)
	t.loop([]string{"DI", "SI", "R8", "R9"}, body(true))
	t.ret()
	t.label(plain)
	t.loop([]string{"DI", "SI", "R8"}, body(false))
	t.ret()
}
