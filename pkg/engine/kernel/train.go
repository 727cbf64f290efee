package kernel

import "math"

// GELUBackward computes dy *= gelu'(x): the gradient before GELU from the one after it.
func (k *Kernels) GELUBackward(dy, x []float32) { geluBackward(k.isa, dy[:len(x)], x) }

// SoftmaxBackward computes, in place, the gradient before a softmax of scaled scores: dp
// = p*(dp - p·dp)*scale, where p is the softmax's result and dp its gradient.
func (k *Kernels) SoftmaxBackward(dp, p []float32, scale float32) {
	dp = dp[:len(p)]
	softmaxBackward(k.isa, dp, p, dot(k.isa, p, dp), scale)
}

// Moments returns the mean of x and 1/sqrt(variance+eps), population variance.
func (k *Kernels) Moments(x []float32, eps float32) (mean, scale float32) {
	if len(x) == 0 {
		return 0, 0
	}
	return moments(k.isa, x, eps)
}

// LayerNormBackward is the backward pass of LayerNorm over one vector: it adds the
// gradients of x, weight and bias to dx, dweight and dbias. mean and scale are the
// Moments of x.
func (k *Kernels) LayerNormBackward(dx, dweight, dbias, dy, x, weight []float32, mean, scale float32) {
	n := len(x)
	if n == 0 {
		return
	}
	dy, weight = dy[:n], weight[:n]
	a, b := normSums(k.isa, dweight[:n], dbias[:n], dy, x, weight, mean, scale)
	normBackward(k.isa, dx[:n], dy, x, weight, mean, scale, a/float32(n), b/float32(n))
}

// CrossEntropy turns logits into the gradient of scale*loss, loss = -ln softmax(logits)[target],
// in place, and returns the loss (unscaled).
func (k *Kernels) CrossEntropy(logits []float32, target int, scale float32) float64 {
	hit := logits[target]
	top := maxOf(k.isa, logits)
	sum := expSum(k.isa, logits, top)
	k.Scale(logits, scale/sum)
	logits[target] -= scale
	return math.Log(float64(sum)) - float64(hit-top)
}

// AdamW is one step of the optimiser (Loshchilov and Hutter 2019, algorithm 2), with
// gradients g multiplied by GradScale:
//
//	m = β₁m + (1-β₁)g, v = β₂v + (1-β₂)g²
//	p = p - Rate*Decay*p - Rate * (m/(1-β₁ᵗ)) / (sqrt(v/(1-β₂ᵗ)) + Eps)
type AdamW struct {
	Rate, Beta1, Beta2, Eps, Decay float32
	GradScale                      float32
	T                              int // 1 in the first step
}

// step, root and decay are the constants of one step: Rate/(1-β₁ᵗ), 1/sqrt(1-β₂ᵗ), Rate*Decay.
func (a *AdamW) step() float32 {
	return float32(float64(a.Rate) / (1 - math.Pow(float64(a.Beta1), float64(a.T))))
}

func (a *AdamW) root() float32 {
	return float32(1 / math.Sqrt(1-math.Pow(float64(a.Beta2), float64(a.T))))
}

func (a *AdamW) decay() float32 { return a.Rate * a.Decay }

// AdamW updates parameters p and their moments m and v by the gradients g.
func (k *Kernels) AdamW(p, m, v, g []float32, step *AdamW) {
	n := len(p)
	if n > 0 {
		adam(k.isa, p, m[:n], v[:n], g[:n], step)
	}
}

// LogSoftmax turns scores into probabilities, in place, and returns the logarithm of Σ
// exp(score), from which ExpShift recomputes the probabilities.
func (k *Kernels) LogSoftmax(x []float32) float32 {
	if len(x) == 0 {
		return float32(math.Inf(-1))
	}
	top := maxOf(k.isa, x)
	sum := expSum(k.isa, x, top)
	scale(k.isa, x, 1/sum)
	return top + float32(math.Log(float64(sum)))
}

// ExpShift computes x = exp(x-shift) in place.
func (k *Kernels) ExpShift(x []float32, shift float32) { expSum(k.isa, x, shift) }

// SoftCap computes x = limit*tanh(x/limit) in place, and writes the derivative
// 1-tanh² to slope.
func (k *Kernels) SoftCap(x, slope []float32, limit float32) {
	slope = slope[:len(x)]
	tanhCap(k.isa, x, limit)
	for i, v := range x {
		y := v / limit
		slope[i] = 1 - y*y
	}
}
