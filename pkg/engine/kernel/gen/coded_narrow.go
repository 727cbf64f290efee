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

	second bool // of two sub-blocks that are multiplied together, see joint
}

func (b *narrowSlice) dot(r, p int) string {
	switch {
	case b.inDst:
		return b.v(2*r + p)
	case b.second:
		return b.v(12 + p)
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
	if b.joint() {
		b.emitJoint()
		return
	}
	for sub := range 64 / b.c.sub {
		b.begin(sub)
		list := b.c.quarters(sub)
		for i := 0; i < len(list); i += 2 {
			b.products(list[i], list[i+1], i == 0 && b.unset())
		}
		for p := range b.parts {
			b.multipliers(sub, p)
			b.add(sub, p)
		}
	}
}

// products adds the products of two times four inputs. The first of a sub-block replace what was there.
func (b *narrowSlice) products(q1, q2 quarter, first bool) {
	if b.inDst {
		b.loadBoth(q1, q2)
		for r := range b.n {
			b.multiplyBoth(r, b.word(q1.word(), r), b.word(q2.word(), r), first)
		}
		return
	}
	for p := range b.parts {
		b.load(q1, p, narrowWeights)
		if b.signed(b.c) {
			b.multiplyLevels(q1, p, first)
			b.load(q2, p, narrowWeights)
			b.multiplyLevels(q2, p, false)
		} else {
			b.load(q2, p, narrowMore)
			b.multiplyCodes(q1, q2, p, first)
		}
	}
}

// short reports whether the products of a sub-block fit 16 bits.
func (t *asm) short(c *coding) bool {
	return !t.vnni && c.levels == nil && c.sub/2*127*(1<<(c.low+c.high)-1) < 1<<15
}

// signed reports whether weights are levels with signs.
func (t *asm) signed(c *coding) bool { return c.levels != nil && (t.vnni || c.raised == 0) }

// unset reports whether begin leaves the products to the first inputs.
func (b *narrowSlice) unset() bool { return !b.vnni && (b.c.excess() == 0 || b.short(b.c)) }

// begin sets the products to what undoes the offset of the codes, unless they are added in 16 bits.
func (b *narrowSlice) begin(sub int) {
	if b.unset() {
		return
	}
	for r := range b.n {
		switch dot := b.dot(r, 0); {
		case b.vnni && b.c.levels != nil:
			b.op("VPBROADCASTD", b.word(wholeWord+sub, r), dot)
		case b.c.excess() == 0:
			b.zero(dot)
		default:
			b.offset(sub, r, dot)
		}
		for p := 1; p < b.parts; p++ {
			b.op("VMOVDQA", b.dot(r, 0), b.dot(r, p))
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
		if b.short(b.c) {
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
		b.multiplyShort(r, 8+2*i, first && i == 0)
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
	for r := range b.n {
		b.whole(sub, r, p)
		b.op("VBROADCASTSS", b.word(scaleWord+sub*b.c.sub/32, r), narrowAct)
		if p == 0 || b.n > keptRows {
			b.loadMinima(sub, r, narrowTemp)
		}
		b.addPart(r, p, narrowWeights, narrowMore, narrowTemp)
	}
}

// whole turns the products of row r and of some parts, if they are added in 16 bits, into whole numbers
// without the offset of the codes.
func (b *narrowSlice) whole(sub, r int, parts ...int) {
	if !b.short(b.c) {
		return
	}
	if b.c.excess() > 0 {
		b.offset(sub, r, narrowAct)
	}
	ones := narrowOnes
	if b.joint() {
		ones = b.bits(0x00010001)
	}
	for _, p := range parts {
		dot := b.dot(r, p)
		b.op("VPMADDWD", ones, dot, dot)
		if b.second {
			b.op("VPSRAD", "$2", dot, dot)
		}
		if b.c.excess() > 0 {
			b.op("VPADDD", narrowAct, dot, dot)
		}
	}
}

// loadMinima sets times to what minima are multiplied by, those of 16 inputs after the scale of the
// activations.
func (b *narrowSlice) loadMinima(sub, r int, times string) {
	switch {
	case !b.c.minima:
	case b.c.sub == 32:
		b.op("VBROADCASTSS", b.word(shiftWord+sub, r), times)
	default:
		b.op("VPBROADCASTD", b.word(sumWord+sub, r), times)
		b.op("VCVTDQ2PS", times, times)
	}
}

// addPart adds the products of row r and a part to their sums and subtracts the minima, which
// loadMinima's register times multiplies. narrowAct holds the scale of the activations.
func (b *narrowSlice) addPart(r, p int, scales, minima, times string) {
	dot, sum := b.dot(r, p), b.sum(r, p)
	b.op("VMULPS", scales, narrowAct, narrowAct2)
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
		b.op("VFMADD231PS", times, minima, sum)
	default:
		b.op("VMULPS", minima, narrowAct, narrowAct2)
		b.op("VFMADD231PS", narrowAct2, times, sum)
	}
	if b.inDst {
		b.op("VMOVUPS", sum, mem(32*p, rowPointers[r]))
	}
}
