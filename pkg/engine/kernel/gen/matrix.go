package main

import "fmt"

const panelBytes = 128 // 32 float32

// Registers of gemm for the weights that it brings to the second level.
const rAhead, rAheadStep = "AX", "CX"

// gemm emits the tile: c (rows, 32) = or += a (k, rows packed) · w (k, 32 packed).
// Every output adds its products in the order of k, fused, whatever the tile. For each k it
// brings step bytes, at most two lines, to the second-level cache, from w + ahead on.
func (t *asm) gemm() {
	p := "c *float32, ldc int, a, w *float32, k, rows, accumulate, ahead, step int"
	t.fn("gemm", fmt.Sprintf("computes the tile c (rows <= %d, 32) from a (k, rows) and w (k, 32); ldc in floats, ahead and step in bytes.", t.tile), p)
	t.args(p, "DI", "R8", "SI", "R9", "R10", "R11", "R12", rAhead, rAheadStep)
	t.op("SHLQ", "$2", "R8")
	t.op("ADDQ", "R9", rAhead)
	for rows := t.tile; rows > 1; rows-- {
		t.op("CMPQ", "R11", imm(rows))
		t.op("JEQ", fmt.Sprintf("rows%d", rows))
	}
	for rows := 1; rows <= t.tile; rows++ {
		if rows > 1 {
			t.label(fmt.Sprintf("rows%d", rows))
		}
		if t.wide() {
			t.rows(rows)
		} else { // half of the outputs at a time
			t.op("SHRQ", "$1", rAheadStep)
			t.op("MOVQ", "DI", "R13")
			t.op("MOVQ", "SI", "R14")
			t.op("MOVQ", "R9", "R15")
			t.op("MOVQ", "R10", "BX")
			t.rows(rows)
			t.op("LEAQ", "64(R13)", "DI")
			t.op("MOVQ", "R14", "SI")
			t.op("LEAQ", "64(R15)", "R9")
			t.op("MOVQ", "BX", "R10")
			t.rows(rows)
		}
		t.ret()
	}
}

// rows computes rows x 2 vectors. Accumulator 2r+i holds row r, vector i.
func (t *asm) rows(rows int) {
	const width = 2
	acc := func(r, i int) string { return t.v(r*width + i) }
	w0 := rows * width
	fresh, loop := t.next("fresh"), t.next("loop")
	start := t.next("start")
	t.op("TESTQ", "R12", "R12")
	t.op("JZ", fresh)
	t.op("MOVQ", "DI", "DX")
	for r := range rows {
		for i := range width {
			t.op("VMOVUPS", mem(i*t.bytes(), "DX"), acc(r, i))
			if t.wide() {
				t.op("PREFETCHT1", mem(panelBytes+i*t.bytes(), "DX"))
			}
		}
		t.op("ADDQ", "R8", "DX")
	}
	t.op("JMP", start)
	t.label(fresh)
	for i := range rows * width {
		t.zero(t.v(i))
	}
	t.label(start)
	t.op("TESTQ", "R10", "R10")
	end := t.next("end")
	t.op("JZ", end)
	t.label(loop)
	for i := range width {
		t.op("VMOVUPS", mem(i*t.bytes(), "R9"), t.v(w0+i))
	}
	spare := 1 // registers of inputs
	t.op("PREFETCHT1", mem(0, rAhead))
	if t.wide() {
		spare = 6
		t.op("PREFETCHT1", mem(64, rAhead))
	}
	t.op("ADDQ", rAheadStep, rAhead)
	for r := range rows {
		x := t.v(w0 + width + r%spare)
		t.op("VBROADCASTSS", mem(4*r, "SI"), x)
		for i := range width {
			t.op("VFMADD231PS", t.v(w0+i), x, acc(r, i))
		}
	}
	t.op("ADDQ", imm(4*rows), "SI")
	t.op("ADDQ", imm(panelBytes), "R9")
	t.op("DECQ", "R10")
	t.op("JNZ", loop)
	t.label(end)
	for r := range rows {
		for i := range width {
			t.op("VMOVUPS", acc(r, i), mem(i*t.bytes(), "DI"))
		}
		t.op("ADDQ", "R8", "DI")
	}
}

