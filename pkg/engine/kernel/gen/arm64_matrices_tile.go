package main

// Registers of tiles: V0 to V7 the sums, (pair of activations, pair of weights), and V8 to
// V15 the whole-number products of a sub-block.
const (
	matrixWeights = vec(16)       // and V17, two pairs of rows
	matrixScale   = vec(18)       // and V19
	matrixActs    = vec(20)       // to V23, four pairs of rows
	matrixMin     = vec(24)       // and V25
	matrixSums    = vec(26)       // to V29
	matrixBoth    = matrixWeights // and V17, after the products of the sub-block
)

// pairActivations emits the routine that makes pairs of the rows of a tile.
//
//	R0, R1  dst; a line of activations, one word of each row
//	R2, R3  slices that are left; rows
//	R4, R5  pairs of rows; lines, or pairs of lines, that are left
//	R6      pairs that are left
//	R7, R8  words of two lines
//	R9      the size of a line
func (m *matrices) pairActivations(name string) {
	p := "dst, act *float32, blocks, rows int"
	m.fn(name, "makes pairs of the rows of a tile; if their number is odd, it may read a word past the last row's.", p)
	m.args(p, "R0 R1 R2 R3")
	m.op("ADD", "$1", "R3", "R4")
	m.op("LSR", "$1", "R4")
	m.op("LSL", "$2", "R3", "R9")
	slice := m.next("slice")
	m.label(slice)
	m.lines(m.steps(), func() {
		m.op("ADD", "R9", "R1", "R8")
		m.pairsOf(func() {
			m.op("FMOVD.P", "8(R8)", "F1")
			m.zip1("V0.S4", "V0.S4", "V1.S4")
		})
		m.op("ADD", "R9", "R1")
	})
	doubled := func(count int, convert bool) {
		m.lines(count, func() {
			m.pairsOf(func() {
				if convert {
					m.do2("scvtf", 0, 0)
				}
				m.zip1("V0.S4", "V0.S4", "V0.S4")
			})
		})
	}
	doubled(m.k.scaleWords(), false)
	if m.k.coding != nil {
		m.skipLines(shiftWord - scaleWord - m.k.scaleWords())
		doubled(2, false)
		doubled(4, true)
	} else {
		m.skipLines(m.k.words - m.k.scale - m.k.blocks)
	}
	m.op("SUBS", "$1", "R2", "R2")
	m.op("BNE", slice)
	m.ret()
}

// lines runs body count times and advances R1 by a line each time: body leaves it at the last line
// that it reads.
func (m *matrices) lines(count int, body func()) {
	loop := m.next("line")
	m.op("MOVD", imm(count), "R5")
	m.label(loop)
	body()
	m.op("ADD", "R9", "R1")
	m.op("SUBS", "$1", "R5", "R5")
	m.op("BNE", loop)
}

func (m *matrices) skipLines(count int) {
	for range count {
		m.op("ADD", "R9", "R1")
	}
}

// pairsOf loads a word of two rows into V0, for each pair, and stores what body makes of them.
func (m *matrices) pairsOf(body func()) {
	loop := m.next("pair")
	m.op("MOVD", "R1", "R7")
	m.op("MOVD", "R4", "R6")
	m.label(loop)
	m.op("FMOVD.P", "8(R7)", "F0")
	body()
	m.op("FMOVQ.P", "F0", "16(R0)")
	m.op("SUBS", "$1", "R6", "R6")
	m.op("BNE", loop)
}

// scaleWords is the number of scales of a row's slice of activations.
func (k packed) scaleWords() int {
	if k.coding != nil {
		return 2
	}
	return k.blocks
}

// tiles emits the products of tiles of 5 to 8 rows.
//
//	R0, R1   dst, advancing by tiles; the distance of its rows in bytes
//	R2, R3   the expanded panel; activations, advancing by tiles
//	R4, R5   the distance of tiles in bytes; slices of the panel
//	R6, R7   tiles that are left; the size of a tile in dst
//	R8       whether dst holds sums
//	R9       passes that are left
//	R10, R11 weights of the slice; their scales, and past these their minima
//	R12      activations of the slice
//	R14      slices of the pass that are left
//	R15, R16 rows of dst
//	R19      the distance of the last row from the last but one, or 0 if there is none
//	R21, R22 dst and weights of the pass
//	R25      parts of the sub-block that are left
func (m *matrices) tiles() {
	p := "dst *float32, ldd int, w, act *float32, stride, blocks, tiles, rows, more int"
	m.fn("tile"+m.name(), "computes dst (tiles * rows, 16) from an expanded panel and tiles of 5 to 8 rows, stride bytes apart, or adds to it.", p)
	m.args(p, "R0 R1 R2 R3 R4 R5 R6 R7 R8")
	m.bias()
	m.op("LSL", "$2", "R1")
	m.op("ANDS", "$1", "R7", "R19")
	m.op("CSEL", "EQ", "R1", "ZR", "R19")
	four := m.next("pairs")
	m.op("CMP", "$6", "R7")
	m.op("MUL", "R1", "R7")
	m.op("BGT", four)
	m.tilesOf(3)
	m.label(four)
	m.tilesOf(4)
}

