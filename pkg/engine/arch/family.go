package arch

import (
	"reflect"
	"slices"

	"glossa/pkg/engine/transformer"
)

// A family is the table of an architecture.
type family struct {
	title string // the name that its authors use

	// The members of config.json and their defaults.
	vocab, context, width field
	decoder, encoder      dimensions // one of them may be empty
	activation            text
	eps                   real
	tied                  bool  // tie_word_embeddings if absent
	bos, eos              field // the tokens; -1 is none

	fixed     []requiredValue
	quantised []string         // methods of quantization_config that it reads itself, see also [methods]
	spec      transformer.Spec // the fields that are the same in all configurations
	kind      transformer.Kind // the same, of all layers

	tensors  layout
	buffers  []string // tensors that are ignored, because they are computed; * is a number
	factored int      // of GGUF: the number of tables of rotary embeddings, from the first on, that rope_freqs.weight divides; 0: all
	skipped  []string // what the names of tensors begin with that are not read, such as those of layers that draft tokens

	// adjust applies rules beyond the table to the description. It may be nil. When it is
	// called, all layers of the decoder have kind 0 and those of the encoder the last kind.
	adjust func(c *config, s *transformer.Spec, l *layout)
	// detect changes the description by the tensors that the file has. It may be nil.
	detect func(src *source, s *transformer.Spec, l *layout)
	// adjustTokens changes the special tokens. It may be nil.
	adjustTokens func(c *config, m *Model)
}

// A field is an integer of a configuration: its names and its default.
type field struct {
	names  string
	absent int
}

// A text is a string of a configuration.
type text struct{ names, absent string }

// A real is a number of a configuration.
type real struct {
	names  string
	absent float64
}

// dimensions are the fields of a stack of layers.
type dimensions struct {
	depth, heads field
	ffn          field // absent 0: four times the width
}

// Types of models that need code beyond their tables.
const (
	llamaType   = "llama"
	xglmType    = "xglm"
	m2m100Type  = "m2m_100"
	marianType  = "marian"
	bartType    = "bart"
	pegasusType = "pegasus"
	mBARTType   = "mbart"
)

// translates reports whether models of a type translate.
func translates(kind string) bool {
	return kind == m2m100Type || kind == marianType || kind == mBARTType
}

// families maps config.json's model_type to architectures.
var families = map[string]*family{
	"gpt2": &gpt2, "gptj": &gptj, "codegen": &codeGen, "gpt_neo": &gptNeo, "gpt_neox": &gptNeoX, "bloom": &bloom, "falcon": &falcon, "opt": &opt,
	llamaType: &llama, "mistral": &mistral, "ministral": &mistral, "ministral3": &ministral3, "phi3": &phi3, "qwen2": &qwen2, "qwen3": &qwen3, "smollm3": &smollm3,
	"gemma": &gemma, "gemma2": &gemma2, "vaultgemma": &vaultGemma, "gemma3_text": &gemma3, "gemma4_text": &gemma4Text, "gemma3n_text": &gemma3nText, "granite": &granite, "granitemoehybrid": &granite4, "falcon_h1": &falconH1, "bamba": &bamba, "mamba": &mamba, "falcon_mamba": &falconMamba, "jamba": &jamba, "mamba2": &mamba2, "minicpm": &minicpm, "minicpm3": &miniCPM3,
	"cohere": &cohere, "cohere2": &cohere2, "phi": &phi, "gpt_bigcode": &gptBigCode, "starcoder2": &starcoder2, "glm": &glm, "glm4": &glm4, "glm4_moe": &glm4MoE, "dots1": &dots1, "deepseek_v2": &deepSeekV2, "deepseek_v3": &deepSeekV3, "kimi_k2": &deepSeekV3, "glm4_moe_lite": &glm4MoELite, "youtu": &youtu, "solar_open": &solarOpen, "minimax_m2": &miniMaxM2,
	"exaone4": &exaone4, "exaone_moe": &exaoneMoE, "hunyuan_v1_dense": &hunyuan, "hunyuan_v1_moe": &hunyuanMoE, "ernie4_5_moe": &ernieMoE, "apertus": &apertus, "arcee": &arcee, "nemotron": &nemotron, "nemotron_h": &nemotronH, "ernie4_5": &ernie, "helium": &helium, "seed_oss": &seedOSS, "internlm3": &internLM3,
	"mixtral": &mixtral, "qwen2_moe": &qwen2MoE, "qwen3_moe": &qwen3MoE, "qwen2_vl_text": &qwen2VLText, "qwen2_5_vl_text": &qwen2VLText, "qwen3_vl_text": &qwen3VLText, "qwen3_5_text": &qwen35, "qwen3_5_moe_text": &qwen35MoE, "qwen3_next": &qwen3Next, "olmoe": &olmoe, "gpt_oss": &gptOSS, "granitemoe": &graniteMoE, "granitemoeshared": &graniteMoE, "granite_swa": &graniteSWA, "granitemoe_swa": &graniteMoESWA, "hyperclovax": &hyperCLOVAX, "afmoe": &afmoe,
	"olmo": &olmo, "olmo2": &olmo2, "olmo3": &olmo3, "stablelm": &stableLM, "lfm2": &lfm2, "lfm2_moe": &lfm2MoE, "lfm3": &lfm3, "nanochat": &nanoChat, "jais2": &jais2, "modernbert-decoder": &modernBERTDecoder,
	xglmType: &xglm, m2m100Type: &m2m100, marianType: &marian, "t5": &t5, "mt5": &mt5, "umt5": &umT5, bartType: &bart, pegasusType: &pegasus, mBARTType: &mBART,
	"bert": &bert, "roberta": &roberta, "xlm-roberta": &xlmRoberta, "camembert": &xlmRoberta, "mpnet": &mpnet, "modernbert": &modernBERT,
	"distilbert": &distilBERT, "nomic_bert": &nomicBERT, "electra": &electra, "gte": &gte, "new": &newGTE, "deberta-v2": &deBERTa, "eurobert": &euroBERT, "albert": &albert, "jina_embeddings_v3": &jinaV3,
}

