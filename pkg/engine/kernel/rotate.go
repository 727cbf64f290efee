package kernel

// Rotate rotates the pairs of one head in place by the angles with the given cosines and
// sines: (a, b) becomes (a·cos-b·sin, b·cos+a·sin). With n = len(cos), pair j is (x[2j],
// x[2j+1]) if interleaved, otherwise (x[j], x[j+n]). The values after the first 2n are
// unchanged. Rotary position embedding: Su et al. 2021, sec. 3.4.
func (k *Kernels) Rotate(x, cos, sin []float32, interleaved bool) {
	n := len(cos)
	x, sin = x[:2*n], sin[:n]
	if interleaved {
		rotatePairs(k.isa, x, cos, sin)
	} else {
		rotateHalves(k.isa, x[:n], x[n:], cos, sin)
	}
}
