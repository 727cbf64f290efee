package bench

import (
	"slices"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// addConvolutions replaces the attention of the layers that are not listed by a convolution.
func (s *shape) addConvolutions(spec *transformer.Spec) {
	spec.Kinds = append(spec.Kinds, transformer.Kind{
		Convolution: &transformer.Convolution{Taps: s.taps}, FeedForward: spec.Kinds[0].FeedForward,
	})
	for i := range spec.Decoder {
		if s.isConvolution(i) {
			spec.Decoder[i] = 1
		}
	}
}

func (s *shape) isConvolution(layer int) bool {
	return s.taps > 0 && !slices.Contains(s.attention, layer)
}

// convolution adds the weights of a convolution. Files have those of a channel one after another.
func (s *shape) convolution(l *transformer.Layer, at string) {
	l.ConvolutionIn = s.linear(at+"shortconv.in_proj", 3*s.width, s.width)
	l.ConvolutionOut = s.linear(at+"shortconv.out_proj", s.width, s.width)
	all := random(at+"shortconv.conv.weight", s.width, s.taps, 0, 1)
	for tap := range s.taps {
		t := all
		t.Cols = 1
		t.Read = func(dst []float32, from int) error {
			for i := range dst {
				if err := all.Read(dst[i:i+1], (from+i)*s.taps+tap); err != nil {
					return err
				}
			}
			return nil
		}
		l.Convolution = append(l.Convolution, t)
	}
}

// convolutions returns the tensor of a layer's convolution as files have it; nil if there is none.
func convolutions(taps transformer.Vector) []checkpoint.GGUFTensor {
	if len(taps) == 0 {
		return nil
	}
	return []checkpoint.GGUFTensor{{
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
}
