package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// A shape is an architecture for random weights. kind is its name in GGUF; tensors have
// GGUF's names.
type shape struct {
	name, kind                 string
	vocab, context             int
	width, depth, heads, keys  int     // keys: heads of keys and values
	headDim                    int     // 0: width/heads
	ffn                        int     // of an expert, if there are some
	experts, used              int     // of layers, and of a token
	sinks                      bool    // attention has sinks, every second layer the window, and experts biases and a bound (GPT-OSS)
	rotary                     int     // dimensions of a head that are rotated
	theta                      float64 // base of their frequencies; 0: 10000
	window                     int     // of all but every sixth layer (Gemma 3), whose frequencies have base 10000
	taps                       int     // of the convolutions that layers have (LFM2)
	states                     int     // heads of states that layers have, each of 64 states of 128 (Granite 4)
	deltas                     int     // heads of delta rules that layers have, each of 128 values with keys of 128 (Qwen3.5)
	attention                  []int   // the layers that have attention instead, with gates if others have delta rules
	tied                       bool
	position                   transformer.Position
	activation                 transformer.Activation
	parallel, rms, interleaved bool // rms: also gated, and no biases
	qkNorm, sandwich, scaled   bool // norms of queries and keys, and after branches; an embedding times the root of the width
}

// dim returns the width of a head.
func (s *shape) dim() int { return cmp.Or(s.headDim, s.width/s.heads) }

// sized returns s with a name and the usual dimensions.
func (s shape) sized(name string, vocab, width, depth, heads, keys, ffn int) shape {
	s.name, s.vocab, s.width, s.depth, s.heads, s.keys, s.ffn = name, vocab, width, depth, heads, keys, ffn
	return s
}

func shapes() []shape {
	gpt2 := shape{kind: "gpt2", position: transformer.Learned, activation: transformer.GELU, context: 1024}
	tied := gpt2
	tied.tied = true
	neox := shape{kind: "gptneox", activation: transformer.GELUErf, context: 2048, parallel: true, rotary: 16}
	llama := shape{kind: "llama", activation: transformer.SiLU, context: 2048, rms: true, interleaved: true, rotary: 64}
	llama3 := llama
	llama3.context, llama3.tied, llama3.theta = 8192, true, 5e5
	qwen3 := shape{
		kind: "qwen3", activation: transformer.SiLU, context: 8192, rms: true, qkNorm: true, tied: true, headDim: 128, rotary: 128, theta: 1e6,
	}
	gemma3 := shape{
		kind: "gemma3", activation: transformer.GELU, context: 8192, rms: true, qkNorm: true, sandwich: true, scaled: true, tied: true,
		headDim: 256, rotary: 256, theta: 1e6, window: 512,
	}
	lfm2 := qwen3
	lfm2.kind, lfm2.headDim, lfm2.rotary, lfm2.taps, lfm2.attention = "lfm2", 0, 64, 3, []int{2, 5, 8, 10, 12, 14}
	granite := lfm2
	granite.kind, granite.rotary, granite.qkNorm, granite.taps, granite.states, granite.attention = "granitehybrid", 0, false, 0, 24, []int{10, 13, 17, 27}
	qwen35 := qwen3
	qwen35.kind, qwen35.headDim, qwen35.rotary, qwen35.theta, qwen35.deltas, qwen35.attention = "qwen35", 256, 64, 1e7, 16, []int{3, 7, 11, 15, 19, 23}
	experts := qwen3
	experts.kind, experts.experts, experts.used, experts.headDim, experts.rotary = "qwen3moe", 16, 4, 64, 64
	oss := experts
	oss.kind, oss.activation, oss.qkNorm, oss.tied, oss.sinks, oss.theta, oss.window = "gpt-oss", transformer.QuickGELU, false, false, true, 150000, 128
	return []shape{
		gpt2.sized("alpha-1.8m", 2048, 128, 6, 4, 4, 512),
		tied.sized("gpt2-124m", 50257, 768, 12, 12, 12, 3072),
		llama3.sized("smollm2-135m", 49152, 576, 30, 9, 3, 1536),
		gemma3.sized("gemma3-270m", 262144, 640, 18, 4, 1, 2048),
		granite.sized("granite4-h-350m", 100352, 768, 32, 12, 4, 2048),
		lfm2.sized("lfm2-350m", 65536, 1024, 16, 16, 8, 4608),
		neox.sized("neox-410m", 50304, 1024, 24, 16, 16, 4096),
		qwen3.sized("qwen3-0.6b", 151936, 1024, 28, 16, 8, 3072),
		experts.sized("moe-16x-370m", 32000, 1024, 12, 16, 4, 512),
		oss.sized("oss-16x-490m", 32000, 1024, 8, 16, 2, 1024),
		qwen35.sized("qwen3.5-0.8b", 248320, 1024, 24, 8, 2, 3584),
		llama.sized("llama-1.1b", 32000, 2048, 22, 32, 4, 5632),
		llama3.sized("llama3.2-1b", 128256, 2048, 16, 32, 8, 8192),
	}
}

