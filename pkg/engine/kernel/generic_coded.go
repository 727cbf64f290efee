package kernel

import "math"

// addCoded adds a slice of a coded kind times a row of activations, whose words are rows
// apart. Each sub-block gives an exact integer i, and the sum becomes fma(i, scale*d, sum).
// Then the minimum is subtracted: fma(minimum, -d*Σq, sum) if the sub-block has 32 inputs,
// whose sums activations hold, else fma(-Σq, minimum*d, sum).
func (k Kind) addCoded(sum *[packedRows]float32, head, w []byte, act []float32, rows int) {
	c, levels := &codings[k], k.levels()
	for row := range sum {
		var codes [superCols]uint8
		addPlane(&codes, w, row, c.low, 0)
		if c.high > 0 {
			addPlane(&codes, w[plane*c.low:], row, c.high, c.low)
		}
		for sub := range superCols / c.sub {
			dot := int32(0)
			for i := sub * c.sub / 4; i < (sub+1)*c.sub/4; i++ {
				for j, a := range quad(act[i*rows]) {
					dot += a * int32(levels[codes[4*i+j]])
				}
			}
			half := sub * c.sub / quantCols
			d := act[(scaleWord+half)*rows]
			scale, minimum := c.multipliers(head, w, sub, row)
			sum[row] = fma32(float32(dot), float32(scale*d), sum[row])
			switch {
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
