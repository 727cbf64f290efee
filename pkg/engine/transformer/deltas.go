package transformer

import "math"

// DeltaNet describes a layer that mixes tokens by a gated delta rule (Yang et al. 2024, "Gated Delta
// Networks"; Qwen3-Next). A product gives, in this order, gates z of all heads, queries and keys of
// KeyHeads heads, values v of all heads, and the rate b and then the step a of each head. A short
// convolution and SiLU change queries, keys and values. Queries q and keys k are then divided by their
// lengths. Each head has a state S, for each token
//
//	S = αS + σ(b)(v - αSk)kᵀ, with α = exp(softplus(a + bias)·decay),
//
// and norm(Sq/√KeyDim) ⊙ SiLU(z) is its result, which enters the last product. Decoders only.
//
// Like those of a [StateSpace], states cannot be shortened.
type DeltaNet struct {
	Norms    Placement `json:"norms"`
	Heads    int       `json:"heads"`
	HeadDim  int       `json:"head_dim"`  // values of a head
	KeyHeads int       `json:"key_heads"` // of queries and keys: each serves Heads/KeyHeads heads
	KeyDim   int       `json:"key_dim"`   // of a query and a key
	Taps     int       `json:"taps"`      // of the convolution, see [StateSpace]

	// Turns says that heads have their keys in turn: head h those of h%KeyHeads (GGUF). Otherwise
	// neighbouring heads share them.
	Turns bool `json:"turns,omitempty"`
}

// lengthEps is added to the squares of the lengths of queries and keys (transformers, l2norm).
const lengthEps = 1e-6

// inner returns the number of values of all heads.
func (d *DeltaNet) inner() int { return d.Heads * d.HeadDim }

// keys returns the number of values of all keys.
func (d *DeltaNet) keys() int { return d.KeyHeads * d.KeyDim }

// channels returns the number of values that the convolution changes.
func (d *DeltaNet) channels() int { return 2*d.keys() + d.inner() }

// products returns the rows of the first product.
func (d *DeltaNet) products() int { return d.inner() + d.channels() + 2*d.Heads }

// kept returns the number of inputs that the convolution sees of earlier tokens.
func (d *DeltaNet) kept() int { return (d.Taps - 1) * d.channels() }

// newState returns what a layer keeps, without memory: after each token, the inputs that the
// convolution sees next (Taps-1, channels), and all states (Heads, HeadDim, KeyDim).
func (d *DeltaNet) newState() kv { return newStates(d.kept() + d.inner()*d.KeyDim) }

// keyHead returns the head whose queries and keys a head has.
func (d *DeltaNet) keyHead(head int) int {
	if d.Turns {
		return head % d.KeyHeads
	}
	return head / (d.Heads / d.KeyHeads)
}

// deltas has the weights of a layer with a [DeltaNet].
type deltas struct {
	*DeltaNet
	in, out     linear // (products, Width), (Width, inner)
	filter      filter
	step, decay []float32 // (Heads): the bias of steps; negative
	norm        []float32 // (HeadDim)
}

// deltaRule computes a layer's delta rule from its product, in qkv, into heads.
func (w *worker) deltaRule(index int) {
	d, slot := w.m.decoder[index].deltas, w.m.decoder[index].slot
	w.filterSpans(&d.filter, slot)
	w.barrier.wait()
	from, to := w.share(len(w.spans) * d.Heads)
	for i := from; i < to; i++ {
		if sp := w.spans[i/d.Heads]; sp.n > 0 {
			w.deltaRuleHead(d, sp, sp.cache.state(slot), i%d.Heads)
		}
	}
}

// deltaRuleHead computes the states of a head after each token of a sequence, and its results. It
// overwrites the gates.
func (w *worker) deltaRuleHead(d *deltas, sp span, kept []float32, head int) {
	k, dim, size := w.m.kernels, d.HeadDim, d.KeyDim
	states := kept[d.kept()+head*dim*size:][:dim*size]
	if sp.start == 0 {
		clear(states)
	}
	fit(&w.stepped, 2*size+dim)
	query, key, delta := w.stepped[:size], w.stepped[size:2*size], w.stepped[2*size:]
	at := d.keyHead(head) * size
	for row := sp.row; row < sp.row+sp.n; row++ {
		all := w.qkv[row*d.products():][:d.products()]
		z, in, last := all[head*dim:][:dim], all[d.inner():], all[d.inner()+d.channels():]
		w.divide(query, in[at:], 1/math.Sqrt(float64(size)))
		w.divide(key, in[d.keys()+at:], 1)
		values := in[2*d.keys()+head*dim:][:dim]
		rate := float32(1 / (1 + math.Exp(-float64(last[head]))))
		step := softplus(float64(last[d.Heads+head] + d.step[head]))
		decay := float32(math.Exp(step * float64(d.decay[head])))
		for i, v := range values {
			delta[i] = rate * (v - float32(decay*k.Dot(states[i*size:(i+1)*size], key)))
		}
		y := w.heads[row*d.inner()+head*dim:][:dim]
		k.Scan(states, key, query, delta, y, decay)
		k.RMSNorm(y, y, d.norm, w.m.Eps)
		k.SiLU(z)
		k.Mul(y, z)
	}
}

// divide writes x, divided by its length and multiplied by a factor, to dst.
func (w *worker) divide(dst, x []float32, factor float64) {
	copy(dst, x)
	k := w.m.kernels
	k.Scale(dst, float32(factor/math.Sqrt(float64(k.Dot(dst, dst))+lengthEps)))
}
