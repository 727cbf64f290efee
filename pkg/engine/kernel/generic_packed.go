package kernel

import (
	"encoding/binary"
	"math"

	"glossa/pkg/engine/dtype"
)

// tilePackedGeneric computes a span: the specification of the instruction sets.
func tilePackedGeneric(i isa, kind Kind, t *span) {
	if kind.coded() {
		tileCodedGeneric(kind, t)
		return
	}
	f := &formats[kind]
	for p := range t.panels {
		for r := range t.rows {
			out := (*[packedRows]float32)(t.dst[r*t.ldd+p*packedRows:])
			var sum [packedRows]float32
			for s := range t.blocks {
				w := t.w[(p*t.blocks+s)*f.bytes:][:f.bytes]
				switch act := t.act[s*f.words*t.rows+r:]; kind {
				case Q8_0:
					addQ8(&sum, w, act, t.rows)
				case Q4_0:
					addQ4(&sum, w, act, t.rows)
				case Q8W:
					addWide(&sum, w, act, t.rows)
				default:
					addFloats(kind, &sum, w, act, t.rows, i != isaGeneric)
				}
			}
			*out = sum
		}
	}
}

// quad returns four int8 activations.
func quad(word float32) (q [4]int32) {
	b := math.Float32bits(word)
	return [4]int32{int32(int8(b)), int32(int8(b >> 8)), int32(int8(b >> 16)), int32(int8(b >> 24))}
}

// addQ8 adds a superblock of Q8_0 weights times a row of activations, whose words are
// rows apart.
func addQ8(sum *[packedRows]float32, w []byte, act []float32, rows int) {
	for half := range 2 {
		var dots [packedRows]int32
		for i := range dots {
			dots[i] = int32(math.Float32bits(act[(18+half)*rows]))
		}
		for g := range 8 {
			a := quad(act[(8*half+g)*rows])
			b := (*[64]byte)(w[512*half+64*g:])
			for i := range dots {
				dots[i] += a[0]*int32(b[4*i]) + a[1]*int32(b[4*i+1]) + a[2]*int32(b[4*i+2]) + a[3]*int32(b[4*i+3])
			}
		}
		addBlock(sum, &dots, w[1024+32*half:], act[(16+half)*rows])
	}
}

// addQ4 adds a superblock of Q4_0 weights.
func addQ4(sum *[packedRows]float32, w []byte, act []float32, rows int) {
	for half := range 2 {
		var dots [packedRows]int32
		for i := range dots {
			dots[i] = int32(math.Float32bits(act[(20+half)*rows]))
		}
		for g := range 4 {
			low, high := quad(act[(8*half+g)*rows]), quad(act[(8*half+g+4)*rows])
			b := (*[64]byte)(w[256*half+64*g:])
			for i := range dots {
				for j := range 4 {
					v := int32(b[4*i+j])
					dots[i] += low[j]*(v&15) + high[j]*(v>>4)
				}
			}
		}
		addBlock(sum, &dots, w[512+32*half:], act[(16+half)*rows])
	}
}

// addBlock scales the integer products of a block.
func addBlock(sum *[packedRows]float32, dots *[packedRows]int32, scales []byte, d float32) {
	for i, dot := range dots {
		scale := float32(dtype.FromFloat16(binary.LittleEndian.Uint16(scales[2*i:])) * d)
		sum[i] = fma32(float32(dot), scale, sum[i])
	}
}

// addFloats adds a superblock of BF16 or F16 weights, input by input, in the same way as products
// with float32 weights: fused if those are, in assembly.
func addFloats(kind Kind, sum *[packedRows]float32, w []byte, act []float32, rows int, fused bool) {
	for c := range superCols {
		v := act[c*rows]
		for i := range sum {
			var x float32
			if kind == F16 {
				x = dtype.FromFloat16(binary.LittleEndian.Uint16(w[32*c+2*i:]))
			} else {
				x = dtype.FromBFloat16(binary.LittleEndian.Uint16(w[c/2*64+c%2*2+4*i:]))
			}
			if fused {
				sum[i] = fma32(v, x, sum[i])
			} else {
				sum[i] += float32(v * x)
			}
		}
	}
}
