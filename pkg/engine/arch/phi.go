package arch

import "glossa/pkg/engine/transformer"

// phi is Gunasekar et al. 2023 and Li et al. 2023 (Phi-1, Phi-1.5, Phi-2): both branches read
// one layer norm, everything has a bias, and a part of each head is rotated.
var phi = llamaLike("Phi", func(f *family) {
	f.vocab = field{"vocab_size", 51200}
	f.width, f.decoder.ffn = field{"hidden_size", 2048}, field{"intermediate_size", 8192}
	f.decoder.depth = field{"num_hidden_layers", 24}
	f.activation = text{"hidden_act", "gelu_new"}
	f.eps = real{"layer_norm_eps", 1e-5}
	f.fixed = append(f.fixed, requiredValue{"qk_layernorm", "false"})
	f.spec.Norm = transformer.LayerNorm
	f.kind = transformer.Kind{Parallel: true, SharedNorm: true}
	f.tensors.norm = "final_layernorm"
	f.tensors.head.bias = always
	l := &f.tensors.decoder
	l.ffnNorm, l.gate = "", linear{}
	l.out, l.up, l.down = linear{names: "layers.%d.self_attn.dense"}, linear{names: "layers.%d.mlp.fc1"}, linear{names: "layers.%d.mlp.fc2"}
	allBiases(l, always)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor", 0.5}}))
	}
})

// allBiases sets whether the matrices of layers without a gate have a bias.
func allBiases(l *layers, b bias) {
	for _, m := range []*linear{&l.qkv, &l.out, &l.up, &l.down} {
		m.bias = b
	}
}
