package arch

import (
	"encoding/json"

	"glossa/pkg/engine/transformer"
)

// phi3 is Abdin et al. 2024 (Phi-3) and its successors Phi-4 and Phi-4-mini: Llama with the
// matrices of queries, keys and values in one tensor, and those of gate and up in another.
var phi3 = llamaLike("Phi-3", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 32064}, field{"max_position_embeddings", 4096}
	f.width, f.decoder.ffn = field{"hidden_size", 3072}, field{"intermediate_size", 8192}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.eos = field{"eos_token_id", 32000}
	f.tensors.decoder.qkv = linear{names: "layers.%d.self_attn.qkv_proj"}
	f.tensors.decoder.gateUp = linear{names: "layers.%d.mlp.gate_up_proj"}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		renameYaRN(c)
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		setWindows(c, s, c.windowed(len(s.Decoder), func(int) bool { return c.has("sliding_window") }), field{"sliding_window", 0})
	}
})

// renameYaRN spells longrope as today: an early version of this architecture calls it yarn.
func renameYaRN(c *config) {
	scaling := c.object("rope_scaling")
	if scaling != nil && scaling.text("rope_type type", "") == "yarn" {
		scaling.fields["rope_type"] = json.RawMessage(`"longrope"`)
		c.fields["rope_scaling"], _ = json.Marshal(scaling.fields)
	}
}
