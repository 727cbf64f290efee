package kernel

import (
	"fmt"
	"math"
)

// Activations hold rows of inputs in the layout of products with packed weights. For
// quantised weights a row is quantised in blocks of 32 inputs: d = max|x|/127 and q = x/d
// rounded half to even, in float32. A block with all magnitudes below 2**-100 is zero; a
// block with a NaN or an infinity has d = NaN and q = 0, so every output that reads it is
// NaN. For Q8W weights a block has 128 inputs. For BF16 weights the inputs stay float32.
//
// Rows are grouped in tiles, (superblock, word, row) 32-bit words each. The words of a
// superblock are its 64 q as int8, the two d, the two -128*Σq and the two -8*Σq as int32,
// or the 64 inputs. The sums undo the offset of the stored weights: a product starts from
// them. Kinds after BF16 need more words: the two -d*Σq as float32, rounded once, and for
// each 16 inputs -Σq as int32. The words for Q8W are those of wide.go; AMX needs other tiles,
// see squares.go.
type Activations struct {
	Rows, Cols int // Rows: how many it can hold
	words      int // of a slice of one row
	inputs     int // of a slice: 64, or 128 for Q8W
	slices     int
	tile       int // rows of a tile
	data       []float32
	pairs      []float32 // in a second form; see matMulPairs. Empty if that is not used
	squares    []float32 // in squares; see matMulSquares. Empty if that is not used
}

// NewActivations returns room for at most the given number of rows of cols inputs, for
// weights of that kind, and of those that share them. Only k may use it.
func (k *Kernels) NewActivations(kind Kind, rows, cols int) *Activations {
	if kind.Bytes(1, cols) < 1 || rows < 1 {
		panic(fmt.Sprintf("kernel: %d rows of %d activations for %v weights", rows, cols, kind))
	}
	a := &Activations{Rows: rows, Cols: cols, words: formats[kind].words, inputs: kind.inputs(), tile: packedTile(k.isa)}
	a.slices = int(up(cols, a.inputs))
	if a.words == codedWords { // whole superblocks of every such kind
		a.slices = int(up(cols, codedCols)) * codedCols / superCols
	}
	a.data = aligned(a.Tiles(rows) * a.stride())
	if a.hasPairs(k, rows) {
		a.pairs = aligned(a.Tiles(rows) * a.slices * a.pairShape().words * a.tile)
	}
	if a.hasSquares(k, rows) {
		a.squares = aligned(int(up(rows, squareRows)) * a.slices * squareWords)
	}
	return a
}

// Tiles returns the number of tiles of n rows.
func (a *Activations) Tiles(n int) int { return (n + a.tile - 1) / a.tile }

// bounds returns the rows of tile t of n rows: first, ..., end-1. Tiles are as even as
// possible, the larger ones first.
func (a *Activations) bounds(n, t int) (first, end int) {
	rows, larger := a.even(n)
	first = t*rows + min(t, larger)
	if t < larger {
		rows++
	}
	return first, first + rows
}

// even returns the rows of the smaller tiles of n >= 1 rows, and how many have one more.
func (a *Activations) even(n int) (rows, larger int) {
	tiles := a.Tiles(n)
	return n / tiles, n % tiles
}

// stride returns the distance of tiles, in words. Transposing may write past the end.
func (a *Activations) stride() int { return a.slices*a.words*a.tile + slack }

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
		case a.hasSquares(k, n):
			k.setSquares(a, in, first)
		case a.words == superCols:
			k.widenTile(a, a.at(t), in, end-first)
		case end-first == 1 && a.words != codedWords:
			k.quantizeRow(a, a.at(t), in)
		default:
			k.quantizeTile(a, a.at(t), in, end-first)
			if a.hasPairs(k, n) {
				a.widen(t, end-first)
			}
		}
	}
}

// widenTile interleaves rows of inputs and pads them.
func (k *Kernels) widenTile(a *Activations, dst, x []float32, rows int) {
	k.packRows(dst, x, a.Cols, a.Cols, rows)
	clear(dst[a.Cols*rows : a.slices*superCols*rows])
}

// quantizeChunk is how many slices quantizeTile quantises at once (17 KiB).
const quantizeChunk = 16

