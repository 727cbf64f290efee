package transformer_test

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// steps are states whose inputs have steps of their own (Mamba), one state after the other.
func (m formulas) steps(at string, s *transformer.StateSpace, x rows) (out rows) {
	inner, rank := s.HeadDim, s.StepRank
	taps, decay, skip := m.vector(at+"states_convolution"), m.vector(at+"states_decay"), m.vector(at+"states_skip")
	var all rows
	h := make([]float64, inner*s.Size)
	for p := range x {
		all = append(all, m.linear(at+"states_in", x[p]))
		in := make([]float64, inner)
		for i := range in {
			if bias, ok := m.Values[at+"states_convolution.bias"]; ok {
				in[i] = float64(bias.Data[i])
			}
			for back := range min(s.Taps, p+1) {
				in[i] += taps[(s.Taps-1-back)*inner+i] * all[p-back][i]
			}
			in[i] = silu(in[i])
		}
		selected := m.linear(at+"states_selection", in)
		low, b, c := m.stepNorm(at, s, selected, 0, rank), m.stepNorm(at, s, selected, rank, s.Size), m.stepNorm(at, s, selected, rank+s.Size, s.Size)
		y := m.linear(at+"states_steps", low)
		for i, d := range y {
			d = math.Log1p(math.Exp(d))
			y[i] = skip[i] * in[i]
			for j := range s.Size {
				state := &h[i*s.Size+j]
				*state = math.Exp(d*decay[i*s.Size+j])**state + d*in[i]*b[j]
				y[i] += *state * c[j]
			}
			y[i] *= silu(all[p][inner+i])
		}
		out = append(out, times(m.linear(at+"states_out", y), s.OutScale))
	}
	return out
}

// stepNorm returns the norm of n values, beginning with one, or the values.
func (m formulas) stepNorm(at string, s *transformer.StateSpace, all []float64, from, n int) (out []float64) {
	if s.StepEps == 0 {
		return all[from : from+n]
	}
	squares, weights := 0.0, m.vector(at + "states_step_norm")[from:]
	for _, v := range all[from : from+n] {
		squares += v * v / float64(n)
	}
	for i, v := range all[from : from+n] {
		out = append(out, v*weights[i]/math.Sqrt(squares+float64(s.StepEps)))
	}
	return out
}
