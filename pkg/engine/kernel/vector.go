package kernel

// Add computes dst += x.
func (k *Kernels) Add(dst, x []float32) { add(k.isa, dst, x[:len(dst)]) }

// Mul computes dst *= x, element by element.
func (k *Kernels) Mul(dst, x []float32) { mul(k.isa, dst, x[:len(dst)]) }

// Scan computes a step of len(x) states h (len(x), len(b)): h = decay*h + x bᵀ, and then their
// outputs y = h c.
func (k *Kernels) Scan(h, b, c, x, y []float32, decay float32) {
	scan(k.isa, h[:len(x)*len(b)], b, c[:len(b)], x, y[:len(x)], decay)
}

// Scale computes x *= a.
func (k *Kernels) Scale(x []float32, a float32) { scale(k.isa, x, a) }

// Axpy computes dst += a*x.
func (k *Kernels) Axpy(dst []float32, a float32, x []float32) { axpy(k.isa, dst, x[:len(dst)], a) }

// MulAdd computes dst += x*y, element by element.
func (k *Kernels) MulAdd(dst, x, y []float32) { mulAdd(k.isa, dst, x[:len(dst)], y[:len(dst)]) }

// Dot returns the scalar product of a and b.
func (k *Kernels) Dot(a, b []float32) float32 { return dot(k.isa, a, b[:len(a)]) }

// HasNaN reports whether one of x is not a number: only then the sum of squares is none.
func (k *Kernels) HasNaN(x []float32) bool {
	sum := dot(k.isa, x, x)
	return sum != sum
}

// ReLU computes x = max(x, 0) in place.
func (k *Kernels) ReLU(x []float32) { relu(k.isa, x) }

// SiLU computes x = x/(1+exp(-x)) in place.
func (k *Kernels) SiLU(x []float32) { silu(k.isa, x) }

// GELU computes x = 0.5x(1+tanh(√(2/π)(x+0.044715x³))) in place.
func (k *Kernels) GELU(x []float32) { gelu(k.isa, x) }

// GELUErf computes x = 0.5x(1+erf(x/√2)) in place.
func (k *Kernels) GELUErf(x []float32) { geluErf(k.isa, x) }

// LayerNorm computes dst = (x-mean)/sqrt(variance+eps)*weight + bias over one vector,
// with the population variance. A nil bias is zero. dst may be x.
func (k *Kernels) LayerNorm(dst, x, weight, bias []float32, eps float32) {
	n := len(x)
	if n == 0 {
		return
	}
	if bias != nil {
		bias = bias[:n]
	}
	mean, scale := moments(k.isa, x, eps)
	normalize(k.isa, dst[:n], x, weight[:n], bias, mean, scale)
}

// RMSNorm computes dst = x/sqrt(mean(x²)+eps)*weight over one vector. dst may be x.
func (k *Kernels) RMSNorm(dst, x, weight []float32, eps float32) {
	if n := len(x); n > 0 {
		normalize(k.isa, dst[:n], x, weight[:n], nil, 0, rootMeanSquare(k.isa, x, eps))
	}
}
