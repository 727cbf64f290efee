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
		t.quantizeBlock(quantized{inputs: 32, x: 128 * half, q: 32 * half, d: 64 + 4*half, sum8: 72 + 4*half, sum4: 80 + 4*half})
	}
	t.op("ADDQ", "$256", "SI")
	t.op("ADDQ", "$88", "DI")
	t.op("DECQ", "CX")
	t.op("JMP", loop)
	t.label(done)
	t.ret()
}

// quantizeWide emits the quantisation of activations for Q8W.
func (t *asm) quantizeWide() {
	if t.wide() {
		return
	}
	p := "dst, x *float32, blocks int"
	t.fn("quantizeWide", "writes dst (blocks, 34) from x (blocks, 128), blocks > 0; see Activations.", p)
	t.args(p, "DI", "SI", "CX")
	t.op("VMOVUPS", t.bits(0x7fffffff), "Y15")
	loop := t.next("superblock")
	t.label(loop)
	t.quantizeBlock(quantized{inputs: 128, d: 128, sum8: 132})
	t.op("ADDQ", "$512", "SI")
	t.op("ADDQ", "$136", "DI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.ret()
}

// A quantized says where the inputs that share a scale are, and where their words go, in
// bytes from SI and DI: q, d, -128*Σq and, if it is not zero, -8*Σq.
type quantized struct{ inputs, x, q, d, sum8, sum4 int }

// quantizeBlock quantises the inputs that share a scale. Register 4 finds the maximum, 6
// holds 1/d, 7 sums up.
func (t *asm) quantizeBlock(b quantized) {
	d, sum8, sum4 := mem(b.d, "DI"), mem(b.sum8, "DI"), mem(b.sum4, "DI")
	strange, small, end := t.next("strange"), t.next("small"), t.next("end")
	for i := range b.inputs / 8 {
		at := mem(b.x+32*i, "SI")
		if i < 4 {
			t.op("VPAND", at, "Y15", t.v(4+i))
			continue
		}
		t.op("VPAND", at, "Y15", t.v(i%4))
		t.op("VPMAXUD", t.v(i%4), t.v(4+i%4), t.v(4+i%4))
	}
	t.op("VPMAXUD", "Y5", "Y4", "Y4")
	t.op("VPMAXUD", "Y7", "Y6", "Y6")
	t.op("VPMAXUD", "Y6", "Y4", "Y4")
	t.divisor(d, strange, small)
	t.zero("Y7")
	for i := range b.inputs / 32 {
		t.quantize32(b.x+128*i, b.q+32*i)
	}
	t.foldWords("VPADDD", 7, 5)
	t.op("VMOVD", "X7", "AX")
	t.op("NEGL", "AX")
	t.op("SHLL", "$3", "AX")
	if b.sum4 > 0 {
		t.op("MOVL", "AX", sum4)
	}
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
	if b.sum4 > 0 {
		t.op("MOVL", "AX", sum4)
	}
	t.op("VPXOR", "Y0", "Y0", "Y0")
	for i := range b.inputs / 32 {
		t.op("VMOVDQU", "Y0", mem(b.q+32*i, "DI"))
	}
	t.label(end)
}

// divisor stores d, a 127th of the largest of the magnitudes in register 4, and sets register 6 to
// 1/d. If the magnitude is not finite, or too small, it jumps instead.
func (t *asm) divisor(d, strange, small string) {
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
}

// quantize32 writes 32 inputs as bytes, and adds them to register 7.
func (t *asm) quantize32(x, q int) {
	for i := range 4 {
		t.op("VMULPS", mem(x+32*i, "SI"), "Y6", t.v(i))
		t.op("VCVTPS2DQ", t.v(i), t.v(i))
	}
	t.op("VPADDD", "Y1", "Y0", "Y4")
	t.op("VPADDD", "Y3", "Y2", "Y5")
	t.op("VPADDD", "Y5", "Y4", "Y4")
	t.op("VPADDD", "Y4", "Y7", "Y7")
	t.op("VPACKSSDW", "Y1", "Y0", "Y0")
	t.op("VPACKSSDW", "Y3", "Y2", "Y2")
	t.op("VPACKSSWB", "Y2", "Y0", "Y0")
	t.op("VEXTRACTI128", "$1", "Y0", "X1")
	t.op("VPUNPCKLDQ", "X1", "X0", "X2")
	t.op("VPUNPCKHDQ", "X1", "X0", "X3")
	t.op("VMOVDQU", "X2", mem(q, "DI"))
	t.op("VMOVDQU", "X3", mem(q+16, "DI"))
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
