package main

// rotations emits the two pairings of Rotate.
func (t *neon) rotations() {
	t.rotateHalves()
	t.rotatePairs()
}

// turn computes x = a·cos - b·sin and y = b·cos + a·sin.
func (t *neon) turn(x, y, a, b, cos, sin vec) {
	t.do3("fmul", x, a, cos)
	t.fms(x, b, sin)
	t.do3("fmul", y, b, cos)
	t.fma(y, a, sin)
}

func (t *neon) rotateHalves() {
	p := "a, b, cos, sin *float32, n int"
	t.fn("rotateHalves", "turns the pairs (a[i], b[i]).", p)
	t.args(p, "R0 R1 R2 R3 R4")
	t.loop("R4", 2, 6, []string{"R0", "R1", "R2", "R3"}, func(b block) {
		for i, pointer := range []string{"R0", "R1", "R2", "R3"} {
			b.load(pointer, b.r(i))
		}
		t.turn(b.r(4), b.r(5), b.r(0), b.r(1), b.r(2), b.r(3))
		b.store(b.r(4), "R0")
		b.store(b.r(5), "R1")
	})
	t.ret()
}

// rotatePairs takes four pairs at a time, which loads and stores separate and join,
// then one.
func (t *neon) rotatePairs() {
	p := "x, cos, sin *float32, n int"
	t.fn("rotatePairs", "turns the pairs (x[2i], x[2i+1]).", p)
	t.args(p, "R0 R1 R2 R3")
	t.whole("R3", lane4, func() {
		t.op("VLD2", "(R0)", "[V0.S4, V1.S4]")
		t.op("FMOVQ.P", "16(R1)", "F2")
		t.op("FMOVQ.P", "16(R2)", "F3")
		t.turn(4, 5, 0, 1, 2, 3)
		t.op("VST2.P", "[V4.S4, V5.S4]", "32(R0)")
	})
	t.whole("R3", 1, func() {
		t.op("FMOVS", "(R0)", "F0")
		t.op("FMOVS", "4(R0)", "F1")
		t.op("FMOVS.P", "4(R1)", "F2")
		t.op("FMOVS.P", "4(R2)", "F3")
		t.turn(4, 5, 0, 1, 2, 3)
		t.op("FMOVS", "F4", "(R0)")
		t.op("FMOVS", "F5", "4(R0)")
		t.advance(8, "R0")
	})
	t.ret()
}
