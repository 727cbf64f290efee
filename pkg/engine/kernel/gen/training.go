package main

// training emits the backward passes and the optimiser step.
func (t *asm) training() {
	t.geluBackward()
	t.softmaxBackward()
	t.normSums()
	t.normBackward()
	t.adam()
}

// geluBackward: gelu' = s(1 + x(1-s)·2u'), 2u' = geluScale(1 + 3·geluCubic·x²), s = sigmoid(2u).
func (t *asm) geluBackward() {
	p := "dy, x *float32, n int"
	x, dy, s, u := t.v(0), t.v(1), t.v(3), t.v(7)
	t.fn("geluBackward", "computes dy *= gelu'(x).", p)
	t.args(p, "DI", "SI", "CX")
	t.loop([]string{"DI", "SI"}, func(m bool) {
		t.load("(SI)", x, m)
		t.sigmoidGELU(x, s, t.v(4), t.v(5), t.v(6))
		t.op("VMOVUPS", t.c(1), t.v(4))
		t.op("VDIVPS", s, t.v(4), s)
		t.op("VMULPS", x, x, u)
		t.op("VMOVUPS", t.c(geluScale*3*geluCubic), t.v(5))
		t.op("VFMADD213PS", t.c(geluScale), t.v(5), u)
		t.op("VSUBPS", s, t.v(4), t.v(5)) // 1-s
		t.op("VMULPS", x, t.v(5), t.v(5))
		t.op("VFMADD213PS", t.v(4), t.v(5), u)
		t.op("VMULPS", s, u, u)
		t.load("(DI)", dy, m)
		t.op("VMULPS", u, dy, dy)
		t.store(dy, "(DI)", m)
	})
	t.ret()
}

func (t *asm) softmaxBackward() {
	p := "dp, p *float32, n int, inner, scale float32"
	t.fn("softmaxBackward", "computes dp = p*(dp-inner)*scale.", p)
	t.args(p, "DI", "SI", "CX", t.v(2), t.v(3))
	t.loop([]string{"DI", "SI"}, func(m bool) {
		t.load("(DI)", t.v(0), m)
		t.load("(SI)", t.v(1), m)
		t.op("VSUBPS", t.v(2), t.v(0), t.v(0))
		t.op("VMULPS", t.v(3), t.v(1), t.v(1))
		t.op("VMULPS", t.v(1), t.v(0), t.v(0))
		t.store(t.v(0), "(DI)", m)
	})
	t.ret()
}

// normSums: with h = (x-mean)*scale, adds to the gradients of weight and bias and
// returns Σ dy·weight and Σ dy·weight·h.
func (t *asm) normSums() {
	p := "dweight, dbias, dy, x, weight *float32, n int, mean, scale float32"
	t.fn("normSums", "computes dbias += dy, dweight += dy*h, and returns Σ dy*weight and Σ dy*weight*h, h = (x-mean)*scale.", p, "a", "b")
	t.args(p, "DI", "R8", "SI", "R9", "R10", "CX", t.v(8), t.v(9))
	t.zero(t.v(0))
	t.zero(t.v(2))
	t.loop([]string{"DI", "R8", "SI", "R9", "R10"}, func(m bool) {
		t.load("(SI)", t.v(3), m) // dy
		t.load("(R9)", t.v(4), m) // x, then h
		t.op("VSUBPS", t.v(8), t.v(4), t.v(4))
		t.op("VMULPS", t.v(9), t.v(4), t.v(4))
		t.load("(DI)", t.v(5), m)
		t.op("VFMADD231PS", t.v(4), t.v(3), t.v(5))
		t.store(t.v(5), "(DI)", m)
		t.load("(R8)", t.v(5), m)
		t.op("VADDPS", t.v(3), t.v(5), t.v(5))
		t.store(t.v(5), "(R8)", m)
		t.load("(R10)", t.v(5), m)
		t.op("VMULPS", t.v(3), t.v(5), t.v(5))
		t.op("VADDPS", t.v(5), t.v(0), t.v(0))
		t.op("VFMADD231PS", t.v(4), t.v(5), t.v(2))
	})
	t.sum()
	t.op("VMOVSS", "X0", "a+56(FP)")
	t.op("VMOVAPS", t.v(2), t.v(0))
	t.sum()
	t.op("VMOVSS", "X0", "b+60(FP)")
	t.ret()
}

func (t *asm) normBackward() {
	p := "dx, dy, x, weight *float32, n int, mean, scale, a, b float32"
	t.fn("normBackward", "computes dx += scale*(dy*weight - a - h*b), h = (x-mean)*scale.", p)
	t.args(p, "DI", "SI", "R9", "R10", "CX", t.v(8), t.v(9), t.v(10), t.v(11))
	t.loop([]string{"DI", "SI", "R9", "R10"}, func(m bool) {
		t.load("(SI)", t.v(0), m)
		t.load("(R9)", t.v(1), m)
		t.load("(R10)", t.v(2), m)
		t.load("(DI)", t.v(3), m)
		t.op("VMULPS", t.v(2), t.v(0), t.v(0))
		t.op("VSUBPS", t.v(10), t.v(0), t.v(0))
		t.op("VSUBPS", t.v(8), t.v(1), t.v(1))
		t.op("VMULPS", t.v(9), t.v(1), t.v(1))
		t.op("VFNMADD231PS", t.v(11), t.v(1), t.v(0))
		t.op("VFMADD231PS", t.v(9), t.v(0), t.v(3))
		t.store(t.v(3), "(DI)", m)
	})
	t.ret()
}

// adam: see AdamW in train.go for the arguments.
func (t *asm) adam() {
	p := "p, m, v, grad *float32, n int, gradScale, beta1, beta2, step, eps, root, decay float32"
	t.fn("adam", "computes one AdamW update; see adamGeneric.", p)
	t.args(p, "DI", "SI", "R8", "R9", "CX", t.v(4), t.v(5), t.v(6), t.v(7), t.v(8), t.v(9), t.v(10))
	t.loop([]string{"DI", "SI", "R8", "R9"}, func(m bool) {
		t.load("(R9)", t.v(0), m)
		t.op("VMULPS", t.v(4), t.v(0), t.v(0)) // g
		t.load("(SI)", t.v(1), m)
		t.op("VSUBPS", t.v(0), t.v(1), t.v(1)) // m = g + beta1*(m-g)
		t.op("VFMADD213PS", t.v(0), t.v(5), t.v(1))
		t.store(t.v(1), "(SI)", m)
		t.op("VMULPS", t.v(0), t.v(0), t.v(0))
		t.load("(R8)", t.v(2), m)
		t.op("VSUBPS", t.v(0), t.v(2), t.v(2))
		t.op("VFMADD213PS", t.v(0), t.v(6), t.v(2))
		t.store(t.v(2), "(R8)", m)
		t.op("VSQRTPS", t.v(2), t.v(2))
		t.op("VFMADD213PS", t.v(8), t.v(9), t.v(2)) // sqrt(v)*root + eps
		t.op("VDIVPS", t.v(2), t.v(1), t.v(1))
		t.load("(DI)", t.v(3), m)
		t.op("VFNMADD231PS", t.v(10), t.v(3), t.v(3)) // p -= decay*p
		t.op("VFNMADD231PS", t.v(7), t.v(1), t.v(3))
		t.store(t.v(3), "(DI)", m)
	})
	t.ret()
}
