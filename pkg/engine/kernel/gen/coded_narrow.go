package main

// A narrowSlice emits a slice of a coded kind with AVX2 or AVX-VNNI, in the registers of
// narrowBlock.
//
// Products of bytes are added in 16 bits, which hold 4·63·127, or those of a whole sub-block of codes
// of 4 bits, 16·15·127; those with levels that have signs are added in pairs. AVX-VNNI adds in 32 bits,
// and levels have 128 more, as its weights are unsigned.
type narrowSlice struct {
	narrowBlock
	c     *coding
	inDst bool // the sums stay in dst; registers 0 to 7 then hold products of two parts
}

func (b *narrowSlice) dot(r, p int) string {
	if b.inDst {
		return b.v(2*r + p)
	}
	return b.narrowBlock.dot(r, p)
}

// codedPanel emits one panel of a kind whose products are added in 16 bits, for n >= 3 rows of
// activations.
func (t *asm) codedPanel(k packed, n int) {
	b := &narrowSlice{narrowBlock: narrowBlock{asm: t, k: k, n: n, parts: 2}, c: k.coding, inDst: true}
	t.panelInDst(k, n, b.emit)
}

const (
	narrowTemp  = "Y12"
	narrowTable = "Y13"
	narrowD     = 2 // with up to keptRows rows of activations: the factors of a superblock's scales, for each part
	narrowDMin  = 6 // and of its minima
	keptRows    = 1 // more need these registers for sums and products
)

// narrowHeader loads the factors of a superblock.
func (t *asm) narrowHeader(c *coding) {
	for p := range 2 {
		t.op("VCVTPH2PS", mem(16*p, rW), t.v(narrowD+p))
		if c.minima {
			t.op("VCVTPH2PS", mem(32+16*p, rW), t.v(narrowDMin+p))
		}
	}
}

// narrowConstants loads what all slices use.
func (t *asm) narrowConstants(c *coding) {
	t.op("VMOVDQU", t.bits(every(c.low, 0)), narrowMask)
	if !t.vnni {
		t.op("VMOVDQU", t.bits(0x00010001), narrowOnes)
	}
	if c.levels != nil {
		add := c.raised
		if t.vnni {
			add = 128
		}
		t.op("VMOVDQU", t.table(c.levels, add), narrowTable)
	}
}

func (b *narrowSlice) emit() {
	for range b.c.slice() / 64 {
		b.fetch()
	}
	for sub := range 64 / b.c.sub {
		b.begin(sub)
		list := b.c.quarters(sub)
		for i := 0; i < len(list); i += 2 {
			first := i == 0 && b.unset()
			if b.inDst {
				b.loadBoth(list[i], list[i+1])
				for r := range b.n {
					b.multiplyBoth(r, b.word(list[i].word(), r), b.word(list[i+1].word(), r), first)
				}
				continue
			}
			for p := range b.parts {
				b.load(list[i], p, narrowWeights)
				if b.signed() {
					b.multiplyLevels(list[i], p, first)
					b.load(list[i+1], p, narrowWeights)
					b.multiplyLevels(list[i+1], p, false)
				} else {
					b.load(list[i+1], p, narrowMore)
					b.multiplyCodes(list[i], list[i+1], p, first)
				}
			}
		}
		for p := range b.parts {
			b.multipliers(sub, p)
			b.add(sub, p)
		}
	}
}

// short reports whether the products of a sub-block fit 16 bits.
func (b *narrowSlice) short() bool {
	return !b.vnni && b.c.levels == nil && b.c.sub/2*127*(1<<(b.c.low+b.c.high)-1) < 1<<15
}

// signed reports whether weights are levels with signs.
func (b *narrowSlice) signed() bool { return b.c.levels != nil && (b.vnni || b.c.raised == 0) }

// unset reports whether begin leaves the products to the first inputs.
func (b *narrowSlice) unset() bool { return !b.vnni && (b.c.excess() == 0 || b.short()) }

// begin sets the products to what undoes the offset of the codes, unless they are added in 16 bits.
func (b *narrowSlice) begin(sub int) {
	for r := range b.n {
		for p := range b.parts {
			switch {
			case b.vnni && b.c.levels != nil:
				b.op("VPBROADCASTD", b.word(wholeWord+sub, r), b.dot(r, p))
			case b.unset():
			case b.c.excess() == 0:
				b.zero(b.dot(r, p))
			default:
				b.offset(sub, r, b.dot(r, p))
			}
		}
	}
}

