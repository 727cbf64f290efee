package transformer

import "reflect"

// Convolution describes a layer that mixes tokens by a short convolution between two gates
// (LFM2): out(c ⊙ conv(b ⊙ v)), where b, c and v are the thirds of one product. Each channel
// is convolved for itself, with the tokens before it. Decoders only.
type Convolution struct {
	Norms Placement `json:"norms"`
	Taps  int       `json:"taps"` // weights of a channel: the last is that of the token itself
}

// convolution has the weights of a layer with a [Convolution].
type convolution struct {
	*Convolution
	in, out linear    // (3*Width, Width): rows of b, c, v; (Width, Width)
	taps    []float32 // (Taps, Width), row-major
	bias    []float32 // (Width), or nil
}

// convolve computes the worker's channels of a layer's convolution from its product, in qkv,
// into heads.
func (w *worker) convolve(index int) {
	c := w.own(w.m.Width)
	if c.from == c.to {
		return
	}
	for _, sp := range w.spans {
		w.convolveSpan(index, sp, c.from, c.to)
	}
}

// convolveSpan convolves the channels from, ..., to-1 of a sequence and keeps their inputs in its
// cache: those that later tokens may see.
func (w *worker) convolveSpan(index int, sp span, from, to int) {
	c, k, width := w.m.decoder[index].convolution, w.m.kernels, w.m.Width
	layer := &sp.cache.layers[w.m.decoder[index].slot]
	kept := layer.head(0)
	third := func(row, i int) []float32 { return w.qkv[(3*row+i)*width+from : (3*row+i)*width+to] }
	for j := range sp.n {
		k.Mul(third(sp.row+j, 0), third(sp.row+j, 2))
	}
	for j := range sp.n {
		y := w.heads[(sp.row+j)*width+from : (sp.row+j)*width+to]
		if clear(y); c.bias != nil {
			copy(y, c.bias[from:to])
		}
		for tap := range c.Taps {
			var in []float32
			switch at := j - (c.Taps - 1) + tap; {
			case at >= 0:
				in = third(sp.row+at, 0)
			case sp.start+at >= 0:
				in = kept.Value(sp.start + at)[from:to]
			default:
				continue // before the first token
			}
			k.MulAdd(y, in, c.taps[tap*width+from:tap*width+to])
		}
		k.Mul(y, third(sp.row+j, 1))
	}
	for j := max(0, sp.n-layer.slots); j < sp.n; j++ {
		copy(kept.Value(sp.start + j)[from:to], third(sp.row+j, 0))
	}
}

// newState returns the inputs that a layer's convolution keeps for a number of tokens, without
// memory: it sees them through a window.
func (c *Convolution) newState(width, tokens int) kv {
	state := newWindow(c.Taps, SpareTokens, tokens)
	state.heads, state.dim, state.keyless = 1, width, true
	return state
}

// mixerNorms returns the placement of the norms around what mixes the tokens of a layer.
func (k *Kind) mixerNorms() Placement {
	switch {
	case k.Convolution != nil:
		return k.Convolution.Norms
	case k.Deltas != nil:
		return k.Deltas.Norms
	case k.States != nil: // of attention too, if there is any
		return k.States.Norms
	case !k.Mixes():
		return NoNorm
	}
	return k.Attention.Norms
}

// Mixes reports whether something mixes tokens: not in a layer with a feed-forward block alone.
func (k *Kind) Mixes() bool {
	return k.Convolution != nil || k.Deltas != nil || k.States != nil || !reflect.ValueOf(k.Attention).IsZero()
}

// attends reports whether there is attention.
func (k *Kind) attends() bool { return k.Attention.Heads > 0 }

// feeds reports whether there is a feed-forward block.
func (k *Kind) feeds() bool { return k.FeedForward.Width > 0 }

// mixer returns the sizes, for each token, of the product that what mixes tokens begins with, with what follows
// it there, and of its result: the largest, if there are two, of which one runs after the other.
func (k *Kind) mixer(width int) (products, result int) {
	if k.Convolution != nil {
		return 3 * width, width
	}
	if d := k.Deltas; d != nil {
		return d.products(), d.inner()
	}
	a := &k.Attention
	products, result = a.rows(), a.Heads*a.HeadDim
	if l := a.Latent; l != nil && l.QueryRank > 0 {
		result = max(result, l.queries(a.Heads))
	}
	if s := k.States; s != nil {
		products, result = max(products, s.scratch()), max(result, s.inner())
	}
	return products, result
}
