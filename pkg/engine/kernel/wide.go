package kernel

import (
	"encoding/binary"
	"math"

	"glossa/pkg/engine/dtype"
)

// Q8W has one scale for 128 inputs of weights, and of activations. Those need 34 words for
// a superblock: 128 q as int8, d, and -128*Σq as int32.
const (
	wideWords     = 34
	wideScaleWord = 32
	wideSumWord   = 33
)

// inputs returns the number of inputs of a slice of activations.
func (k Kind) inputs() int {
	if k == Q8W {
		return wideCols
	}
	return superCols
}

// shared returns the number of inputs that share a scale, for kinds that weights can be rounded
// to; BF16 and F16, which have no scales, are rounded as many at once.
func (k Kind) shared() int {
	if k == Q8W {
		return wideCols
	}
	return quantCols
}

// rowWide is Row for Q8W.
func (p *Packed) rowWide(dst []float32, r int) {
	row, f := r%packedRows, formats[Q8W]
	for s := range p.superblocks() {
		b := p.superblock(r, s)
		d := dtype.FromFloat16(binary.LittleEndian.Uint16(b[f.scales+2*row:]))
		for i := range dst[:min(wideCols, len(dst))] {
			dst[i] = d * float32(int8(b[line*(i/4)+4*row+i%4]))
		}
		dst = dst[min(wideCols, len(dst)):]
	}
}

// addWide adds a superblock of Q8W weights times a row of activations, whose words are
// rows apart.
func addWide(sum *[packedRows]float32, w []byte, act []float32, rows int) {
	var dots [packedRows]int32
	for g := range wideCols / 4 {
		a, b := quad(act[g*rows]), (*[line]byte)(w[line*g:])
		for i := range dots {
			for j := range 4 {
				dots[i] += a[j] * int32(int8(b[4*i+j]))
			}
		}
	}
	addBlock(sum, &dots, w[formats[Q8W].scales:], act[wideScaleWord*rows])
}

// quantizeWideGeneric: dst (blocks, 34) from x (blocks, 128).
func quantizeWideGeneric(dst, x []float32, blocks int) {
	for s := range blocks {
		out := dst[s*wideWords:][:wideWords]
		d, sum := quantizeBlock(out[:wideScaleWord], x[s*wideCols:][:wideCols])
		out[wideScaleWord], out[wideSumWord] = d, math.Float32frombits(uint32(-128*sum))
	}
}
