package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// mamba2 is Dao and Gu 2024 (Mamba 2): layers of states without attention and feed-forward blocks.
// Nothing bounds a sequence but this number, which GGUF files have too.
var mamba2 = llamaLike("Mamba 2", func(f *family) {
	f.vocab, f.context, f.eps = field{"vocab_size", 32768}, field{"", 1 << 20}, real{"layer_norm_epsilon", 1e-5}
	f.decoder.depth, f.decoder.heads, f.decoder.ffn = field{"num_hidden_layers", 64}, field{"", 1}, field{}
	f.bos = field{"bos_token_id", 0}
	f.fixed = []requiredValue{{"hidden_act", `"silu"`}}
	f.tensors = layout{
		prefix: "backbone.", embed: "embeddings embedding", copies: "lm_head", norm: "norm_f", head: linear{names: "lm_head"},
		decoder: layers{attentionNorm: "layers.%d.norm", states: stateNames{
			in: "layers.%d.mixer.in_proj", convolution: "layers.%d.mixer.conv1d", norm: "layers.%d.mixer.norm", out: "layers.%d.mixer.out_proj",
			decay: "layers.%d.mixer.A_log", skip: "layers.%d.mixer.D", step: "layers.%d.mixer.dt_bias", logarithms: true,
		}},
	}
	f.buffers = nil
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