// Shapes lists the shapes of [Random], smallest first: an Alpha model, GPT-2, SmolLM2 135M,
// Gemma 3 270M, Granite 4 H 350M, LFM2 350M, Pythia 410M, Qwen3 0.6B, 16 experts of which a token uses four in
// the forms of Qwen3 and GPT-OSS, Qwen3.5 0.8B, TinyLlama and Llama 3.2 1B.
func Shapes() []string {
	var names []string
	for _, s := range shapes() {
		names = append(names, s.name)
	}
	return names
}

// Random returns a model of a built-in shape. Its weights are generated when they are
// read, and are always the same.
func Random(name string) (*Model, error) {
	for _, s := range shapes() {
		if s.name == name {
			return s.model(), nil
		}
	}
	return nil, fmt.Errorf("bench: unknown shape %.40q: it must be one of %s", name, strings.Join(Shapes(), ", "))
}

// Draft is Random of a shape that could draft for that of the name: with its vocabulary and
// context, and a quarter of its width, heads, layers and feed-forward width.
func Draft(name string) (*Model, error) {
	m, err := Random(name)
	if err != nil {
		return nil, err
	}
	s := *m.shape
	quarter := func(n int) int { return max(1, n/4) }
	return s.sized(s.name+"-draft", s.vocab, quarter(s.width), quarter(s.depth), quarter(s.heads), quarter(s.keys), quarter(s.ffn)).model(), nil
}

func (s shape) model() *Model {
	return &Model{Name: s.name, Spec: s.spec(), Weights: s.weights(), shape: &s}
}

func (s *shape) spec() *transformer.Spec {
	kind := transformer.Kind{
		Attention:   transformer.Attention{Heads: s.heads, KVHeads: s.keys, HeadDim: s.dim()},
		FeedForward: transformer.FeedForward{Width: s.ffn, Activation: s.activation, Gated: s.rms},
		Parallel:    s.parallel,
	}
	spec := &transformer.Spec{
		Vocab: s.vocab, Context: s.context, Width: s.width, Position: s.position, Eps: 1e-5, Decoder: make([]int, s.depth),
	}
	if s.rms {
		spec.Norm = transformer.RMSNorm
	}
	if s.scaled {
		spec.EmbedScale = float32(math.Sqrt(float64(s.width)))
	}
	if s.qkNorm {
		kind.Attention.QKNorm = transformer.QKNormHead
	}
	if s.experts > 0 {
		kind.FeedForward.Experts = &transformer.Experts{Count: s.experts, Used: s.used, Renormalised: true}
	}
	kind.Attention.Gated = s.deltas > 0
	if s.sinks {
		kind.Attention.Sinks, kind.FeedForward.Limit = true, 7
	}
	if s.sandwich {
		kind.Attention.Norms, kind.FeedForward.Norms = transformer.SandwichNorm, transformer.SandwichNorm
	}
	if s.rotary > 0 {
		spec.Rotaries = []transformer.Rotary{s.rotaryOf(cmp.Or(s.theta, 10000))}
		kind.Attention.Rotary = 1
	}
	spec.Kinds = []transformer.Kind{kind}
	if s.window > 0 {
		s.addWindows(spec)
	}
	if s.mixed() {
		s.addMixer(spec)
	}
	return spec
}

func (s *shape) rotaryOf(theta float64) transformer.Rotary {
	return transformer.Rotary{Dims: s.rotary, Interleaved: s.interleaved, Frequencies: transformer.Frequencies(theta, s.rotary)}
}

// addWindows gives layers a window: every second one with sinks, else all but every sixth, which
// have a rotary embedding of their own.
func (s *shape) addWindows(spec *transformer.Spec) {
	local := spec.Kinds[0]
	if local.Attention.Window = s.window; !s.sinks {
		spec.Rotaries = append(spec.Rotaries, s.rotaryOf(10000))
		local.Attention.Rotary = len(spec.Rotaries)
	}
	spec.Kinds = append(spec.Kinds, local)
	for i := range spec.Decoder {
		if s.sinks && i%2 == 0 || !s.sinks && (i+1)%6 != 0 {
			spec.Decoder[i] = 1
		}
	}
}

func (s *shape) weights() *transformer.Weights {
	w := &transformer.Weights{Embed: s.table("token_embd", s.vocab), DecoderNorm: s.norm(s.lastNorm(), s.width)}
	if s.position == transformer.Learned {
		w.Positions = s.table("position_embd", s.context)
	}
	if !s.tied {
		w.Head = s.table("output", s.vocab)
	}
	for i := range s.depth {
		w.Decoder = append(w.Decoder, s.layer(i))
	}
	return w
}

// lastNorm returns the name of the norm before the head.
func (s *shape) lastNorm() string {
	if s.taps > 0 {
		return "token_embd_norm"
	}
	return "output_norm"
}

