package main

import "math"

// A scoreShape is a tile of score: rows, and vectors of tokens.
type scoreShape struct{ rows, vectors int }

// chains is how many sums a product is, which hides the latency of the multiply-adds
// where there is one row: dimension j goes to sum j%2, the last of an odd number to sum
// 0. That is the same for all rows, as the order of additions is.
const chains = 2

// scoreShapes are the tiles: that of a row alone, whose keys come from DRAM and are read in the order
// in which they lie, then by descending tokens and rows.
func (t *asm) scoreShapes() []scoreShape {
	if t.wide() {
		return []scoreShape{{1, 1}, {6, 2}, {5, 2}, {4, 2}, {3, 2}, {2, 2}, {1, 2}, {6, 1}, {5, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1}}
	}
	return []scoreShape{{3, 2}, {2, 2}, {1, 2}}
}

const scoreDoc = "computes dst (rows, 128) = q (rows, dim) · keys (panels, dim, 16); see scoreGeneric."

// score goes through the panels, one or two at a time, and for each through the rows.
// Registers: DI a panel's place in dst, R15 a row's; DX the first rows of q, AX the
// fourth; BX and R14 the keys, SI those that are brought.
func (t *asm) score() {
	p := "dst, q, keys *float32, dim, panels, rows, ahead int"
	t.fn(t.stored.name("score"), scoreDoc+" It brings the keys that are ahead bytes later.", p)
	t.args(p, "DI", "DX", "R8", "R9", "R10", "R11", "SI")
	t.op("LEAQ", "(R9*4)", "R12")
	if t.stored == dots {
		t.holdPairing()
	}
	shapes := t.scoreShapes()
	for len(shapes) > 0 {
		n := 1
		for n < len(shapes) && shapes[n].vectors == shapes[0].vectors && shapes[0].rows > 1 {
			n++
		}
		t.scorePanels(shapes[:n])
		shapes = shapes[n:]
	}
	t.ret()
}

// scorePanels goes through panels while there are as many as the shapes take; where the
// shapes are of one row alone, so must be the rows.
func (t *asm) scorePanels(shapes []scoreShape) {
	panels := shapes[0].panels(t)
	start, less, end := t.next("panels"), t.next("less"), t.next("end")
	if shapes[0].rows == 1 {
		t.op("CMPQ", "R11", "$1")
		t.op("JGT", end)
	}
	t.label(start)
	t.op("SUBQ", imm(panels), "R10")
	t.op("JLT", less)
	t.op("MOVQ", "q+8(FP)", "DX")
	t.op("MOVQ", "DI", "R15")
	t.op("MOVQ", "R11", "R13")
	for _, s := range shapes {
		rows, done := t.next("rows"), t.next("done")
		t.label(rows)
		t.op("CMPQ", "R13", imm(s.rows))
		t.op("JLT", done)
		t.scoreTile(s, "ahead+48(FP)")
		t.op("ADDQ", imm(s.rows*blockBytes), "R15")
		t.op("SUBQ", imm(s.rows), "R13")
		t.op("JMP", rows)
		t.label(done)
	}
	t.op("ADDQ", imm(panels*keyBytes), "DI")
	t.op("MOVQ", "R12", "AX")
	t.op("IMULQ", imm(t.stored.bytes(panels*keyBytes/4)), "AX")
	t.op("LEAQ", mem(panels*t.stored.scales(), "R8")+"(AX*1)", "R8")
	t.op("JMP", start)
	t.label(less)
	t.op("ADDQ", imm(panels), "R10")
	t.label(end)
}

// scoreTile emits the rows from DX on, and leaves DX behind them. It brings keys that are so far ahead.
func (t *asm) scoreTile(s scoreShape, ahead string) {
	if s.rows > 3 {
		t.op("LEAQ", "(DX)(R12*2)", "AX")
		t.op("ADDQ", "R12", "AX")
	}
	for i := range s.rows * s.vectors * chains {
		t.zero(t.v(i))
	}
	t.op("MOVQ", "R8", "BX")
	t.op("MOVQ", "R8", "SI")
	t.op("ADDQ", ahead, "SI")
	for i := 1; i < s.panels(t); i++ {
		t.op("MOVQ", "R12", keyPointers[i])
		t.op("SHLQ", imm(t.stored.shift(4)), keyPointers[i])
		t.op("LEAQ", mem(t.stored.scales(), keyPointers[i])+"("+keyPointers[i-1]+"*1)", keyPointers[i])
	}
	t.op("MOVQ", "R9", "CX")
	if t.stored == dots {
		t.dotDims(s)
	} else {
		t.eachDim(s)
	}
	t.scoreStore(s)
	for range s.rows - 1 {
		t.op("ADDQ", "R12", "DX")
	}
}

