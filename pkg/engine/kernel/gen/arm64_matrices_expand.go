package main

// Registers of expanding: V0 to V3 and V16 to V19 hold four inputs of each row, V4 and V5 a
// pair of pairs.
const (
	expandFirst  = vec(0)
	expandSecond = packedWeights
	expandPair   = vec(4)
	expandOffset = vec(6)
)

// expand emits the routine that expands superblocks of a panel.
func (m *matrices) expand() {
	p := "dst *float32, w *byte, blocks int"
	m.fn("expand"+m.k.kind, "expands superblocks of a panel.", p)
	m.args(p, "R0 R10 R14")
	tile := &packedTile{neon: m.neon, k: m.k, parts: 4}
	tile.masks()
	m.op("VMOVI", imm(m.offset()), expandOffset.b16())
	block := m.next("superblock")
	m.label(block)
	if m.k.coding != nil {
		m.expandCoded(tile)
	} else {
		m.expandBytes(tile)
	}
	m.op("SUBS", "$1", "R14", "R14")
	m.op("BNE", block)
	m.ret()
}

// zip1 and zip2 interleave the lower and the upper halves of two registers, arranged alike.
func (t *neon) zip1(dst, a, b string) { t.op("VZIP1", b, a, dst) }
func (t *neon) zip2(dst, a, b string) { t.op("VZIP2", b, a, dst) }

// storeStep stores eight inputs of 16 rows, the second four in the registers that follow
// second.
func (m *matrices) storeStep(step int, first, second vec) {
	for p := range vec(4) {
		a, b := (first + p).s4(), (second + p).s4()
		m.zip1(expandPair.s4(), a, b)
		m.zip2((expandPair + 1).s4(), a, b)
		m.storeQ("R0", pairStep*step+2*pairBytes*int(p), expandPair, expandPair+1)
	}
}

// storeFactors stores a float32 of each of 16 rows.
func (m *matrices) storeFactors(off int, list []vec) {
	for p, r := range list {
		m.zip1(expandPair.d2(), r.d2(), r.d2())
		m.zip2((expandPair + 1).d2(), r.d2(), r.d2())
		m.storeQ("R0", off+2*pairBytes*p, expandPair, expandPair+1)
	}
}

// expandBytes expands a superblock of Q8_0, Q4_0 or Q8W, in which a line has four inputs.
func (m *matrices) expandBytes(tile *packedTile) {
	for line := 0; line < m.k.scales/panelRowBytes; line += 2 {
		first, second := seq(int(expandFirst), 4), seq(int(expandSecond), 4)
		m.loadQ("R10", 0, first...)
		m.loadQ("R10", panelRowBytes, second...)
		m.advance(2*panelRowBytes, "R10")
		if m.k.kind != "Q4" {
			if m.k.kind == "Q8" {
				for _, r := range append(first, second...) {
					m.op("VEOR", maskReg.b16(), r.b16(), r.b16())
				}
			}
			m.storeStep(0, expandFirst, expandSecond)
			m.advance(pairStep, "R0")
			continue
		}
		m.expandNibbles(append(first, second...))
		m.advance(pairStep, "R0")
		if (line+2)%m.k.lines() == 0 { // past the high nibbles of the block
			m.advance(m.k.lines()/2*pairStep, "R0")
		}
	}
	scales, halves := seq(int(packedWeights), 4), vec(26)
	for half := range m.k.blocks {
		m.loadQ("R10", panelRowBytes/2*half, halves, halves+1)
		tile.widenHalves(scales[0], halves)
		tile.widenHalves(scales[2], halves+1)
		m.storeFactors(pairStep*half, scales)
	}
	m.advance(m.sliceBytes()-m.scalesAt(), "R0")
	m.advance(m.k.bytes-m.k.scales, "R10")
}

// expandNibbles stores the low nibbles of eight registers, and the high ones 16 inputs further
// on.
func (m *matrices) expandNibbles(raw []vec) {
	high := seq(20, len(raw))
	for i, r := range raw {
		m.op("VUSHR", "$4", r.b16(), high[i].b16())
		m.op("VAND", maskReg.b16(), r.b16(), r.b16())
	}
	m.signed(raw[:4], raw[0])
	m.signed(raw[4:], raw[4])
	m.signed(high, high[0])
	m.storeStep(0, raw[0], raw[4])
	m.storeStep(m.k.lines()/2, high[0], high[4])
}

// expandCoded expands a superblock of a coded kind.
func (m *matrices) expandCoded(tile *packedTile) {
	c := m.k.coding
	slice := m.next("slice")
	m.op("MOVD", "R10", "R11")
	if c.headed() {
		m.op("MOVD", "R10", codedHead)
		m.op("MOVD", imm(sliceCount), "R19")
		m.advance(headerBytes, "R10", "R11")
		m.label(slice)
	}
	for step := range m.steps() {
		q := quarter{step / 2, step % 2 * 2}
		m.signed(tile.codes(q), expandFirst)
		m.signed(tile.codes(quarter{q.sixteen, q.four + 1}), expandSecond)
		m.storeStep(step, expandFirst, expandSecond)
	}
	m.advance(m.scalesAt(), "R0")
	for sub := range m.subs() {
		scales, minima := tile.multipliers(sub)
		m.storeFactors(pairStep*sub, scales)
		m.storeFactors(pairStep*(m.subs()+sub), minima)
	}
	m.advance(m.sliceBytes()-m.scalesAt(), "R0")
	m.advance(m.k.bytes, "R10", "R11")
	if c.headed() {
		m.op("SUBS", "$1", "R19", "R19")
		m.op("BNE", slice)
	}
}

// offset is what is subtracted from codes and nibbles.
func (m *matrices) offset() int {
	switch {
	case m.k.coding != nil:
		return m.k.coding.offset
	case m.k.kind == "Q4":
		return 8
	}
	return 0
}

// signed subtracts the offset of codes, and moves them to registers from dst on.
func (m *matrices) signed(codes []vec, dst vec) {
	for i, r := range codes {
		switch to := dst + vec(i); {
		case m.offset() > 0:
			m.op("VSUB", expandOffset.b16(), r.b16(), to.b16())
		case to != r:
			m.move(to, r)
		}
	}
}