// everywhere lists the members that must have these values in every family.
var everywhere = []requiredValue{{"add_cross_attention", "false"}}

// activations maps transformers' names of functions.
var activations = map[string]transformer.Activation{
	"gelu_new": transformer.GELU, "gelu_fast": transformer.GELU, "gelu_pytorch_tanh": transformer.GELU,
	"gelu_python_tanh": transformer.GELU, "gelu_accurate": transformer.GELU,
	"quick_gelu": transformer.QuickGELU, "gelu": transformer.GELUErf, "gelu_python": transformer.GELUErf,
	"relu": transformer.ReLU, "relu2": transformer.ReLU2, "silu": transformer.SiLU, "swish": transformer.SiLU,
}

// read returns the spec described by a configuration and the names of its tensors.
func (f *family) read(c *config) (*transformer.Spec, *layout, error) {
	s, l := f.spec, f.tensors
	s.Vocab = c.integer(f.vocab.names, f.vocab.absent, 1, maxVocab)
	s.Context = c.integer(f.context.names, f.context.absent, 1, maxContext)
	s.Width = c.integer(f.width.names, f.width.absent, 1, maxWidth)
	s.Eps = float32(c.number(f.eps.names, f.eps.absent, 0, 1))
	kind, ok := f.kind, false
	name := c.text(f.activation.names, f.activation.absent)
	if kind.FeedForward.Activation, ok = activations[name]; !ok {
		key, _ := c.find(f.activation.names)
		c.reject(key, "%.40q is not supported", name)
	}
	if f.decoder.depth.names != "" {
		depth := f.decoder.read(c, s.Width, &kind)
		s.Decoder = addStack(&s, kind, depth)
	}
	if f.encoder.depth.names != "" {
		depth := f.encoder.read(c, s.Width, &kind)
		s.Encoder = addStack(&s, kind, depth)
	}
	l.tied = c.flag("tie_word_embeddings", f.tied)
	c.require(f.fixed)
	c.readQuantisation(f.quantised)
	c.require(everywhere)
	if f.adjust != nil && *c.err == nil {
		f.adjust(c, &s, &l)
	}
	if *c.err != nil {
		return nil, nil, *c.err
	}
	return &s, &l, checkSpec(&s)
}

// read sets the dimensions of a stack's kind of layers and returns the number of layers.
func (d *dimensions) read(c *config, width int, k *transformer.Kind) (depth int) {
	a := &k.Attention
	depth = c.integer(d.depth.names, d.depth.absent, 1, maxDepth)
	a.Heads = c.integer(d.heads.names, d.heads.absent, 1, maxHeads)
	k.FeedForward.Width = c.integer(d.ffn.names, d.ffn.absent, 1, maxFFN)
	if *c.err != nil {
		return 0
	}
	if k.FeedForward.Width == 0 {
		k.FeedForward.Width = 4 * width
	}
	a.KVHeads = a.Heads
	if a.HeadDim = width / a.Heads; a.Heads*a.HeadDim != width && !c.has("head_dim attention_head_dim d_kv attention.key_length kv_lora_rank") {
		name, _ := c.find(d.heads.names)
		c.reject(name, "%d does not divide the width, %d", a.Heads, width)
	}
	return depth
}

// addStack adds a kind, and returns a stack of depth layers of it.
func addStack(s *transformer.Spec, k transformer.Kind, depth int) []int {
	s.Kinds = append(s.Kinds, k)
	return slices.Repeat([]int{len(s.Kinds) - 1}, depth)
}

// addRotary returns the number of a rotary table, counted from 1, which it adds if there is
// no equal one.
func addRotary(s *transformer.Spec, r *transformer.Rotary) int {
	for i := range s.Rotaries {
		if reflect.DeepEqual(&s.Rotaries[i], r) {
			return i + 1
		}
	}
	s.Rotaries = append(s.Rotaries, *r)
	return len(s.Rotaries)
}

// setRotary gives all layers the same rotary table.
func setRotary(s *transformer.Spec, r transformer.Rotary) {
	s.Rotaries = []transformer.Rotary{r}
	for i := range s.Kinds {
		s.Kinds[i].Attention.Rotary = 1
	}
}
