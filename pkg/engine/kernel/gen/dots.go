package main

import "fmt"

// Attention to bfloat16 keys and values with VDPBF16PS: a lane multiplies two pairs of bfloat16, the
// odd ones first, and adds each product to a float32, rounded once. Queries and exponentials are
// rounded to bfloat16 for it. A lane of keys has two dimensions, one of values two tokens.

// vector is the number of a register.
func vector(name string) (n byte) {
	if _, err := fmt.Sscanf(name[1:], "%d", &n); err != nil {
		panic(err)
	}
	return n
}

// evex emits an instruction of AVX512_BF16 on whole registers, of which Go's assembler knows none. between
// is the register between the other two in GNU's text, or "".
func (t *asm) evex(name string, code byte, to, between, from string) {
	text, mid := fmt.Sprintf("%s %s, ", name, low(to)), byte(0)
	if between != "" {
		text, mid = text+low(between)+", ", vector(between)
	}
	reg, rm := vector(to), vector(from)
	t.code(text+low(from), 0x62,
		(^reg>>3&1)<<7|(^rm>>4&1)<<6|(^rm>>3&1)<<5|(^reg>>4&1)<<4|2,
		(^mid&15)<<3|6, 0x40|(^mid>>4&1)<<3, code, 0xc0|(reg&7)<<3|rm&7)
}

// low returns a register's name in GNU's syntax.
func low(name string) string {
	return map[byte]string{'Y': "ymm", 'Z': "zmm"}[name[0]] + name[1:]
}

// dotPairs adds the products of the pairs in two registers to a sum.
func (t *asm) dotPairs(a, b, sum string) { t.evex("vdpbf16ps", 0x52, sum, a, b) }

// pairing holds the order in which VPERMW takes two vectors of 16 bfloat16: the first one's are the
// lower halves of the lanes.
const pairing = "Z31"

// holdPairing sets that register. Another is spare.
func (t *asm) holdPairing() {
	bytes := make([]int8, 16)
	for i := range bytes {
		bytes[i] = int8(i)
	}
	t.op("VPMOVZXBD", t.table(bytes, 0), pairing)
	t.op("VPSLLD", "$16", pairing, "Z30")
	t.op("VPORD", "Z30", pairing, pairing)
	t.op("VPADDD", t.bits(16<<16), pairing, pairing)
}

// pairUp emits the rounding of queries and exponentials, which stay at their place.
func (t *asm) pairUp() {
	p := "x *float32, n int"
	t.fn("pairUp", "rounds n numbers, n > 0 and a multiple of 16, to bfloat16, in half the room.", p)
	t.args(p, "SI", "CX")
	t.op("MOVQ", "SI", "DI")
	t.each16("CX", func() {
		t.op("VMOVUPS", "(SI)", "Z0")
		t.evex("vcvtneps2bf16", 0x72, "Y1", "", "Z0")
		t.op("VMOVDQU", "Y1", "(DI)")
		t.op("ADDQ", "$64", "SI")
		t.op("ADDQ", "$32", "DI")
	})
	t.ret()
}

// dotDims emits the dimensions of a tile of score, four in a round: pair c goes to sum c.
func (t *asm) dotDims(s scoreShape) {
	key := func(i int) string { return t.v(s.rows*s.vectors*chains + i) }
	factor := key(s.vectors)
	loop := t.next("pairs")
	t.op("SHRQ", "$2", "CX")
	t.label(loop)
	for c := range chains {
		for i := range s.vectors {
			t.op("VPERMW", t.keyVector(i, 2*c), pairing, key(i))
		}
		for r := range s.rows {
			t.op("VPBROADCASTD", query(r, c), factor)
			for i := range s.vectors {
				t.dotPairs(key(i), factor, t.scoreSum(s, r, i, c))
			}
		}
	}
	t.nextDims(s, 2*chains)
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.op("LEAQ", "(DX)(R9*2)", "DX") // half of a row is empty
}

// weighPairs is weighTokens for pairs of tokens. If row r sees an odd number, it sees the last one
// alone; the rows before it see the whole pair later.
func (t *asm) weighPairs(r int, s weighShape, acc func(r, i int) string, value func(i int) string, factor string) {
	loop, half, done := t.next("pairs"), t.next("half"), t.next("done")
	t.tokensLeft(r, done)
	t.op("SHRQ", "$1", "CX")
	t.op("JZ", half)
	t.op("LEAQ", "(R14)(CX*2)", "R14")
	t.label(loop)
	t.bringTokens(s, 2)
	for i := range s.vectors {
		at := mem(t.stored.bytes(i*t.bytes()), "BX")
		t.op("VMOVDQU32", at, "Y"+value(i)[1:])
		t.op("VINSERTI64X4", "$1", at+"(R15*1)", value(i), value(i))
		t.op("VPERMW", value(i), pairing, value(i))
	}
	multiply := func(row int) {
		t.op("VPBROADCASTD", mem(-blockBytes*row, "AX"), factor)
		for i := range s.vectors {
			t.dotPairs(value(i), factor, acc(row, i))
		}
	}
	for row := range r + 1 {
		multiply(row)
	}
	t.op("ADDQ", "$4", "AX")
	t.op("LEAQ", "(BX)(R15*2)", "BX")
	t.op("LEAQ", "(SI)(R15*2)", "SI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.label(half)
	t.op("MOVQ", mem(-8*r, "R10"), "CX")
	t.op("TESTQ", "$1", "CX")
	t.op("JZ", done)
	for i := range s.vectors {
		t.op("VPMOVZXWD", mem(t.stored.bytes(i*t.bytes()), "BX"), value(i))
	}
	multiply(r)
	t.label(done)
}
