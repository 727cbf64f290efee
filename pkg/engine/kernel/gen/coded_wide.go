package main

// A wideSlice emits a slice of a coded kind with AVX-512 VNNI: 16 rows of weights in a
// register, n rows of activations. Registers 0 to 7 hold the sums, 8 to 15 the whole-number
// products of a sub-block, and then:
const (
	wideLow    = "Z16" // a line of low bits
	wideCodes  = 17    // to 19
	wideHigh   = "Z20" // a line of high bits
	wideBits   = "Z21"
	wideDMin   = "Z22"
	wideTable  = "Z23" // the levels, or the mask of high bits
	wideScale  = "Z24"
	wideTemp   = 25    // to 27
	wideOther  = "Z28" // another line of high bits
	wideMin    = "Z29"
	wideD      = "Z30"
	wideMask   = "Z31"
	rSliceHead = "R9"  // the header
	rSlices    = "R15" // slices of the superblock that are left
)

type wideSlice struct {
	wideBlock
	c    *coding
	low  int    // the line that wideLow holds
	high [2]int // the lines that wideHigh and wideOther hold
	next int    // of the code registers
	base int    // of the products, those of the first of a group of sub-blocks
}

// group is the number of sub-blocks that are multiplied together: those of 16 inputs share the
// lines of their codes, which are then loaded once.
func (b *wideSlice) group() int {
	if b.c.sub == 16 {
		return max(1, min(4, 8/b.n))
	}
	return 1
}

// dot is the register with the products of row r and a sub-block.
func (b *wideSlice) dot(r int) string { return b.v(8 + b.base + r) }

// wideConstants loads what all slices use.
func (t *asm) wideConstants(c *coding) {
	t.op("VMOVDQU32", t.bits(every(c.low, 0)), wideMask)
	switch {
	case c.levels != nil:
		t.op("VMOVDQU32", t.table(c.levels, 128), wideTable)
	case c.high > 0:
		t.op("VMOVDQU32", t.bits(every(c.high, c.low)), wideTable)
	}
}

func (b *wideSlice) emit() {
	b.forget()
	group := b.group()
	for first := 0; first < 64/b.c.sub; first += group {
		each := func(do func(sub int)) {
			for i := range group {
				b.base = i * b.n
				do(first + i)
			}
		}
		each(b.begin)
		for i := range b.c.sub / 4 {
			each(func(sub int) {
				q := b.c.quarters(sub)[i]
				weights := b.codes(q)
				if b.halved() {
					b.base = i % 2
				}
				b.multiply(q, weights)
			})
		}
		each(func(sub int) {
			if b.inPlace() && sub > 0 {
				for r := range b.n {
					b.op("VPSRAD", imm(b.c.low*sub), b.dot(r), b.dot(r))
				}
			}
			b.multipliers(sub)
			if b.halved() {
				b.op("VPADDD", b.dot(1), b.dot(0), b.dot(0))
			}
			b.add(sub)
		})
	}
	for b.fetched < b.c.slice()/64 {
		b.fetch()
	}
}

// halved reports whether the row has two products, which halves the wait for each other.
func (b *wideSlice) halved() bool { return b.n == 1 && b.group() == 1 }

// inPlace reports whether codes are multiplied where they are in their bytes, and the products
// shifted: those of few rows of Q2_K, whose bytes have a code of each sub-block.
func (b *wideSlice) inPlace() bool { return b.c.low == 2 && b.c.high == 0 && b.n > 0 && b.n <= 2 }

// multiply adds four inputs.
func (b *wideSlice) multiply(q quarter, weights string) {
	for r := range b.n {
		b.op("VPDPBUSD.BCST", b.word(q.word(), r), weights, b.dot(r))
	}
}

// forget makes the registers hold no line.
func (b *wideSlice) forget() { b.low, b.high = -1, [2]int{-1, -1} }

// begin sets the products to what undoes the offset of the codes, which are unsigned.
func (b *wideSlice) begin(sub int) {
	half := sub * b.c.sub / 32
	for r := range b.n {
		switch {
		case b.c.levels != nil:
			b.op("VPBROADCASTD", b.word(wholeWord+half, r), b.dot(r))
		case b.c.offset == 0:
			b.zero(b.dot(r))
		case b.c.sub == 32:
			b.op("VPSLLD.BCST", imm(b.c.shiftOf(8)), b.word(halfWord+half, r), b.dot(r))
		default:
			b.op("VPSLLD.BCST", imm(b.c.shiftOf(1)), b.word(sumWord+sub, r), b.dot(r))
		}
	}
	if b.halved() {
		b.zero(b.dot(1))
	}
}

