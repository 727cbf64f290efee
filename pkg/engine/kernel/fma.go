package kernel

import "math"

// fma32 returns a*b+c, rounded once. The product is exact in float64; their sum is
// rounded to odd there, which makes the second rounding harmless (Boldo and
// Melquiond 2008).
func fma32(a, b, c float32) float32 {
	p, q := float64(float64(a)*float64(b)), float64(c)
	s := p + q
	t := s - p
	e := (p - (s - t)) + (q - t) // s+e is the exact sum (Knuth's two-sum)
	if e > 0 || e < 0 {
		if bits := math.Float64bits(s); bits&1 == 0 {
			if (e > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
			s = math.Float64frombits(bits)
		}
	}
	return float32(s)
}
