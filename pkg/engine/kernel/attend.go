package kernel

// A CapKind says how attention scores are bounded before the softmax.
type CapKind uint8

// The score caps.
const (
	CapNone  CapKind = iota
	CapClamp         // min(max(s, -Value), Value)
	CapTanh          // Value*tanh(s/Value)
)

// A Cap bounds attention scores. The zero Cap leaves them alone.
type Cap struct {
	Kind  CapKind
	Value float32 // positive unless Kind is CapNone
}

// Attend computes one head for one query: out = softmax(cap(q·keysᵀ*scale)) · values.
// len(q) is the head's dimension; keys and values are (n, headDim), row-major; scores
// is scratch of at least n values and holds the probabilities afterwards. n = 0 gives
// zeros.
func (k *Kernels) Attend(out, q, keys, values, scores []float32, n int, scale float32, limit Cap) {
	d := len(q)
	out, keys, values, scores = out[:d], keys[:n*d], values[:n*d], scores[:n]
	dots(k.isa, scores, q, keys, scale)
	k.applyCap(scores, limit)
	k.Softmax(scores)
	weighted(k.isa, out, scores, values)
}

// applyCap bounds scores in place.
func (k *Kernels) applyCap(scores []float32, limit Cap) {
	switch limit.Kind {
	case CapClamp:
		clamp(k.isa, scores, limit.Value)
	case CapTanh:
		tanhCap(k.isa, scores, limit.Value)
	}
}
