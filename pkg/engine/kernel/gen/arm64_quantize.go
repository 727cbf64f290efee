package main

// quantize emits the quantisation of activations.
func (t *neon) quantize() {
	p := "dst, x *float32, blocks int"
	t.fn("quantize", "writes dst (blocks, 22) from x (blocks, 64); see Activations.", p)
	t.args(p, "R0 R1 R2")
	t.op("MOVD", "$127", "R3")
	t.op("SCVTFS", "R3", "F31")
	t.whole("R2", 1, func() {
		for half := range 2 {
			t.quantizeHalf(half)
		}
		t.advance(256, "R1")
		t.advance(88, "R0")
	})
	t.ret()
}

// quantizeHalf quantises 32 inputs: V0 to V7. V31 holds 127. Magnitudes compare as their
// bits do.
func (t *neon) quantizeHalf(half int) {
	zero, strange, done := t.next("zero"), t.next("strange"), t.next("done")
	x := seq(0, 8)
	t.loadQ("R1", 128*half, x...)
	for i, r := range x {
		t.do2("fabs", vec(8+i), r)
	}
	t.tree("VUMAX", 8, 8)
	t.word("umaxp v8.4s, v8.4s, v8.4s")
	t.word("umaxp v8.4s, v8.4s, v8.4s")
	t.op("VMOV", vec(8).s(0), "R3")
	t.op("CMP", "$0x7f800000", "R3")
	t.op("BHS", strange)
	t.op("CMP", "$0x0d800000", "R3") // 2**-100
	t.op("BLO", zero)
	t.op("FDIVS", "F31", "F8", "F9")
	t.op("FMOVS", "F9", mem(64+4*half, "R0"))
	t.op("FDIVS", "F8", "F31", "F9")
	for _, r := range x {
		t.word("fmul v%d.4s, v%d.4s, v9.s[0]", r, r)
		t.do2("fcvtns", r, r)
	}
	t.tree("VADD", 16, 0)
	t.op("VADDV", vec(16).s4(), "V16")
	t.op("VMOV", vec(16).s(0), "R3")
	for n, arrangement := 8, vec.h8; n > 2; n, arrangement = n/2, vec.b16 {
		for i := range vec(n / 2) {
			t.op("VUZP1", arrangement(2*i+1), arrangement(2*i), arrangement(i))
		}
	}
	t.storeQ("R0", 32*half, 0, 1)
	t.op("NEG", "R3<<3", "R3")
	t.op("MOVW", "R3", mem(80+4*half, "R0"))
	t.op("LSL", "$4", "R3")
	t.op("MOVW", "R3", mem(72+4*half, "R0"))
	t.op("B", done)
	t.label(strange)
	t.quantizeNone(half, "$0x7fc00000")
	t.op("B", done)
	t.label(zero)
	t.quantizeNone(half, "$0")
	t.label(done)
}

// quantizeNone writes 32 zeros with that scale.
func (t *neon) quantizeNone(half int, scale string) {
	t.zero(0)
	t.zero(1)
	t.storeQ("R0", 32*half, 0, 1)
	t.op("MOVD", scale, "R3")
	t.op("MOVW", "R3", mem(64+4*half, "R0"))
	t.op("MOVW", "ZR", mem(72+4*half, "R0"))
	t.op("MOVW", "ZR", mem(80+4*half, "R0"))
}

// tree combines eight registers from src on into dst, by way of the three behind it.
func (t *neon) tree(op string, dst, src vec) {
	for n := vec(4); n > 0; n, src = n/2, dst {
		for i := range n {
			t.op(op, (src + n + i).s4(), (src + i).s4(), (dst + i).s4())
		}
	}
}
