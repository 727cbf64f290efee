package main

// A narrowBlock emits one superblock of quantised weights with AVX2: 8 rows of weights in
// a register, of which parts from part on make the panel, and n rows of activations.
// Registers 0 to 3 hold the sums, 4 to 7 the whole-number products of a block.
//
// Products of bytes are added in pairs to 16 bits, which hold two of |w|·|a|, at most
// 2·128·127, or those of a whole block of nibbles, at most 16·15·127.
type narrowBlock struct {
	*asm
	k              packed
	n, part, parts int
	fetched        int // lines that have been prefetched
}

// The content of the registers above.
const (
	narrowWeights, narrowMore = "Y8", "Y9"
	narrowAct, narrowAct2     = "Y10", "Y11"
	narrowOnes, narrowMask    = "Y14", "Y15"
)

func (b *narrowBlock) sum(r, p int) string { return b.v(r*b.parts + p) }

func (b *narrowBlock) dot(r, p int) string { return b.v(4 + r*b.parts + p) }

// word is the address of word i of row r of the activations.
func (b *narrowBlock) word(i, r int) string { return mem(4*(i*b.n+r), rA) }

// fetch prefetches a line, on the first pass over the panel.
func (b *narrowBlock) fetch() {
	if b.part == 0 {
		b.prefetch(b.k, b.n, b.fetched)
		b.fetched++
	}
}

func (b *narrowBlock) emit() {
	for half := range b.k.blocks {
		for i := range b.n * b.parts {
			b.zero(b.v(4 + i))
		}
		b.inParts(b.k, b.n, b.part, func() { b.products(half) })
		if b.part == 0 && half == b.k.blocks-1 {
			b.prefetchScales(b.k, b.n, b.fetched)
		}
		for p := range b.parts {
			b.scale(half, p)
		}
	}
}

// products multiplies a part of a block.
func (b *narrowBlock) products(half int) {
	groups := min(b.k.lines(), partLines)
	for g := range groups {
		b.fetch()
		for p := range b.parts {
			addr := mem(64*(groups*half+g)+32*(b.part+p), rW)
			if b.k.kind == "Q4" {
				b.multiplyNibbles(addr, 8*half+g, p)
			} else {
				b.multiplyBytes(addr, 8*half+g, p)
			}
		}
	}
}

// multiplyBytes adds word i of the activations times signed weights: |w| times the
// activation with the sign of w.
func (b *narrowBlock) multiplyBytes(addr string, i, p int) {
	if b.k.kind == "Q8W" {
		b.op("VMOVDQU", addr, narrowWeights)
	} else {
		b.op("VPXOR", addr, narrowMask, narrowWeights)
	}
	b.op("VPABSB", narrowWeights, narrowMore)
	for r := range b.n {
		b.op("VPBROADCASTD", b.word(i, r), narrowAct)
		b.op("VPSIGNB", narrowWeights, narrowAct, narrowAct)
		b.op("VPMADDUBSW", narrowAct, narrowMore, narrowAct)
		b.op("VPMADDWD", narrowOnes, narrowAct, narrowAct)
		b.op("VPADDD", narrowAct, b.dot(r, p), b.dot(r, p))
	}
}

// multiplyNibbles adds words i and i+4 of the activations times low and high nibbles.
func (b *narrowBlock) multiplyNibbles(addr string, i, p int) {
	b.op("VMOVDQU", addr, narrowWeights)
	b.op("VPSRLD", "$4", narrowWeights, narrowMore)
	b.op("VPAND", narrowMask, narrowWeights, narrowWeights)
	b.op("VPAND", narrowMask, narrowMore, narrowMore)
	for r := range b.n {
		b.op("VPBROADCASTD", b.word(i, r), narrowAct)
		b.op("VPMADDUBSW", narrowAct, narrowWeights, narrowAct)
		b.op("VPADDW", narrowAct, b.dot(r, p), b.dot(r, p))
		b.op("VPBROADCASTD", b.word(i+4, r), narrowAct2)
		b.op("VPMADDUBSW", narrowAct2, narrowMore, narrowAct2)
		b.op("VPADDW", narrowAct2, b.dot(r, p), b.dot(r, p))
	}
}

// scale adds the products of a block to the sums.
func (b *narrowBlock) scale(half, p int) {
	weights, acts := b.k.walked(b.n)
	b.op("VCVTPH2PS", mem(b.k.scales+32*half+16*(b.part+p)-weights, rW), narrowWeights)
	for r := range b.n {
		if b.k.kind == "Q4" {
			b.op("VPMADDWD", narrowOnes, b.dot(r, p), b.dot(r, p))
			b.op("VPBROADCASTD", b.word(b.k.sums+half, r), narrowAct)
			b.op("VPADDD", narrowAct, b.dot(r, p), b.dot(r, p))
		}
		b.op("VBROADCASTSS", b.word(b.k.scale+half-acts/4/b.n, r), narrowAct)
		b.op("VMULPS", narrowWeights, narrowAct, narrowAct)
		b.op("VCVTDQ2PS", b.dot(r, p), b.dot(r, p))
		b.op("VFMADD231PS", narrowAct, b.dot(r, p), b.sum(r, p))
	}
}
