package main

// Registers of products with coded weights, beside those of quantised products. The sums
// lie in V0 to V7, the whole-number products in V8 to V15.
const (
	codedScale = vec(16) // to V19, at the end of a sub-block
	codedMin   = vec(20) // to V23
	codedRaw   = vec(24) // to V26, what scales and minima are made of
	codedD     = vec(27)
	codedActs  = vec(24) // and V25: the d of the rows
	codedSums  = vec(26) // and V27: their sums
	codedBoth  = vec(28)
	codedTable = vec(29) // the levels, or the mask of the high bits
)

// General registers of coded weights: R10 the planes and R11 the scales of a slice, R12
// its words, R19 the slices of the superblock that are left.
const (
	codedHead     = "R16" // the header of the superblock
	codedPassHead = "R17" // the header of the pass's first superblock
)

// codedMasks loads the constants.
func (t *packedTile) codedMasks() {
	c := t.k.coding
	t.op("VMOVI", imm(int(every(c.low, 0)&0xff)), maskReg.b16())
	switch {
	case c.levels != nil:
		t.base()
		t.vector(tableWords(c.levels, 0), codedTable)
	case c.high > 0:
		t.op("VMOVI", imm(int(every(c.high, c.low)&0xff)), codedTable.b16())
	}
}

// coded emits a superblock of a coded kind.
func (t *packedTile) coded() {
	c := t.k.coding
	slice := t.next("slice")
	if c.headed() {
		t.op("MOVD", imm(sliceCount), "R19")
		t.advance(headerBytes, "R10", "R11")
		t.label(slice)
	}
	for sub := range 64 / c.sub {
		t.beginCoded(sub)
		words := t.words(packedWord)
		for sixteen := sub * c.sub / 16; sixteen < (sub+1)*c.sub/16; sixteen++ {
			for four := range 4 {
				q := quarter{sixteen, four}
				t.multiply(t.codes(q), words, q.word())
			}
		}
		t.scaleCoded(sub)
	}
	t.advance(t.k.bytes, "R10", "R11")
	t.advance(4*t.k.words*t.n, "R12")
	if c.headed() {
		t.op("SUBS", "$1", "R19", "R19")
		t.op("BNE", slice)
		t.advance(t.k.superblockBytes(), codedHead)
	}
}

// rowWords loads a word of each row into registers.
func (t *packedTile) rowWords(word int, first vec) []vec {
	list := seq(int(first), (t.n+lane4-1)/lane4) // of some lanes past the rows, too
	t.op("ADD", imm(4*t.n*word), "R12", "R15")
	t.loadQ("R15", 0, list...)
	return list
}

// beginCoded sets the products to what undoes the offset of the codes.
func (t *packedTile) beginCoded(sub int) {
	c := t.k.coding
	if c.offset == 0 {
		for _, r := range t.dots() {
			t.move(r, packedBias)
		}
		return
	}
	word, by := sumWord+sub, 1
	if c.sub == 32 {
		word, by = halfWord+sub, 8
	}
	sums := t.rowWords(word, packedWeights)
	for _, r := range sums {
		if shift := c.shiftOf(by); shift > 0 {
			t.op("VSHL", imm(shift), r.s4(), r.s4())
		}
		t.op("VADD", packedBias.s4(), r.s4(), r.s4())
	}
	for r := range t.n {
		for p := range t.parts {
			t.op("VDUP", sums[r/lane4].s(r%lane4), t.at(t.dots(), r, p).s4())
		}
	}
}

// codes returns registers with the codes of four inputs, or with their levels.
func (t *packedTile) codes(q quarter) []vec {
	c := t.k.coding
	low, high := seq(int(packedWeights), t.parts), seq(int(packedHigh), t.parts)
	line, bit := q.at(c.low)
	t.loadQ("R10", panelRowBytes*line, low...)
	for _, r := range low {
		if bit > 0 {
			t.op("VUSHR", imm(bit), r.b16(), r.b16())
		}
		if bit+c.low < 8 {
			t.op("VAND", maskReg.b16(), r.b16(), r.b16())
		}
		if c.levels != nil {
			t.op("VTBL", r.b16(), "["+codedTable.b16()+"]", r.b16())
		}
	}
	if c.high == 0 {
		return low
	}
	line, bit = q.at(c.high)
	t.loadQ("R10", planeBytes*c.low+panelRowBytes*line, high...)
	for i, r := range high {
		switch {
		case bit > c.low:
			t.op("VUSHR", imm(bit-c.low), r.b16(), r.b16())
		case bit < c.low:
			t.op("VSHL", imm(c.low-bit), r.b16(), r.b16())
		}
		t.op("VAND", codedTable.b16(), r.b16(), r.b16())
		t.op("VORR", r.b16(), low[i].b16(), low[i].b16())
	}
	return low
}

