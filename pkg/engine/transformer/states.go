package transformer

import "math"

// StateSpace describes a layer that mixes tokens by a recurrence of states (Mamba 2, Dao and Gu
// 2024). A product gives, in this order, a gate z, inputs x of all heads, the vectors b and c of
// each group of heads, and a step d of each head. A short convolution and SiLU change x, b and c.
// Each head then has h = exp(softplus(d + bias)·decay)·h + softplus(d + bias)·x bᵀ for each token,
// and h c + skip·x is its result. These enter the last product as Gating says.
// Decoders only.
//
// With StepRank it is the first form (Mamba, Gu and Dao 2023): there are one head and one group, and the
// product gives x and then z. The convolution changes x alone. A second product, of its result, gives what
// steps are made of, b and c, perhaps normalised, and a third one a step of each input, with its bias. Each
// state of an input has a decay of its own.
//
// Unlike keys and values, states cannot be shortened: a cache continues from its end alone.
type StateSpace struct {
	Norms   Placement `json:"norms"`
	Heads   int       `json:"heads"`
	HeadDim int       `json:"head_dim"` // inputs of a head
	Size    int       `json:"size"`     // of b and c, and of the state of an input
	Groups  int       `json:"groups"`   // each has b, c and a norm for Heads/Groups heads
	Taps    int       `json:"taps"`     // of the convolution: weights of a channel, the last that of the token itself
	Gating  Gating    `json:"gating,omitempty"`

	StepRank int     `json:"step_rank,omitempty"` // values that the steps of inputs are made of; 0: heads have steps
	StepEps  float32 `json:"step_eps,omitempty"`  // of the norms of these values, of b and of c; 0: there are none

	GateScale float32 `json:"gate_scale,omitempty"` // factor of z
	StepScale float32 `json:"step_scale,omitempty"` // factor of d
	OutScale  float32 `json:"out_scale,omitempty"`  // factor of the last product's results
}

// A Gating says how gates z and the norms of groups change the results y of heads.
type Gating uint8

// Gatings.
const (
	GateThenNorm Gating = iota // norm(y ⊙ SiLU(z))
	NormThenGate               // norm(y) ⊙ SiLU(z)
	GateAlone                  // y ⊙ SiLU(z)
)

// inner returns the number of inputs of all heads.
func (s *StateSpace) inner() int { return s.Heads * s.HeadDim }

// channels returns the number of values that the convolution changes.
func (s *StateSpace) channels() int {
	if s.StepRank > 0 {
		return s.inner()
	}
	return s.inner() + 2*s.Groups*s.Size
}

// products returns the rows of the first product.
func (s *StateSpace) products() int {
	if s.StepRank > 0 {
		return 2 * s.inner()
	}
	return s.inner() + s.channels() + s.Heads
}

// scratch returns how many values a token has in Pass.qkv: the first product, and what follows it.
func (s *StateSpace) scratch() int {
	if s.StepRank > 0 {
		return s.products() + s.selected() + s.inner()
	}
	return s.products()
}

// filter returns the convolution, without its weights.
func (s *StateSpace) filter() filter {
	f := filter{length: s.Taps, channels: s.channels(), first: s.inner(), products: s.products()}
	if s.StepRank > 0 {
		f.first = 0
	}
	return f
}

// kept returns the number of inputs that the convolution sees of earlier tokens.
func (s *StateSpace) kept() int { return (s.Taps - 1) * s.channels() }

// newState returns what a layer keeps, without memory: after each token, the inputs that the
// convolution sees next (Taps-1, channels), and all states (Heads, HeadDim, Size).
func (s *StateSpace) newState() kv { return newStates(s.kept() + s.inner()*s.Size) }

// newStates returns what keeps n values, without memory: a ring of one token, which the next one sees.
func newStates(n int) kv {
	return kv{slots: 1, ring: true, window: 2, heads: 1, dim: n, keyless: true, single: true}
}

