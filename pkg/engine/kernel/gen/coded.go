package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"
)

// A coding describes a kind of weights that are codes of 2 to 6 bits: package kernel's
// type of this name.
type coding struct {
	low, high int    // bits of a code
	sub       int    // inputs that share a scale
	scaling   string // half, bfloat, signed, bytes or nibbles
	minima    bool
	offset    int
	levels    []int8 // values of the codes
	raised    int    // added to levels by AVX2: they then are unsigned, and 16 bits still hold four products
}

var (
	levels4    = []int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	levelsE2M1 = []int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
)

// Words of activations for 64 inputs, beside those of Q8_0.
const (
	codedWords = 28
	shiftWord  = 22 // -d*Σq of each half, float32
	sumWord    = 24 // -Σq of each quarter
	halfWord   = 20 // -8*Σq of each half
	wholeWord  = 18 // -128*Σq of each half
)

// code returns the description of a kind with a coding.
func code(name string, c coding) packed {
	k := packed{kind: name, words: codedWords, busy: 5, ahead: 8192, coding: &c}
	k.bytes = c.slice()
	return k
}

var codedKinds = []packed{
	code("Q2K", coding{low: 2, sub: 16, scaling: "nibbles", minima: true}),
	code("Q3K", coding{low: 2, high: 1, sub: 16, scaling: "signed", offset: 4}),
	code("Q4K", coding{low: 4, sub: 32, scaling: "bytes", minima: true}),
	code("Q5K", coding{low: 4, high: 1, sub: 32, scaling: "bytes", minima: true}),
	code("Q6K", coding{low: 4, high: 2, sub: 16, scaling: "signed", offset: 32}),
	code("Q4x1", coding{low: 4, sub: 32, scaling: "half", minima: true}),
	code("Q5x0", coding{low: 4, high: 1, sub: 32, scaling: "half", offset: 16}),
	code("Q5x1", coding{low: 4, high: 1, sub: 32, scaling: "half", minima: true}),
	code("IQ4NL", coding{low: 4, sub: 32, scaling: "half", levels: levels4}),
	code("IQ4XS", coding{low: 4, sub: 32, scaling: "signed", levels: levels4}),
	code("MXFP4", coding{low: 4, sub: 32, scaling: "bfloat", levels: levelsE2M1, raised: 16}),
}

const (
	planeBytes  = 128 // a bit of every code of a slice
	headerBytes = 64
	sliceCount  = 4 // slices of a superblock with a header
)

// headed reports whether superblocks have a header.
func (c *coding) headed() bool {
	return c.scaling == "signed" || c.scaling == "bytes" || c.scaling == "nibbles"
}

// scaleBytes is the size of a scale.
func (c *coding) scaleBytes() int {
	if c.headed() {
		return 1
	}
	return 2
}

// scalesAt is the offset of the scales of a sub-block in a slice, minimaAt that of its
// minima.
func (c *coding) scalesAt(sub int) int { return planeBytes*(c.low+c.high) + 16*c.scaleBytes()*sub }

func (c *coding) minimaAt(sub int) int { return c.scalesAt(64/c.sub) + 16*c.scaleBytes()*sub }

// slice is the size of a slice of 64 inputs.
func (c *coding) slice() int {
	end := c.minimaAt(0)
	if c.minima && c.scaling != "nibbles" {
		end = c.minimaAt(64 / c.sub)
	}
	return (end + 63) / 64 * 64
}

// A quarter is four inputs: number four of sixteen, of the sixteen with that number.
type quarter struct{ sixteen, four int }

// quarters lists the inputs of a sub-block, those next to each other that share a line.
func (c *coding) quarters(sub int) (list []quarter) {
	for four := range 4 {
		for i := range c.sub / 16 {
			list = append(list, quarter{sub*c.sub/16 + i, four})
		}
	}
	return list
}

