package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// convolved reports for each layer whether it is a convolution: by layer_types, or, if that is
// absent, as one of which full_attn_idxs does not say that it has attention.
func (c *config) convolved(depth int) []bool {
	_, list, said := read[[]int](c, "full_attn_idxs", "list of integers")
	return c.replaced("layer_types", depth, []string{"conv"}, []string{fullAttention}, func(depth int) []bool {
		convolved := make([]bool, depth)
		for i := range convolved {
			convolved[i] = said && !slices.Contains(list, i)
		}
		return convolved
	})
}

// setConvolutions replaces the attention of some layers by a convolution of a number of taps.
func setConvolutions(s *transformer.Spec, convolved []bool, taps int) {
	replaceAttention(s, convolved, func(k *transformer.Kind) { k.Convolution = &transformer.Convolution{Taps: taps} })
}

// convolution looks up the convolution of a layer.
func (b *builder) convolution(o *transformer.Layer, l *layers, i int, c *transformer.Convolution) {
	width, stem, offsets := b.spec.Width, at(l.convolution, i), l.convolutionBias
	if o.AttentionNorm = b.norm(l.attentionNorm, i); c.Norms.After() {
		o.AttentionPostNorm = b.norm(l.attentionPostNorm, i)
	}
	o.ConvolutionIn = b.linear(&linear{names: stem + "in_proj", bias: offsets}, i, 3*width, width)
	o.ConvolutionOut = b.linear(&linear{names: stem + "out_proj", bias: offsets}, i, width, width)
	if offsets == always {
		o.ConvolutionBias = transformer.Vector{b.vector(stem+"conv.bias", width).rows(0, width)}
	}
	o.Convolution = b.taps(stem+"conv.weight", width, c.Taps)
}

// taps returns the weights of a convolution, (taps, channels). Files have those of a channel one
// after another.
func (b *builder) taps(name string, channels, taps int) (v transformer.Vector) {
	shape := []int{channels, 1, taps}
	if b.dimensions(name) == 2 {
		shape = []int{channels, taps} // GGUF
	}
	all := b.take(name, shape, span{cols: taps})
	for tap := range taps {
		t := all.rows(0, channels)
		t.Cols, t.Stored, t.ReadStored, t.Read = 1, transformer.F32, nil, every(t.Read, tap, taps)
		v = append(v, t)
	}
	return v
}

// dimensions returns the number of dimensions of a tensor, 0 if there is none.
func (s *source) dimensions(name string) int {
	t, _ := s.file.Tensor(s.names[name])
	if t == nil {
		return 0
	}
	return len(t.Shape)
}
