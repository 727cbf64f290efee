package bench

import (
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// addExperts adds the experts of a layer, each a part of tensors of all.
func (s *shape) addExperts(l *transformer.Layer, at string) {
	l.Router = s.linear(at+"ffn_gate_inp", s.experts, s.width)
	if s.sinks {
		l.Router.Bias = offsets(at+"ffn_gate_inp", s.experts)
	}
	part := func(name string, i, rows, cols int) (x transformer.Linear) {
		x.Weight = []transformer.Tensor{partOf(matrix(at+name, s.experts*rows, cols), i, rows)}
		if s.sinks {
			x.Bias = transformer.Vector{partOf(offsets(at+name, s.experts*rows)[0], i, rows)}
		}
		return x
	}
	for i := range s.experts {
		l.Experts = append(l.Experts, transformer.Expert{
			Up: part("ffn_up_exps", i, s.ffn, s.width), Gate: part("ffn_gate_exps", i, s.ffn, s.width), Down: part("ffn_down_exps", i, s.width, s.ffn),
		})
	}
}

// partOf returns the i-th part of a tensor, of so many rows.
func partOf(all transformer.Tensor, i, rows int) transformer.Tensor {
	t := all
	t.Rows = rows
	t.Read = func(dst []float32, from int) error { return all.Read(dst, i*rows*all.Cols+from) }
	return t
}

// experts returns the tensors of the experts of a layer, which have those of all in one.
func experts(list []transformer.Expert, as dtype.Type) (tensors []checkpoint.GGUFTensor) {
	if len(list) == 0 {
		return nil
	}
	for _, of := range []func(*transformer.Expert) *transformer.Linear{
		func(e *transformer.Expert) *transformer.Linear { return &e.Up }, func(e *transformer.Expert) *transformer.Linear { return &e.Gate },
		func(e *transformer.Expert) *transformer.Linear { return &e.Down },
	} {
		var weights, biases []transformer.Tensor
		for i := range list {
			x := of(&list[i])
			weights, biases = append(weights, x.Weight...), append(biases, x.Bias...)
		}
		tensors = append(tensors, stacked(weights, as))
		if len(biases) > 0 {
			tensors = append(tensors, stacked(biases, dtype.F32))
		}
	}
	return tensors
}

// stacked returns tensors of one name and size as one.
func stacked(list []transformer.Tensor, as dtype.Type) checkpoint.GGUFTensor {
	first := &list[0]
	size, shape := first.Rows*first.Cols, []int{len(list), first.Rows, first.Cols}
	if first.Cols == 1 {
		shape = shape[:2]
	}
	return checkpoint.GGUFTensor{Name: first.Name, Type: as, Shape: shape, Read: func(dst []float32, from int) error {
		for len(dst) > 0 {
			i, at := from/size, from%size
			n := min(len(dst), size-at)
			if err := list[i].Read(dst[:n], at); err != nil {
				return err
			}
			dst, from = dst[n:], from+n
		}
		return nil
	}}
}
