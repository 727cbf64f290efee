package main

// nibblePanel emits one panel of Q4_0 weights with AVX2, for n >= 3 rows of activations.
// Registers 0 to 7 hold the products of a block, (row, vector), in 16 bits: at most
// 16·15·127. The sums stay in dst, as those of tilePairs.
func (t *asm) nibblePanel(k packed, n int) {
	t.panelInDst(k, n, func() {
		for half := range 2 {
			for g := range 4 {
				t.prefetch(k, n, 4*half+g)
				t.multiplyNibblePairs(n, half, g)
			}
			t.scaleNibbles(k, n, half)
		}
		t.prefetch(k, n, 8)
	})
}

// panelInDst emits the loop over a panel's superblocks, which body multiplies, or each of their slices,
// with the sums of n rows in dst.
func (t *asm) panelInDst(k packed, n int, body func()) {
	loop := t.next("block")
	t.op("MOVQ", rWeights, rW)
	t.op("MOVQ", rActs, rA)
	t.op("MOVQ", "blocks+32(FP)", rCount) // superblock may count with rBlocks
	t.pointRows(n)
	t.clearSums(n)
	t.label(loop)
	t.superblock(k, n, rBlocks, func() { t.prefetchOdd(k, n) }, func() {
		body()
		weights, acts := k.walked(n)
		t.op("ADDQ", imm(k.bytes-weights), rW)
		t.op("ADDQ", imm(4*k.words*n-acts), rA)
		if k.parts() == 1 {
			t.bring(k, n, 0)
		}
	})
	t.op("DECQ", rCount)
	t.op("JNZ", loop)
}

// multiplyNibblePairs adds the words g and g+4 of a block: the low and the high nibbles.
func (t *asm) multiplyNibblePairs(n, half, g int) {
	for p := range 2 {
		low, high := t.v(8+p), t.v(10+p)
		t.op("VMOVDQU", mem(64*(4*half+g)+32*p, rW), low)
		t.op("VPSRLD", "$4", low, high)
		t.op("VPAND", narrowMask, low, low)
		t.op("VPAND", narrowMask, high, high)
	}
	for nibble := range 2 {
		for r := range n {
			t.op("VPBROADCASTD", mem(4*(n*(8*half+4*nibble+g)+r), rA), t.v(12))
			t.multiplyShort(r, 8+2*nibble, g == 0 && nibble == 0)
		}
	}
}

// multiplyShort adds the products of row r of the activations, which register 12 holds, with the codes
// in the registers weights and weights+1 in 16 bits, or sets the products to them. It overwrites
// registers 12 and 13. Additions come after both multiplications, which is 1 to 2 % faster on Zen 4.
func (t *asm) multiplyShort(r, weights int, first bool) {
	const act = 12
	for p := range 2 {
		products := t.v(act + 1 - p)
		if first {
			products = t.v(2*r + p)
		}
		t.op("VPMADDUBSW", t.v(act), t.v(weights+p), products)
	}
	for p := range 2 {
		if dot := t.v(2*r + p); !first {
			t.op("VPADDW", t.v(act+1-p), dot, dot)
		}
	}
}

// scaleNibbles adds the products of a block to the sums.
func (t *asm) scaleNibbles(k packed, n, half int) {
	for p := range 2 {
		t.op("VCVTPH2PS", mem(k.scales+32*half+16*p, rW), t.v(8+p))
	}
	for r := range n {
		t.op("VPBROADCASTD", mem(4*(n*(k.sums+half)+r), rA), t.v(12))
		for p := range 2 {
			dot := t.v(2*r + p)
			t.op("VPMADDWD", narrowOnes, dot, dot)
			t.op("VPADDD", t.v(12), dot, dot)
		}
		t.op("VBROADCASTSS", mem(4*(n*(scaleWord+half)+r), rA), t.v(10))
		t.addSums(r)
	}
}