// eachDim emits the dimensions of a tile.
func (t *asm) eachDim(s scoreShape) {
	loop, rest, end := t.next("dims"), t.next("rest"), t.next("sum")
	t.label(loop)
	t.op("SUBQ", imm(chains), "CX")
	t.op("JLT", rest)
	t.scoreDims(s, chains)
	t.op("JMP", loop)
	t.label(rest)
	t.op("ADDQ", imm(chains), "CX")
	t.op("JZ", end)
	t.scoreDims(s, 1)
	t.label(end)
}

// keyPointers are the registers of the panels of a tile. More than two are for one row,
// which leaves the other registers free.
var keyPointers = []string{"BX", "R14", "AX", "R13"}

// panels returns the number of panels of keys in a tile: 0 if less than one.
func (s scoreShape) panels(t *asm) int { return s.vectors * t.bytes() / keyBytes }

// keyVector is the address of vector i of dimension c.
func (t *asm) keyVector(i, c int) string {
	at := i * t.bytes()
	return mem(t.stored.bytes(c*keyBytes+at%keyBytes), keyPointers[at/keyBytes])
}

// query is the address of dimension c of a row of q.
func query(row, c int) string {
	return mem(4*c, []string{"DX", "AX"}[row/3]) + []string{"", "(R12*1)", "(R12*2)"}[row%3]
}

// scoreDims adds n dimensions, each to its sum.
func (t *asm) scoreDims(s scoreShape, n int) {
	key := func(i int) string { return t.v(s.rows*s.vectors*chains + i) }
	factor := key(s.vectors)
	if s.rows == 1 { // keys are read where they are used
		factor = key(0)
	}
	for c := range n {
		if s.rows > 1 {
			for i := range s.vectors {
				t.loadKV(t.keyVector(i, c), key(i))
			}
		}
		for r := range s.rows {
			t.op("VBROADCASTSS", query(r, c), factor)
			for i := range s.vectors {
				if s.rows == 1 {
					t.multiplyKV(t.keyVector(i, c), factor, t.scoreSum(s, r, i, c), key(1+i%2))
				} else {
					t.op("VFMADD231PS", key(i), factor, t.scoreSum(s, r, i, c))
				}
			}
		}
	}
	t.nextDims(s, n)
}

// nextDims advances by n dimensions, and brings as many bytes.
func (t *asm) nextDims(s scoreShape, n int) {
	panels := keyPointers[:s.panels(t)]
	if n >= chains {
		t.bringKeys(len(panels) * t.stored.bytes(n*keyBytes))
	}
	for _, r := range panels {
		t.op("ADDQ", imm(t.stored.bytes(n*keyBytes)), r)
	}
	words := n
	if t.stored == dots {
		words /= 2
	}
	t.op("ADDQ", imm(4*words), "DX")
	if s.rows > 3 {
		t.op("ADDQ", imm(4*words), "AX")
	}
}

// bringKeys brings the next bytes of later keys in the order in which they lie, whatever a tile's order:
// a head whose panels were brought in pairs read bfloat16 from DRAM at 13 GB/s instead of 20, on Zen 4.
func (t *asm) bringKeys(bytes int) {
	for at := 0; at < bytes; at += 64 {
		t.op("PREFETCHT0", mem(at, "SI"))
	}
	if bytes > 0 {
		t.op("ADDQ", imm(bytes), "SI")
	}
}

// scoreSum names the register of sum c of row r, vector i.
func (t *asm) scoreSum(s scoreShape, r, i, c int) string {
	return t.v((r*s.vectors+i)*chains + c)
}

// scoreStore adds up the sums and stores them. The pointers of the panels are behind their keys.
func (t *asm) scoreStore(s scoreShape) {
	t.bringKeys(s.panels(t) * t.stored.scales())
	for r := range s.rows {
		for i := range s.vectors {
			sum := t.scoreSum(s, r, i, 0)
			t.op("VADDPS", t.scoreSum(s, r, i, 1), sum, sum)
			if t.stored == quarters {
				at := i * t.bytes()
				t.op("VMULPS", mem(at%keyBytes, keyPointers[at/keyBytes]), sum, sum)
			}
			t.op("VMOVUPS", sum, mem(r*blockBytes+i*t.bytes(), "R15"))
		}
	}
}

