package arch

import (
	"strings"

	"glossa/pkg/engine/transformer"
)

// nemotronH is NVIDIA 2025 (Nemotron-H, Nemotron Nano 2, Nemotron 3): each layer has one norm, and states,
// attention without positions, a feed-forward block or experts. Blocks and experts have no gates. Steps have
// no bounds, as in vLLM and llama.cpp; transformers 5.23 bounds those of prompts by time_step_min, but not
// those of the tokens that follow.
var nemotronH = llamaLike("Nemotron-H", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 131072}, field{"max_position_embeddings", 4096}
	f.decoder.ffn, f.eps = field{"intermediate_size", 21504}, real{"layer_norm_epsilon", 1e-5}
	ungated(f)
	f.activation = text{"mlp_hidden_act", "relu2"}
	f.fixed = []requiredValue{
		{"mamba_hidden_act", `"silu"`}, {"attention_bias", "false"}, {"sliding_window", "null"}, {"moe_latent_size", "null"}, {"n_shared_experts", "1"},
	}
	f.tensors = layout{
		prefix: "backbone. model.", embed: "embeddings", copies: "lm_head", norm: "norm_f", head: linear{names: "lm_head"}, decoder: nemotronLayers(),
	}
	f.buffers, f.skipped = nil, []string{"mtp."}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		a := &s.Kinds[0].Attention
		a.HeadDim = c.integer("head_dim attention_head_dim", 128, 1, maxWidth)
		eightKeys(c, s)
		if c.flag("mlp_bias", false) {
			shared := &l.decoder.experts.shared
			l.decoder.up.bias, l.decoder.down.bias, shared.up.bias, shared.down.bias = always, always, always, always
		}
		inner := c.integer("mamba_num_heads", 128, 1, maxHeads) * c.integer("mamba_head_dim", 64, 1, maxWidth)
		states, letters := readStates(c, l, &nemotronStates, inner), c.letters()
		var experts transformer.FeedForward
		if strings.Contains(letters, expertsLetter) {
			experts = nemotronExperts(c, s.Kinds[0].FeedForward)
		}
		if *c.err == nil {
			setLetters(s, letters, states, experts)
		}
	}
})

// nemotronLayers names the tensors of layers, which have the same norm, whatever it precedes.
func nemotronLayers() layers {
	return layers{
		attentionNorm: "layers.%d.norm", ffnNorm: "layers.%d.norm", states: mamba2.tensors.decoder.states,
		qkv: linear{names: "layers.%d.mixer.q_proj layers.%d.mixer.k_proj layers.%d.mixer.v_proj"}, out: linear{names: "layers.%d.mixer.o_proj"},
		up: linear{names: "layers.%d.mixer.up_proj"}, down: linear{names: "layers.%d.mixer.down_proj"},
		experts: expertNames{
			router: "layers.%d.mixer.gate", correction: "layers.%d.mixer.gate.e_score_correction_bias",
			up: "layers.%d.mixer.experts.%e.up_proj", down: "layers.%d.mixer.experts.%e.down_proj",
			stacked: stackedNames{"layers.%d.mixer.experts.up_proj", "layers.%d.mixer.experts.down_proj"},
			shared:  block{up: linear{names: "layers.%d.mixer.shared_experts.up_proj"}, down: linear{names: "layers.%d.mixer.shared_experts.down_proj"}},
		},
	}
}

var nemotronStates = stateFields{
	heads: field{"mamba_num_heads", 128}, size: field{"ssm_state_size", 128}, groups: field{"mamba_n_groups n_groups", 8}, taps: field{"mamba_d_conv conv_kernel", 4},
	dim: "mamba_head_dim", bias: "use_bias", filterBias: "mamba_conv_bias use_conv_bias",
}

// nemotronExperts returns what a layer with experts has, which are those of DeepSeek-V3 without gates.
func nemotronExperts(c *config, f transformer.FeedForward) transformer.FeedForward {
	e := readCorrectedExperts(c, 8, 2, true)
	readGroups(c, e, 1, 1)
	e.Scale = float32(c.number("routed_scaling_factor", 1, 1e-6, 1e6))
	e.Shared = c.integer("moe_shared_expert_intermediate_size", 7688, 1, maxFFN)
	f.Width, f.Experts = c.integer("moe_intermediate_size", 7688, 1, maxFFN), e
	return f
}

// Letters of hybrid_override_pattern.
const (
	statesLetter    = "M"
	attentionLetter = "*"
	blockLetter     = "-"
	expertsLetter   = "E"
)

// blockTypes maps the types of layers_block_type, of which those of transformers 5 come second, to letters.
var blockTypes = map[string]string{
	"mamba": statesLetter, "linear_attention": statesLetter, "attention": attentionLetter, fullAttention: attentionLetter, "mlp": blockLetter, "moe": expertsLetter,
}

// letters returns the letter of each layer, which may be the list of their types instead.
func (c *config) letters() string {
	name, types, listed := read[[]string](c, "layers_block_type layer_types", "list of strings")
	var all strings.Builder
	for i, kind := range types {
		if blockTypes[kind] == "" {
			c.reject(name, "layer %d is of type %.40q; only mamba, attention, mlp and moe are supported", i, kind)
		}
		all.WriteString(blockTypes[kind])
	}
	letters := all.String()
	if !listed {
		name = "hybrid_override_pattern"
		letters = c.text(name, "ME*-")
	}
	if i := strings.IndexFunc(letters, func(r rune) bool { return !strings.ContainsRune("M*-E", r) }); i >= 0 {
		c.reject(name, "layer %d is %.1q; only M, *, - and E are supported", i, letters[i:])
	}
	if letters == "" || len(letters) > maxDepth {
		c.reject(name, "%d layers are not in 1..%d", len(letters), maxDepth)
	}
	return letters
}

// setLetters leaves each layer what its letter says of a layer that has all, or experts.
func setLetters(s *transformer.Spec, letters string, states *transformer.StateSpace, experts transformer.FeedForward) {
	s.Decoder = make([]int, len(letters))
	eachLayer(s, func(layer int, k *transformer.Kind) {
		all := *k
		switch *k = (transformer.Kind{}); letters[layer : layer+1] {
		case statesLetter:
			k.States = states
		case attentionLetter:
			k.Attention = all.Attention
		case blockLetter:
			k.FeedForward = all.FeedForward
		case expertsLetter:
			k.FeedForward = experts
		}
	})
}
