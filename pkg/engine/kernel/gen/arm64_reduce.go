package main

// reductions emits the operations that reduce a vector to a number. Zero lengths give
// zero, except in maxOf, which requires n > 0. Accumulators begin at V16, one for each
// unrolled block.
func (t *neon) reductions() {
	t.dot()
	t.maxOf()
	t.expSum()
	t.moments()
	t.rootMeanSquare()
	t.normalize()
}

// accumulators zeroes n registers from V16 on.
func (t *neon) accumulators(n int) {
	for _, r := range seq(16, n) {
		t.zero(r)
	}
}

// total adds up n accumulators, a power of two, and their lanes into lane 0 of V16.
func (t *neon) total(n int) {
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			t.do3("fadd", vec(16+i), vec(16+i), vec(16+n/2+i))
		}
	}
	t.sum(16)
}

func (t *neon) dot() {
	p := "a, b *float32, n int"
	t.fn("dot", "returns a·b.", p, "sum")
	t.args(p, "R0 R1 R2")
	t.accumulators(4)
	t.loop("R2", 4, 2, []string{"R0", "R1"}, func(b block) {
		b.load("R0", b.r(0))
		b.load("R1", b.r(1))
		t.fma(vec(16+b.unit), b.r(0), b.r(1))
	})
	t.total(4)
	t.result(16, "sum", 24)
	t.ret()
}

func (t *neon) maxOf() {
	p := "x *float32, n int"
	t.fn("maxOf", "returns the largest of n > 0 values.", p, "top")
	t.args(p, "R0 R1")
	short, scalar, done := t.next("short"), t.next("scalar"), t.next("done")
	t.op("CMP", imm(lane4), "R1")
	t.op("BLT", short)
	t.op("ADD", "R1<<2", "R0", "R2") // the end: the last vector may overlap the one before
	t.op("FMOVQ", mem(-vecBytes, "R2"), vec(16).f())
	for _, r := range []vec{17, 18, 19} {
		t.move(r, 16)
	}
	for _, units := range []int{4, 1} {
		t.whole("R1", units*lane4, func() {
			t.loadQ("R0", 0, seq(0, units)...)
			for i := range units {
				t.do3("fmax", vec(16+i), vec(16+i), vec(i))
			}
			t.advance(units*vecBytes, "R0")
		})
	}
	t.do3("fmax", 16, 16, 17)
	t.do3("fmax", 18, 18, 19)
	t.do3("fmax", 16, 16, 18)
	t.do3("fmaxp", 16, 16, 16)
	t.do3("fmaxp", 16, 16, 16)
	t.op("B", done)
	t.label(short)
	t.op("FMOVS", "(R0)", "F16")
	t.label(scalar)
	t.op("FMOVS.P", "4(R0)", "F0")
	t.op("FMAXS", "F0", "F16", "F16")
	t.op("SUBS", "$1", "R1", "R1")
	t.op("BNE", scalar)
	t.label(done)
	t.result(16, "top", 16)
	t.ret()
}

func (t *neon) expSum() {
	p := "x *float32, n int, top float32"
	t.fn("expSum", "computes x = exp(x-top) and returns the sum.", p, "sum")
	t.args(p, "R0 R1", 30)
	t.expConstants()
	t.accumulators(2)
	t.loop("R1", 2, 8, []string{"R0"}, func(b block) {
		x := b.r(0)
		b.load("R0", x)
		t.do3("fsub", x, x, 30)
		t.exp(x, b.r(1), b.r(2), b.r(3))
		b.store(x, "R0")
		b.clip(x)
		t.do3("fadd", vec(16+b.unit), vec(16+b.unit), x)
	})
	t.total(2)
	t.result(16, "sum", 24)
	t.ret()
}