// softConstants are those of the exponentials of scores.
var softConstants = append([]float64{expSmall, log2e, ln2High, ln2Low, 1, -math.MaxFloat32}, expPoly...)

const softenDoc = "turns scores (rows, 128) into exponentials; see softenGeneric."

// soften reads and writes whole vectors, for which scratch has room, and sets the lanes
// after the scores of a row to 0 before and after the exponential: -Inf would be slow.
// Registers: 8 holds the subtrahend, 9 the factor.
func (t *asm) soften() {
	p := "scores *float32, counts *int, top, total, factors *float32, rows int"
	t.fn("soften", softenDoc, p)
	t.args(p, "SI", "R10", "R8", "R9", "R11", "R12")
	t.hold(16, softConstants, t.softenRows)
	t.ret()
}

// softenRows goes through the rows.
func (t *asm) softenRows() {
	shift, factor := t.v(8), t.v(9)
	rows := t.next("rows")
	t.label(rows)
	t.op("VBROADCASTSS", "(R8)", factor)
	t.op("VMOVAPS", factor, t.v(0))
	t.eachScore("(R10)", t.maxMasked)
	t.maximum()
	t.op("VMOVSS", "X0", "(R8)")
	t.op("VSUBPS", shift, factor, factor)
	t.softExp(factor)
	t.op("VMOVSS", "X9", "(R11)")
	t.exponentials("(R10)")
	t.op("VMULSS", "(R9)", "X9", "X1")
	t.op("VADDSS", "X1", "X0", "X0")
	t.op("VMOVSS", "X0", "(R9)")
	t.op("ADDQ", imm(blockBytes), "SI")
	t.op("ADDQ", "$8", "R10")
	for _, r := range []string{"R8", "R9", "R11"} {
		t.op("ADDQ", "$4", r)
	}
	t.op("DECQ", "R12")
	t.op("JNZ", rows)
}

// softExp computes e**x of x <= 0 in place, 0 below expSmall; registers 4 to 7 are changed.
func (t *asm) softExp(x string) {
	low, small := t.v(4), t.v(7)
	t.op("VMOVUPS", t.c(expSmall), low)
	if t.wide() {
		t.op("VCMPPS", "$5", low, x, "K2") // not x < low: a NaN stays
	} else {
		t.op("VCMPPS", "$1", low, x, small)
	}
	t.op("VMAXPS", x, low, x)
	t.expInRange(x, t.v(4), t.v(5), t.v(6))
	if t.wide() {
		t.op("VMOVAPS.Z", x, "K2", x)
	} else {
		t.op("VANDNPS", x, small, x)
	}
}

// maximum reduces register 0 to the largest score, in X0, and to the subtrahend, in all
// of register 8.
func (t *asm) maximum() {
	t.reduce("VMAXPS")
	t.op("VBROADCASTSS", "X0", t.v(8))
	t.op("VMAXPS", t.c(-math.MaxFloat32), t.v(8), t.v(8))
}

// exponentials turns the scores of a row into exponentials, and adds them up in X0.
func (t *asm) exponentials(count string) {
	x, sum, shift := t.v(3), t.v(0), t.v(8)
	t.zero(sum)
	t.eachScore(count, func(masked bool) {
		t.op("VMOVUPS", "(DX)", x)
		t.op("VSUBPS", shift, x, x)
		t.clip(x, masked)
		t.softExp(x)
		t.clip(x, masked)
		t.op("VMOVUPS", x, "(DX)")
		t.op("VADDPS", x, sum, sum)
	})
	t.sum()
}

// eachScore runs body over the scores of a row, with DX at each vector.
func (t *asm) eachScore(count string, body func(masked bool)) {
	t.op("MOVQ", "SI", "DX")
	t.op("MOVQ", count, "CX")
	t.loop([]string{"DX"}, body)
}

// maxMasked takes the largest of register 0 and of what DX points to.
func (t *asm) maxMasked(masked bool) {
	switch {
	case !masked:
		t.op("VMAXPS", "(DX)", t.v(0), t.v(0))
	case t.wide():
		t.op("VMAXPS", "(DX)", t.v(0), "K1", t.v(0))
	default:
		t.op("VBLENDVPS", "Y15", "(DX)", "Y0", "Y1")
		t.op("VMAXPS", "Y1", "Y0", "Y0")
	}
}
