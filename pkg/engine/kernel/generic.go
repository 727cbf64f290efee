package kernel

import "math"

// Products are converted to float32 before they are added, which prevents fusing: the
// generic results are the same on every architecture.

func addGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

func mulGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] *= v
	}
}

func axpyGeneric(dst, x []float32, a float32) {
	for i, v := range x {
		dst[i] += float32(a * v)
	}
}

func mulAddGeneric(dst, x, y []float32) {
	for i, v := range x {
		dst[i] += float32(v * y[i])
	}
}

func scanGeneric(h, b, c, x, y []float32, decay float32) {
	n := len(b)
	for i, v := range x {
		row := h[i*n : (i+1)*n]
		scaleGeneric(row, decay)
		axpyGeneric(row, b, v)
		y[i] = dotGeneric(row, c)
	}
}

func dotGeneric(a, b []float32) float32 {
	var s [4]float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		for j := range s {
			s[j] += float32(a[i+j] * b[i+j])
		}
	}
	for ; i < len(a); i++ {
		s[0] += float32(a[i] * b[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func reluGeneric(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

func clampGeneric(x []float32, limit float32) {
	for i, v := range x {
		x[i] = min(max(v, -limit), limit)
	}
}

func tanhCapGeneric(x []float32, limit float32) {
	for i, v := range x {
		x[i] = limit * tanh(v/limit)
	}
}

func siluGeneric(x []float32) {
	for i, v := range x {
		x[i] = v / (1 + exp(-v))
	}
}

// The tanh form of GELU is x·sigmoid(2u) with u = √(2/π)(x+0.044715x³).
const (
	geluScale = 1.5957691216057308 // 2√(2/π)
	geluCubic = 0.044715
)

func geluGeneric(x []float32) {
	for i, v := range x {
		t := float32(geluCubic*v)*float32(v*v) + v
		x[i] = v / (1 + exp(-geluScale*t))
	}
}

// Constants of the tail of the normal distribution: Φ(-a) = t·P(t)·exp(-a²/2) with
// t = 1/(1+tailScale·a) (the form of Abramowitz and Stegun 1964, 7.1.26). P is our own
// fit by Remez exchange, for the least relative error over 0 <= a <= 14.5, which is
// 1.1e-7; exp is zero beyond.
const (
	tailScale = 0.305
	tailPoly0 = 3.66959028005e-2
	tailPoly1 = -1.52973378646e-1
	tailPoly2 = 1.85688612001e-1
	tailPoly3 = -3.79479421145e-2
	tailPoly4 = 1.21004565295e-1
	tailPoly5 = 1.0342673035e-1
	tailPoly6 = 1.22465743826e-1
	tailPoly7 = 1.21639813408e-1
)

// geluErfGeneric: 0.5(1+erf(x/√2)) is Φ(x), the normal distribution. For negative x it
// uses the tail, without cancellation.
func geluErfGeneric(x []float32) {
	for i, v := range x {
		t := 1 / (1 + float32(tailScale*float32(math.Abs(float64(v)))))
		p := float32(tailPoly0)
		for _, c := range [...]float32{tailPoly1, tailPoly2, tailPoly3, tailPoly4, tailPoly5, tailPoly6, tailPoly7} {
			p = float32(p*t) + c
		}
		phi := float32(p*t) * exp(-0.5*float32(v*v))
		if v >= 0 {
			phi = 1 - phi
		}
		x[i] = v * phi
	}
}

// maxOfGeneric requires len(x) > 0.
func maxOfGeneric(x []float32) float32 {
	top := x[0]
	for _, v := range x[1:] {
		if v > top {
			top = v
		}
	}
	return top
}

func scaleGeneric(x []float32, a float32) {
	for i := range x {
		x[i] *= a
	}
}

// expSumGeneric computes x = exp(x-top) and returns the sum.
func expSumGeneric(x []float32, top float32) float32 {
	var sum float64
	for i, v := range x {
		e := exp(v - top)
		x[i] = e
		sum += float64(e)
	}
	return float32(sum)
}

// normalizeGeneric: dst = (x-mean)*scale*weight + bias; bias may be nil.
func normalizeGeneric(dst, x, weight, bias []float32, mean, scale float32) {
	for i, v := range x {
		y := float32(float32((v-mean)*scale) * weight[i])
		if bias != nil {
			y += bias[i]
		}
		dst[i] = y
	}
}

// momentsGeneric returns the mean of x and 1/sqrt(variance+eps).
func momentsGeneric(x []float32, eps float32) (mean, scale float32) {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
	}
	m := sum / float64(len(x))
	for _, v := range x {
		d := float64(v) - m
		squares += float64(d * d)
	}
	return float32(m), float32(1 / math.Sqrt(squares/float64(len(x))+float64(eps)))
}

// rootMeanSquareGeneric returns 1/sqrt(mean(x²)+eps).
func rootMeanSquareGeneric(x []float32, eps float32) float32 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v) // the product is exact
	}
	return float32(1 / math.Sqrt(sum/float64(len(x))+float64(eps)))
}

// Constants of exp: x = n·ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts (the high
// one has few bits, so n times it is exact), and the polynomial of Cephes expf.
const (
	expLow   = -104 // below, the result is zero
	expHigh  = 89   // above, it is +Inf
	log2e    = 1.44269504088896341
	ln2High  = 0.693359375
	ln2Low   = -2.12194440e-4
	expPoly0 = 1.9875691500e-4
	expPoly1 = 1.3981999507e-3
	expPoly2 = 8.3334519073e-3
	expPoly3 = 4.1665795894e-2
	expPoly4 = 1.6666665459e-1
	expPoly5 = 5.0000001201e-1
)

// exp returns e**x with a relative error below 2e-7 for normal results.
func exp(x float32) float32 {
	if x < expLow {
		return 0
	}
	if x > expHigh {
		return float32(math.Inf(1))
	}
	if x != x {
		return x
	}
	n := float32(math.RoundToEven(float64(x * log2e)))
	r := x - float32(n*ln2High) - float32(n*ln2Low)
	p := float32(expPoly0)
	for _, c := range [...]float32{expPoly1, expPoly2, expPoly3, expPoly4, expPoly5} {
		p = float32(p*r) + c
	}
	p = float32(p*float32(r*r)) + r + 1
	// 2**n in two steps: n may lie outside the exponents of normal numbers.
	half := int32(n) >> 1
	rest := int32(n) - half
	return p * math.Float32frombits(uint32(half+127)<<23) * math.Float32frombits(uint32(rest+127)<<23)
}

// Constants of tanh: below tanhSmall an odd polynomial (Cephes tanhf), above it
// 1 - 2/(exp(2x)+1).
const (
	tanhSmall = 0.625
	tanhPoly0 = -5.70498872745e-3
	tanhPoly1 = 2.06390887954e-2
	tanhPoly2 = -5.37397155531e-2
	tanhPoly3 = 1.33314422036e-1
	tanhPoly4 = -3.33332819422e-1
)

// tanh returns the hyperbolic tangent with a relative error below 2e-7.
func tanh(x float32) float32 {
	a := float32(math.Abs(float64(x)))
	if a < tanhSmall {
		z := x * x
		p := float32(tanhPoly0)
		for _, c := range [...]float32{tanhPoly1, tanhPoly2, tanhPoly3, tanhPoly4} {
			p = float32(p*z) + c
		}
		return float32(float32(p*z)*x) + x
	}
	return float32(math.Copysign(float64(1-2/(exp(2*a)+1)), float64(x)))
}
