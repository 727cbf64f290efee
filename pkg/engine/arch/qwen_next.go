package arch

import (
	"glossa/pkg/engine/transformer"
)

// qwen35 is the model of text of Qwen Team 2026 (Qwen3.5): delta rules, and in every fourth layer an
// attention with gates that rotates a quarter of each head. Layers that draft tokens are not read.
var qwen35 = qwenNextLike("Qwen3.5", 4, nil, func(*family) {}).placed(qwen35Sections)

// qwen35Sections are the pairs that turn by time, rows and columns if a file does not say it.
var qwen35Sections = [3]int{11, 11, 10}

// qwen35MoE is Qwen3.5 with experts in all layers.
var qwen35MoE = qwenNextLike("Qwen3.5-MoE", 2, func(c *config, s *transformer.Spec) {
	e := readExperts(c, field{"num_experts", 256}, 8, true)
	e.Shared, e.SharedGate = c.integer("shared_expert_intermediate_size", 512, 1, maxFFN), true
	s.Kinds[0].FeedForward.Experts = e
}, func(f *family) {
	f.width, f.decoder.depth, f.decoder.ffn = field{"hidden_size", 2048}, field{"num_hidden_layers", 40}, field{"moe_intermediate_size", 512}
}).placed(qwen35Sections)

// qwen3Next is Qwen Team 2025 (Qwen3-Next), the first of these.
var qwen3Next = qwenNextLike("Qwen3-Next", 2, func(c *config, s *transformer.Spec) {
	renormalised := c.flag("norm_topk_prob", true)
	setExperts(c, s, field{"num_experts", 512}, 10, field{"moe_intermediate_size", 512}, func(e *transformer.Experts) {
		e.Shared, e.SharedGate, e.Renormalised = c.integer("shared_expert_intermediate_size", 512, 1, maxFFN), true, renormalised
	})
}, func(f *family) {
	f.vocab, f.width = field{"vocab_size", 151936}, field{"hidden_size", 2048}
	f.decoder.depth, f.decoder.ffn = field{"num_hidden_layers", 48}, field{"intermediate_size", 5632}
})

// qwen35Pictures and qwen35MoEPictures are these models as they are published, with the encoder of pictures
// of Qwen3-VL, of which the decoder reads the results alone.
var (
	qwen35Pictures    = withPictures("Qwen3.5", "qwen3_5_text")
	qwen35MoEPictures = withPictures("Qwen3.5-MoE", "qwen3_5_moe_text")
)

func withPictures(title, inner string) viewer {
	v := qwen3VL
	v.title, v.inner, v.skipped, v.optional = title, inner, []string{"mtp."}, true
	return v
}

// qwenNextLike returns a family with Qwen3.5's configuration and tensor names, changed by change. keyHeads
// is the default of num_key_value_heads; experts, unless it is nil, reads the experts of layers.
func qwenNextLike(title string, keyHeads int, experts func(c *config, s *transformer.Spec), change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		qwenDefaults(f)
		f.vocab = field{"vocab_size", 248320}
		f.decoder.heads, f.decoder.ffn = field{"num_attention_heads", 16}, field{"intermediate_size", 12288}
		f.kind.Attention.QKNorm, f.kind.Attention.Gated = transformer.QKNormHead, true
		f.fixed = []requiredValue{{"hidden_act", `"silu"`}}
		f.skipped = []string{"mtp."}
		f.tensors.lessOne = true
		l := &f.tensors.decoder
		l.qNorm, l.kNorm, l.deltas = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm", qwenDeltas
		if experts != nil {
			qwenExperts(f)
		}
		f.adjust = func(c *config, s *transformer.Spec, l *layout) {
			a := &s.Kinds[0].Attention
			a.HeadDim = 256 // if the file does not say it
			r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor", 0.25}})
			a.KVHeads = c.integer("num_key_value_heads", keyHeads, 1, maxHeads)
			setRotary(s, r)
			attentionBiases(c, l)
			if experts != nil && *c.err == nil {
				experts(c, s)
			}
			if recurrent, d := c.recurrent(len(s.Decoder)), readDeltas(c); *c.err == nil {
				setDeltas(s, recurrent, d)
			}
		}
		change(f)
	})
}

// ggufQwen35: the converter has added 1 to norms, and reordered the heads of delta rules, which have their
// keys in turn then.
var ggufQwen35 = ggufNextLike(false, true)

var ggufQwen35MoE = ggufNextLike(true, true)

// ggufQwen3Next has heads in the order of the original.
var ggufQwen3Next = ggufNextLike(true, false)

// ggufNextLike returns a family with Qwen3.5's tensors in GGUF, see [transformer.DeltaNet] for turns.
func ggufNextLike(experts, turns bool) family {
	return ggufLike(func(f *family) {
		ggufQKNorm(f, transformer.QKNormHead)
		f.kind.Attention.Gated = true
		l := &f.tensors.decoder
		l.ffnNorm, l.qkv.bias = "blk.%d.post_attention_norm", never
		l.deltas = deltaNames{
			gate: "blk.%d.attn_gate", channels: "blk.%d.attn_qkv", rates: "blk.%d.ssm_beta", steps: "blk.%d.ssm_alpha",
			both: "blk.%d.ssm_in", ratesSteps: "blk.%d.ssm_ba", convolution: "blk.%d.ssm_conv1d", norm: "blk.%d.ssm_norm",
			out: "blk.%d.ssm_out", decay: "blk.%d.ssm_a", step: "blk.%d.ssm_dt.bias",
		}
		if experts {
			f.decoder.ffn = field{"expert_feed_forward_length", 0}
			l.experts = ggufExperts()
		}
		f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
			recurrent := c.ggufRecurrent(len(s.Decoder))
			s.Decoder = s.Decoder[:len(s.Decoder)-c.integer("nextn_predict_layers", 0, 0, len(s.Decoder)-1)]
			if experts {
				e := ggufSetExperts(c, s, true)
				e.Shared, e.SharedGate = c.integer("expert_shared_feed_forward_length", s.Kinds[0].FeedForward.Width, 1, maxFFN), true
			}
			setRotary(s, ggufHeads(c, s))
			if d := ggufReadDeltas(c, turns); *c.err == nil {
				setDeltas(s, recurrent[:len(s.Decoder)], d)
			}
		}
		f.detect = func(src *source, s *transformer.Spec, _ *layout) { ignoreDrafts(src, "blk.", ggufDraft, s) }
	})
}

// ggufRecurrent reports for each layer whether it has a delta rule.
func (c *config) ggufRecurrent(depth int) []bool {
	const key = "attention.recurrent_layers"
	_, list, ok := read[[]bool](c, key, "list of booleans")
	if !ok {
		return lastAttends(depth, c.integer("full_attention_interval", 4, 1, maxDepth))
	}
	if len(list) < depth {
		c.reject(key, "%d values of %d layers", len(list), depth)
		return make([]bool, depth)
	}
	return list
}

// ggufReadDeltas reads the dimensions of a delta rule, which files spell as those of states.
func ggufReadDeltas(c *config, turns bool) *transformer.DeltaNet {
	states := ggufReadStates(c)
	d := &transformer.DeltaNet{
		Heads: states.Heads, HeadDim: states.HeadDim, KeyHeads: states.Groups, KeyDim: states.Size, Taps: states.Taps,
		Turns: turns && states.Heads > states.Groups,
	}
	if *c.err == nil && d.Heads%d.KeyHeads != 0 {
		c.reject("ssm.group_count", "%d do not divide ssm.time_step_rank, %d", d.KeyHeads, d.Heads)
	}
	return d
}
