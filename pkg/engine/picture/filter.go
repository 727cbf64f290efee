package picture

import "math"

// A Filter is a method of resampling, with Pillow's number.
type Filter uint8

// The filters, as in PIL.Image.Resampling.
const (
	Nearest  Filter = 0
	Lanczos  Filter = 1
	Bilinear Filter = 2
	Bicubic  Filter = 3
	Box      Filter = 4
	Hamming  Filter = 5
)

// kernels has the weight of each filter at a distance, and the distance beyond which it is 0, in
// pixels of the smaller image. Explicit conversions keep compilers from fusing operations.
var kernels = [...]struct {
	weight  func(x float64) float64
	support float64
}{
	Lanczos:  {lanczos, 3},
	Bilinear: {bilinear, 1},
	Bicubic:  {bicubic, 2},
	Box:      {box, 0.5},
	Hamming:  {hamming, 1},
}

func box(x float64) float64 {
	if -0.5 < x && x <= 0.5 {
		return 1
	}
	return 0
}

func bilinear(x float64) float64 {
	return max(1-math.Abs(x), 0)
}

// hamming is a sinc in a Hamming window; Pillow's constants have type float.
func hamming(x float64) float64 {
	x = math.Abs(x)
	if x == 0 {
		return 1
	}
	if x >= 1 {
		return 0
	}
	x *= math.Pi
	return math.Sin(x) / x * (float64(float32(0.54)) + float64(float64(float32(0.46))*math.Cos(x)))
}

// bicubic is Keys' cubic convolution (1981) with a = -1/2.
func bicubic(x float64) float64 {
	const a = -0.5
	x = math.Abs(x)
	switch {
	case x < 1:
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return (float64((float64((x-5)*x)+8)*x) - 4) * a
	}
	return 0
}

// lanczos is a sinc in the window of a three times wider sinc.
func lanczos(x float64) float64 {
	if -3 <= x && x < 3 {
		return sinc(x) * sinc(x/3)
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// precision is the number of fractional bits of a weight: a sum of products with 8-bit pixels
// may overshoot and has a sign, and fits in 32 bits.
const precision = 32 - 8 - 2

// An axis has the weights of all output pixels in one direction.
type axis struct {
	spans   []span
	weights []int32 // of one span after another, times 1<<precision
}

// An interval is some pixels of an edge, next to each other.
type interval struct{ from, n int }

// A span is the input pixels that make one output pixel.
type span struct {
	first, n int // input pixels
	at       int // in axis.weights
}

// newAxis returns the weights of a range of the pixels when in pixels become out pixels (Resample.c,
// precompute_coeffs and normalize_coeffs_8bpc).
func newAxis(in, out int, of interval, f Filter) *axis {
	k := kernels[f]
	scale := float64(in) / float64(out)
	stretch := max(scale, 1) // of the filter: smaller pictures average
	support := float64(k.support * stretch)
	a := &axis{spans: make([]span, of.n), weights: make([]int32, 0, of.n*(int(2*support)+2))}
	weights := make([]float64, int(math.Ceil(support))*2+1)
	for i := range a.spans {
		center := float64((float64(of.from+i) + 0.5) * scale)
		first := max(int(center-support+0.5), 0)
		n := min(int(center+support+0.5), in) - first
		sum := 0.0
		for j := range n {
			weights[j] = float64(k.weight(float64((float64(first+j) - center + 0.5) * (1 / stretch))))
			sum += weights[j]
		}
		a.spans[i] = span{first: first, n: n, at: len(a.weights)}
		for _, w := range weights[:n] {
			if sum != 0 {
				w /= sum
			}
			a.weights = append(a.weights, fixed(w))
		}
	}
	return a
}

// fixed rounds a weight half away from zero.
func fixed(w float64) int32 {
	if w < 0 {
		return int32(-0.5 + float64(w*(1<<precision)))
	}
	return int32(0.5 + float64(w*(1<<precision)))
}

// span returns the first input pixel of output pixel i, and the weights from it on.
func (a *axis) span(i int) (first int, weights []int32) {
	s := a.spans[i]
	return s.first, a.weights[s.at : s.at+s.n]
}

// widest returns the number of weights of the widest span.
func (a *axis) widest() int {
	n := 0
	for _, s := range a.spans {
		n = max(n, s.n)
	}
	return n
}
