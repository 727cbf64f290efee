package kernel

import "math"

func largestGeneric(x []float32, top float32) float32 {
	for _, v := range x {
		if v > top { // false for a NaN
			top = v
		}
	}
	return top
}

func atLeastGeneric(mask []uint64, x []float32, bound float32) {
	clear(mask[:(len(x)+word-1)/word])
	for i, v := range x {
		if Finite(v) >= bound {
			mask[i/word] |= 1 << (i % word)
		}
	}
}

// Constants of the exponential in float64: exp(a) = 2**n·exp(r), where n is a/ln 2
// rounded (by adding and subtracting roundToInt) and r = a - n·ln 2, |r| <= ln 2 / 2, in
// two steps. exp(r) is its Taylor polynomial of degree 12, with a truncation error below
// 1.8e-16. Every product is fused with its sum, except the exponent itself, so all
// instruction sets round alike.
const (
	weightFloor = -708 // below, the result is not a normal number
	roundToInt  = 3 << 51
	ln2Upper    = 6.93147180369123816490e-01 // the upper 33 bits
	ln2Lower    = math.Ln2 - ln2Upper
)

// weightRows holds the constants as the assembly reads them: each for four lanes.
var weightRows = rows(weightFloor, math.Log2E, roundToInt, -roundToInt, -ln2Upper, -ln2Lower,
	1./479001600, 1./39916800, 1./3628800, 1./362880, 1./40320, 1./5040, 1./720, 1./120, 1./24, 1./6, 1./2, 1, 1)

// weightPoly is the index of the first row of coefficients, highest power first.
const weightPoly = 6

func rows(constants ...float64) [][4]float64 {
	list := make([][4]float64, len(constants))
	for i, c := range constants {
		list[i] = [4]float64{c, c, c, c}
	}
	return list
}

// weight returns exp((x-top)*scale).
func weight(x float32, top, scale float64) float64 {
	a := float64((float64(Finite(x)) - top) * scale)
	if !(a > weightFloor) {
		return 0
	}
	t := math.FMA(a, math.Log2E, roundToInt)
	n := t - roundToInt
	r := math.FMA(n, -ln2Lower, math.FMA(n, -ln2Upper, a))
	p := weightRows[weightPoly][0]
	for i := weightPoly + 1; i < len(weightRows); i++ {
		p = math.FMA(p, r, weightRows[i][0])
	}
	// The lowest bits of t are n: shifted, they go into the exponent of p.
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(t)<<52)
}

// weightsGeneric computes w = exp((x-top)*scale) and returns the sum; len(x) is a
// multiple of sumLanes.
func weightsGeneric(w []float64, x []float32, top, scale float64) float64 {
	var s [sumLanes]float64
	for i, v := range x {
		w[i] = weight(v, top, scale)
		s[i%sumLanes] += w[i]
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
