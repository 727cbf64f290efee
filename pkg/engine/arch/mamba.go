package arch

import "glossa/pkg/engine/transformer"

// mamba is Gu and Dao 2023 (Mamba): layers of states whose inputs have steps of their own.
var mamba = mamba1Like(func(*config, *transformer.StateSpace) {})

// falconMamba is Zuo et al. 2024 (Falcon Mamba): Mamba with norms, without weights, of what steps are made
// of and of b and c.
var falconMamba = mamba1Like(func(c *config, states *transformer.StateSpace) {
	states.StepEps = float32(c.number("mixer_rms_eps", 1e-6, 1e-12, 1))
})

func mamba1Like(change func(c *config, states *transformer.StateSpace)) family {
	return mambaLike("Mamba", func(f *family) {
		f.vocab, f.width, f.decoder.depth = field{"vocab_size", 50280}, field{"hidden_size", 768}, field{"num_hidden_layers", 32}
		f.eos, f.tied = field{"eos_token_id", 0}, true
		n := &f.tensors.decoder.states
		n.step, n.norm = "", ""
		n.selection, n.steps = "layers.%d.mixer.x_proj", "layers.%d.mixer.dt_proj"
		f.adjust = func(c *config, s *transformer.Spec, l *layout) {
			states := readSteps(c, l, &mambaFields, s.Width)
			change(c, states)
			onlyStates(s, states)
		}
	})
}

// mambaLike returns a family with Mamba's configuration and tensor names, changed by change: without
// attention and feed-forward blocks. Nothing bounds a sequence but a number, which GGUF files have too.
func mambaLike(title string, change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		f.context, f.eps = field{"", 1 << 20}, real{"layer_norm_epsilon", 1e-5}
		f.decoder.heads, f.decoder.ffn = field{"", 1}, field{}
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
		change(f)
	})
}

var mambaFields = stateFields{
	size: field{"state_size", 16}, taps: field{"conv_kernel", 4}, inner: "intermediate_size", expand: "expand", rank: "time_step_rank",
	bias: "use_bias", filterBias: "use_conv_bias",
}

// ggufMamba: the numbers of heads and of the feed-forward block are 0. Files of Falcon Mamba, of the same
// architecture, have one eps for all norms.
var ggufMamba = ggufLike(func(f *family) {
	f.decoder.heads, f.decoder.ffn = field{"", 1}, field{}
	f.tensors.decoder = layers{attentionNorm: "blk.%d.attn_norm", states: ggufSteps}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		states := ggufReadSteps(c)
		if c.flag("ssm.dt_b_c_rms", false) {
			states.StepEps = s.Eps
		}
		onlyStates(s, states)
	}
})
