package main

// rotations emits the two pairings of Rotate.
func (t *asm) rotations() {
	t.rotateHalves()
	t.rotatePairs()
}

func (t *asm) rotateHalves() {
	p := "a, b, cos, sin *float32, n int"
	a, b, cos, sin, product := t.v(0), t.v(1), t.v(2), t.v(3), t.v(4)
	t.fn("rotateHalves", "turns the pairs (a[i], b[i]).", p)
	t.args(p, "DI", "SI", "R8", "R9", "CX")
	t.loop([]string{"DI", "SI", "R8", "R9"}, func(m bool) {
		t.load("(DI)", a, m)
		t.load("(SI)", b, m)
		t.load("(R8)", cos, m)
		t.load("(R9)", sin, m)
		t.op("VMULPS", sin, b, product)
		t.op("VFMSUB231PS", cos, a, product)
		t.op("VMULPS", sin, a, a)
		t.op("VFMADD231PS", cos, b, a)
		t.store(product, "(DI)", m)
		t.store(a, "(SI)", m)
	})
	t.ret()
}

// rotatePairs multiplies x by every cosine twice, and x with its pairs swapped by
// every sine twice; even lanes subtract, odd lanes add.
func (t *asm) rotatePairs() {
	p := "x, cos, sin *float32, n int"
	x, cos, sin, swapped := t.v(0), t.v(2), t.v(3), t.v(4)
	t.fn("rotatePairs", "turns the pairs (x[2i], x[2i+1]).", p)
	t.args(p, "DI", "R8", "R9", "CX")
	t.op("ADDQ", "CX", "CX") // values of x
	t.loop([]string{"DI"}, func(m bool) {
		t.load("(DI)", x, m)
		if m {
			t.op("SHRQ", "$1", "CX")
			t.setMask("CX")
		}
		t.twice("R8", cos, m)
		t.twice("R9", sin, m)
		if m {
			t.op("ADDQ", "CX", "CX")
			t.setMask("CX")
		}
		t.op("VPERMILPS", "$0xB1", x, swapped)
		t.op("VMULPS", sin, swapped, swapped)
		t.op("VFMADDSUB213PS", swapped, cos, x)
		t.store(x, "(DI)", m)
	})
	t.ret()
}

// twice reads half a vector, or its masked lanes, with every value twice, and
// advances the pointer.
func (t *asm) twice(pointer, dst string, masked bool) {
	source := mem(0, pointer)
	if masked {
		t.load(source, dst, true)
		source = t.half(dst)
	}
	t.op("VPMOVZXDQ", source, dst)
	t.op("VMOVSLDUP", dst, dst)
	t.op("ADDQ", imm(t.bytes()/2), pointer)
}
