package arch

import (
	"encoding/json"
	"strings"

	"glossa/pkg/engine/transformer"
)

// gptNeo is Black et al. 2021. It does not scale scores, and alternates layers with a window.
var gptNeo = family{
	title:   "GPT-Neo",
	vocab:   field{"vocab_size", 50257},
	context: field{"max_position_embeddings", 2048},
	width:   field{"hidden_size", 2048},
	decoder: dimensions{
		depth: field{"num_layers num_hidden_layers", 24},
		heads: field{"num_heads num_attention_heads", 16},
		ffn:   field{"intermediate_size", 0},
	},
	activation: text{"activation_function", "gelu_new"},
	eps:        real{"layer_norm_epsilon", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 50256},
	eos:        field{"eos_token_id", 50256},
	spec:       transformer.Spec{Position: transformer.Learned},
	kind:       transformer.Kind{Attention: transformer.Attention{Scale: 1}},
	tensors: layout{
		prefix: "transformer.", embed: "wte", positions: "wpe", copies: "lm_head", norm: "ln_f",
		head: linear{names: "lm_head"},
		decoder: layers{
			attentionNorm: "h.%d.ln_1", ffnNorm: "h.%d.ln_2",
			qkv:  linear{names: strings.ReplaceAll("P.q_proj P.k_proj P.v_proj", "P", "h.%d.attn.attention")},
			out:  linear{names: "h.%d.attn.attention.out_proj", bias: always},
			up:   linear{names: "h.%d.mlp.c_fc", bias: always},
			down: linear{names: "h.%d.mlp.c_proj", bias: always},
		},
	},
	buffers: []string{"h.*.attn.attention.bias", "h.*.attn.attention.masked_bias"},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		setWindows(c, s, gptNeoWindowed(c, len(s.Decoder)), field{"window_size", 256})
	},
}

// gptNeoWindowed expands attention_types, lists of types and the number of their repetitions:
// it reports for each layer whether it is local.
func gptNeoWindowed(c *config, depth int) []bool {
	name, groups, ok := read[[]attentionTypes](c, "attention_types", "list of types and numbers")
	if !ok {
		groups = []attentionTypes{{[]string{"global", "local"}, (depth + 1) / 2}}
	}
	var windowed []bool
	for _, g := range groups {
		for range min(g.times, maxDepth) {
			for _, t := range g.types {
				if t != "global" && t != "local" {
					c.reject(name, "%.40q is not supported, only global and local", t)
				}
				windowed = append(windowed, t == "local")
			}
		}
	}
	if len(windowed) < depth {
		c.reject(name, "%d types of %d layers", len(windowed), depth)
		return make([]bool, depth)
	}
	return windowed[:depth]
}

// attentionTypes is an element of attention_types: [["global", "local"], 12].
type attentionTypes struct {
	types []string
	times int
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *attentionTypes) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, &[]any{&a.types, &a.times})
}
