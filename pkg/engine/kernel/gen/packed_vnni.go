package main

import (
	"fmt"
	"strconv"
	"strings"
)

// dpbusd adds the products of unsigned bytes and signed ones, four to a sum, in the form of
// AVX-VNNI, which Go's assembler does not know: VEX.256.66.0F38.W0 50 /r.
func (t *asm) dpbusd(signed, unsigned, sums string) {
	number := func(register string) byte {
		n, _ := strconv.Atoi(strings.TrimPrefix(register, "Y"))
		return byte(n)
	}
	a, b, dst := number(unsigned), number(signed), number(sums)
	text := fmt.Sprintf("{vex} vpdpbusd ymm%d, ymm%d, ymm%d", dst, a, b)
	t.code(text, 0xc4, ^dst&8<<4|0x40|^b&8<<2|2, ^a&15<<3|5, 0x50, 0xc0|dst&7<<3|b&7)
}

// A vnniBlock emits one superblock of Q8_0, Q4_0 or Q8W with AVX-VNNI: 16 rows of weights in
// two registers, n rows of activations. Registers 0 to 7 hold the whole-number products of a
// block, (row, vector). The sums stay in dst, as those of tilePairs.
type vnniBlock struct{ narrowBlock }

func (b *vnniBlock) dot(r, p int) string { return b.v(2*r + p) }

func (b *vnniBlock) emit() {
	for half := range b.k.blocks {
		for r := range b.n {
			b.op("VPBROADCASTD", b.word(b.k.sums+half, r), b.dot(r, 0))
			b.op("VMOVDQA", b.dot(r, 0), b.dot(r, 1))
		}
		b.inParts(b.k, b.n, 0, func() { b.products(half) })
		if half == b.k.blocks-1 {
			b.prefetchScales(b.k, b.n, b.fetched)
		}
		b.scale(half)
	}
}

// products multiplies a part of a block.
func (b *vnniBlock) products(half int) {
	groups := min(b.k.lines(), partLines)
	for g := range groups {
		b.fetch()
		for p := range 2 {
			at, weights, high := mem(64*(groups*half+g)+32*p, rW), b.v(8+p), b.v(10+p)
			switch b.k.kind {
			case "Q8W": // q+128
				b.op("VPXOR", at, narrowMask, weights)
			case "Q4":
				b.op("VMOVDQU", at, weights)
				b.op("VPSRLD", "$4", weights, high)
				b.op("VPAND", narrowMask, weights, weights)
				b.op("VPAND", narrowMask, high, high)
			default:
				b.op("VMOVDQU", at, weights)
			}
		}
		b.multiply(8*half+g, 8)
		if b.k.kind == "Q4" {
			b.multiply(8*half+g+4, 10)
		}
	}
}

// multiply adds word i of the activations times two registers of weights.
func (b *vnniBlock) multiply(i, weights int) {
	for r := range b.n {
		act := b.v(12 + r%2)
		b.op("VPBROADCASTD", b.word(i, r), act)
		for p := range 2 {
			b.dpbusd(act, b.v(weights+p), b.dot(r, p))
		}
	}
}

// scale adds the products of a block to the sums.
func (b *vnniBlock) scale(half int) {
	weights, acts := b.k.walked(b.n)
	for p := range 2 {
		b.op("VCVTPH2PS", mem(b.k.scales+32*half+16*p-weights, rW), b.v(8+p))
	}
	for r := range b.n {
		b.op("VBROADCASTSS", b.word(b.k.scale+half-acts/4/b.n, r), b.v(10))
		b.addSums(r)
	}
}
