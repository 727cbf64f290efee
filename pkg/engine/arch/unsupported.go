package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What some architectures need that the engine lacks.
const (
	needsStates  = "state-space layers"
	needsDeltas  = "gated delta networks of another form"
	needsLatents = "latent attention of another form"
)

// unsupported maps known values of model_type and of GGUF's general.architecture to the reason
// for which they are not supported.
var unsupported = func() map[string]string {
	all := map[string]string{}
	for reason, names := range map[string]string{
		"it is a mixture of experts of another form; of these only mixtral, qwen2_moe, qwen3_moe, qwen3_next, qwen3_5_moe, olmoe, granitemoe, granitemoehybrid, gpt_oss, lfm2_moe, glm4_moe, glm4_moe_lite, dots1, deepseek_v2, deepseek_v3, nemotron_h, hunyuan_v1_moe, ernie4_5_moe, solar_open, minimax_m2, exaone_moe, granitemoe_swa and afmoe are supported": "phimoe dbrx arctic " +
			"cohere2_moe cohere2moe " +
			"bailingmoe flex_olmo grok jetmoe smallthinker",
		"it needs experts whose inputs are scaled, and norms without weights of rotated queries and keys": "llama4 llama4_text",
		"it needs " + needsLatents:                                "axk1 bailing_hybrid deepseek_v32 deepseek_v4 glm_moe_dsa glm-dsa longcat_flash mistral4 mistral_large4 mistral_large4_text",
		"it needs gates of attention by softplus":                 "laguna",
		"it needs differential attention":                         "diffllama",
		"it needs a mask that depends on values":                  "doge",
		"it needs layers that run several times":                  "hrm_text",
		"it needs values of another width than keys":              "mimo_v2_flash mimo2",
		"it needs a tokenizer of another form":                    "biogpt gpt_neox_japanese",
		"it needs " + needsStates + " with norms of their inputs": "plamo2",
		"it needs layers that share their weights":                "zamba zamba2",
		"it needs " + needsDeltas:                                 "kimi_linear kimi-linear olmo_hybrid",
		"it needs recurrent layers":                               "rwkv rwkv6 rwkv7 recurrent_gemma xlstm",
		"it needs linear attention":                               "minimax",
		"its GGUF files are not read":                             "gemma4",
		"it is an encoder-decoder; of these only t5, mt5, umt5, bart, pegasus, mbart, m2m_100 and marian are supported": "longt5 t5gemma led pegasus_x bigbird_pegasus blenderbot nllb_moe switch_transformers whisper t5encoder",
		"it is an encoder; of these only bert, roberta, xlm-roberta, camembert, distilbert, mpnet, modernbert, nomic_bert, electra, gte, deberta-v2, jina_embeddings_v3, eurobert, albert and gemma3_text are supported, and GGUF files of bert, jina-bert-v2, nomic-bert, nomic-bert-moe, modern-bert, eurobert and gemma-embedding": "deberta jina-bert-v3 neo-bert embedding_gemma2",
		"it reads images or sound; GGUF files of its model of text may be supported": "llava_next llava_onevision mllama qwen2_vl qwen2vl qwen2_5_vl qwen3_vl_moe qwen3vl phi4_multimodal idefics2 paligemma vipllava video_llava kimi_k25 clip siglip",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = reason
		}
	}
	return all
}()

// refuse returns the error for a type of model that is not in a table of the supported ones.
func refuse[T any](key, kind string, known map[string]T) error {
	if reason, ok := unsupported[kind]; ok {
		return fmt.Errorf("%s: %q is not supported: %s", key, kind, reason)
	}
	return fmt.Errorf("%s: %.40q is not supported, only %s", key, kind, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}