// tilesOf emits the loop over tiles of so many pairs of rows.
func (m *matrices) tilesOf(pairs int) {
	tile, pass, fresh, start, slice := m.next("tile"), m.next("pass"), m.next("fresh"), m.next("start"), m.next("slice")
	m.label(tile)
	m.op("MOVD", "R0", "R21")
	m.op("MOVD", "R2", "R22")
	m.op("MOVD", "$4", "R9")
	m.label(pass)
	m.op("MOVD", "R22", "R10")
	m.op("ADD", imm(m.scalesAt()), "R22", "R11")
	m.op("MOVD", "R3", "R12")
	m.op("MOVD", "R5", "R14")
	m.op("CBZ", "R8", fresh)
	m.eachPair(pairs, m.loadSums)
	m.op("B", start)
	m.label(fresh)
	for _, r := range seq(0, 2*pairs) {
		m.zero(r)
	}
	m.label(start)
	m.label(slice)
	for sub := range m.subs() {
		m.multiplySub(pairs, sub)
		m.scaleSub(pairs, sub)
	}
	acts := pairBytes * pairs * (m.steps() + m.extras())
	if m.k.parts() > 1 {
		m.advance(m.sliceBytes()-m.scalesAt(), "R10")
		acts = pairBytes * pairs * m.extras()
	} else {
		m.advance(m.sliceBytes(), "R10")
	}
	m.advance(m.sliceBytes(), "R11")
	m.advance(acts, "R12")
	m.op("SUBS", "$1", "R14", "R14")
	m.op("BNE", slice)
	m.eachPair(pairs, m.storeSums)
	m.advance(vecBytes, "R21")
	m.advance(2*pairBytes, "R22")
	m.op("SUBS", "$1", "R9", "R9")
	m.op("BNE", pass)
	m.op("ADD", "R7", "R0")
	m.op("ADD", "R4", "R3")
	m.op("SUBS", "$1", "R6", "R6")
	m.op("BNE", tile)
	m.ret()
}

// eachPair points R15 and R16 to the rows of each pair, which are the same if the last has no
// partner.
func (m *matrices) eachPair(pairs int, move func(sums vec)) {
	m.op("MOVD", "R21", "R15")
	for j := range pairs {
		step := "R1"
		if j == pairs-1 {
			step = "R19"
		}
		m.op("ADD", step, "R15", "R16")
		move(vec(2 * j))
		if j < pairs-1 {
			m.op("ADD", "R1", "R16", "R15")
		}
	}
}

func (m *matrices) loadSums(sums vec) {
	a, b := matrixWeights, matrixWeights+1
	m.loadQ("R15", 0, a)
	m.loadQ("R16", 0, b)
	m.zip1(sums.d2(), a.d2(), b.d2())
	m.zip2((sums + 1).d2(), a.d2(), b.d2())
}

// storeSums stores the second row first, which the first overwrites if it is its own partner.
func (m *matrices) storeSums(sums vec) {
	a, b := matrixWeights, matrixWeights+1
	m.zip1(a.d2(), sums.d2(), (sums + 1).d2())
	m.zip2(b.d2(), sums.d2(), (sums + 1).d2())
	m.storeQ("R16", 0, b)
	m.storeQ("R15", 0, a)
}

// multiplySub adds up the products of a sub-block, in a loop over its parts if it has several.
func (m *matrices) multiplySub(pairs, sub int) {
	for _, r := range seq(int(packedDots), 2*pairs) {
		m.move(r, packedBias)
	}
	if m.k.parts() == 1 {
		steps := m.steps() / m.subs()
		for step := sub * steps; step < (sub+1)*steps; step++ {
			m.multiplyStep(pairs, step)
		}
		return
	}
	loop := m.next("part")
	m.op("MOVD", imm(m.steps()/partSteps), packedParts)
	m.label(loop)
	for step := range partSteps {
		m.multiplyStep(pairs, step)
	}
	m.advance(pairStep*partSteps, "R10")
	m.advance(pairBytes*pairs*partSteps, "R12")
	m.op("SUBS", "$1", packedParts, packedParts)
	m.op("BNE", loop)
}

// multiplyStep adds the products of eight inputs.
func (m *matrices) multiplyStep(pairs, step int) {
	acts := seq(int(matrixActs), pairs)
	m.loadQ("R10", pairStep*step, matrixWeights, matrixWeights+1)
	m.loadQ("R12", pairBytes*pairs*step, acts...)
	for j, a := range acts {
		for i := range vec(2) {
			m.smmla(packedDots+vec(2*j)+i, a, matrixWeights+i)
		}
	}
}

// extra loads a number of each pair of rows, which words behind the bytes hold.
func (m *matrices) extra(pairs, word int, first vec) []vec {
	list := seq(int(first), pairs)
	if m.k.parts() == 1 {
		word += m.steps()
	}
	m.loadQ("R12", pairBytes*pairs*word, list...)
	return list
}

// scaleSub adds the products of a sub-block to the sums and subtracts the minima, in the order
// of scaleBlock and scaleCoded.
func (m *matrices) scaleSub(pairs, sub int) {
	half := sub * m.k.scaleWords() / m.subs()
	m.loadQ("R11", pairStep*sub, matrixScale, matrixScale+1)
	acts := m.extra(pairs, half, matrixActs)
	var sums []vec
	switch {
	case !m.minima():
	case m.k.coding.sub == 32:
		sums = m.extra(pairs, matrixShift+half, matrixSums)
	default:
		sums = m.extra(pairs, matrixSum+sub, matrixSums)
	}
	if m.minima() {
		m.loadQ("R11", pairStep*(m.subs()+sub), matrixMin, matrixMin+1)
	}
	for j := range pairs {
		for i := range vec(2) {
			dot, sum, both := packedDots+vec(2*j)+i, vec(2*j)+i, matrixBoth+i
			m.do3("fmul", both, matrixScale+i, acts[j])
			m.do3("fsub", dot, dot, packedBias)
			m.fma(sum, dot, both)
			switch {
			case !m.minima():
			case m.k.coding.sub == 32:
				m.fma(sum, matrixMin+i, sums[j])
			default:
				m.do3("fmul", both, matrixMin+i, acts[j])
				m.fma(sum, both, sums[j])
			}
		}
	}
}
