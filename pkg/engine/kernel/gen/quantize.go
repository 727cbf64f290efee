package main

// quantize emits the quantisation of activations with 256-bit registers, also for
// AVX-512.
func (t *asm) quantize() {
	if t.wide() {
		return
	}
	p := "dst, x *float32, blocks int"
	t.fn("quantize", "writes dst (blocks, 22) from x (blocks, 64); see Activations.", p)
	t.args(p, "DI", "SI", "CX")
	t.op("VMOVUPS", t.bits(0x7fffffff), "Y15")
	loop, done := t.next("superblock"), t.next("done")
	t.label(loop)
	t.op("TESTQ", "CX", "CX")
	t.op("JZ", done)
	for half := range 2 {
		t.quantizeHalf(half)
	}
	t.op("ADDQ", "$256", "SI")
	t.op("ADDQ", "$88", "DI")
	t.op("DECQ", "CX")
	t.op("JMP", loop)
	t.label(done)
	t.ret()
}

// quantizeHalf quantises 32 inputs: registers 0 to 3.
func (t *asm) quantizeHalf(half int) {
	q, d, sum8, sum4 := mem(32*half, "DI"), mem(64+4*half, "DI"), mem(72+4*half, "DI"), mem(80+4*half, "DI")
	strange, small, end := t.next("strange"), t.next("small"), t.next("end")
	for i := range 4 {
		t.op("VMOVUPS", mem(128*half+32*i, "SI"), t.v(i))
		t.op("VPAND", t.v(i), "Y15", t.v(4+i))
	}
	t.op("VPMAXUD", "Y5", "Y4", "Y4")
	t.op("VPMAXUD", "Y7", "Y6", "Y6")
	t.op("VPMAXUD", "Y6", "Y4", "Y4")
	t.foldWords("VPMAXUD", 4, 5)
	t.op("VMOVD", "X4", "AX")
	t.op("CMPL", "AX", "$0x7f800000")
	t.op("JCC", strange)
	t.op("CMPL", "AX", "$0x0d800000") // 2**-100
	t.op("JCS", small)
	t.op("VMOVSS", t.c(127), "X6")
	t.op("VDIVSS", "X6", "X4", "X5")
	t.op("VMOVSS", "X5", d)
	t.op("VDIVSS", "X4", "X6", "X6")
	t.op("VBROADCASTSS", "X6", "Y6")
	for i := range 4 {
		t.op("VMULPS", "Y6", t.v(i), t.v(i))
		t.op("VCVTPS2DQ", t.v(i), t.v(i))
	}
	t.op("VPADDD", "Y1", "Y0", "Y4")
	t.op("VPADDD", "Y3", "Y2", "Y5")
	t.op("VPADDD", "Y5", "Y4", "Y4")
	t.foldWords("VPADDD", 4, 5)
	t.op("VMOVD", "X4", "AX")
	t.op("VPACKSSDW", "Y1", "Y0", "Y0")
	t.op("VPACKSSDW", "Y3", "Y2", "Y2")
	t.op("VPACKSSWB", "Y2", "Y0", "Y0")
	t.op("VEXTRACTI128", "$1", "Y0", "X1")
	t.op("VPUNPCKLDQ", "X1", "X0", "X2")
	t.op("VPUNPCKHDQ", "X1", "X0", "X3")
	t.op("VMOVDQU", "X2", q)
	t.op("VMOVDQU", "X3", mem(32*half+16, "DI"))
	t.op("NEGL", "AX")
	t.op("SHLL", "$3", "AX")
	t.op("MOVL", "AX", sum4)
	t.op("SHLL", "$4", "AX")
	t.op("MOVL", "AX", sum8)
	t.op("JMP", end)
	t.label(strange)
	t.op("MOVL", "$0x7fc00000", "AX")
	t.op("JMP", small+"d")
	t.label(small)
	t.op("XORL", "AX", "AX")
	t.label(small + "d")
	t.op("MOVL", "AX", d)
	t.op("XORL", "AX", "AX")
	t.op("MOVL", "AX", sum8)
	t.op("MOVL", "AX", sum4)
	t.op("VPXOR", "Y0", "Y0", "Y0")
	t.op("VMOVDQU", "Y0", q)
	t.label(end)
}

// foldWords combines the eight words of a register into the first of its lower half.
func (t *asm) foldWords(op string, r, spare int) {
	x, s := t.half(t.v(r)), t.half(t.v(spare))
	t.op("VEXTRACTI128", "$1", t.v(r), s)
	t.op(op, s, x, x)
	t.op("VPSHUFD", "$0x4e", x, s)
	t.op(op, s, x, x)
	t.op("VPSHUFD", "$0xb1", x, s)
	t.op(op, s, x, x)
}