// fetch prefetches the next line of later slices. Lines that are loaded more than once are fetched
// once.
func (b *wideSlice) fetch() {
	if b.fetched < b.c.slice()/64 {
		b.wideBlock.fetch()
	}
}

// codes returns a register with the codes of four inputs, or with their levels plus 128.
func (b *wideSlice) codes(q quarter) string {
	dst := b.v(wideCodes + b.next%3)
	b.next++
	line, bit := q.at(b.c.low)
	if line != b.low {
		b.low = line
		b.op("VMOVDQU32", mem(64*line, rW), wideLow)
		b.fetch()
	}
	if from := wideLow; b.inPlace() {
		b.op("VPANDD", b.bits(every(b.c.low, bit)), from, dst)
	} else if bit > 0 {
		b.op("VPSRLD", imm(bit), from, dst)
		b.op("VPANDD", wideMask, dst, dst)
	} else {
		b.op("VPANDD", wideMask, from, dst)
	}
	if b.c.levels != nil {
		b.op("VPSHUFB", dst, wideTable, dst)
	}
	if b.c.high == 0 {
		return dst
	}
	line, bit = q.at(b.c.high)
	from := [2]string{wideHigh, wideOther}[line%2]
	if line != b.high[line%2] {
		b.high[line%2] = line
		b.op("VMOVDQU32", mem(planeBytes*b.c.low+64*line, rW), from)
		b.fetch()
	}
	switch {
	case bit > b.c.low:
		b.op("VPSRLD", imm(bit-b.c.low), from, wideBits)
		from = wideBits
	case bit < b.c.low:
		b.op("VPSLLD", imm(b.c.low-bit), from, wideBits)
		from = wideBits
	}
	const orAnd = "$0xf8" // dst | from & mask
	b.op("VPTERNLOGD", orAnd, from, wideTable, dst)
	return dst
}

// multipliers sets wideScale and wideMin to those of a sub-block.
func (b *wideSlice) multipliers(sub int) {
	scales, minima := mem(b.c.scalesAt(sub), rW), mem(b.c.minimaAt(sub), rW)
	times := func(register, by string) {
		b.op("VCVTDQ2PS", register, register)
		b.op("VMULPS", by, register, register)
	}
	switch b.c.scaling {
	case "half":
		b.op("VCVTPH2PS", scales, wideScale)
		if b.c.minima {
			b.op("VCVTPH2PS", minima, wideMin)
		}
		return
	case "bfloat":
		b.op("VPMOVZXWD", scales, wideScale)
		b.op("VPSLLD", "$16", wideScale, wideScale)
		return
	case "signed":
		b.op("VPMOVSXBD", scales, wideScale)
	case "bytes":
		b.op("VPMOVZXBD", scales, wideScale)
		b.op("VPMOVZXBD", minima, wideMin)
	case "nibbles":
		b.op("VPMOVZXBD", scales, wideMin)
		b.op("VPANDD", b.bits(15), wideMin, wideScale)
		b.op("VPSRLD", "$4", wideMin, wideMin)
	}
	times(wideScale, wideD)
	if b.c.minima {
		times(wideMin, wideDMin)
	}
}

// add adds the products of a sub-block to the sums and subtracts the minima.
func (b *wideSlice) add(sub int) {
	half := sub * b.c.sub / 32
	for r := range b.n {
		by, sums := b.v(wideTemp+r%3), b.v(wideCodes+r%3)
		b.op("VCVTDQ2PS", b.dot(r), b.dot(r))
		b.op("VMULPS.BCST", b.word(scaleWord+half, r), wideScale, by)
		b.op("VFMADD231PS", by, b.dot(r), b.v(r))
		switch {
		case !b.c.minima:
		case b.c.sub == 32:
			b.op("VFMADD231PS.BCST", b.word(shiftWord+half, r), wideMin, b.v(r))
		default:
			b.op("VMULPS.BCST", b.word(scaleWord+half, r), wideMin, by)
			b.op("VCVTDQ2PS.BCST", b.word(sumWord+sub, r), sums)
			b.op("VFMADD231PS", by, sums, b.v(r))
		}
	}
}
