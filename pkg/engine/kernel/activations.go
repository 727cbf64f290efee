package kernel

import (
	"fmt"
	"math"
)

// Activations hold rows of inputs in the layout of products with packed weights. For
// quantised weights a row is quantised in blocks of 32 inputs: d = max|x|/127 and q = x/d
// rounded half to even, in float32. A block with all magnitudes below 2**-100 is zero; a
// block with a NaN or an infinity has d = NaN and q = 0, so every output that reads it is
// NaN. For BF16 weights the inputs stay float32.
//
// Rows are grouped in tiles, (superblock, word, row) 32-bit words each. The words of a
// superblock are its 64 q as int8, the two d, the two -128*Σq and the two -8*Σq as int32,
// or the 64 inputs. The sums undo the offset of the stored weights: a product starts from
// them.
type Activations struct {
	Rows, Cols int // Rows: how many it can hold
	words      int
	tile       int // rows of a tile
	data       []float32
}

// NewActivations returns room for at most the given number of rows of cols inputs, for
// weights of that kind. Kinds Q8_0 and Q4_0 may share it. Only k may use it.
func (k *Kernels) NewActivations(kind Kind, rows, cols int) *Activations {
	if kind.Bytes(1, cols) < 1 || rows < 1 {
		panic(fmt.Sprintf("kernel: %d rows of %d activations for %v weights", rows, cols, kind))
	}
	a := &Activations{Rows: rows, Cols: cols, words: formats[kind].words, tile: packedTile(k.isa)}
	a.data = aligned(a.Tiles(rows) * a.stride())
	return a
}

// Tiles returns the number of tiles of n rows.
func (a *Activations) Tiles(n int) int { return (n + a.tile - 1) / a.tile }

// bounds returns the rows of tile t of n rows: first, ..., end-1. Tiles are as even as
// possible.
func (a *Activations) bounds(n, t int) (first, end int) {
	tiles := a.Tiles(n)
	return n * t / tiles, n * (t + 1) / tiles
}

// superblocks returns the number of superblocks in a row.
func (a *Activations) superblocks() int { return int(up(a.Cols, superCols)) }

// stride returns the distance of tiles, in words. Transposing may write past the end.
func (a *Activations) stride() int { return a.superblocks()*a.words*a.tile + slack }

// at returns tile t.
func (a *Activations) at(t int) []float32 { return a.data[t*a.stride():][:a.stride()] }

// check panics, as indexing does, if a does not suit a product of n rows.
func (a *Activations) check(k *Kernels, n int) {
	if n < 0 || n > a.Rows || a.tile != packedTile(k.isa) {
		panic(fmt.Sprintf("kernel: %d rows of activations in tiles of %d; there is room for %d, in tiles of %d",
			n, packedTile(k.isa), a.Rows, a.tile))
	}
}

// QuantizeActivations sets the tiles from, ..., to-1 of a to those of x (n, a.Cols),
// row-major. All tiles of n rows, 0 to a.Tiles(n), must be set before they are used, by
// this or other goroutines.
func (k *Kernels) QuantizeActivations(a *Activations, x []float32, n, from, to int) {
	a.check(k, n)
	x = x[:n*a.Cols]
	if from < 0 || to > a.Tiles(n) {
		panic(fmt.Sprintf("kernel: tiles %d to %d of %d rows", from, to, n))
	}
	for t := from; t < to; t++ {
		first, end := a.bounds(n, t)
		switch in := x[first*a.Cols : end*a.Cols]; {
		case a.words == superCols:
			k.widenTile(a, a.at(t), in, end-first)
		case end-first == 1:
			k.quantizeRow(a.at(t), in)
		default:
			k.quantizeTile(a, a.at(t), in, end-first)
		}
	}
}

// widenTile interleaves rows of inputs and pads them.
func (k *Kernels) widenTile(a *Activations, dst, x []float32, rows int) {
	k.packRows(dst, x, a.Cols, a.Cols, rows)
	clear(dst[a.Cols*rows : a.superblocks()*superCols*rows])
}

// quantizeChunk is how many superblocks quantizeTile quantises at once (11 KiB).
const quantizeChunk = 16

// quantizeTile quantises rows one by one and interleaves them.
func (k *Kernels) quantizeTile(a *Activations, dst, x []float32, rows int) {
	const width = quantizeChunk * 22 // words
	var buf [maxPackedTile*width + slack]float32
	for s := 0; s < a.superblocks(); s += quantizeChunk {
		first, end := s*superCols, min((s+quantizeChunk)*superCols, a.Cols)
		for r := range rows {
			k.quantizeRow(buf[r*width:], x[r*a.Cols+first:r*a.Cols+end])
		}
		k.packRows(dst[s*a.words*rows:], buf[:], width, int(up(end-first, superCols))*a.words, rows)
	}
}

// quantizeRow quantises whole superblocks, then the rest, padded with zeros.
func (k *Kernels) quantizeRow(dst, x []float32) {
	blocks := len(x) / superCols
	if blocks > 0 {
		quantize(k.isa, dst, x, blocks)
	}
	if rest := x[blocks*superCols:]; len(rest) > 0 {
		var padded [superCols]float32
		copy(padded[:], rest)
		quantize(k.isa, dst[blocks*22:], padded[:], 1)
	}
}

// Magnitudes, as bits of a float32.
const (
	tinyBits     = (127 - 100) << 23 // 2**-100
	infinityBits = 0x7f800000
)

// quantizeGeneric: dst (blocks, 22) from x (blocks, 64).
func quantizeGeneric(dst, x []float32, blocks int) {
	for s := range blocks {
		out := dst[s*22 : s*22+22]
		for half := range 2 {
			quantizeBlock(out, x[s*superCols+half*quantCols:][:quantCols], half)
		}
	}
}

// quantizeBlock quantises 32 inputs into the words of a superblock.
func quantizeBlock(dst, x []float32, half int) {
	var top uint32
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	var d, inverse float32
	switch {
	case top >= infinityBits:
		d = float32(math.NaN())
		clear(dst[8*half : 8*half+8])
	case top >= tinyBits:
		d = math.Float32frombits(top) / 127
		inverse = 127 / math.Float32frombits(top)
	}
	sum := int32(0)
	for i := 0; i < quantCols && top < infinityBits; i += 4 {
		var word uint32
		for j, v := range x[i : i+4] {
			q := int32(math.RoundToEven(float64(float32(v * inverse))))
			sum += q
			word |= uint32(uint8(q)) << (8 * j)
		}
		dst[8*half+i/4] = math.Float32frombits(word)
	}
	dst[16+half] = d
	dst[18+half] = math.Float32frombits(uint32(-128 * sum))
	dst[20+half] = math.Float32frombits(uint32(-8 * sum))
}