// Rewinds reports whether [Cache.Truncate] can drop tokens: not if layers have states.
func (s *Spec) Rewinds() bool {
	for i := range s.Kinds {
		if s.Kinds[i].States != nil || s.Kinds[i].Deltas != nil {
			return false
		}
	}
	return true
}

// states has the weights of a layer with a [StateSpace].
type states struct {
	*StateSpace
	slot        int    // of the states in a cache
	in, out     linear // (products, Width), (Width, inner)
	filter      filter
	step, decay []float32 // (Heads): the bias of steps; negative
	skip        []float32 // (Heads)
	norm        []float32 // (inner), or nil

	// With StepRank, decay is (inner, Size), skip (inner), and step nil.
	selection, steps linear    // (selected, inner), (inner, StepRank)
	stepNorm         []float32 // (selected), or nil
}

// recur computes a layer's recurrence from its product, in qkv, into heads.
func (w *worker) recur(index int) {
	s := w.m.decoder[index].states
	if s.StepRank > 0 {
		w.recurSteps(s)
		return
	}
	w.filterSpans(&s.filter, s.slot)
	w.barrier.wait()
	from, to := w.share(len(w.spans) * s.Heads)
	for i := from; i < to; i++ {
		if sp := w.spans[i/s.Heads]; sp.n > 0 {
			w.scanHead(s, sp, sp.cache.state(s.slot), i%s.Heads)
		}
	}
	w.barrier.wait()
	from, to = w.share(w.tokens)
	for i := from; i < to; i++ {
		w.gate(s, w.qkv[i*s.products():(i+1)*s.products()], w.heads[i*s.inner():(i+1)*s.inner()])
	}
}

// state returns the states in a slot. Before the first token they are zero.
func (c *Cache) state(slot int) []float32 { return c.layers[slot].head(0).Value(0) }

// scanHead computes the states of a head after each token of a sequence, and its results.
func (w *worker) scanHead(s *states, sp span, kept []float32, head int) {
	size, dim, inner := s.HeadDim*s.Size, s.HeadDim, s.inner()
	h := kept[s.kept()+head*size:][:size]
	if sp.start == 0 {
		clear(h)
	}
	group := head / (s.Heads / s.Groups) * s.Size
	fit(&w.stepped, dim)
	for row := sp.row; row < sp.row+sp.n; row++ {
		all := w.qkv[row*s.products()+inner:][:s.channels()+s.Heads]
		x, b, c := all[head*dim:(head+1)*dim], all[inner+group:][:s.Size], all[inner+s.Groups*s.Size+group:][:s.Size]
		step := softplus(float64(scaled(all[s.channels()+head], s.StepScale) + s.step[head]))
		copy(w.stepped, x)
		w.m.kernels.Scale(w.stepped, float32(step))
		y := w.heads[row*inner+head*dim:][:dim]
		w.m.kernels.Scan(h, b, c, w.stepped, y, float32(math.Exp(step*float64(s.decay[head]))))
		w.m.kernels.Axpy(y, s.skip[head], x)
	}
}

// softplus returns ln(1+eˣ).
func softplus(x float64) float64 {
	if x > 20 { // as PyTorch has it
		return x
	}
	return math.Log1p(math.Exp(x))
}

// scaled returns x times a factor, of which 0 is 1.
func scaled(x, factor float32) float32 {
	if factor == 0 {
		return x
	}
	return x * factor
}

// gate applies the norms and the gates, which it overwrites, to the results of a token, y.
func (w *worker) gate(s *states, all, y []float32) {
	k, z, n := w.m.kernels, all[:s.inner()], s.inner()/s.Groups
	if s.GateScale != 0 {
		k.Scale(z, s.GateScale)
	}
	if k.SiLU(z); s.Gating != NormThenGate {
		k.Mul(y, z)
	}
	if s.Gating == GateAlone {
		return
	}
	for at := 0; at < len(y); at += n {
		k.RMSNorm(y[at:at+n], y[at:at+n], s.norm[at:at+n], w.m.Eps)
	}
	if s.Gating == NormThenGate {
		k.Mul(y, z)
	}
}
