package transformer

import "fmt"

// What a [StateSpace] with StepRank has: inputs with steps of their own, and a decay of each state (Mamba).

// selected returns the rows of the second product: what steps are made of, b and c.
func (s *StateSpace) selected() int { return s.StepRank + 2*s.Size }

// skips returns the number of skips, and of biases of steps.
func (s *StateSpace) skips() int {
	if s.StepRank > 0 {
		return s.HeadDim
	}
	return s.Heads
}

// decays returns the number of decays.
func (s *StateSpace) decays() int {
	if s.StepRank > 0 {
		return s.HeadDim * s.Size
	}
	return s.Heads
}

// recurSteps computes the recurrence of a layer with StepRank from its product, in qkv, into heads. Behind
// the product qkv has the second one, then the steps.
func (w *worker) recurSteps(s *states) {
	inner, n, p := s.inner(), w.tokens, s.products()
	selected, steps := w.qkv[n*p:n*(p+s.selected())], w.qkv[n*(p+s.selected()):]
	w.filterSpans(&s.filter, s.slot)
	c := w.own(inner)
	for i := range n {
		copy(w.heads[i*inner+c.from:i*inner+c.to], w.qkv[i*p+c.from:])
	}
	w.barrier.wait()
	w.apply(&s.selection, selected, w.heads, n, nil)
	w.barrier.wait()
	w.apply(&s.steps, steps, w.stepInputs(s, selected), n, nil)
	w.normaliseStates(s, selected)
	w.barrier.wait()
	each := max(1, scannedStates/s.Size)
	blocks := ceil(inner, each)
	from, to := w.share(len(w.spans) * blocks)
	for i := from; i < to; i++ {
		if sp := w.spans[i/blocks]; sp.n > 0 {
			first := i % blocks * each
			w.scanInputs(s, sp, selected, steps, first, min(first+each, inner))
		}
	}
}

// scannedStates is the number of states that are computed together: they stay in the first-level cache.
const scannedStates = 2048

// stepInputs returns what the steps of all tokens are made of (tokens, StepRank), or its norms.
func (w *worker) stepInputs(s *states, selected []float32) []float32 {
	n := s.StepRank
	x := w.gatherColumns(selected, s.selected(), 0, n)
	for i := 0; s.StepEps > 0 && i < w.tokens; i++ {
		w.m.kernels.RMSNorm(x[i*n:(i+1)*n], x[i*n:(i+1)*n], s.stepNorm[:n], s.StepEps)
	}
	return x
}

// normaliseStates replaces b and c of the worker's share of tokens by their norms, if there are any.
func (w *worker) normaliseStates(s *states, selected []float32) {
	if s.StepEps == 0 {
		return
	}
	from, to := w.share(w.tokens)
	for i := from; i < to; i++ {
		row := selected[i*s.selected() : (i+1)*s.selected()]
		for at := s.StepRank; at < len(row); at += s.Size {
			w.m.kernels.RMSNorm(row[at:at+s.Size], row[at:at+s.Size], s.stepNorm[at:at+s.Size], s.StepEps)
		}
	}
}

// scanInputs computes the states of the inputs from, ..., to-1 after each token of a sequence, and their
// results. It overwrites the gates.
func (w *worker) scanInputs(s *states, sp span, selected, steps []float32, from, to int) {
	k, n, inner, size := w.m.kernels, to-from, s.inner(), s.Size
	h, decays := sp.cache.state(s.slot)[s.kept()+from*size:][:n*size], s.decay[from*size:to*size]
	if sp.start == 0 {
		clear(h)
	}
	fit(&w.stepped, n*(1+size))
	stepped, remains := w.stepped[:n], w.stepped[n:]
	for row := sp.row; row < sp.row+sp.n; row++ {
		x, z := w.qkv[row*s.products()+from:][:n], w.qkv[row*s.products()+inner+from:][:n]
		b := selected[row*s.selected()+s.StepRank:][:size]
		c := selected[(row+1)*s.selected()-size:][:size]
		copy(remains, decays)
		for i, d := range steps[row*inner+from:][:n] {
			step := float32(softplus(float64(d)))
			stepped[i] = step * x[i]
			k.Scale(remains[i*size:(i+1)*size], step)
		}
		k.ExpShift(remains, 0)
		k.Mul(h, remains)
		y := w.heads[row*inner+from:][:n]
		k.Scan(h, b, c, stepped, y, 1)
		k.MulAdd(y, s.skip[from:to], x)
		k.SiLU(z)
		k.Mul(y, z)
	}
}

// checkSteps refuses what states with StepRank do not have.
func (s *StateSpace) checkSteps() error {
	switch {
	case s.StepRank < 0:
		return fmt.Errorf("states.step_rank: %d is negative", s.StepRank)
	case !(s.StepEps >= 0 && s.StepEps <= 1):
		return fmt.Errorf("states.step_eps: %v is not in 0..1", s.StepEps)
	case s.StepRank == 0 && s.StepEps > 0:
		return fmt.Errorf("states.step_eps: there is no step_rank")
	case s.StepRank > 0 && (s.Heads != 1 || s.Groups != 1 || s.Gating != GateAlone || s.GateScale != 0 || s.StepScale != 0):
		return fmt.Errorf("states.step_rank: there are several heads, norms behind them, or factors of gates or steps")
	}
	return nil
}
