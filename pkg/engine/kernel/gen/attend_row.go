package main

import "math"

// A single row whose keys are one block has separate routines, before and after the cap
// of the scores: the calls and the running sums took longer than a few keys.

// scoreRow emits the scale of the query and score of one row. Up to four panels go side
// by side, to hide the latency of the multiply-adds.
func (t *asm) scoreRow() {
	p := "dst, scaled, keys, q *float32, dim, panels int, scale float32"
	t.fn(t.stored.name("scoreRow"), "computes scaled = q*scale, whole vectors of it, and dst (panels, 16) = scaled (dim) · keys (panels, dim, 16).", p)
	t.args(p, "DI", "SI", "R8", "DX", "R9", "R10", t.v(1))
	t.op("LEAQ", "(R9*4)", "R12")
	t.op("MOVQ", "R9", "CX")
	t.op("MOVQ", "SI", "BX")
	t.loop([]string{"DX", "BX"}, func(masked bool) {
		t.load("(DX)", t.v(0), masked)
		t.op("VMULPS", t.v(1), t.v(0), t.v(0))
		t.op("VMOVUPS", t.v(0), "(BX)")
	})
	t.op("MOVQ", "DI", "R15")
	for _, vectors := range []int{4, 2, 1} {
		s := scoreShape{1, vectors}
		n := s.panels(t)
		if n == 0 {
			continue
		}
		start, less := t.next("panels"), t.next("less")
		t.label(start)
		t.op("SUBQ", imm(n), "R10")
		t.op("JLT", less)
		t.op("MOVQ", "scaled+8(FP)", "DX")
		t.scoreTile(s, imm(nearKeys))
		t.op("MOVQ", keyPointers[n-1], "R8")
		t.op("ADDQ", imm(n*keyBytes), "R15")
		t.op("JMP", start)
		t.label(less)
		t.op("ADDQ", imm(n), "R10")
	}
	t.ret()
}

// weighRow emits soften and weigh of one row, and the division by the sum. Registers: SI
// and R10 the scores and their number, R8 the values, R12 bytes from one to the next;
// R13 counts the dimensions that are left.
func (t *asm) weighRow() {
	p := "out, scores, values *float32, dim, n int"
	t.fn(t.stored.name("weighRow"), "computes out (dim) = softmax(scores) · values (n, dim padded to 16) over n > 0 scores, which become exponentials.", p)
	t.args(p, "DI", "SI", "R8", "R13", "R10")
	t.op("LEAQ", "15(R13)", "R12")
	t.op("ANDQ", "$-16", "R12")
	t.op("SHLQ", imm(t.stored.shift(2)), "R12")
	t.hold(16, softConstants, func() {
		t.op("VMOVUPS", t.c(math.Inf(-1)), t.v(0))
		t.eachScore("R10", t.maxMasked)
		t.maximum()
		t.exponentials("R10")
	})
	t.op("VMOVSS", t.c(1), "X1")
	t.op("VDIVSS", "X0", "X1", "X0")
	t.op("VBROADCASTSS", "X0", t.v(14))
	for _, vectors := range []int{8, 4, 2, 1} {
		start, end := t.next("shape"), t.next("end")
		t.label(start)
		t.op("SUBQ", imm(vectors*t.lanes), "R13")
		t.op("JLT", end)
		t.weighRowTile(vectors, false)
		t.op("ADDQ", imm(vectors*t.bytes()), "DI")
		t.op("ADDQ", imm(t.stored.bytes(vectors*t.bytes())), "R8")
		t.op("JMP", start)
		t.label(end)
		t.op("ADDQ", imm(vectors*t.lanes), "R13")
	}
	end := t.next("end")
	t.op("JZ", end)
	t.setMask("R13")
	t.weighRowTile(1, true)
	t.label(end)
	t.ret()
}

// weighRowTile emits several vectors of the result; register 14 is 1/sum.
func (t *asm) weighRowTile(vectors int, masked bool) {
	for i := range vectors {
		t.zero(t.v(i))
	}
	t.op("MOVQ", "SI", "AX")
	t.op("MOVQ", "R8", "BX")
	t.op("MOVQ", "R10", "CX")
	loop := t.next("tokens")
	t.label(loop)
	t.op("VBROADCASTSS", "(AX)", t.v(vectors))
	for i := range vectors {
		t.multiplyKV(mem(t.stored.bytes(i*t.bytes()), "BX"), t.v(vectors), t.v(i), t.v(vectors+1+i%2))
	}
	t.op("ADDQ", "$4", "AX")
	t.op("ADDQ", "R12", "BX")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	for i := range vectors {
		t.op("VMULPS", t.v(14), t.v(i), t.v(i))
		t.store(t.v(i), mem(i*t.bytes(), "DI"), masked)
	}
}
