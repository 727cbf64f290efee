package main

// A wideBlock emits one superblock of quantised weights with AVX-512 VNNI: 16 rows of
// weights in a register, n rows of activations. Registers 0 to 7 hold the sums, 8 to 15
// the whole-number products of a block, 16 to 23 weights, 24 to 28 scales.
type wideBlock struct {
	*asm
	k       packed
	n       int
	fetched int // lines that have been prefetched
}

func (b *wideBlock) dot(r int) string { return b.v(8 + r) }

// word is the address of word i of row r of the activations.
func (b *wideBlock) word(i, r int) string { return mem(4*(i*b.n+r), rA) }

func (b *wideBlock) fetch() {
	b.prefetch(b.k, b.n, b.fetched)
	b.fetched++
}

func (b *wideBlock) emit() {
	for half := range b.k.blocks {
		for r := range b.n {
			b.op("VPBROADCASTD", b.word(b.k.sums+half, r), b.dot(r))
		}
		if b.halved() {
			for r := range b.n {
				b.zero(b.dot(b.n + r))
			}
		}
		b.inParts(b.k, b.n, 0, func() { b.products(half) })
		b.scale(half)
	}
}

// products multiplies a part of a block.
func (b *wideBlock) products(half int) {
	groups := min(b.k.lines(), partLines)
	for g := range groups {
		low, high := b.v(16+g%4), b.v(20+g%4)
		if b.k.kind == "Q8W" { // q+128
			b.op("VPXORD", mem(64*(groups*half+g), rW), b.v(31), low)
		} else {
			b.op("VMOVDQU32", mem(64*(groups*half+g), rW), low)
		}
		b.fetch()
		if b.k.kind == "Q4" {
			b.op("VPSRLD", "$4", low, high)
			b.op("VPANDD", b.v(31), low, low)
			b.op("VPANDD", b.v(31), high, high)
			b.multiply(half, g, low)
			b.multiply(half, g+4, high)
		} else {
			b.multiply(half, g, low)
		}
	}
}

// halved reports whether a row has two products, which halves the wait for each other. Those
// of Q8W follow each other for four times as long.
func (b *wideBlock) halved() bool { return b.n == 1 || b.k.kind == "Q8W" && b.n <= 4 }

// multiply adds four inputs of a block: word i of its activations.
func (b *wideBlock) multiply(half, i int, weights string) {
	for r := range b.n {
		to := b.dot(r)
		if b.halved() {
			to = b.dot(i%2*b.n + r)
		}
		b.op("VPDPBUSD.BCST", b.word(8*half+i, r), weights, to)
	}
}

// scale adds the products of a block to the sums.
func (b *wideBlock) scale(half int) {
	weights, acts := b.k.walked(b.n)
	b.op("VCVTPH2PS", mem(b.k.scales+32*half-weights, rW), b.v(24))
	if half == b.k.blocks-1 {
		b.prefetchScales(b.k, b.n, b.fetched)
	}
	if b.halved() {
		for r := range b.n {
			b.op("VPADDD", b.dot(b.n+r), b.dot(r), b.dot(r))
		}
	}
	for r := range b.n {
		b.op("VCVTDQ2PS", b.dot(r), b.dot(r))
		b.op("VMULPS.BCST", b.word(b.k.scale+half-acts/4/b.n, r), b.v(24), b.v(25+r%4))
		b.op("VFMADD231PS", b.v(25+r%4), b.dot(r), b.v(r))
	}
}
