package arch

import "glossa/pkg/engine/transformer"

// ernieMoE is ERNIE 4.5 with experts in a range of layers, which corrections of a softmax choose.
// Layers that draft tokens are not read.
var ernieMoE = llamaLike("ERNIE 4.5-MoE", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 103424}, field{"max_position_embeddings", 131072}, field{"hidden_size", 2560}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 28}, heads: field{"num_attention_heads", 20}, ffn: field{"intermediate_size", 12288}}
	f.eps, f.tied = real{"rms_norm_eps", 1e-5}, true
	f.skipped = []string{"model.mtp_", "mtp_"}
	qwenExperts(f)
	f.tensors.decoder.experts.correction = "layers.%d.mlp.moe_statics.e_score_correction_bias"
	f.tensors.decoder.experts.shared = sharedExperts()
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		a, depth := &s.Kinds[0].Attention, len(s.Decoder)
		r := interleaved(llamaHeads(c, s, rope{base: real{"rope_theta", 500000}}))
		a.KVHeads = c.integer("num_key_value_heads", a.Heads, 1, maxHeads)
		setRotary(s, r)
		if c.flag("use_bias", false) {
			allBiases(&l.decoder, always)
			l.decoder.gate.bias, l.head.bias = always, always
			shared := &l.decoder.experts.shared
			shared.up.bias, shared.gate.bias, shared.down.bias = always, always, always
		}
		e := &transformer.Experts{Count: c.integer("moe_num_experts num_experts", 64, 1, maxExperts), Renormalised: true, Corrected: true}
		e.Used = c.integer("moe_k num_experts_per_tok", min(6, e.Count), 1, e.Count)
		e.Floor = float32(c.number("moe_norm_min", 1e-12, 1e-20, 1e-6))
		width := c.integer("moe_intermediate_size", 1536, 1, maxFFN)
		e.Shared = width * c.integer("moe_num_shared_experts", 2, 0, maxFFN/width)
		step := c.integer("moe_layer_interval", 1, 1, maxDepth)
		first, last := c.integer("moe_layer_start_index", 1, 0, maxDepth), c.integer("moe_layer_end_index", -1, -1, maxDepth)
		if last < 0 {
			last = depth - 1
		}
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if layer >= first && layer <= last && (layer+1)%step == 0 {
				k.FeedForward.Width, k.FeedForward.Experts = width, e
			}
		})
	}
})

// ggufERNIEMoE: the pairs of the rotary embedding are neighbours in the original too.
var ggufERNIEMoE = ggufLike(func(f *family) {
	f.tensors.decoder.experts = ggufExperts()
	f.tensors.decoder.experts.correction = "blk.%d.exp_probs_b.bias"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		c.require([]requiredValue{{"interleave_moe_layer_step", "1"}})
		setRotary(s, interleaved(ggufHeads(c, s)))
		e := ggufReadExperts(c, true, ggufSoftmax)
		e.Corrected, e.Floor = true, 1e-12
		e.Shared = c.integer("expert_shared_feed_forward_length", 0, 0, maxFFN)
		expertsFrom(s, c.integer("leading_dense_block_count", 0, 0, maxDepth), c.integer("expert_feed_forward_length", s.Kinds[0].FeedForward.Width, 1, maxFFN), e)
	}
	f.detect = findCorrections
})