// gemv emits one row of x against whole panels. Several panels are in flight to hide
// the latency of the multiply-adds.
func (t *asm) gemv() {
	p := "dst, x, w *float32, k, panels int"
	t.fn("gemv", "computes dst (panels, 32) = x (k) · panels (k, 32).", p)
	t.args(p, "DI", "SI", "R8", "R9", "R10")
	t.op("MOVQ", "R9", "R11")
	t.op("SHLQ", "$7", "R11") // bytes of a panel
	vectors := panelBytes / t.bytes()
	many := 8 / vectors
	for _, panels := range []int{many, 1} {
		start, loop, end := t.next("panels"), t.next("loop"), t.next("end")
		t.label(start)
		t.op("CMPQ", "R10", imm(panels))
		t.op("JLT", end)
		for i := range panels * vectors {
			t.zero(t.v(i))
		}
		t.op("MOVQ", "SI", "DX")
		t.op("MOVQ", "R9", "CX")
		bases := []string{"R8", "R12", "R13", "R14"}[:panels]
		for i := 1; i < panels; i++ {
			t.op("LEAQ", "("+bases[i-1]+")(R11*1)", bases[i])
		}
		t.label(loop)
		t.op("VBROADCASTSS", "(DX)", t.v(9))
		for i, b := range bases {
			for j := range vectors {
				t.op("VFMADD231PS", mem(j*t.bytes(), b), t.v(9), t.v(i*vectors+j))
			}
			t.op("ADDQ", imm(panelBytes), b)
		}
		t.op("ADDQ", "$4", "DX")
		t.op("DECQ", "CX")
		t.op("JNZ", loop)
		for i := range panels * vectors {
			t.op("VMOVUPS", t.v(i), mem(i*t.bytes(), "DI"))
		}
		t.op("ADDQ", imm(panels*panelBytes), "DI")
		if panels > 1 {
			t.op("MOVQ", bases[panels-1], "R8")
		}
		t.op("SUBQ", imm(panels), "R10")
		t.op("JMP", start)
		t.label(end)
	}
	t.ret()
}

// transpose emits blocks of lanes columns of up to lanes rows.
func (t *asm) transpose() {
	p := "dst *float32, ldd int, x *float32, ldx, blocks, rows int"
	t.fn("transpose", fmt.Sprintf("writes dst (%d*blocks, %d) from x (1 <= rows <= %d, %d*blocks); rows past the last repeat it; dst rows ascend, so a stride below %d overwrites their excess; ldd, ldx in floats.", t.lanes, t.lanes, t.lanes, t.lanes, t.lanes), p)
	t.args(p, "DI", "R8", "SI", "R9", "R10", "R11")
	t.op("SHLQ", "$2", "R8")
	t.op("SHLQ", "$2", "R9")
	t.op("XORL", "R12", "R12")
	block, done := t.next("block"), t.next("done")
	t.label(block)
	t.op("TESTQ", "R10", "R10")
	t.op("JZ", done)
	t.op("MOVQ", "SI", "DX")
	t.op("MOVQ", "R9", "BX")
	for r := range t.lanes {
		t.op("VMOVUPS", "(DX)", t.v(r))
		t.op("CMPQ", "R11", imm(r+1))
		t.op("CMOVQEQ", "R12", "BX")
		t.op("ADDQ", "BX", "DX")
	}
	for _, r := range t.transposed() {
		t.op("VMOVUPS", t.v(r), "(DI)")
		t.op("ADDQ", "R8", "DI")
	}
	t.op("ADDQ", imm(t.bytes()), "SI")
	t.op("DECQ", "R10")
	t.op("JMP", block)
	t.label(done)
	t.ret()
}

