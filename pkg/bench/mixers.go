package bench

import (
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// mixed reports whether some layers mix tokens otherwise than by attention.
func (s *shape) mixed() bool { return s.taps > 0 || s.states > 0 || s.deltas > 0 }

func (s *shape) isMixed(layer int) bool { return s.mixed() && !slices.Contains(s.attention, layer) }

// Dimensions of states and of delta rules.
const (
	stateHeadDim = 64
	stateSize    = 128
	stateTaps    = 4
	deltaDim     = 128 // of values and keys
)

// addMixer replaces the attention of the layers that are not listed by a convolution, states or a delta
// rule.
func (s *shape) addMixer(spec *transformer.Spec) {
	k := transformer.Kind{FeedForward: spec.Kinds[0].FeedForward}
	switch {
	case s.states > 0:
		k.States = &transformer.StateSpace{Heads: s.states, HeadDim: stateHeadDim, Size: stateSize, Groups: 1, Taps: stateTaps}
	case s.deltas > 0:
		k.Deltas = &transformer.DeltaNet{Heads: s.deltas, HeadDim: deltaDim, KeyHeads: s.deltas, KeyDim: deltaDim, Taps: stateTaps}
	default:
		k.Convolution = &transformer.Convolution{Taps: s.taps}
	}
	spec.Kinds = append(spec.Kinds, k)
	for i := range spec.Decoder {
		if s.isMixed(i) {
			spec.Decoder[i] = 1
		}
	}
}

// addMixerKeys adds the keys of GGUF: layers without heads of keys have no attention. With delta rules,
// the last layer of an interval has it.
func (s *shape) addMixerKeys(m checkpoint.Meta) {
	if s.deltas > 0 {
		m[s.kind+".full_attention_interval"] = uint32(s.attention[0] + 1)
		s.addStateKeys(m, deltaDim, s.deltas, s.deltas*deltaDim, s.deltas)
		return
	}
	heads := make([]int32, s.depth)
	for i := range heads {
		if !s.isMixed(i) {
			heads[i] = int32(s.keys)
		}
	}
	m[s.kind+".attention.head_count_kv"] = heads
	if s.taps > 0 {
		m[s.kind+".shortconv.l_cache"] = uint32(s.taps)
		return
	}
	s.addStateKeys(m, stateSize, 1, s.states*stateHeadDim, s.states)
	m[s.kind+".rope.scaling.finetuned"], m[s.kind+".logit_scale"] = false, float32(1)
}

func (s *shape) addStateKeys(m checkpoint.Meta, size, groups, inner, heads int) {
	for name, n := range map[string]int{
		"conv_kernel": stateTaps, "state_size": size, "group_count": groups, "inner_size": inner, "time_step_rank": heads,
	} {
		m[s.kind+".ssm."+name] = uint32(n)
	}
}

// convolution adds the weights of a convolution. Files have those of a channel one after another.
func (s *shape) convolution(l *transformer.Layer, at string) {
	l.ConvolutionIn = s.linear(at+"shortconv.in_proj", 3*s.width, s.width)
	l.ConvolutionOut = s.linear(at+"shortconv.out_proj", s.width, s.width)
	l.Convolution = columnsOf(random(at+"shortconv.conv.weight", s.width, s.taps, 0, 1))
}

// addStates adds the weights of states.
func (s *shape) addStates(l *transformer.Layer, at string) {
	inner := s.states * stateHeadDim
	channels := inner + 2*stateSize
	l.StatesIn, l.StatesOut = s.linear(at+"ssm_in", inner+channels+s.states, s.width), s.linear(at+"ssm_out", s.width, inner)
	l.Convolution, l.ConvolutionBias = columnsOf(random(at+"ssm_conv1d.weight", channels, stateTaps, 0, 1)), offsets(at+"ssm_conv1d", channels)
	vector := func(name string, n int, center, spread float32) transformer.Vector {
		return transformer.Vector{random(at+name, n, 1, center, spread)}
	}
	l.Step, l.Decay, l.Skip = vector("ssm_dt.bias", s.states, -2, 2), vector("ssm_a", s.states, -1, 0.9), vector("ssm_d", s.states, 1, 0.1)
	l.InnerNorm = vector("ssm_norm.weight", inner, 1, 0.1)
}

// addDeltas adds the weights of a delta rule.
func (s *shape) addDeltas(l *transformer.Layer, at string) {
	inner := s.deltas * deltaDim
	channels := 3 * inner
	l.DeltasIn.Weight = []transformer.Tensor{
		matrix(at+"attn_gate", inner, s.width), matrix(at+"attn_qkv", channels, s.width),
		matrix(at+"ssm_beta", s.deltas, s.width), matrix(at+"ssm_alpha", s.deltas, s.width),
	}
	l.DeltasOut = s.linear(at+"ssm_out", s.width, inner)
	l.Convolution = columnsOf(random(at+"ssm_conv1d.weight", channels, stateTaps, 0, 1))
	l.Step, l.Decay = transformer.Vector{random(at+"ssm_dt.bias", s.deltas, 1, -2, 2)}, transformer.Vector{random(at+"ssm_a", s.deltas, 1, -1, 0.9)}
	l.InnerNorm = transformer.Vector{random(at+"ssm_norm.weight", deltaDim, 1, 1, 0.1)}
}

// gated returns the queries of heads and their gates, which follow them head by head in a tensor.
func (s *shape) gated(name string) (queries, gates []transformer.Tensor) {
	both := matrix(name, 2*s.heads*s.dim(), s.width)
	for head := range s.heads {
		queries, gates = append(queries, partOf(both, 2*head, s.dim())), append(gates, partOf(both, 2*head+1, s.dim()))
	}
	return queries, gates
}

// whole returns the matrices of which random ones are parts, whose names make their values.
func whole(list []transformer.Tensor) (all []transformer.Tensor) {
	for _, t := range list {
		i := slices.IndexFunc(all, func(x transformer.Tensor) bool { return x.Name == t.Name })
		if i < 0 {
			all = append(all, t)
			continue
		}
		all[i] = matrix(strings.TrimSuffix(t.Name, ".weight"), all[i].Rows+t.Rows, t.Cols)
	}
	return all
}

// columnsOf returns the columns of a matrix.
func columnsOf(all transformer.Tensor) (v transformer.Vector) {
	for column := range all.Cols {
		t := all
		t.Cols = 1
		t.Read = func(dst []float32, from int) error {
			for i := range dst {
				if err := all.Read(dst[i:i+1], (from+i)*all.Cols+column); err != nil {
					return err
				}
			}
			return nil
		}
		v = append(v, t)
	}
	return v
}

// convolutions returns the tensors of a layer's convolution, states and delta rule as files have them.
func convolutions(l *transformer.Layer) []checkpoint.GGUFTensor {
	taps := l.Convolution
	if len(taps) == 0 {
		return nil
	}
	list := []checkpoint.GGUFTensor{{
		Name: taps[0].Name, Type: dtype.F32, Shape: []int{taps[0].Rows, len(taps)},
		Read: func(dst []float32, from int) error {
			for i := range dst {
				if err := taps[(from+i)%len(taps)].Read(dst[i:i+1], (from+i)/len(taps)); err != nil {
					return err
				}
			}
			return nil
		},
	}}
	for _, v := range []transformer.Vector{l.ConvolutionBias, l.Step, l.Decay, l.Skip, l.InnerNorm} {
		for _, t := range v {
			shape := []int{t.Rows}
			switch {
			case strings.HasSuffix(t.Name, "ssm_a"), strings.HasSuffix(t.Name, "ssm_d"):
				shape = []int{t.Rows, 1}
			case strings.HasSuffix(t.Name, "ssm_norm.weight") && l.Skip != nil:
				shape = []int{1, t.Rows} // one group
			}
			list = append(list, checkpoint.GGUFTensor{Name: t.Name, Type: dtype.F32, Shape: shape, Read: t.Read})
		}
	}
	return list
}