// at returns the line and the first bit of a plane's part of the codes.
func (q quarter) at(width int) (line, bit int) {
	switch width {
	case 4:
		return q.sixteen/2*4 + q.four, q.sixteen % 2 * 4
	case 2:
		return q.four, 2 * q.sixteen
	}
	return q.sixteen / 2, q.sixteen%2*4 + q.four
}

// word is the number of the word of activations.
func (q quarter) word() int { return 4*q.sixteen + q.four }

// every repeats the low bits of a byte, from a bit on, in four bytes.
func every(width, bit int) uint32 { return uint32(1<<width-1) << bit * 0x01010101 }

// excess returns how far codes, or raised levels, exceed the values that they stand for.
func (c *coding) excess() int { return c.offset + c.raised }

// shiftOf returns the shift that turns -by·Σq into -excess·Σq.
func (c *coding) shiftOf(by int) int { return bits.TrailingZeros(uint(c.excess() / by)) }

// table is the address of sixteen bytes, repeated over 64.
func (t *asm) table(values []int8, add int) string { return t.words(tableWords(values, add)) }

func tableWords(values []int8, add int) (words [4]uint32) {
	for i, v := range values {
		words[i/4] |= uint32(uint8(int(v)+add)) << (i % 4 * 8)
	}
	return words
}

// kindNames are package kernel's names of kinds that are not this package's.
var kindNames = map[string]string{"Q8": "Q8_0", "Q4": "Q4_0", "Q4x1": "Q4_1", "Q5x0": "Q5_0", "Q5x1": "Q5_1"}

// dispatch writes the Go function that selects the routine of one of these kinds, which takes
// more arguments.
func (t *asm) dispatch(kinds []packed, more string) {
	t.byKind(kinds, "computes a span.", "tile"+t.name+"(kind Kind, t *span)", "dst, w, act := sd(t.dst), unsafe.SliceData(t.w), sd(t.act)", func(k packed) string {
		return fmt.Sprintf("tile%s%s(dst, t.ldd, w, act, t.blocks, t.panels, t.rows%s)", k.kind, t.name, more)
	})
}

// countBusy writes the Go table of the numbers of rows that keep the arithmetic busier than the
// memory.
func (t *asm) countBusy(kinds []packed) {
	fmt.Fprintf(&t.decl, "\n// busy%s has the number of rows from which on products with a kind compute longer than they read.\nvar busy%s = [...]int{\n", t.name, t.name)
	for _, k := range kinds {
		fmt.Fprintf(&t.decl, "%s: %d,\n", k.constant(), t.busy(k))
	}
	t.decl.WriteString("}\n")
}

// dispatchTiles writes the Go function that selects the routine for tiles and an expanded panel of
// one of these kinds.
func (t *asm) dispatchTiles(name string, kinds []packed, routine func(k packed) string) {
	t.byKind(kinds, "computes tiles from an expanded panel.", name+t.name+"(kind Kind, t *partSpan)", "dst, w, act := sd(t.dst), sd(t.w), sd(t.act)", func(k packed) string {
		return fmt.Sprintf("tile%s%s(dst, t.ldd, w, act, 4*t.stride, t.blocks, t.tiles, t.rows, t.adds())", routine(k), t.name)
	})
}

// constant returns the name of the kind in Go.
func (k packed) constant() string { return cmp.Or(kindNames[k.kind], k.kind) }

// byKind writes a Go function that begins with a line and makes a call for each kind.
func (t *asm) byKind(kinds []packed, doc, signature, begin string, call func(k packed) string) {
	name, _, _ := strings.Cut(signature, "(")
	fmt.Fprintf(&t.decl, "\n// %s %s\nfunc %s {\n%s\nswitch kind {\n", name, doc, signature, begin)
	for _, k := range kinds {
		fmt.Fprintf(&t.decl, "case %s:\n%s\n", k.constant(), call(k))
	}
	t.decl.WriteString("}\n}\n")
}
