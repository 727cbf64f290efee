package main

// bothSlice multiplies a slice. Two registers hold the 16 rows of weights, so that there are more
// products than loads, and registers 0 to 7 the whole-number products of a sub-block, (row, vector).
// The sums stay in dst.
func (e *expanded) bothSlice(n int) {
	b := &narrowSlice{narrowBlock: narrowBlock{asm: e.asm, k: e.k, n: n, parts: 2}, c: &e.c, inDst: true}
	for sub := range 64 / e.c.sub {
		b.begin(sub)
		list, at, each := e.c.quarters(sub), e.lineBytes()*sub*e.c.sub/4, 128/e.lineBytes()
		for i := 0; i < len(list); i += each {
			for j := range 4 {
				e.op("VMOVDQU", mem(at+32*j, rW), e.v(8+j))
			}
			at += 128
			for r := range n {
				if e.c.levels != nil {
					e.bothSigned(b, r, b.word(list[i].word(), r), i == 0)
				} else {
					e.bothProducts(b, r, b.word(list[i].word(), r), b.word(list[i+1].word(), r), i == 0)
				}
			}
		}
		e.bothAdd(b, sub)
	}
	e.op("ADDQ", imm(e.bytes()), rW)
	e.op("ADDQ", imm(4*codedWords*n), rA)
}

// bothProducts adds the products of two words of row r of the activations with the weights in
// registers 8 to 11, (word, vector). The first of a sub-block replace what was there if begin left it
// unset.
func (e *expanded) bothProducts(b *narrowSlice, r int, word1, word2 string, first bool) {
	const act = "Y12"
	sums := [2]string{"Y13", "Y15"}
	first = first && b.unset()
	switch {
	case e.vnni:
		for i, word := range []string{word1, word2} {
			e.op("VPBROADCASTD", word, act)
			for p := range 2 {
				e.dpbusd(act, e.v(8+2*i+p), b.dot(r, p))
			}
		}
	case e.short(&e.c):
		b.multiplyBoth(r, word1, word2, first)
	default: // 16 bits hold the products of the two words
		e.op("VPBROADCASTD", word1, act)
		for p := range 2 {
			e.op("VPMADDUBSW", act, e.v(8+p), sums[p])
		}
		for p := range 2 {
			e.op("VPBROADCASTD", word2, act)
			e.op("VPMADDUBSW", act, e.v(10+p), act)
			e.op("VPADDW", act, sums[p], sums[p])
			b.addTo(b.dot(r, p), first, "VPMADDWD", sums[p], narrowOnes, "VPADDD")
		}
	}
}

// bothSigned adds the products of a word of row r of the activations with the weights in registers 8
// and 9, whose absolute values are in 10 and 11. The first of a sub-block replace what was there.
func (e *expanded) bothSigned(b *narrowSlice, r int, word string, first bool) {
	const act = "Y12"
	e.op("VPBROADCASTD", word, act)
	for p, products := range []string{"Y13", "Y15"} {
		e.op("VPSIGNB", e.v(8+p), act, products)
		e.op("VPMADDUBSW", products, e.v(10+p), products)
		b.addTo(b.dot(r, p), first, "VPMADDWD", products, narrowOnes, "VPADDD")
	}
}

// bothAdd adds the products of a sub-block to the sums and subtracts the minima. It loads the words of
// activations once for both vectors: two calls of narrowSlice.add take 3 % longer.
func (e *expanded) bothAdd(b *narrowSlice, sub int) {
	const times = "Y15"
	for p := range 2 {
		e.op("VMOVUPS", mem(e.scalesAt(sub)+32*p, rW), e.v(8+p))
		if e.c.minima {
			e.op("VMOVUPS", mem(e.minimaAt(sub)+32*p, rW), e.v(12+p))
		}
	}
	for r := range b.n {
		b.whole(sub, r, 0, 1)
		e.op("VBROADCASTSS", b.word(scaleWord+sub*e.c.sub/32, r), narrowAct)
		b.loadMinima(sub, r, times)
		for p := range 2 {
			b.addPart(r, p, e.v(8+p), e.v(12+p), times)
		}
	}
}
