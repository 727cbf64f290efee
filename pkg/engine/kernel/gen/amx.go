package main

import (
	"fmt"
	"strings"
)

// Products of many rows with Q8W weights on AMX, whose tiles have 16 rows of 64 bytes: a
// product of two is 16x16 sums of 64 inputs.
//
// For 128 inputs of 16 rows, activations hold two tiles of (row, input) bytes and 16 scales.
// Weights are in the order that tiles need.
const (
	squareBytes  = 2112 // of 16 rows of 128 inputs
	squareScales = 2048
	squareTile   = 1024
)

// Offsets in the room: a superblock's whole-number sums are before the sums, (row, 32)
// float32, and as many zeros.
const (
	squareKept     = 4096
	squareRowBytes = 128
	squareZeros    = squareKept + 32*squareRowBytes
)

// Registers of tileSquares. The index of all tiles is their distance of rows, 64.
const (
	rSquareDots   = "SI" // whole-number sums of a superblock
	rSquareStride = "DI"
	rSquareDst    = "R8" // of these panels; rStepBytes is the distance of its rows
	rStepBytes    = "R9"
	rSquareBlocks = "R10"
	rSquarePanels = "R11"
	rSquareAhead  = "R13" // weights to bring
	rSquareStep   = "R14"
	rFrom, rTo    = "R12", "R15" // rows of the sums before, and of dst
)

var (
	rSquareActs    = []string{"AX", "BX"}
	rSquareWeights = []string{"CX", "DX"}
)

