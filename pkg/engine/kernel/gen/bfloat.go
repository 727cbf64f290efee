package main

import "fmt"

// floatBlock adds a superblock of BF16 or F16 weights: 32 lines that hold two inputs of 16 rows
// each, widened to float32.
func (t *asm) floatBlock(k packed, n, parts int) {
	const lines = 4
	mask, base := t.v(15), 8
	if t.wide() {
		mask, base = t.v(31), 16
	}
	loop := t.next("lines")
	t.op("MOVL", imm(k.bytes/64/lines), rRow) // which is free until the end of the panel
	t.label(loop)
	for l := range lines {
		t.prefetch(k, n, l)
		for p := range parts {
			t.widenPair(k, func(at int) string { return mem(64*l+at, rW) }, p, mask, t.v(base+p), t.v(base+parts+p))
		}
		for i := range 2 {
			for r := range n {
				for p := range parts {
					t.multiplyWord(mem(4*((2*l+i)*n+r), rA), t.v(base+parts*i+p), t.v(r*parts+p), p == 0, t.v(base+5))
				}
			}
		}
	}
	t.op("ADDQ", imm(64*lines), rW)
	t.op("ADDQ", imm(8*lines*n), rA)
	t.bring(k, n, 0)
	t.op("DECQ", rRow)
	t.op("JNZ", loop)
	t.op("SUBQ", imm(k.bytes), rW)
	t.op("SUBQ", imm(4*k.words*n), rA)
}

// widenPair widens the weights of two inputs of a part of the rows of a line, whose bytes are at addr.
// Those of an input lie next to each other in F16, and those of a row in BF16.
func (t *asm) widenPair(k packed, addr func(at int) string, part int, mask, first, second string) {
	if k.kind == "F16" {
		t.op("VCVTPH2PS", addr(part*t.bytes()/2), first)
		t.op("VCVTPH2PS", addr(32+part*t.bytes()/2), second)
		return
	}
	t.op("VMOVUPS", addr(part*t.bytes()), first)
	t.and(mask, first, second)
	t.shift("$16", first, first)
}

// multiplyWord adds a float32 in memory times a register to a sum; AVX2 broadcasts it
// into a register, the first time.
func (t *asm) multiplyWord(addr, by, sum string, first bool, spare string) {
	if t.wide() {
		t.op("VFMADD231PS.BCST", addr, by, sum)
		return
	}
	if first {
		t.op("VBROADCASTSS", addr, spare)
	}
	t.op("VFMADD231PS", by, spare, sum)
}

func (t *asm) and(mask, src, to string) {
	if t.wide() {
		t.op("VPANDD", mask, src, to)
	} else {
		t.op("VPAND", mask, src, to)
	}
}

func (t *asm) shift(by, src, to string) { t.op("VPSLLD", by, src, to) }

// fewPanels emits one row of activations against several panels of BF16 or F16 weights at a
// time, to hide the latency of the multiply-adds.
func (t *asm) fewPanels(k packed, many int) {
	const stride = rStep // of panels; one row needs none of dst
	parts := packedVectors(t)
	loop, block, end := t.next("panels"), t.next("pair"), t.next("end")
	t.op("MOVQ", rBlocks, stride)
	t.op("SHLQ", "$11", stride)
	t.op("LEAQ", "("+stride+")("+stride+"*2)", rRows) // three panels
	at := []string{mem(0, rW), "(" + rW + ")(" + stride + "*1)", "(" + rW + ")(" + stride + "*2)", "(" + rW + ")(" + rRows + "*1)"}
	t.label(loop)
	t.op("CMPQ", rPanels, imm(many))
	t.op("JLT", end)
	t.op("MOVQ", rWeights, rW)
	t.op("MOVQ", rActs, rA)
	t.op("MOVQ", rBlocks, rCount)
	t.op("SHLQ", "$5", rCount) // pairs of inputs
	for i := range many * parts {
		t.zero(t.v(i))
	}
	mask, base := t.v(15), 8
	if t.wide() {
		mask, base = t.v(31), 16
	}
	t.label(block)
	t.op("VBROADCASTSS", mem(0, rA), t.v(base+4))
	t.op("VBROADCASTSS", mem(4, rA), t.v(base+5))
	for p, addr := range at[:many] {
		t.op("PREFETCHT0", "256"+addr)
		for v := range parts {
			low, high := t.v(base+2*(p%2)), t.v(base+1+2*(p%2))
			t.widenPair(k, func(at int) string { return fmt.Sprintf("%d%s", at, addr) }, v, mask, low, high)
			t.op("VFMADD231PS", low, t.v(base+4), t.v(p*parts+v))
			t.op("VFMADD231PS", high, t.v(base+5), t.v(p*parts+v))
		}
	}
	t.op("ADDQ", "$64", rW)
	t.op("ADDQ", "$8", rA)
	t.op("DECQ", rCount)
	t.op("JNZ", block)
	for i := range many * parts {
		t.op("VMOVUPS", t.v(i), mem(i*t.bytes(), rDst))
	}
	t.op("LEAQ", "("+rWeights+")("+stride+"*4)", rWeights)
	t.op("ADDQ", imm(64*many), rDst)
	t.op("SUBQ", imm(many), rPanels)
	t.op("JMP", loop)
	t.label(end)
}