// offset sets dst to what undoes the offset of the codes.
func (b *narrowSlice) offset(sub, r int, dst string) {
	word, by := sumWord+sub, 1
	if b.c.sub == 32 {
		word, by = halfWord+sub, 8
	}
	b.op("VPBROADCASTD", b.word(word, r), dst)
	if shift := b.c.shiftOf(by); shift > 0 {
		b.op("VPSLLD", imm(shift), dst, dst)
	}
}

// load sets dst to the codes of four inputs, or to their levels.
func (b *narrowSlice) load(q quarter, p int, dst string) {
	line, bit := q.at(b.c.low)
	from := mem(64*line+32*(b.part+p), rW)
	if bit > 0 {
		b.op("VMOVDQU", from, dst)
		b.op("VPSRLD", imm(bit), dst, dst)
		from = dst
	}
	b.op("VPAND", from, narrowMask, dst)
	if b.c.levels != nil {
		b.op("VPSHUFB", dst, narrowTable, dst)
	}
	if b.c.high == 0 {
		return
	}
	line, bit = q.at(b.c.high)
	b.op("VMOVDQU", mem(planeBytes*b.c.low+64*line+32*(b.part+p), rW), narrowTemp)
	switch {
	case bit > b.c.low:
		b.op("VPSRLD", imm(bit-b.c.low), narrowTemp, narrowTemp)
	case bit < b.c.low:
		b.op("VPSLLD", imm(b.c.low-bit), narrowTemp, narrowTemp)
	}
	b.op("VPAND", b.bits(every(b.c.high, b.c.low)), narrowTemp, narrowTemp)
	b.op("VPOR", narrowTemp, dst, dst)
}

// multiplyCodes adds the products of two times four inputs with narrowWeights and narrowMore. The
// first of a sub-block replace what was there.
func (b *narrowSlice) multiplyCodes(q1, q2 quarter, p int, first bool) {
	if b.vnni {
		b.addProducts(q1, p, narrowWeights)
		b.addProducts(q2, p, narrowMore)
		return
	}
	for r := range b.n {
		b.op("VPBROADCASTD", b.word(q1.word(), r), narrowAct)
		b.op("VPBROADCASTD", b.word(q2.word(), r), narrowAct2)
		if b.short() {
			b.addTo(b.dot(r, p), first, "VPMADDUBSW", narrowAct, narrowWeights, "VPADDW")
			b.addTo(b.dot(r, p), false, "VPMADDUBSW", narrowAct2, narrowMore, "VPADDW")
			continue
		}
		b.op("VPMADDUBSW", narrowAct, narrowWeights, narrowAct)
		b.op("VPMADDUBSW", narrowAct2, narrowMore, narrowAct2)
		b.op("VPADDW", narrowAct2, narrowAct, narrowAct)
		b.addTo(b.dot(r, p), first, "VPMADDWD", narrowAct, narrowOnes, "VPADDD")
	}
}

// loadBoth sets registers 8 to 11 to the codes of two times four inputs, (four inputs, part).
func (b *narrowSlice) loadBoth(q1, q2 quarter) {
	for p := range 2 {
		b.load(q1, p, b.v(8+p))
		b.load(q2, p, b.v(10+p))
	}
}

// multiplyBoth adds the products of two words of row r of the activations with the codes in registers
// 8 to 11 in 16 bits. The first of a sub-block replace what was there.
func (b *narrowSlice) multiplyBoth(r int, word1, word2 string, first bool) {
	for i, word := range []string{word1, word2} {
		b.op("VPBROADCASTD", word, "Y12")
		b.multiplyShort(r, "Y12", "Y13", 8+2*i, first && i == 0)
	}
}

// addTo adds products of x and y to dot, or sets dot to them. It overwrites x.
func (b *narrowSlice) addTo(dot string, first bool, multiply, x, y, add string) {
	if first {
		b.op(multiply, x, y, dot)
		return
	}
	b.op(multiply, x, y, x)
	b.op(add, x, dot, dot)
}

