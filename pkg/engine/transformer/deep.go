package transformer

import (
	"fmt"
	"slices"
)

// checkDeep refuses results of layers that cannot be kept or added to.
func (s *Spec) checkDeep() error {
	switch {
	case s.Deep < 0 || s.Deep > len(s.Decoder) || s.Deep > 0 && (len(s.Encoder) > 0 || s.Streams > 0 || s.LayerInputs > 0):
		return fmt.Errorf("deep: %d of %d layers, or there is an encoder, or streams, or inputs of layers", s.Deep, len(s.Decoder))
	case len(s.Kept) > 0 && s.Patch == 0:
		return fmt.Errorf("kept: there are no patches")
	}
	for i, layer := range s.Kept {
		if layer < 1 || layer > len(s.Encoder) || i > 0 && layer <= s.Kept[i-1] {
			return fmt.Errorf("kept: layer %d of %d, or they are not ascending", layer, len(s.Encoder))
		}
	}
	return nil
}

// Kept returns the residual stream (tokens, Width) after layer Kept[i] of the last pass of an encoder,
// as [Pass.Last] does after the last.
func (p *Pass) Kept(i int) []float32 { return p.results[i] }

// growKept makes room for what layers of an encoder of patches keep.
func (p *Pass) growKept() {
	if p.results == nil && len(p.m.Kept) > 0 {
		p.results = make([][]float32, len(p.m.Kept))
	}
	for i := range p.results {
		fit(&p.results[i], p.tokens*p.m.Width)
	}
}

// keep copies the worker's share of x after a layer of the encoder, counted from 1. No worker changes x
// before the next barrier.
func (w *worker) keep(layer int) {
	i := slices.Index(w.m.Kept, layer)
	if i < 0 {
		return
	}
	from, to := w.share(w.tokens)
	copy(w.results[i][from*w.m.Width:to*w.m.Width], w.x[from*w.m.Width:to*w.m.Width])
}

// vectors returns the number of vectors of a token that has some.
func (s *Spec) vectors() int { return 1 + s.Deep }

// deepen adds the vectors of a layer of the decoder, counted from 0, to the worker's share of x.
func (w *worker) deepen(layer int) {
	if layer >= w.m.Deep || !slices.ContainsFunc(w.seqs, func(s Sequence) bool { return s.Vectors != nil }) {
		return
	}
	width, c := w.m.Width, w.own(w.m.Width)
	for i, s := range w.seqs {
		vectors := s.Vectors
		for j, t := range s.Tokens {
			if t < 0 {
				x := w.x[(w.spans[i].row+j)*width : (w.spans[i].row+j+1)*width]
				w.m.kernels.Add(x[c.from:c.to], vectors[(1+layer)*width+c.from:(1+layer)*width+c.to])
				vectors = vectors[w.m.vectors()*width:]
			}
		}
	}
	w.barrier.wait()
}