func (s *shape) layer(i int) (l transformer.Layer) {
	at := fmt.Sprintf("blk.%d.", i)
	l.AttentionNorm, l.FFNNorm = s.norm(at+"attn_norm", s.width), s.norm(at+"ffn_norm", s.width)
	if s.sinks || s.deltas > 0 {
		l.FFNNorm = s.norm(at+"post_attention_norm", s.width)
	}
	if s.sinks {
		l.Sinks = transformer.Vector{random(at+"attn_sinks.weight", s.heads, 1, 0, 1)}
	}
	if s.sandwich {
		l.AttentionPostNorm, l.FFNPostNorm = s.norm(at+"post_attention_norm", s.width), s.norm(at+"post_ffw_norm", s.width)
	}
	switch {
	case !s.isMixed(i):
		s.addAttention(&l, at)
	case s.states > 0:
		s.addStates(&l, at)
	case s.deltas > 0:
		s.addDeltas(&l, at)
	default:
		s.convolution(&l, at)
	}
	if s.experts > 0 {
		s.addExperts(&l, at)
		return l
	}
	if s.rms {
		l.Gate = s.linear(at+"ffn_gate", s.ffn, s.width)
	}
	l.Up, l.Down = s.linear(at+"ffn_up", s.ffn, s.width), s.linear(at+"ffn_down", s.width, s.ffn)
	return l
}

func (s *shape) addAttention(l *transformer.Layer, at string) {
	queries, keys := s.heads*s.dim(), s.keys*s.dim()
	if s.qkNorm {
		l.QNorm, l.KNorm = s.norm(at+"attn_q_norm", s.dim()), s.norm(at+"attn_k_norm", s.dim())
	}
	switch k, v := matrix(at+"attn_k", keys, s.width), matrix(at+"attn_v", keys, s.width); {
	case s.deltas > 0:
		q, gates := s.gated(at + "attn_q")
		l.QKV.Weight = slices.Concat(q, []transformer.Tensor{k, v}, gates)
	case s.rms:
		l.QKV.Weight = []transformer.Tensor{matrix(at+"attn_q", queries, s.width), k, v}
	default:
		l.QKV = s.linear(at+"attn_qkv", queries+2*keys, s.width)
	}
	l.Out = s.linear(at+"attn_output", s.width, queries)
	if s.sinks {
		l.QKV.Bias = slices.Concat(offsets(at+"attn_q", queries), offsets(at+"attn_k", keys), offsets(at+"attn_v", keys))
		l.Out.Bias = offsets(at+"attn_output", s.width)
	}
}

func (s *shape) linear(name string, rows, cols int) transformer.Linear {
	l := transformer.Linear{Weight: []transformer.Tensor{matrix(name, rows, cols)}}
	if !s.rms {
		l.Bias = offsets(name, rows)
	}
	return l
}

func (s *shape) table(name string, rows int) transformer.Linear {
	return transformer.Linear{Weight: []transformer.Tensor{matrix(name, rows, s.width)}}
}

func (s *shape) norm(name string, size int) (n transformer.Norm) {
	n.Weight = transformer.Vector{random(name+".weight", size, 1, 1, 0.1)}
	if !s.rms {
		n.Bias = offsets(name, size)
	}
	return n
}

// meta returns the keys of a GGUF file of the shape.
func (s *shape) meta(title string) checkpoint.Meta {
	m := checkpoint.Meta{"general.architecture": s.kind, "general.name": title, "general.quantization_version": uint32(2)}
	for name, n := range map[string]int{
		"vocab_size": s.vocab, "context_length": s.context, "embedding_length": s.width, "block_count": s.depth,
		"feed_forward_length": s.ffn, "attention.head_count": s.heads, "attention.head_count_kv": s.keys,
	} {
		m[s.kind+"."+name] = uint32(n)
	}
	if s.rms {
		m[s.kind+".attention.layer_norm_rms_epsilon"] = float32(1e-5)
	} else {
		m[s.kind+".attention.layer_norm_epsilon"] = float32(1e-5)
	}
	if s.rotary > 0 {
		m[s.kind+".rope.dimension_count"] = uint32(s.rotary)
		m[s.kind+".rope.freq_base"] = float32(cmp.Or(s.theta, 10000))
	}
	if s.headDim > 0 {
		m[s.kind+".attention.key_length"] = uint32(s.headDim)
		m[s.kind+".attention.value_length"] = uint32(s.headDim)
	}
	if s.experts > 0 {
		m[s.kind+".expert_count"], m[s.kind+".expert_used_count"] = uint32(s.experts), uint32(s.used)
		m[s.kind+".expert_feed_forward_length"] = uint32(s.ffn)
	}
	if s.window > 0 {
		m[s.kind+".attention.sliding_window"] = uint32(s.window)
	}
	if s.mixed() {
		s.addMixerKeys(m)
	}
	if s.parallel {
		m[s.kind+".use_parallel_residual"] = true
	}
	s.addTokens(m)
	return m
}