// bytesToWords widens four times parts bytes.
func (t *packedTile) bytesToWords(name string, dst []vec) {
	raw, low, high := codedRaw, codedRaw+1, codedRaw+2
	t.word(name+" v%d.8h, v%d.8b", low, raw)
	t.word(name+" v%d.4s, v%d.4h", dst[0], low)
	if t.parts > 1 {
		t.word(name+"2 v%d.4s, v%d.8h", dst[1], low)
	}
	if t.parts > 2 {
		t.word(name+"2 v%d.8h, v%d.16b", high, raw)
		t.word(name+" v%d.4s, v%d.4h", dst[2], high)
		t.word(name+"2 v%d.4s, v%d.8h", dst[3], high)
	}
}

// loadBytes loads one byte of each row.
func (t *packedTile) loadBytes(off int) {
	load := map[int]string{1: "FMOVS", 2: "FMOVD", 4: "FMOVQ"}[t.parts]
	t.op(load, mem(off, "R11"), codedRaw.f())
}

// loadHalves loads one half-precision number of each row and makes them float32.
func (t *packedTile) loadHalves(off int, dst []vec) {
	for p, r := range dst {
		t.op("FMOVD", mem(off+8*p, "R11"), codedRaw.f())
		t.word("fcvtl v%d.4s, v%d.4h", r, codedRaw)
	}
}

// multipliers sets the registers of scales and minima to those of a sub-block.
func (t *packedTile) multipliers(sub int) (scales, minima []vec) {
	c := t.k.coding
	scales, minima = seq(int(codedScale), t.parts), seq(int(codedMin), t.parts)
	if !c.minima {
		minima = nil
	}
	switch c.scaling {
	case "half":
		t.loadHalves(c.scalesAt(sub), scales)
		t.loadHalves(c.minimaAt(sub), minima)
		return scales, minima
	case "bfloat":
		for p, r := range scales {
			t.op("FMOVD", mem(c.scalesAt(sub)+8*p, "R11"), codedRaw.f())
			t.word("uxtl v%d.4s, v%d.4h", r, codedRaw)
			t.op("VSHL", "$16", r.s4(), r.s4())
		}
		return scales, minima
	case "signed":
		t.loadBytes(c.scalesAt(sub))
		t.bytesToWords("sxtl", scales)
	case "bytes":
		t.loadBytes(c.scalesAt(sub))
		t.bytesToWords("uxtl", scales)
		t.loadBytes(c.minimaAt(sub))
		t.bytesToWords("uxtl", minima)
	case "nibbles":
		t.loadBytes(c.scalesAt(sub))
		t.bytesToWords("uxtl", minima)
		t.op("VMOVI", "$15", codedRaw.b16())
		for p, r := range scales {
			t.op("VAND", codedRaw.b16(), minima[p].b16(), r.b16())
			t.op("VUSHR", "$4", minima[p].s4(), minima[p].s4())
		}
	}
	for i, list := range [][]vec{scales, minima} {
		for p, r := range list {
			t.op("FMOVD", mem(32*i+8*p, codedHead), codedD.f())
			t.word("fcvtl v%d.4s, v%d.4h", codedD, codedD)
			t.do2("scvtf", r, r)
			t.word("fmul v%d.4s, v%d.4s, v%d.4s", r, r, codedD)
		}
	}
	return scales, minima
}

// scaleCoded adds the products of a sub-block to the sums and subtracts the minima.
func (t *packedTile) scaleCoded(sub int) {
	c := t.k.coding
	half := sub * c.sub / 32
	scales, minima := t.multipliers(sub)
	acts := t.rowWords(scaleWord+half, codedActs)
	var sums []vec
	switch {
	case c.minima && c.sub == 32:
		sums = t.rowWords(shiftWord+half, codedSums)
	case c.minima:
		sums = t.rowWords(sumWord+sub, codedSums)
		for _, r := range sums {
			t.do2("scvtf", r, r)
		}
	}
	for r := range t.n {
		vector, lane := r/lane4, r%lane4
		for p := range t.parts {
			dot, sum := t.at(t.dots(), r, p), t.at(t.sums, r, p)
			t.word("fmul v%d.4s, v%d.4s, v%d.s[%d]", codedBoth, scales[p], acts[vector], lane)
			t.do3("fsub", dot, dot, packedBias)
			t.fma(sum, dot, codedBoth)
			switch {
			case !c.minima:
			case c.sub == 32:
				t.fmaLane(sum, minima[p], sums[vector], lane)
			default:
				t.word("fmul v%d.4s, v%d.4s, v%d.s[%d]", codedBoth, minima[p], acts[vector], lane)
				t.fmaLane(sum, codedBoth, sums[vector], lane)
			}
		}
	}
}
