package main

// quantize emits the quantisation of activations.
func (t *neon) quantize() {
	p := "dst, x *float32, blocks int"
	t.fn("quantize", "writes dst (blocks, 22) from x (blocks, 64); see Activations.", p)
	t.args(p, "R0 R1 R2")
	t.load127()
	t.whole("R2", 1, func() {
		for half := range 2 {
			t.quantizeBlock(quantized{inputs: 32, x: 128 * half, q: 32 * half, d: 64 + 4*half, sum8: 72 + 4*half, sum4: 80 + 4*half})
		}
		t.advance(256, "R1")
		t.advance(88, "R0")
	})
	t.ret()
}

// quantizeWide emits the quantisation of activations for Q8W.
func (t *neon) quantizeWide() {
	p := "dst, x *float32, blocks int"
	t.fn("quantizeWide", "writes dst (blocks, 34) from x (blocks, 128); see Activations.", p)
	t.args(p, "R0 R1 R2")
	t.load127()
	t.whole("R2", 1, func() {
		t.quantizeBlock(quantized{inputs: 128, d: 128, sum8: 132})
		t.advance(512, "R1")
		t.advance(136, "R0")
	})
	t.ret()
}

// quantizeBlock quantises the inputs that share a scale, 32 at a time in V0 to V7, which
// stay there if they are all. V31 holds 127, V9 1/d; V8 finds the maximum and V10 sums up.
// Magnitudes compare as their bits do.
func (t *neon) quantizeBlock(b quantized) {
	zero, strange, done := t.next("zero"), t.next("strange"), t.next("done")
	x := seq(0, 8)
	for part := range b.inputs / 32 {
		t.loadQ("R1", b.x+128*part, x...)
		for i, r := range x {
			t.do2("fabs", vec(16+i), r)
		}
		t.tree("VUMAX", 16, 16)
		if part == 0 {
			t.move(8, 16)
		} else {
			t.op("VUMAX", vec(16).s4(), vec(8).s4(), vec(8).s4())
		}
	}
	t.divisor(mem(b.d, "R0"), strange, zero)
	t.zero(10)
	for part := range b.inputs / 32 {
		if b.inputs > 32 {
			t.loadQ("R1", b.x+128*part, x...)
		}
		t.quantize32(b.q + 32*part)
	}
	t.op("VADDV", vec(10).s4(), "V10")
	t.op("VMOV", vec(10).s(0), "R3")
	t.op("NEG", "R3<<3", "R3")
	if b.sum4 > 0 {
		t.op("MOVW", "R3", mem(b.sum4, "R0"))
	}
	t.op("LSL", "$4", "R3")
	t.op("MOVW", "R3", mem(b.sum8, "R0"))
	t.op("B", done)
	t.label(strange)
	t.quantizeNone(b, "$0x7fc00000")
	t.op("B", done)
	t.label(zero)
	t.quantizeNone(b, "$0")
	t.label(done)
}

// load127 sets V31 to 127; R3 is changed.
func (t *neon) load127() {
	t.op("MOVD", "$127", "R3")
	t.op("SCVTFS", "R3", "F31")
}

// divisor stores d, a 127th of the largest of the magnitudes in V8, and sets V9 to 1/d. If the
// magnitude is not finite, or too small, it jumps instead. V31 holds 127; R3 is changed.
func (t *neon) divisor(d, strange, zero string) {
	t.word("umaxp v8.4s, v8.4s, v8.4s")
	t.word("umaxp v8.4s, v8.4s, v8.4s")
	t.op("VMOV", vec(8).s(0), "R3")
	t.op("CMP", "$0x7f800000", "R3")
	t.op("BHS", strange)
	t.op("CMP", "$0x0d800000", "R3") // 2**-100
	t.op("BLO", zero)
	t.op("FDIVS", "F31", "F8", "F9")
	t.op("FMOVS", "F9", d)
	t.op("FDIVS", "F8", "F31", "F9")
}

// quantize32 writes 32 inputs as bytes, and adds them to V10.
func (t *neon) quantize32(q int) {
	for _, r := range seq(0, 8) {
		t.word("fmul v%d.4s, v%d.4s, v9.s[0]", r, r)
		t.do2("fcvtns", r, r)
	}
	t.tree("VADD", 16, 0)
	t.op("VADD", vec(16).s4(), vec(10).s4(), vec(10).s4())
	for n, arrangement := 8, vec.h8; n > 2; n, arrangement = n/2, vec.b16 {
		for i := range vec(n / 2) {
			t.op("VUZP1", arrangement(2*i+1), arrangement(2*i), arrangement(i))
		}
	}
	t.storeQ("R0", q, 0, 1)
}

// quantizeNone writes zeros with that scale.
func (t *neon) quantizeNone(b quantized, scale string) {
	t.zero(0)
	t.zero(1)
	for part := range b.inputs / 32 {
		t.storeQ("R0", b.q+32*part, 0, 1)
	}
	t.op("MOVD", scale, "R3")
	t.op("MOVW", "R3", mem(b.d, "R0"))
	t.op("MOVW", "ZR", mem(b.sum8, "R0"))
	if b.sum4 > 0 {
		t.op("MOVW", "ZR", mem(b.sum4, "R0"))
	}
}

// tree combines eight registers from src on into dst, by way of the three behind it.
func (t *neon) tree(op string, dst, src vec) {
	for n := vec(4); n > 0; n, src = n/2, dst {
		for i := range n {
			t.op(op, (src + n + i).s4(), (src + i).s4(), (dst + i).s4())
		}
	}
}
