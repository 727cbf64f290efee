package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// convolved reports for each layer whether it is a convolution: by layer_types, or, if that is
// absent, as one of which full_attn_idxs does not say that it has attention.
func (c *config) convolved(depth int) []bool {
	convolved := make([]bool, depth)
	if _, list, ok := read[[]int](c, "full_attn_idxs", "list of integers"); ok {
		for i := range convolved {
			convolved[i] = !slices.Contains(list, i)
		}
	}
	name, types, ok := read[[]string](c, "layer_types", "list of strings")
	if !ok {
		return convolved
	}
	if len(types) < depth {
		c.reject(name, "%d types of %d layers", len(types), depth)
		return convolved
	}
	for i := range convolved {
		if convolved[i] = types[i] == "conv"; !convolved[i] && types[i] != fullAttention {
			c.reject(name, "layer %d is of type %.40q; only conv and %s are supported", i, types[i], fullAttention)
		}
	}
	return convolved
}

// setConvolutions replaces the attention of some layers by a convolution of a number of taps. If no
// layer has attention, no table of rotary embeddings is left.
func setConvolutions(s *transformer.Spec, convolved []bool, taps int) {
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if convolved[layer] {
			k.Attention, k.Convolution = transformer.Attention{}, &transformer.Convolution{Taps: taps}
		}
	})
	if !slices.Contains(convolved, false) {
		s.Rotaries = nil
	}
}

// convolution looks up the convolution of a layer.
func (b *builder) convolution(o *transformer.Layer, l *layers, i int, c *transformer.Convolution) {
	width, stem, offsets := b.spec.Width, at(l.convolution, i), l.convolutionBias
	o.AttentionNorm = b.norm(l.attentionNorm, i)
	o.ConvolutionIn = b.linear(&linear{names: stem + "in_proj", bias: offsets}, i, 3*width, width)
	o.ConvolutionOut = b.linear(&linear{names: stem + "out_proj", bias: offsets}, i, width, width)
	if offsets == always {
		o.ConvolutionBias = transformer.Vector{b.vector(stem+"conv.bias", width).rows(0, width)}
	}
	shape := []int{width, 1, c.Taps}
	if t, ok := b.file.Tensor(b.names[stem+"conv.weight"]); ok && len(t.Shape) == 2 {
		shape = []int{width, c.Taps} // GGUF
	}
	all := b.take(stem+"conv.weight", shape, span{cols: c.Taps})
	for tap := range c.Taps { // stored as (Width, Taps)
		t := all.rows(0, width)
		t.Cols, t.Stored, t.ReadStored, t.Read = 1, transformer.F32, nil, every(t.Read, tap, c.Taps, c.Taps)
		o.Convolution = append(o.Convolution, t)
	}
}
