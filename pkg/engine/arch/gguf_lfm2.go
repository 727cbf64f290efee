package arch

import (
	"fmt"
	"slices"

	"glossa/pkg/engine/transformer"
)

// ggufLFM2: layers without heads of keys are convolutions.
var ggufLFM2 = ggufLFM2Like(nil)

var ggufLFM2MoE = ggufLFM2Like(func(c *config, s *transformer.Spec) {
	f := s.Kinds[s.Decoder[0]].FeedForward
	e := ggufReadExperts(c, true, ggufSigmoid)
	e.Sigmoid, e.Corrected = true, true
	expertsFrom(s, c.integer("leading_dense_block_count", 0, 0, maxDepth), c.integer("expert_feed_forward_length", f.Width, 1, maxFFN), e)
})

func ggufLFM2Like(experts func(c *config, s *transformer.Spec)) family {
	return ggufLike(func(f *family) {
		ggufQKNorm(f, transformer.QKNormHead)
		f.tensors.norm = "token_embd_norm"
		l := &f.tensors.decoder
		l.convolution = "blk.%d.shortconv."
		if experts != nil {
			l.experts = ggufExperts()
			l.experts.correction = "blk.%d.exp_probs_b.bias"
		}
		f.adjust = func(c *config, s *transformer.Spec, l *layout) {
			convolved := c.headless(len(s.Decoder))
			setRotary(s, ggufHeads(c, s))
			c.needs("shortconv.l_cache")
			setConvolutions(s, convolved, c.integer("shortconv.l_cache", 1, 1, maxTaps))
			if experts != nil {
				experts(c, s)
			}
		}
		f.detect = func(src *source, _ *transformer.Spec, l *layout) {
			if src.has("output_norm.weight") {
				l.norm = "output_norm"
			}
		}
	})
}

// headless reports which layers have no heads of keys, and leaves the number of the others in
// place of the list.
func (c *config) headless(depth int) []bool {
	const name = "attention.head_count_kv"
	none := make([]bool, depth)
	_, raw := c.find(name)
	if raw == nil || raw[0] != '[' {
		return none
	}
	_, list, _ := read[[]int](c, name, "list of integers")
	if len(list) < depth {
		c.reject(name, "%d values of %d layers", len(list), depth)
		return none
	}
	heads := slices.Max(list)
	for i := range none {
		if none[i] = list[i] == 0; !none[i] && list[i] != heads {
			c.reject(name, "layer %d has %d heads, others have %d", i, list[i], heads)
		}
	}
	delete(c.fields, name)
	if heads > 0 {
		c.fields[name] = fmt.Append(nil, heads)
	}
	return none
}