// tileNumbers are the registers' numbers in addresses.
var tileNumbers = map[string]byte{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SI": 6, "DI": 7}

// code emits an instruction that Go's assembler does not know, with its text for GNU as.
func (t *asm) code(text string, code ...byte) {
	line := "\t"
	for i, b := range code {
		if i > 0 {
			line += "; "
		}
		line += fmt.Sprintf("BYTE $%#02x", b)
	}
	t.text.WriteString(line + " // " + text + "\n")
}

// tileMove loads or stores a tile.
func (t *asm) tileMove(name string, prefix byte, tile, off int, base string) {
	b := tileNumbers[base]
	at := strings.ToLower(fmt.Sprintf("[R%s+R%s+%d]", base, rSquareStride, off))
	t.code(fmt.Sprintf("{disp32} "+name, tile, at), 0xc4, 0xe2, prefix, 0x4b, 0x84|byte(tile)<<3, tileNumbers[rSquareStride]<<3|b,
		byte(off), byte(off>>8), byte(off>>16), byte(off>>24))
}

func (t *asm) tileLoad(tile, off int, base string) {
	t.tileMove("tileloadd tmm%d, %s", 0x7b, tile, off, base)
}

func (t *asm) tileStore(tile, off int, base string) {
	t.tileMove("tilestored %[2]s, tmm%[1]d", 0x7a, tile, off, base)
}

// tileMultiply adds the products of signed bytes to a tile.
func (t *asm) tileMultiply(sums, a, b int) {
	t.code(fmt.Sprintf("tdpbssd tmm%d, tmm%d, tmm%d", sums, a, b), 0xc4, 0xe2, byte(^b&15)<<3|3, 0x5e, 0xc0|byte(sums)<<3|byte(a))
}

func (t *asm) tileZero(tile int) {
	t.code(fmt.Sprintf("tilezero tmm%d", tile), 0xc4, 0xe2, 0x7b, 0x49, 0xc0|byte(tile)<<3)
}

// tileConfig emits the configuration of eight whole tiles: palette 1, their widths in
// bytes, their rows.
func (t *asm) tileConfig() {
	const widths, rows = 0x0040004000400040, 0x1010101010101010
	for i, v := range []uint64{1, 0, widths, widths, 0, 0, rows, 0} {
		fmt.Fprintf(&t.text, "DATA configAMX<>+%d(SB)/8, $%#x\n", 8*i, v)
	}
	t.text.WriteString("GLOBL configAMX<>(SB), RODATA|NOPTR, $64\n")
}

// squares emits tileSquares.
func (t *asm) squares() {
	p := "dst *float32, ldd int, w *byte, act *float32, stride, blocks, panels, tiles int, room *byte, ahead, step int"
	t.fn("tileSquares", "computes dst (16 * tiles, 16 * panels) from Q8W weights and one tile or two of activations, stride bytes apart. It needs 12 KiB of room, the last four of which are zero. For each product of two tiles of 64 inputs, it brings step bytes to the second-level cache, from w + ahead on.", p)
	t.args(p, rSquareDst, rStepBytes, "CX", "AX", "R10", "R10", rSquarePanels, "R12", rSquareDots, rSquareAhead, rSquareStep)
	t.op("SHLQ", "$2", rStepBytes)
	t.op("MOVQ", "$64", rSquareStride)
	t.op("ADDQ", "CX", rSquareAhead)
	t.op("LEAQ", "configAMX<>(SB)", "DX")
	t.code("ldtilecfg [rdx]", 0xc4, 0xe2, 0x78, 0x49, 0x02)
	two := t.next("two")
	t.op("CMPQ", "R12", "$2")
	t.op("JEQ", two)
	t.squareTiles(1)
	t.label(two)
	t.squareTiles(2)
}

// squareTiles emits the loop over pairs of panels, and what a last panel needs.
func (t *asm) squareTiles(tiles int) {
	pair, last, done := t.next("pair"), t.next("last"), t.next("done")
	t.label(pair)
	t.op("SUBQ", "$2", rSquarePanels)
	t.op("JLT", last)
	(&square{t, tiles, 2}).emit()
	t.op("ADDQ", "$128", rSquareDst)
	t.op("JMP", pair)
	t.label(last)
	t.op("CMPQ", rSquarePanels, "$-1")
	t.op("JNE", done)
	(&square{t, tiles, 1}).emit()
	t.label(done)
	t.code("tilerelease", 0xc4, 0xe2, 0x78, 0x49, 0xc0)
	t.ret()
}

// A square emits the product of tiles of activations with panels. Tiles 0 to 3 hold the
// sums, 4 and 5 activations, 6 and 7 weights. Scaling the sums of a superblock is mixed
// with the products of the next.
type square struct {
	*asm
	tiles, panels int
}

func (s *square) emit() {
	loop, end := s.next("superblock"), s.next("end")
	s.op("MOVQ", "act+24(FP)", "AX")
	s.op("MOVQ", "stride+32(FP)", "BX")
	s.op("ADDQ", "AX", "BX")
	s.op("MOVQ", "blocks+40(FP)", rSquareBlocks)
	s.op("IMUL3Q", imm(squareWeights), rSquareBlocks, "DX")
	s.op("ADDQ", "CX", "DX")
	s.room(rFrom, squareZeros)
	s.first()
	s.products(func(int) {})
	s.op("DECQ", rSquareBlocks)
	s.op("JZ", end)
	s.label(loop)
	s.first()
	s.stores()
	s.scales()
	s.room(rTo, squareKept)
	s.products(func(piece int) { s.scaleRows(piece, imm(squareRowBytes)) })
	s.room(rFrom, squareKept)
	s.op("DECQ", rSquareBlocks)
	s.op("JNZ", loop)
	s.label(end)
	s.stores()
	s.scales()
	s.op("MOVQ", rSquareDst, rTo)
	for i := range s.pieces() {
		s.scaleRows(i, rStepBytes)
	}
	if s.panels == 2 {
		s.op("MOVQ", "DX", "CX")
	}
}

// squareWeights is the size of a superblock of weights.
const squareWeights = 2112

// pieces is the number of products of tiles of a superblock, between which the sums are
// scaled.
func (s *square) pieces() int { return 2 * s.tiles * s.panels }

// first loads the first half of a superblock's tiles. It comes before the last sums are
// stored: a load whose address ends as that of a waiting store waits, too, and the stores
// have all ends.
func (s *square) first() {
	for i := range s.tiles {
		s.tileLoad(4+i, 0, rSquareActs[i])
	}
	for j := range s.panels {
		s.tileLoad(6+j, 0, rSquareWeights[j])
	}
}

// stores stores the sums of a superblock.
func (s *square) stores() {
	for i := range s.tiles {
		for j := range s.panels {
			s.tileStore(2*i+j, s.dots(i, j), rSquareDots)
		}
	}
}

// products multiplies a superblock and advances.
func (s *square) products(mixed func(piece int)) {
	for i := range s.tiles {
		for j := range s.panels {
			s.tileZero(2*i + j)
		}
	}
	piece := 0
	for k := range 2 {
		for i := range s.tiles {
			if k == 1 {
				s.tileLoad(4+i, squareTile, rSquareActs[i])
			}
			for j := range s.panels {
				if k == 1 && i == 0 {
					s.tileLoad(6+j, squareTile, rSquareWeights[j])
				}
				s.tileMultiply(2*i+j, 4+i, 6+j)
				s.fetch()
				mixed(piece)
				piece++
			}
		}
	}
	for _, r := range rSquareActs[:s.tiles] {
		s.op("ADDQ", imm(squareBytes), r)
	}
	for _, r := range rSquareWeights[:s.panels] {
		s.op("ADDQ", imm(squareWeights), r)
	}
}

// fetch brings the next step bytes to the second level. There may be so many: one tile of
// activations takes no longer than reading the weights from memory does.
func (s *square) fetch() {
	for line := range (squareWeights/2/s.tiles + 63) / 64 {
		s.op("PREFETCHT1", mem(64*line, rSquareAhead))
	}
	s.op("ADDQ", rSquareStep, rSquareAhead)
}

// dots is the offset of the whole-number sums of a tile and a panel.
func (s *square) dots(tile, panel int) int { return squareTile * (2*tile + panel) }

// room points into the room. The sums of all superblocks but the last are there: in dst, whose
// rows may be as far apart as the sets of the cache, they would evict each other.
func (s *square) room(pointer string, off int) {
	s.op("MOVQ", "room+64(FP)", pointer)
	s.op("ADDQ", imm(off), pointer)
}

// scales loads the scales of the last superblock's weights.
func (s *square) scales() {
	for j, r := range rSquareWeights[:s.panels] {
		s.op("VCVTPH2PS", mem(2048-squareWeights, r), s.v(30+j))
	}
}

// scaleRows adds the products of some rows of the last superblock to the sums.
func (s *square) scaleRows(piece int, step string) {
	rows := 16 * s.tiles / s.pieces()
	for row := rows * piece; row < rows*(piece+1); row++ {
		i, r := row/16, row%16
		for j := range s.panels {
			dots, by := s.v(4*(row%4)+2*j), s.v(4*(row%4)+2*j+1)
			s.op("VCVTDQ2PS", mem(s.dots(i, j)+64*r, rSquareDots), dots)
			s.op("VMULPS.BCST", mem(squareScales-squareBytes+4*r, rSquareActs[i]), s.v(30+j), by)
			s.op("VFMADD213PS", mem(64*j, rFrom), dots, by)
			s.op("VMOVUPS", by, mem(64*j, rTo))
		}
		s.op("ADDQ", imm(squareRowBytes), rFrom)
		s.op("ADDQ", step, rTo)
	}
}