// quantizeTile quantises rows one by one and interleaves them.
func (k *Kernels) quantizeTile(a *Activations, dst, x []float32, rows int) {
	const width = quantizeChunk * wideWords
	var buf [maxPackedTile*width + slack]float32
	slices := int(up(a.Cols, a.inputs))
	for s := 0; s < slices; s += quantizeChunk {
		first, end := s*a.inputs, min((s+quantizeChunk)*a.inputs, a.Cols)
		n := int(up(end-first, a.inputs))
		for r := range rows {
			k.quantizeRow(a, buf[r*width:], x[r*a.Cols+first:r*a.Cols+end])
			if a.words == codedWords {
				widenWords(buf[r*width:][:width], n)
			}
		}
		k.packRows(dst[s*a.words*rows:], buf[:], width, n*a.words, rows)
	}
	clear(dst[slices*a.words*rows : a.slices*a.words*rows])
}

// Words of activations for 64 inputs.
const (
	scaleWord  = 16 // the first of two d
	shiftWord  = 22 // the first of two -d*Σq
	sumWord    = 24 // the first of four -Σq of 16 inputs
	quantWords = 22
	codedWords = 28
	codedCols  = 256 // inputs of the widest superblock
)

// widenWords adds the sums that coded kinds need to n slices, in place.
func widenWords(b []float32, n int) {
	for s := n - 1; s >= 0; s-- {
		from, to := b[s*quantWords:][:quantWords], (*[codedWords]float32)(b[s*codedWords:])
		var words [codedWords]float32
		copy(words[:], from)
		for half := range 2 {
			var both int32
			for i := range 2 {
				sub := 2*half + i
				sum := sum16((*[4]float32)(words[4*sub:]))
				both += sum
				words[sumWord+sub] = math.Float32frombits(uint32(-sum))
			}
			words[shiftWord+half] = words[scaleWord+half] * float32(-both)
		}
		*to = words
	}
}

// sum16 adds up 16 int8.
func sum16(words *[4]float32) int32 {
	const even, flip = 0x00ff00ff00ff00ff, 0x8080808080808080
	var pairs uint64 // four sums of bytes from 0 to 255
	for i := 0; i < 4; i += 2 {
		w := uint64(math.Float32bits(words[i])) | uint64(math.Float32bits(words[i+1]))<<32
		w ^= flip
		pairs += w&even + w>>8&even
	}
	return int32(pairs*0x0001000100010001>>48) - 16*128
}

// quantizeRow quantises whole slices, then the rest, padded with zeros.
func (k *Kernels) quantizeRow(a *Activations, dst, x []float32) {
	words := quantWords
	if a.inputs == wideCols {
		words = wideWords
	}
	blocks := len(x) / a.inputs
	if blocks > 0 {
		k.quantizeSlices(a, dst, x, blocks)
	}
	if rest := x[blocks*a.inputs:]; len(rest) > 0 {
		var padded [wideCols]float32
		copy(padded[:], rest)
		k.quantizeSlices(a, dst[blocks*words:], padded[:a.inputs], 1)
	}
}

func (k *Kernels) quantizeSlices(a *Activations, dst, x []float32, slices int) {
	if a.inputs == wideCols {
		quantizeWide(k.isa, dst, x, slices)
		return
	}
	quantize(k.isa, dst, x, slices)
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
			d, sum := quantizeBlock(out[8*half:][:8], x[s*superCols+half*quantCols:][:quantCols])
			out[16+half] = d
			out[18+half] = math.Float32frombits(uint32(-128 * sum))
			out[20+half] = math.Float32frombits(uint32(-8 * sum))
		}
	}
}

// quantizeBlock quantises the inputs that share a scale d, and returns that and Σq.
func quantizeBlock(dst, x []float32) (d float32, sum int32) {
	var top uint32
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	var inverse float32
	switch {
	case top >= infinityBits:
		clear(dst)
		return float32(math.NaN()), 0
	case top >= tinyBits:
		d = math.Float32frombits(top) / 127
		inverse = 127 / math.Float32frombits(top)
	}
	for i := range dst {
		var word uint32
		for j, v := range x[4*i : 4*i+4] {
			q := int32(math.RoundToEven(float64(float32(v * inverse))))
			sum += q
			word |= uint32(uint8(q)) << (8 * j)
		}
		dst[i] = math.Float32frombits(word)
	}
	return d, sum
}