// multiplyLevels adds the products of four inputs with the weights in narrowWeights, which AVX2
// takes with their signs. The first of a sub-block replace what was there.
func (b *narrowSlice) multiplyLevels(q quarter, p int, first bool) {
	if b.vnni {
		b.addProducts(q, p, narrowWeights)
		return
	}
	b.op("VPABSB", narrowWeights, narrowMore)
	for r := range b.n {
		b.op("VPBROADCASTD", b.word(q.word(), r), narrowAct)
		b.op("VPSIGNB", narrowWeights, narrowAct, narrowAct)
		b.op("VPMADDUBSW", narrowAct, narrowMore, narrowAct)
		b.addTo(b.dot(r, p), first, "VPMADDWD", narrowAct, narrowOnes, "VPADDD")
	}
}

// addProducts adds the products of four inputs with unsigned weights.
func (b *narrowSlice) addProducts(q quarter, p int, weights string) {
	for r := range b.n {
		act := b.v(10 + r%2)
		b.op("VPBROADCASTD", b.word(q.word(), r), act)
		b.dpbusd(act, weights, b.dot(r, p))
	}
}

// multipliers sets narrowWeights to the scales of a sub-block and narrowMore to the minima.
func (b *narrowSlice) multipliers(sub, p int) {
	eight := 8 * (b.part + p) * b.c.scaleBytes()
	scales, minima := mem(b.c.scalesAt(sub)+eight, rW), mem(b.c.minimaAt(sub)+eight, rW)
	times := func(register string, d, kept int) {
		b.op("VCVTDQ2PS", register, register)
		by := b.v(kept + b.part + p)
		if b.n > keptRows {
			by = narrowTemp
			b.op("VCVTPH2PS", mem(d+16*(b.part+p), rSliceHead), by)
		}
		b.op("VMULPS", by, register, register)
	}
	switch b.c.scaling {
	case "half":
		b.op("VCVTPH2PS", scales, narrowWeights)
		if b.c.minima {
			b.op("VCVTPH2PS", minima, narrowMore)
		}
		return
	case "bfloat":
		b.op("VPMOVZXWD", scales, narrowWeights)
		b.op("VPSLLD", "$16", narrowWeights, narrowWeights)
		return
	case "signed":
		b.op("VPMOVSXBD", scales, narrowWeights)
	case "bytes":
		b.op("VPMOVZXBD", scales, narrowWeights)
		b.op("VPMOVZXBD", minima, narrowMore)
	case "nibbles":
		b.op("VPMOVZXBD", scales, narrowMore)
		b.op("VPAND", b.bits(15), narrowMore, narrowWeights)
		b.op("VPSRLD", "$4", narrowMore, narrowMore)
	}
	times(narrowWeights, 0, narrowD)
	if b.c.minima {
		times(narrowMore, 32, narrowDMin)
	}
}

// add adds the products of a sub-block to the sums and subtracts the minima.
func (b *narrowSlice) add(sub, p int) {
	half := sub * b.c.sub / 32
	for r := range b.n {
		dot, sum := b.dot(r, p), b.sum(r, p)
		if b.short() {
			b.op("VPMADDWD", narrowOnes, dot, dot)
			if b.c.excess() > 0 {
				b.offset(sub, r, narrowAct)
				b.op("VPADDD", narrowAct, dot, dot)
			}
		}
		b.op("VBROADCASTSS", b.word(scaleWord+half, r), narrowAct)
		b.op("VMULPS", narrowWeights, narrowAct, narrowAct2)
		b.op("VCVTDQ2PS", dot, dot)
		if b.inDst {
			b.op("VFMADD213PS", mem(32*p, rowPointers[r]), narrowAct2, dot)
			sum = dot
		} else {
			b.op("VFMADD231PS", narrowAct2, dot, sum)
		}
		switch {
		case !b.c.minima:
		case b.c.sub == 32:
			b.op("VBROADCASTSS", b.word(shiftWord+half, r), narrowAct)
			b.op("VFMADD231PS", narrowAct, narrowMore, sum)
		default:
			b.op("VMULPS", narrowMore, narrowAct, narrowAct)
			if p == 0 || b.n > keptRows {
				b.op("VPBROADCASTD", b.word(sumWord+sub, r), narrowTemp)
				b.op("VCVTDQ2PS", narrowTemp, narrowTemp)
			}
			b.op("VFMADD231PS", narrowAct, narrowTemp, sum)
		}
		if b.inDst {
			b.op("VMOVUPS", sum, mem(32*p, rowPointers[r]))
		}
	}
}
