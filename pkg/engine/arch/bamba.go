package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// bamba is IBM, Princeton, CMU and UIUC 2024 (Bamba): layers of states, and some of attention, which
// rotates half of each head.
var bamba = bambaLike("Bamba", func(f *family) {
	f.context = field{"max_position_embeddings", 262144}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, bambaHeads(c, s, 0.5))
		llamaBiases(c, l)
		name, attention, _ := read[[]int](c, "attn_layer_indices", "list of integers")
		stateful := slices.Repeat([]bool{true}, len(s.Decoder))
		for _, layer := range attention {
			if layer < 0 || layer >= len(stateful) {
				c.reject(name, "there is no layer %d", layer)
				return
			}
			stateful[layer] = false
		}
		if states := readStates(c, l, &hybridFields, c.expanded(s.Width)); slices.Contains(stateful, true) && *c.err == nil {
			setStates(s, stateful, states)
		}
	}
})

// bambaLike returns a family with Bamba's configuration and tensor names, changed by change.
func bambaLike(title string, change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		f.vocab, f.eps, f.decoder.ffn = field{"vocab_size", 128000}, real{"rms_norm_eps", 1e-5}, field{"intermediate_size", 14336}
		f.fixed = []requiredValue{{"hidden_act", `"silu"`}}
		f.tensors.norm = "final_layernorm"
		l := &f.tensors.decoder
		l.ffnNorm, l.states = "layers.%d.pre_ff_layernorm", hybridStates
		l.up.names, l.gate.names, l.down.names = "layers.%d.feed_forward.up_proj", "layers.%d.feed_forward.gate_proj", "layers.%d.feed_forward.down_proj"
		change(f)
	})
}

// bambaHeads reads the dimensions of heads, and the rotary embedding of a share of each.
func bambaHeads(c *config, s *transformer.Spec, share float64) transformer.Rotary {
	r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor", share}})
	eightKeys(c, s)
	return r
}

// eightKeys sets the heads of keys: there are 8 by default, and null stands for as many as there are of
// queries.
func eightKeys(c *config, s *transformer.Spec) {
	a := &s.Kinds[0].Attention
	if a.KVHeads = c.integer("num_key_value_heads", a.Heads, 1, maxHeads); len(c.fields["num_key_value_heads"]) == 0 {
		a.KVHeads = 8
	}
}
