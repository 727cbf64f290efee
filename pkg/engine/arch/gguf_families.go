package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// ggufTypes maps GGUF's general.architecture to architectures, with their [Model.Type].
var ggufTypes = map[string]struct {
	kind   string
	family *family
}{
	"gpt2": {"gpt2", &ggufGPT2}, "gptneox": {"gpt_neox", &ggufNeoX}, "llama": {"llama", &ggufLlama}, "qwen2": {"qwen2", &ggufQwen2},
	"qwen3": {"qwen3", &ggufQwen3}, "phi3": {"phi3", &ggufPhi3}, "gemma": {"gemma", &ggufGemma}, "gemma2": {"gemma2", &ggufGemma2},
	"gemma3": {"gemma3_text", &ggufGemma3}, "gemma4": {"gemma4_text", &ggufGemma4}, "gemma3n": {"gemma3n_text", &ggufGemma3n}, "gemma-embedding": {"gemma3_text", &ggufEmbeddingGemma},
	"smollm3": {"smollm3", &ggufSmolLM3}, "olmo": {"olmo", &ggufOLMo}, "olmo2": {"olmo2", &ggufOLMo2},
	"granite": {"granite", &ggufGranite}, "stablelm": {"stablelm", &ggufStableLM}, "falcon": {"falcon", &ggufFalcon}, "bloom": {"bloom", &ggufBLOOM},
	"command-r": {"cohere", &ggufCohere}, "cohere2": {"cohere2", &ggufCohere2}, "phi2": {"phi", &ggufPhi2},
	"starcoder": {"gpt_bigcode", &ggufStarCoder}, "starcoder2": {"starcoder2", &ggufStarCoder2}, "glm4": {"glm4", &ggufGLM4},
	"glm4moe": {"glm4_moe", &ggufGLM4MoE}, "dots1": {"dots1", &ggufDots1}, "minimax-m2": {"minimax_m2", &ggufMiniMaxM2},
	"exaone4": {"exaone4", &ggufEXAONE4}, "exaone-moe": {"exaone_moe", &ggufEXAONEMoE}, "arcee": {"arcee", &ggufArcee}, "nemotron": {"nemotron", &ggufNemotron}, "nemotron_h": {"nemotron_h", &ggufNemotronH}, "nemotron_h_moe": {"nemotron_h", &ggufNemotronH},
	"bert": {"bert", &ggufBERT}, "jina-bert-v2": {"bert", &ggufJinaV2}, "eurobert": {"eurobert", &ggufEuroBERT}, "nomic-bert": {"nomic_bert", &ggufNomicBERT}, "nomic-bert-moe": {"nomic_bert", &ggufNomicMoE}, "modern-bert": {"modernbert", &ggufModernBERT},
	"qwen2moe": {"qwen2_moe", &ggufQwen2MoE}, "qwen3moe": {"qwen3_moe", &ggufQwen3MoE}, "olmoe": {"olmoe", &ggufOLMoE}, "granitemoe": {"granitemoe", &ggufGraniteMoE}, "gpt-oss": {"gpt_oss", &ggufGPTOSS},
	"ernie4_5": {"ernie4_5", &ggufERNIE}, "seed_oss": {"seed_oss", &ggufSeedOSS}, "minicpm": {"minicpm", &ggufMiniCPM}, "minicpm3": {"minicpm3", &ggufMiniCPM3}, "deepseek2": {"deepseek_v2", &ggufDeepSeek2},
	"granitehybrid": {"granitemoehybrid", &ggufGraniteHybrid}, "falcon-h1": {"falcon_h1", &ggufFalconH1}, "mamba": {"mamba", &ggufMamba}, "jamba": {"jamba", &ggufJamba}, "mamba2": {"mamba2", &ggufMamba2}, "lfm2": {"lfm2", &ggufLFM2}, "lfm2moe": {"lfm2_moe", &ggufLFM2MoE},
	"qwen35": {"qwen3_5_text", &ggufQwen35}, "qwen35moe": {"qwen3_5_moe_text", &ggufQwen35MoE}, "qwen3next": {"qwen3_next", &ggufQwen3Next},
	"mistral3": {"ministral3", &ggufMinistral3}, "hunyuan-dense": {"hunyuan_v1_dense", &ggufHunyuan}, "hunyuan-moe": {"hunyuan_v1_moe", &ggufHunyuanMoE}, "ernie4_5-moe": {"ernie4_5_moe", &ggufERNIEMoE}, "apertus": {"apertus", &ggufApertus}, "jais2": {"jais2", &ggufJais2}, "afmoe": {"afmoe", &ggufAFMoE}, "granite_swa": {"granite_swa", &ggufGraniteSWA}, "t5": {"t5", &ggufT5},
}

// Common parts of all architectures; names of keys are without the architecture's prefix.
var (
	ggufVocab   = field{"vocab_size", 0}
	ggufContext = field{"context_length", 0}
	ggufWidth   = field{"embedding_length", 0}
	ggufDecoder = dimensions{
		depth: field{"block_count", 0}, heads: field{"attention.head_count", 0}, ffn: field{"feed_forward_length", 0},
	}
	ggufEps   = real{"attention.layer_norm_epsilon", 1e-5}
	ggufFixed = []requiredValue{
		{"attention.clamp_kqv", "0"}, {"attention.causal", "true"}, {"tensor_data_layout", `"Meta AI original pth"`},
	}
	// ggufFactors lists the factors and bounds that a family without them must not have.
	ggufFactors = []requiredValue{
		{"attention.max_alibi_bias", "0"}, {"attention.scale", "0"}, {"attn_logit_softcapping", "0"}, {"final_logit_softcapping", "0"},
		{"logit_scale", "0"}, {"residual_scale", "0"}, {"embedding_scale", "0"},
	}
)

// ggufLayers names the tensors of a layer; qkv are those of queries, keys and values.
func ggufLayers(qkv string, offsets bias) layers {
	return layers{
		attentionNorm: "blk.%d.attn_norm", ffnNorm: "blk.%d.ffn_norm",
		qkv:  linear{names: qkv, bias: offsets},
		out:  linear{names: "blk.%d.attn_output", bias: offsets},
		up:   linear{names: "blk.%d.ffn_up", bias: offsets},
		gate: linear{names: "blk.%d.ffn_gate", bias: offsets},
		down: linear{names: "blk.%d.ffn_down", bias: offsets},
	}
}

func ggufLayout(decoder layers) layout {
	return layout{
		embed: "token_embd", positions: "position_embd", norm: "output_norm", head: linear{names: "output"}, decoder: decoder,
	}
}

// ggufGPT2: the converter transposes the matrices to (out, in).
var ggufGPT2 = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps, fixed: slices.Concat(ggufFixed, ggufFactors),
	activation: text{"", "gelu_new"},
	spec:       transformer.Spec{Position: transformer.Learned},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", always)),
}

// ggufNeoX: the converter regroups queries, keys and values. The file does not specify
// the form of GELU: among the published models only GPT-NeoX-20B uses the tanh form.
var ggufNeoX = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps, fixed: slices.Concat(ggufFixed, ggufFactors),
	activation: text{"", "gelu"},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", stored)),
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		k := &s.Kinds[0]
		k.Parallel = c.flag("use_parallel_residual", true)
		if len(s.Decoder) == 44 && s.Width == 6144 {
			k.FeedForward.Activation = transformer.GELU
		}
		setRotary(s, ggufRotary(c, k.Attention.HeadDim, 10000))
	},
}
