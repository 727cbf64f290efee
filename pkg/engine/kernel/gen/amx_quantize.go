package main

// quantizeSquare emits the quantisation of a row of activations into its square, see
// Activations. Registers 0 to 7 hold the inputs, 8 to 15 maxima.
func (t *asm) quantizeSquare() {
	const dst, scale, x, count = "DI", "R8", "SI", "CX"
	p := "dst, scale, x *float32, blocks int"
	t.fn("quantizeSquare", "quantises 128*blocks inputs, blocks > 0, of a row that begins at dst, and whose first scale is at scale.", p)
	t.args(p, dst, scale, x, count)
	loop, strange, none, next := t.next("superblock"), t.next("strange"), t.next("none"), t.next("next")
	t.op("VMOVDQU32", t.bits(0x7fffffff), t.v(31))
	t.zero(t.v(30))
	t.op("VMOVSS", t.c(127), "X29")
	t.label(loop)
	for i := range 8 {
		t.op("VMOVUPS", mem(64*i, x), t.v(i))
		t.op("VPANDD", t.v(i), t.v(31), t.v(8+i))
	}
	t.foldVectors("VPMAXUD", 8, 8)
	t.op("VMOVD", "X8", "AX")
	t.op("CMPL", "AX", "$0x7f800000")
	t.op("JCC", strange)
	t.op("CMPL", "AX", "$0x0d800000") // 2**-100
	t.op("MOVL", "$0", "AX")
	t.op("JCS", none)
	t.op("VDIVSS", "X29", "X8", "X16")
	t.op("VMOVSS", "X16", mem(0, scale))
	t.op("VDIVSS", "X8", "X29", "X16")
	t.op("VBROADCASTSS", "X16", t.v(16))
	for i := range 8 {
		t.op("VMULPS", t.v(16), t.v(i), t.v(i))
		t.op("VCVTPS2DQ", t.v(i), t.v(i))
		t.op("VPMOVSDB", t.v(i), mem(squareTile*(i/4)+16*(i%4), dst))
	}
	t.label(next)
	t.op("ADDQ", imm(squareBytes), dst)
	t.op("ADDQ", imm(squareBytes), scale)
	t.op("ADDQ", "$512", x)
	t.op("DECQ", count)
	t.op("JNZ", loop)
	t.ret()
	t.label(strange)
	t.op("MOVL", "$0x7fc00000", "AX")
	t.label(none)
	t.op("MOVL", "AX", mem(0, scale))
	for half := range 2 {
		t.op("VMOVDQU32", t.v(30), mem(squareTile*half, dst))
	}
	t.op("JMP", next)
}

// foldVectors combines the words of count registers into the first word of the first.
func (t *asm) foldVectors(op string, first, count int) {
	for n := count / 2; n > 0; n /= 2 {
		for i := range n {
			t.op(op, t.v(first+n+i), t.v(first+i), t.v(first+i))
		}
	}
	y, spare := t.half(t.v(first)), t.half(t.v(first+1))
	t.op("VEXTRACTI64X4", "$1", t.v(first), spare)
	t.op(op, spare, y, y)
	narrow := asm{lanes: 8, reg: "Y"}
	narrow.foldWords(op, first, first+1)
	t.text.Write(narrow.text.Bytes())
}
