package arch

import "glossa/pkg/engine/transformer"

// smollm3 is Bakouch et al. 2025: Llama without a rotary embedding in every fourth layer.
var smollm3 = llamaLike("SmolLM3", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 128256}, field{"max_position_embeddings", 32768}
	f.width, f.decoder.ffn = field{"hidden_size", 2048}, field{"intermediate_size", 11008}
	f.tied = true
	f.bos, f.eos = field{"bos_token_id", 128000}, field{"eos_token_id", 128001}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 2e6}})
		rotated := smollm3Rotated(c, len(s.Decoder))
		if *c.err != nil {
			return
		}
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if rotated[layer] {
				k.Attention.Rotary = addRotary(s, &r)
			}
		})
		llamaBiases(c, l)
		if c.flag("use_sliding_window", false) {
			setWindows(c, s, c.windowed(len(s.Decoder), func(layer int) bool { return !rotated[layer] }), field{"sliding_window", 0})
		}
	}
})

// smollm3Rotated reports for each layer whether it has a rotary embedding: the value of
// no_rope_layers, despite its name.
func smollm3Rotated(c *config, depth int) []bool {
	rotated := make([]bool, depth)
	name, list, ok := read[[]int](c, "no_rope_layers", "list of integers")
	if ok && len(list) < depth {
		c.reject(name, "%d values of %d layers", len(list), depth)
		return rotated
	}
	every := c.integer("no_rope_layer_interval", 4, 1, maxDepth)
	for i := range rotated {
		if rotated[i] = (i+1)%every != 0; ok {
			rotated[i] = list[i] != 0
		}
	}
	return rotated
}
