package arch

import (
	"glossa/pkg/engine/transformer"
)

// A family is what the models of an architecture have in common: a table.
type family struct {
	title string // what its makers call it

	// The members of config.json and what they are if absent.
	vocab, context, width field
	decoder, encoder      dimensions // encoder: of an encoder-decoder
	activation            text
	eps                   real
	tied                  bool  // tie_word_embeddings if absent
	bos, eos              field // the tokens; -1 is none

	fixed []fixed
	spec  transformer.Spec // what no configuration changes

	tensors layout
	buffers []string // tensors that some versions store and all compute; * is a number

	// settle fills in what the table cannot say; nil: nothing.
	settle func(c *config, s *transformer.Spec, l *layout)
	// words says what is special about the tokens; nil: nothing.
	words func(c *config, m *Model)
}

// A field is an integer of a configuration: its names and its value if absent.
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

// Types of models that are told from others beyond their tables.
const (
	llamaType  = "llama"
	xglmType   = "xglm"
	m2m100Type = "m2m_100"
)

// families are the architectures of config.json's model_type.
var families = map[string]*family{
	"gpt2": &gpt2, "gptj": &gptj, "gpt_neox": &gptNeoX, xglmType: &xglm, llamaType: &llama, m2m100Type: &m2m100,
}

// everywhere is what no family allows to be otherwise.
var everywhere = []fixed{{"quantization_config", "null"}, {"add_cross_attention", "false"}}

// activations are the names of transformers' functions.
var activations = map[string]transformer.Activation{
	"gelu_new": transformer.GELU, "gelu_fast": transformer.GELU, "gelu_pytorch_tanh": transformer.GELU,
	"gelu_python_tanh": transformer.GELU, "gelu_accurate": transformer.GELU,
	"gelu": transformer.GELUErf, "gelu_python": transformer.GELUErf,
	"relu": transformer.ReLU, "silu": transformer.SiLU, "swish": transformer.SiLU,
}

// read makes the spec that a configuration describes, and the names of its tensors.
func (f *family) read(c *config) (*transformer.Spec, *layout, error) {
	s, l := f.spec, f.tensors
	s.Vocab = c.integer(f.vocab.names, f.vocab.absent, 1, maxVocab)
	s.Context = c.integer(f.context.names, f.context.absent, 1, maxContext)
	s.Width = c.integer(f.width.names, f.width.absent, 1, maxWidth)
	s.Eps = float32(c.number(f.eps.names, f.eps.absent, 0, 1))
	s.Decoder = f.decoder.read(c, s.Width)
	if f.encoder.depth.names != "" {
		s.Encoder = f.encoder.read(c, s.Width)
	}
	name := c.text(f.activation.names, f.activation.absent)
	var ok bool
	if s.Activation, ok = activations[name]; !ok {
		key, _ := c.find(f.activation.names)
		c.refuse(key, "%.40q is not supported", name)
	}
	l.tied = c.flag("tie_word_embeddings", f.tied)
	c.require(f.fixed)
	c.require(everywhere)
	if f.settle != nil && *c.err == nil {
		f.settle(c, &s, &l)
	}
	if *c.err != nil {
		return nil, nil, *c.err
	}
	return &s, &l, checkSpec(&s)
}

func (d *dimensions) read(c *config, width int) transformer.Stack {
	s := transformer.Stack{
		Depth: c.integer(d.depth.names, d.depth.absent, 1, maxDepth),
		Heads: c.integer(d.heads.names, d.heads.absent, 1, maxHeads),
		FFN:   c.integer(d.ffn.names, d.ffn.absent, 1, maxFFN),
	}
	if *c.err != nil {
		return transformer.Stack{}
	}
	if s.FFN == 0 {
		s.FFN = 4 * width
	}
	s.KVHeads = s.Heads
	if s.HeadDim = width / s.Heads; s.Heads*s.HeadDim != width && !c.has("head_dim attention.key_length") {
		name, _ := c.find(d.heads.names)
		c.refuse(name, "%d does not divide the width, %d", s.Heads, width)
	}
	return s
}