// transposed transposes registers 0..lanes-1 and returns where the columns lie.
func (t *asm) transposed() []int {
	if !t.wide() {
		return t.transposed8()
	}
	// Pairs: 16.. hold the interleaved rows, then quads go back to 0..15.
	for i := range 8 {
		t.op("VUNPCKLPS", t.v(2*i+1), t.v(2*i), t.v(16+2*i))
		t.op("VUNPCKHPS", t.v(2*i+1), t.v(2*i), t.v(17+2*i))
	}
	for q := range 4 { // rows 4q..4q+3; register 4q+c holds columns 4L+c in lane L
		b := 16 + 4*q
		t.op("VUNPCKLPD", t.v(b+2), t.v(b), t.v(4*q))
		t.op("VUNPCKHPD", t.v(b+2), t.v(b), t.v(4*q+1))
		t.op("VUNPCKLPD", t.v(b+3), t.v(b+1), t.v(4*q+2))
		t.op("VUNPCKHPD", t.v(b+3), t.v(b+1), t.v(4*q+3))
	}
	var columns [16]int
	for c := range 4 {
		q0, q1, q2, q3 := t.v(c), t.v(4+c), t.v(8+c), t.v(12+c)
		a, b, d, e := t.v(16), t.v(17), t.v(18), t.v(19)
		t.op("VSHUFF32X4", "$0x44", q1, q0, a)
		t.op("VSHUFF32X4", "$0xEE", q1, q0, b)
		t.op("VSHUFF32X4", "$0x44", q3, q2, d)
		t.op("VSHUFF32X4", "$0xEE", q3, q2, e)
		t.op("VSHUFF32X4", "$0x88", d, a, q0)
		t.op("VSHUFF32X4", "$0xDD", d, a, q1)
		t.op("VSHUFF32X4", "$0x88", e, b, q2)
		t.op("VSHUFF32X4", "$0xDD", e, b, q3)
		for l := range 4 {
			columns[4*l+c] = 4*l + c
		}
	}
	return columns[:]
}

func (t *asm) transposed8() []int {
	for i := range 4 {
		t.op("VUNPCKLPS", t.v(2*i+1), t.v(2*i), t.v(8+2*i))
		t.op("VUNPCKHPS", t.v(2*i+1), t.v(2*i), t.v(9+2*i))
	}
	for q := range 2 {
		b := 8 + 4*q
		t.op("VUNPCKLPD", t.v(b+2), t.v(b), t.v(4*q))
		t.op("VUNPCKHPD", t.v(b+2), t.v(b), t.v(4*q+1))
		t.op("VUNPCKLPD", t.v(b+3), t.v(b+1), t.v(4*q+2))
		t.op("VUNPCKHPD", t.v(b+3), t.v(b+1), t.v(4*q+3))
	}
	for c := range 4 {
		t.op("VPERM2F128", "$0x20", t.v(4+c), t.v(c), t.v(8+c))
		t.op("VPERM2F128", "$0x31", t.v(4+c), t.v(c), t.v(12+c))
	}
	return []int{8, 9, 10, 11, 12, 13, 14, 15}
}

// copyBlock emits the copy of a column of vectors: the packing of columns that need not
// be transposed.
func (t *asm) copyBlock() {
	p := "dst *float32, ldd int, x *float32, ldx, n, width int"
	t.fn("copyBlock", fmt.Sprintf("writes n rows of %d floats to dst: width of x, then zeros; dst rows ascend; ldd, ldx in floats.", t.lanes), p)
	t.args(p, "DI", "R8", "SI", "R9", "R10", "R11")
	t.op("SHLQ", "$2", "R8")
	t.op("SHLQ", "$2", "R9")
	t.setMask("R11")
	loop, done := t.next("loop"), t.next("done")
	t.op("TESTQ", "R10", "R10")
	t.op("JZ", done)
	t.label(loop)
	t.load("(SI)", t.v(0), true)
	t.op("VMOVUPS", t.v(0), "(DI)")
	t.op("ADDQ", "R9", "SI")
	t.op("ADDQ", "R8", "DI")
	t.op("DECQ", "R10")
	t.op("JNZ", loop)
	t.label(done)
	t.ret()
}
