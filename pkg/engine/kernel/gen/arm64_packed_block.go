package main

// Registers of quantised products; the sums lie in V0 to V7.
const (
	packedDots    = vec(8)  // to V15, the whole-number products of a block
	packedWeights = vec(16) // to V19
	packedHigh    = vec(20) // to V23, the high nibbles
	packedWord    = vec(24) // activations
	packedWord4   = vec(25) // activations four words ahead
	packedEvery   = vec(26) // one word in every lane
	packedLow16   = vec(27) // products of the lower and the upper half
	packedHigh16  = vec(28)
	packedBias    = vec(30) // 1.5·2**23, whose bits count in units of one
)

// biasBits are the bits of 1.5·2**23: the float32 with the bits biasBits+i is 1.5·2**23 +
// i while |i| <= 2**22. Products of a block are at most 128·128·127. Starting there and
// subtracting it is cheaper than SCVTF, which only one of the two vector units of a
// Neoverse N1 executes, in two cycles (LLVM's scheduling model of it).
const biasBits = 0x4b400000

// masks loads the constants of the blocks into registers.
func (t *packedTile) masks() {
	switch {
	case t.k.coding != nil:
		t.codedMasks()
	case t.k.kind == "Q8W":
	case t.k.kind == "Q8":
		t.op("VMOVI", "$0x80", maskReg.b16())
	case t.k.kind == "Q4":
		t.op("VMOVI", "$0x0f", maskReg.b16())
	default:
		t.zero(maskReg)
		return
	}
	t.bias()
}

// bias loads what products of a block start from.
func (t *neon) bias() {
	t.op("MOVD", imm(biasBits), "R15")
	t.op("VDUP", "R15", packedBias.s4())
}

// quantized emits the two blocks of a superblock of Q8_0 or Q4_0, or the one of Q8W, as a
// loop.
//
// Instructions for 64 products of bytes, of which one SDOT does 16, at 8 rows of
// activations (1024 products a turn) and at 1 (512):
//
//	                              Q8_0: 8     1   Q4_0: 8     1
//	SDOT                              4     4         4     4
//	weights: load, flip or split      1     6         0.75  5
//	activations: load                 1     0.25      1     0.25
//	products: begin                   0.5   0.5       0.69  0.75
//	scale: load, widen, add up        1.69  2.25      1.69  2.25
//	pointers, loop                    0.37  0.75      0.37  0.75
//	all                               8.56 13.75      8.5  13
//
// SDOT alone would be the ideal. Of the others the loads, the pointers and the loop have
// units of their own; the vector units of a Neoverse N1, of which there are two, have
// 6.6 instructions to do for Q8_0 at 8 rows, 10.5 at 1: 60 and 38 % are SDOT. Without
// SDOT four instructions stand in its place, and the activations are spread by a fifth.
func (t *packedTile) quantized() {
	half := t.next("block")
	lines := t.k.lines()
	t.op("ADD", imm(4*t.k.scale*t.n), "R12", "R13")
	t.op("MOVD", imm(t.k.blocks), "R19")
	t.label(half)
	if t.k.kind == "Q4" {
		t.multiplyNibbles(lines)
	} else {
		t.multiplyBytes()
	}
	t.scaleBlock()
	weights, _ := t.k.walked(t.n)
	if weights == 0 {
		t.advance(panelRowBytes*lines, "R10")
		t.advance(4*t.k.quants()*t.n, "R12")
	}
	t.advance(panelRowBytes/2, "R11")
	t.advance(4*t.n, "R13")
	t.op("SUBS", "$1", "R19", "R19")
	t.op("BNE", half)
	t.advance(t.k.bytes-t.k.scales, "R10")
	t.advance(t.k.bytes-t.k.blocks*panelRowBytes/2, "R11")
	t.advance(4*(t.k.words-t.k.scale)*t.n, "R12")
}

func (t *packedTile) dots() []vec { return seq(int(packedDots), t.n*t.parts) }

// multiplyBytes adds up the products of a block of Q8_0 or Q8W. Flipping its top bit makes Q8_0's
// byte q+128 the signed q.
func (t *packedTile) multiplyBytes() {
	for _, r := range t.dots() {
		t.move(r, packedBias)
	}
	if t.k.parts() == 1 {
		t.multiplyPart()
		return
	}
	weights, acts := t.k.walked(t.n)
	part := t.next("part")
	t.op("MOVD", imm(t.k.parts()), packedParts)
	t.label(part)
	t.multiplyPart()
	t.advance(weights/t.k.parts(), "R10")
	t.advance(acts/t.k.parts(), "R12")
	t.op("SUBS", "$1", packedParts, packedParts)
	t.op("BNE", part)
}

// packedParts holds the number of parts of the block that are left.
const packedParts = "R25"

func (t *packedTile) multiplyPart() {
	weights, words := seq(int(packedWeights), t.parts), t.words(packedWord)
	for g := range partLines {
		t.loadQ("R10", panelRowBytes*g, weights...)
		if t.k.kind == "Q8" {
			for _, w := range weights {
				t.op("VEOR", maskReg.b16(), w.b16(), w.b16())
			}
		}
		t.multiply(weights, words, g)
	}
}