// moments: two passes, so that a large mean does not cost the variance its digits.
func (t *neon) moments() {
	p := "x *float32, n int, eps float32"
	t.fn("moments", "returns the mean of x and 1/sqrt(variance+eps).", p, "mean", "scale")
	t.args(p, "R0 R1", 28)
	t.op("MOVD", "R0", "R2")
	t.op("MOVD", "R1", "R3")
	t.op("SCVTFS", "R1", "F29")
	t.accumulators(4)
	t.loop("R1", 4, 1, []string{"R0"}, func(b block) {
		b.load("R0", b.r(0))
		t.do3("fadd", vec(16+b.unit), vec(16+b.unit), b.r(0))
	})
	t.total(4)
	t.op("FDIVS", "F29", "F16", "F30")
	t.result(30, "mean", 24)
	t.broadcast(30)
	t.accumulators(4)
	t.loop("R3", 4, 1, []string{"R2"}, func(b block) {
		x := b.r(0)
		b.load("R2", x)
		t.do3("fsub", x, x, 30)
		b.clip(x)
		t.fma(vec(16+b.unit), x, x)
	})
	t.total(4)
	t.op("FDIVS", "F29", "F16", "F16")
	t.op("FADDS", "F28", "F16", "F16")
	t.op("FSQRTS", "F16", "F16")
	t.op("FMOVS", "$1.0", "F0")
	t.op("FDIVS", "F16", "F0", "F0")
	t.result(0, "scale", 28)
	t.ret()
}

// rootMeanSquare adds up in float64, so that neither the width nor large values cost
// digits.
func (t *neon) rootMeanSquare() {
	p := "x *float32, n int, eps float32"
	t.fn("rootMeanSquare", "returns 1/sqrt(mean(x²)+eps).", p, "scale")
	t.args(p, "R0 R1", 28)
	t.op("FCVTSD", "F28", "F28")
	t.op("SCVTFD", "R1", "F29")
	t.accumulators(8)
	t.loop("R1", 4, 3, []string{"R0"}, func(b block) {
		x, low, high := b.r(0), b.r(1), b.r(2)
		b.load("R0", x)
		t.word("fcvtl v%d.2d, v%d.2s", low, x)
		t.word("fcvtl2 v%d.2d, v%d.4s", high, x)
		for i, r := range []vec{low, high} {
			t.op("VFMLA", r.d2(), r.d2(), vec(16+2*b.unit+i).d2())
		}
	})
	for n := 8; n > 1; n /= 2 {
		for i := range n / 2 {
			t.word("fadd v%d.2d, v%d.2d, v%d.2d", 16+i, 16+i, 16+n/2+i)
		}
	}
	t.word("faddp v16.2d, v16.2d, v16.2d")
	t.op("FDIVD", "F29", "F16", "F16")
	t.op("FADDD", "F28", "F16", "F16")
	t.op("FSQRTD", "F16", "F16")
	t.op("FMOVD", "$1.0", "F0")
	t.op("FDIVD", "F16", "F0", "F0")
	t.op("FCVTDS", "F0", "F0")
	t.result(0, "scale", 24)
	t.ret()
}

func (t *neon) normalize() {
	p := "dst, x, weight, bias *float32, n int, mean, scale float32"
	t.fn("normalize", "computes dst = (x-mean)*scale*weight + bias; bias may be nil.", p)
	t.args(p, "R0 R1 R2 R3 R4", 29, 30)
	body := func(bias bool) func(b block) {
		return func(b block) {
			x, w, y := b.r(0), b.r(1), b.r(2)
			b.load("R1", x)
			b.load("R2", w)
			t.do3("fsub", x, x, 29)
			t.do3("fmul", x, x, 30)
			if bias {
				b.load("R3", y)
				t.fma(y, x, w)
			} else {
				t.do3("fmul", y, x, w)
			}
			b.store(y, "R0")
		}
	}
	plain := t.next("plain")
	t.op("CBZ", "R3", plain)
	t.loop("R4", 4, 3, []string{"R0", "R1", "R2", "R3"}, body(true))
	t.ret()
	t.label(plain)
	t.loop("R4", 4, 3, []string{"R0", "R1", "R2"}, body(false))
	t.ret()
}
