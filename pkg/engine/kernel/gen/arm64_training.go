package main

// training emits the backward passes and the optimiser step.
func (t *neon) training() {
	t.geluBackward()
	t.softmaxBackward()
	t.normSums()
	t.normBackward()
	t.adam()
}

// geluBackward: gelu' = s(1 + x(1-s)·2u'), 2u' = geluScale(1 + 3·geluCubic·x²), s = sigmoid(2u).
func (t *neon) geluBackward() {
	p := "dy, x *float32, n int"
	t.fn("geluBackward", "computes dy *= gelu'(x).", p)
	t.args(p, "R0 R1 R2")
	t.geluConstants()
	t.loop("R2", 2, 8, []string{"R0", "R1"}, func(b block) {
		x, dy, s, r, slope, y := b.r(0), b.r(1), b.r(2), b.r(3), b.r(4), b.r(5)
		b.load("R1", x)
		t.sigmoidGELU(x, s, r, slope, y)
		t.do3("fdiv", s, oneReg, s)
		t.do3("fmul", y, x, x)
		t.c(geluScale*3*geluCubic, r)
		t.c(geluScale, slope)
		t.fma(slope, y, r)
		t.do3("fsub", r, oneReg, s)
		t.do3("fmul", r, r, x)
		t.move(y, oneReg)
		t.fma(y, r, slope)
		t.do3("fmul", y, y, s)
		b.load("R0", dy)
		t.do3("fmul", dy, dy, y)
		b.store(dy, "R0")
	})
	t.ret()
}

func (t *neon) softmaxBackward() {
	p := "dp, p *float32, n int, inner, scale float32"
	t.fn("softmaxBackward", "computes dp = p*(dp-inner)*scale.", p)
	t.args(p, "R0 R1 R2", 29, 30)
	t.loop("R2", 4, 2, []string{"R0", "R1"}, func(b block) {
		dp, p := b.r(0), b.r(1)
		b.load("R0", dp)
		b.load("R1", p)
		t.do3("fsub", dp, dp, 29)
		t.do3("fmul", p, p, 30)
		t.do3("fmul", dp, dp, p)
		b.store(dp, "R0")
	})
	t.ret()
}

// normSums: with h = (x-mean)*scale, adds to the gradients of weight and bias and
// returns Σ dy·weight and Σ dy·weight·h.
func (t *neon) normSums() {
	p := "dweight, dbias, dy, x, weight *float32, n int, mean, scale float32"
	t.fn("normSums", "computes dbias += dy, dweight += dy*h, and returns Σ dy*weight and Σ dy*weight*h, h = (x-mean)*scale.", p, "a", "b")
	t.args(p, "R0 R1 R2 R3 R4 R5", 29, 30)
	t.accumulators(4) // V16 and V17 of the first sum, V18 and V19 of the second
	t.loop("R5", 2, 5, []string{"R0", "R1", "R2", "R3", "R4"}, func(b block) {
		dy, h, y := b.r(0), b.r(1), b.r(2)
		b.load("R2", dy)
		b.load("R3", h)
		t.do3("fsub", h, h, 29)
		t.do3("fmul", h, h, 30)
		b.load("R0", y)
		t.fma(y, dy, h)
		b.store(y, "R0")
		b.load("R1", y)
		t.do3("fadd", y, y, dy)
		b.store(y, "R1")
		b.load("R4", y)
		t.do3("fmul", y, y, dy)
		t.do3("fadd", vec(16+b.unit), vec(16+b.unit), y)
		t.fma(vec(18+b.unit), y, h)
	})
	for i, name := range []string{"a", "b"} {
		r := vec(16 + 2*i)
		t.do3("fadd", r, r, r+1)
		t.sum(r)
		t.result(r, name, 56+4*i)
	}
	t.ret()
}

func (t *neon) normBackward() {
	p := "dx, dy, x, weight *float32, n int, mean, scale, a, b float32"
	t.fn("normBackward", "computes dx += scale*(dy*weight - a - h*b), h = (x-mean)*scale.", p)
	t.args(p, "R0 R1 R2 R3 R4", 27, 28, 29, 30)
	t.loop("R4", 4, 4, []string{"R0", "R1", "R2", "R3"}, func(b block) {
		dy, h, w, dx := b.r(0), b.r(1), b.r(2), b.r(3)
		b.load("R1", dy)
		b.load("R2", h)
		b.load("R3", w)
		b.load("R0", dx)
		t.do3("fmul", dy, dy, w)
		t.do3("fsub", dy, dy, 29)
		t.do3("fsub", h, h, 27)
		t.do3("fmul", h, h, 28)
		t.fms(dy, h, 30)
		t.fma(dx, dy, 28)
		b.store(dx, "R0")
	})
	t.ret()
}

// adam: see AdamW in train.go for the arguments.
func (t *neon) adam() {
	const gradScale, beta1, beta2, step, eps, root, decay = vec(24), vec(25), vec(26), vec(27), vec(28), vec(29), vec(30)
	p := "p, m, v, grad *float32, n int, gradScale, beta1, beta2, step, eps, root, decay float32"
	t.fn("adam", "computes one AdamW update; see adamGeneric.", p)
	t.args(p, "R0 R1 R2 R3 R4", gradScale, beta1, beta2, step, eps, root, decay)
	// moment: old = x + beta*(old-x), by way of y
	moment := func(b block, pointer string, old, x, y, beta vec) {
		b.load(pointer, old)
		t.do3("fsub", old, old, x)
		t.move(y, x)
		t.fma(y, old, beta)
		b.store(y, pointer)
	}
	t.loop("R4", 2, 6, []string{"R0", "R1", "R2", "R3"}, func(b block) {
		g, m, v, x := b.r(0), b.r(1), b.r(2), b.r(3)
		b.load("R3", g)
		t.do3("fmul", g, g, gradScale)
		moment(b, "R1", x, g, m, beta1)
		t.do3("fmul", g, g, g)
		moment(b, "R2", x, g, v, beta2)
		t.do2("fsqrt", v, v)
		t.move(x, eps)
		t.fma(x, v, root)
		t.do3("fdiv", m, m, x)
		b.load("R0", x)
		t.fms(x, x, decay)
		t.fms(x, m, step)
		b.store(x, "R0")
	})
	t.ret()
}
