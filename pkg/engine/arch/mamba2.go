package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// mamba2 is Dao and Gu 2024 (Mamba 2): Mamba with heads, whose inputs share a step.
var mamba2 = mambaLike("Mamba 2", func(f *family) {
	f.vocab, f.decoder.depth = field{"vocab_size", 32768}, field{"num_hidden_layers", 64}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		onlyStates(s, readStates(c, l, &mamba2Fields, c.integer("expand", 2, 1, maxHeads)*s.Width))
	}
})

var mamba2Fields = stateFields{
	heads: field{"num_heads", 128}, size: field{"state_size", 128}, groups: field{"n_groups", 8}, taps: field{"conv_kernel", 4},
	dim: "head_dim", bias: "use_bias", filterBias: "use_conv_bias",
}

// onlyStates leaves nothing but states in the layers.
func onlyStates(s *transformer.Spec, states *transformer.StateSpace) {
	s.Kinds[0].FeedForward = transformer.FeedForward{}
	setStates(s, slices.Repeat([]bool{true}, len(s.Decoder)), states)
}

// ggufMamba2: the numbers of heads and of the feed-forward block are 0.
var ggufMamba2 = ggufLike(func(f *family) {
	f.decoder.heads, f.decoder.ffn = field{"", 1}, field{}
	f.tensors.decoder = layers{attentionNorm: "blk.%d.attn_norm", states: ggufStates}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { onlyStates(s, ggufReadStates(c)) }
})