// multiplyNibbles adds up the products of a block of Q4_0: they begin at -8*Σq, which
// undoes the offset of the nibbles.
func (t *packedTile) multiplyNibbles(lines int) {
	sums := seq(int(packedWeights), (t.n+lane4-1)/lane4) // of some lanes past the rows, too
	t.loadQ("R13", 4*t.n*(t.k.sums-t.k.scale), sums...)
	for _, r := range sums {
		t.op("VADD", packedBias.s4(), r.s4(), r.s4())
	}
	for r := range t.n {
		for p := range t.parts {
			t.op("VDUP", sums[r/lane4].s(r%lane4), t.at(t.dots(), r, p).s4())
		}
	}
	low, high := seq(int(packedWeights), t.parts), seq(int(packedHigh), t.parts)
	words, words4 := t.words(packedWord), t.words(packedWord4)
	for g := range lines {
		t.loadQ("R10", panelRowBytes*g, low...)
		for p := range low {
			t.op("VUSHR", "$4", low[p].b16(), high[p].b16())
			t.op("VAND", maskReg.b16(), low[p].b16(), low[p].b16())
		}
		t.multiply(low, words, g)
		t.multiply(high, words4, g+lines)
	}
}

// multiply adds word i of each row of activations, four inputs, times weights.
//
// Without SDOT: two products of bytes are at most 2·128·127, which 16 bits hold.
func (t *packedTile) multiply(weights []vec, words *words, i int) {
	for r := range t.n {
		lane := words.lane(i*t.n + r)
		if !t.dotprod {
			t.op("VDUP", words.register.s(lane), packedEvery.s4())
		}
		for p, w := range weights {
			dot := t.at(t.dots(), r, p)
			if t.dotprod {
				t.word("sdot v%d.4s, v%d.16b, v%d.4b[%d]", dot, w, words.register, lane)
				continue
			}
			t.word("smull v%d.8h, v%d.8b, v%d.8b", packedLow16, w, packedEvery)
			t.word("smull2 v%d.8h, v%d.16b, v%d.16b", packedHigh16, w, packedEvery)
			t.op("VADDP", packedHigh16.h8(), packedLow16.h8(), packedLow16.h8())
			t.word("sadalp v%d.4s, v%d.8h", dot, packedLow16)
		}
	}
}

// scaleBlock adds fma(products, scale of weights * scale of activations) to the sums.
func (t *packedTile) scaleBlock() {
	weights, acts, both := packedWeights, packedHigh, packedWord
	switch t.parts {
	case 4:
		t.loadQ("R11", 0, 26, 27)
		t.widenHalves(weights, 26)
		t.widenHalves(weights+2, 27)
	case 2:
		t.loadQ("R11", 0, 26)
		t.widenHalves(weights, 26)
	case 1:
		t.op("FMOVD", "(R11)", vec(26).f())
		t.word("fcvtl v%d.4s, v26.4h", weights)
	}
	t.loadQ("R13", 0, seq(int(acts), (t.n+lane4-1)/lane4)...)
	for r := range t.n {
		for p := range t.parts {
			dot, by := t.at(t.dots(), r, p), both+vec(p%2)
			t.word("fmul v%d.4s, v%d.4s, v%d.s[%d]", by, int(weights)+p, int(acts)+r/lane4, r%lane4)
			t.do3("fsub", dot, dot, packedBias)
			t.fma(t.at(t.sums, r, p), dot, by)
		}
	}
}

// widenHalves makes two registers of float32 of eight half-precision numbers.
func (t *packedTile) widenHalves(dst, src vec) {
	t.word("fcvtl v%d.4s, v%d.4h", dst, src)
	t.word("fcvtl2 v%d.4s, v%d.8h", dst+1, src)
}

// widenInputs loads the first input of the rows of a line of BF16 into even and the second one into
// odd.
func (t *packedTile) widenInputs(off int, odd, even []vec) {
	t.loadQ("R10", off, odd...)
	for p, r := range odd {
		t.op("VTRN1", r.h8(), maskReg.h8(), even[p].h8())
		t.op("VTRN2", r.h8(), maskReg.h8(), r.h8())
	}
}

// widenInput loads an input of the rows of F16, of which two parts share a register.
func (t *packedTile) widenInput(off int, to []vec) {
	for p := 0; p < len(to); p += 2 {
		t.loadQ("R10", off+p/2*vecBytes, to[p+1])
		t.widenHalves(to[p], to[p+1])
	}
}

// floats emits a superblock of BF16 or F16, as a loop over four inputs. Two inputs of a row
// of BF16 share a word; zeros below an input make it a float32. Both vector units transpose,
// one alone shifts. The rows of an input of F16 lie next to each other.
//
// Instructions for 64 products of BF16, of which one FMLA does 4, at 8 rows of activations (256
// products a turn) and at 1 (64): 16 FMLA, 2 or 16 to widen the weights, 2.5 or 5 to
// load, 1 or 4 for pointers and the loop; 21.5 or 41.
func (t *packedTile) floats() {
	const lines = 2
	loop, raw, even := t.next("inputs"), seq(16, t.parts), seq(20, t.parts)
	t.op("MOVD", imm(t.k.bytes/panelRowBytes/lines), "R19")
	t.label(loop)
	words := t.words(24)
	for line := range lines {
		for i, weights := range [][]vec{even, raw} {
			if t.k.kind == "F16" {
				t.widenInput(panelRowBytes*line+panelRowBytes/2*i, weights)
			} else if i == 0 {
				t.widenInputs(panelRowBytes*line, raw, even)
			}
			for r := range t.n {
				lane := words.lane((2*line+i)*t.n + r)
				for p, w := range weights {
					t.fmaLane(t.at(t.sums, r, p), w, words.register, lane)
				}
			}
		}
	}
	t.advance(panelRowBytes*lines, "R10")
	t.advance(4*2*lines*t.n, "R12")
	t.op("SUBS", "$1", "R19", "R19")
	t.op("BNE", loop)
}
