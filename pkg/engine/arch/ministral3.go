package arch

import "glossa/pkg/engine/transformer"

// ministral3 is Mistral AI 2025 (Ministral 3, Devstral 2): Mistral with queries that grow with their
// position, from the context on that the rotary embedding had before it was scaled.
var ministral3 = llamaLike("Ministral 3", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 131072}, field{"max_position_embeddings", 262144}
	f.decoder.depth, f.decoder.ffn = field{"num_hidden_layers", 34}, field{"intermediate_size", 14336}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		r := rope{base: real{"rope_theta", 1e6}}
		setRotary(s, llamaHeads(c, s, r))
		scaling := r.scaling(c)
		if scaling == nil { // the class's is YaRN, and files say it
			c.reject("rope_parameters", "missing")
			return
		}
		setGrowth(s, scaling, "llama_4_scaling_beta", "original_max_position_embeddings")
		if c.has("sliding_window") {
			setWindows(c, s, c.windowed(len(s.Decoder), everyLayer), field{"sliding_window", 0})
		}
	}
})

// setGrowth reads how queries grow with their position.
func setGrowth(s *transformer.Spec, c *config, growth, step string) {
	a := &s.Kinds[0].Attention
	if a.Growth = float32(c.number(growth, 0, 0, 1e6)); a.Growth > 0 {
		c.needs(step)
		a.GrowthStep = c.integer(step, 1, 1, maxContext)
	}
}

// mistral3 is Mistral Small 3.1 and the models of Ministral 3 and Devstral 2 as they are published,
// with Pixtral's encoder of pictures, which is not read.
var mistral3 = viewer{
	title: "Mistral 3", inner: "mistral", renames: gemma3Vision.renames, skipped: []string{"vision.", "connector."},
}

// ggufMinistral3: the converter permutes the rows of queries and keys, as Llama's.
var ggufMinistral3 = ggufLike(func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, interleaved(ggufHeads(c, s)))
		setGrowth(s, c, "attention.temperature_scale", "rope.scaling.original_context_length")
		ggufWindows(c, s, everyLayer, 0)
	}
})
