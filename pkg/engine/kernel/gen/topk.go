package main

import (
	"fmt"
	"math"
)

// selection emits the operations that choose among logits.
func (t *asm) selection() {
	t.largest()
	t.atLeast()
	t.weights()
}

// largest: the comparison of a NaN gives its second operand, the maximum so far.
func (t *asm) largest() {
	p := "x *float32, n int"
	t.fn("largest", "returns the largest of n values, a multiple of 64, and of the least float32.", p, "top")
	t.args(p, "DI", "CX")
	for i := range 4 {
		t.op("VMOVUPS", t.c(-math.MaxFloat32), t.v(i))
	}
	loop := t.next("loop")
	t.label(loop)
	for i := range 4 {
		t.op("VMOVUPS", mem(i*t.bytes(), "DI"), t.v(4+i))
		t.op("VMAXPS", t.v(i), t.v(4+i), t.v(i))
	}
	t.op("ADDQ", imm(4*t.bytes()), "DI")
	t.op("SUBQ", imm(4*t.lanes), "CX")
	t.op("JNZ", loop)
	t.op("VMAXPS", t.v(1), t.v(0), t.v(0))
	t.op("VMAXPS", t.v(3), t.v(2), t.v(2))
	t.op("VMAXPS", t.v(2), t.v(0), t.v(0))
	t.reduce("VMAXPS")
	t.op("VMOVSS", "X0", "top+16(FP)")
	t.ret()
}

// finite bounds register r: see Finite. The second operand is the result for a NaN.
func (t *asm) finite(r string) {
	t.op("VMAXPS", t.c(-math.MaxFloat32), r, r)
	t.op("VMINPS", t.c(math.MaxFloat32), r, r)
}

func (t *asm) atLeast() {
	p := "mask *uint64, x *float32, n int, bound float32"
	t.fn("atLeast", "sets the bits of mask where x >= bound; n is a multiple of 64.", p)
	t.args(p, "DI", "SI", "CX", t.v(0))
	loop := t.next("loop")
	t.label(loop)
	t.op("XORL", "DX", "DX")
	for i := range 64 / t.lanes {
		t.op("VMOVUPS", mem(i*t.bytes(), "SI"), t.v(1))
		t.finite(t.v(1))
		if t.wide() {
			t.op("VCMPPS", "$0x1D", t.v(0), t.v(1), "K1")
			t.op("KMOVW", "K1", "AX")
		} else {
			t.op("VCMPPS", "$0x1D", t.v(0), t.v(1), t.v(1))
			t.op("VMOVMSKPS", t.v(1), "AX")
		}
		t.op("SHLQ", imm(i*t.lanes), "AX")
		t.op("ORQ", "AX", "DX")
	}
	t.op("MOVQ", "DX", "(DI)")
	t.op("ADDQ", "$8", "DI")
	t.op("ADDQ", imm(256), "SI")
	t.op("SUBQ", "$64", "CX")
	t.op("JNZ", loop)
	t.ret()
}

// Rows of the constants of weights: as in generic_topk.go.
const (
	rowFloor = iota
	rowLog2e
	rowRound
	rowUnround
	rowUpper
	rowLower
	rowPoly
	rowEnd = rowPoly + 13
)

// row is the address of a constant.
func row(i int) string { return mem(32*i, "R8") }

// byRow emits an operation whose first operand is a constant.
func (t *asm) byRow(name string, i int, registers ...string) {
	if t.wide() {
		name += ".BCST"
	}
	t.op(name, append([]string{row(i)}, registers...)...)
}

// weights works on eight values at a time, in one register or two; sums of theirs are in
// registers 0 and, if narrow, 10.
func (t *asm) weights() {
	p := "w *float64, x *float32, n int, top, scale float64, constants, sum *float64"
	t.fn("weights", "computes w = exp((x-top)*scale) and the sum; n is a multiple of 8.", p)
	for i, name := range []string{"w+0(FP)", "x+8(FP)", "n+16(FP)"} {
		t.op("MOVQ", name, []string{"DI", "SI", "CX"}[i])
	}
	t.op("MOVQ", "constants+40(FP)", "R8")
	t.op("MOVQ", "sum+48(FP)", "R9")
	t.op("VBROADCASTSD", "top+24(FP)", t.v(5))
	t.op("VBROADCASTSD", "scale+32(FP)", t.v(6))
	t.op("VBROADCASTSD", row(rowRound), t.v(7))
	lanes := t.lanes / 2 // of float64
	loop := t.next("loop")
	for at := 0; at < 8; at += lanes {
		t.zero(t.v(10 * at / lanes))
	}
	t.label(loop)
	for at := 0; at < 8; at += lanes {
		t.eightWeights(at, t.v(10*at/lanes))
	}
	t.op("ADDQ", "$32", "SI")
	t.op("ADDQ", "$64", "DI")
	t.op("SUBQ", "$8", "CX")
	t.op("JNZ", loop)
	if t.wide() {
		t.op("VEXTRACTF64X4", "$1", "Z0", "Y10")
	}
	t.op("VADDPD", "Y10", "Y0", "Y0")
	t.op("VEXTRACTF128", "$1", "Y0", "X1")
	t.op("VADDPD", "X1", "X0", "X0")
	t.op("VUNPCKHPD", "X0", "X0", "X1")
	t.op("VADDSD", "X1", "X0", "X0")
	t.op("VMOVSD", "X0", "(R9)")
	t.ret()
}

// eightWeights computes the weights from the given one on, as many as fill a register,
// and adds them to sum. The steps are those of the generic code, one by one.
func (t *asm) eightWeights(at int, sum string) {
	a, shifted, n, p, top, scale, round, above := t.v(1), t.v(2), t.v(3), t.v(4), t.v(5), t.v(6), t.v(7), t.v(8)
	t.op("VMOVUPS", mem(4*at, "SI"), t.half(a))
	t.finite(t.half(a))
	t.op("VCVTPS2PD", t.half(a), a)
	t.op("VSUBPD", top, a, a)
	t.op("VMULPD", scale, a, a)
	t.op("VMOVAPD", round, shifted)
	t.byRow("VFMADD231PD", rowLog2e, a, shifted)
	t.op("VSUBPD", round, shifted, n)
	if t.wide() {
		t.op("VCMPPD.BCST", "$0x1E", row(rowFloor), a, "K1")
	} else {
		t.op("VCMPPD", "$0x1E", row(rowFloor), a, above)
	}
	t.byRow("VFMADD231PD", rowUpper, n, a)
	t.byRow("VFMADD231PD", rowLower, n, a)
	t.op("VBROADCASTSD", row(rowPoly), p)
	for i := rowPoly + 1; i < rowEnd; i++ {
		t.byRow("VFMADD213PD", i, a, p)
	}
	t.op("VPSLLQ", "$52", shifted, shifted)
	if t.wide() {
		t.op("VPADDQ.Z", shifted, p, "K1", p)
	} else {
		t.op("VPADDQ", shifted, p, p)
		t.op("VANDPD", above, p, p)
	}
	t.op("VMOVUPD", p, fmt.Sprintf("%d(DI)", 8*at))
	t.op("VADDPD", p, sum, sum)
}
