package bench

import (
	"fmt"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// A shape is an architecture for random weights. kind is its name in GGUF; tensors have
// GGUF's names.
type shape struct {
	name, kind                 string
	vocab, context             int
	width, depth, heads, keys  int // keys: heads of keys and values
	ffn                        int
	rotary                     int // dimensions of a head that are rotated
	tied                       bool
	position                   transformer.Position
	activation                 transformer.Activation
	parallel, rms, interleaved bool // rms: also gated, and no biases
}

func shapes() []shape {
	gpt2 := shape{kind: "gpt2", position: transformer.Learned, activation: transformer.GELU, context: 1024}
	neox := shape{kind: "gptneox", activation: transformer.GELUErf, context: 2048, parallel: true}
	llama := shape{kind: "llama", activation: transformer.SiLU, context: 2048, rms: true, interleaved: true}
	alpha := gpt2
	alpha.name, alpha.vocab, alpha.width, alpha.depth, alpha.heads, alpha.keys, alpha.ffn = "alpha-1.8m", 2048, 128, 6, 4, 4, 512
	gpt2.name, gpt2.vocab, gpt2.width, gpt2.depth, gpt2.heads, gpt2.keys, gpt2.ffn, gpt2.tied = "gpt2-124m", 50257, 768, 12, 12, 12, 3072, true
	neox.name, neox.vocab, neox.width, neox.depth, neox.heads, neox.keys, neox.ffn, neox.rotary = "neox-410m", 50304, 1024, 24, 16, 16, 4096, 16
	llama.name, llama.vocab, llama.width, llama.depth, llama.heads, llama.keys, llama.ffn, llama.rotary = "llama-1.1b", 32000, 2048, 22, 32, 4, 5632, 64
	return []shape{alpha, gpt2, neox, llama}
}

// Shapes lists the shapes of [Random], smallest first: an Alpha model, GPT-2, Pythia 410M
// and TinyLlama.
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

func (s shape) model() *Model {
	return &Model{Name: s.name, Spec: s.spec(), Weights: s.weights(), shape: &s}
}

func (s *shape) spec() *transformer.Spec {
	kind := transformer.Kind{
		Attention:   transformer.Attention{Heads: s.heads, KVHeads: s.keys, HeadDim: s.width / s.heads},
		FeedForward: transformer.FeedForward{Width: s.ffn, Activation: s.activation, Gated: s.rms},
		Parallel:    s.parallel,
	}
	spec := &transformer.Spec{
		Vocab: s.vocab, Context: s.context, Width: s.width, Position: s.position, Eps: 1e-5, Decoder: make([]int, s.depth),
	}
	if s.rms {
		spec.Norm = transformer.RMSNorm
	}
	if s.rotary > 0 {
		spec.Rotaries = []transformer.Rotary{{Dims: s.rotary, Interleaved: s.interleaved, Frequencies: transformer.Frequencies(10000, s.rotary)}}
		kind.Attention.Rotary = 1
	}
	spec.Kinds = []transformer.Kind{kind}
	return spec
}

func (s *shape) weights() *transformer.Weights {
	w := &transformer.Weights{Embed: s.table("token_embd", s.vocab), DecoderNorm: s.norm("output_norm")}
	if s.position == transformer.Learned {
		w.Positions = s.table("position_embd", s.context)
	}
	if !s.tied {
		w.Head = s.table("output", s.vocab)
	}
	for i := range s.depth {
		w.Decoder = append(w.Decoder, s.layer(fmt.Sprintf("blk.%d.", i)))
	}
	return w
}

func (s *shape) layer(at string) (l transformer.Layer) {
	keys := s.width / s.heads * s.keys
	l.AttentionNorm, l.FFNNorm = s.norm(at+"attn_norm"), s.norm(at+"ffn_norm")
	if s.rms {
		l.QKV.Weight = []transformer.Tensor{
			matrix(at+"attn_q", s.width, s.width), matrix(at+"attn_k", keys, s.width), matrix(at+"attn_v", keys, s.width),
		}
		l.Gate = s.linear(at+"ffn_gate", s.ffn, s.width)
	} else {
		l.QKV = s.linear(at+"attn_qkv", s.width+2*keys, s.width)
	}
	l.Out = s.linear(at+"attn_output", s.width, s.width)
	l.Up, l.Down = s.linear(at+"ffn_up", s.ffn, s.width), s.linear(at+"ffn_down", s.width, s.ffn)
	return l
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

func (s *shape) norm(name string) (n transformer.Norm) {
	n.Weight = transformer.Vector{random(name+".weight", s.width, 1, 1, 0.1)}
	if !s.rms {
		n.Bias = offsets(name, s.width)
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
		m[s.kind+".rope.freq_base"] = float32(10000)
	}
	if s.parallel {
		m[s.kind+".use_parallel_residual"] = true
	}
	s.addTokens(m)
	return m
}
