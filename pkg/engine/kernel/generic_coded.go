package kernel

import "math"

// A codedSlice is 64 inputs of a panel of a coded kind, taken apart.
type codedSlice struct {
	levels         [packedRows][superCols]int8 // codes less their offset, or what they select
	scale, minimum [packedRows][4]float32      // of sub-blocks
}

// read takes a slice apart. head is the superblock, levels are those of the kind.
func (s *codedSlice) read(c *coding, head, w []byte, levels *[64]int8) {
	for row := range packedRows {
		var codes [superCols]uint8
		addPlane(&codes, w, row, c.low, 0)
		if c.high > 0 {
			addPlane(&codes, w[plane*c.low:], row, c.high, c.low)
		}
		for i, code := range codes {
			s.levels[row][i] = levels[code]
		}
		for sub := range superCols / c.sub {
			s.scale[row][sub], s.minimum[row][sub] = c.multipliers(head, w, sub, row)
		}
	}
}

// tileCodedGeneric computes a span of a coded kind: the specification of the instruction
// sets.
func tileCodedGeneric(kind Kind, t *span) {
	f, c, levels := &formats[kind], &codings[kind], kind.levels()
	var slice codedSlice
	for p := range t.panels {
		var sums [maxPackedTile][packedRows]float32
		act := t.act
		for s := range t.blocks {
			w := t.w[(p*t.blocks+s)*f.bytes:][:f.bytes]
			for j := range f.cols / superCols {
				slice.read(c, w, w[c.header()+j*c.slice():][:c.slice()], &levels)
				for r := range t.rows {
					c.addCoded(&sums[r], &slice, act[r:], t.rows)
				}
				act = act[f.words*t.rows:]
			}
		}
		for r := range t.rows {
			copy(t.dst[r*t.ldd+p*packedRows:][:packedRows], sums[r][:])
		}
	}
}

// addCoded adds a slice times a row of activations, whose words are rows apart. Each
// sub-block gives an exact integer i, and the sum becomes fma(i, scale*d, sum). Then the
// minimum is subtracted: fma(minimum, -d*Σq, sum) if the sub-block has 32 inputs, whose
// sums activations hold, else fma(-Σq, minimum*d, sum).
func (c *coding) addCoded(sum *[packedRows]float32, w *codedSlice, act []float32, rows int) {
	var inputs [superCols]int32
	for i := range superCols / 4 {
		*(*[4]int32)(inputs[4*i:]) = quad(act[i*rows])
	}
	for row := range sum {
		for sub := range superCols / c.sub {
			dot := int32(0)
			for i, q := range w.levels[row][sub*c.sub:][:c.sub] {
				dot += inputs[sub*c.sub+i] * int32(q)
			}
			half := sub * c.sub / quantCols
			d := act[(scaleWord+half)*rows]
			sum[row] = fma32(float32(dot), float32(w.scale[row][sub]*d), sum[row])
			switch minimum := w.minimum[row][sub]; {
			case !c.minima:
			case c.sub == quantCols:
				sum[row] = fma32(minimum, act[(shiftWord+half)*rows], sum[row])
			default:
				sums := float32(int32(math.Float32bits(act[(sumWord+sub)*rows])))
				sum[row] = fma32(sums, float32(minimum*d), sum[row])
			}
		}
	}
}
