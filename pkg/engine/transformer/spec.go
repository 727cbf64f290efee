package transformer

import (
	"encoding/json"
	"math"

	"glossa/pkg/engine/kernel"
)

// A Spec describes an architecture: everything about a model but its weights. What
// two architectures share is one code path; what they differ in is a field here.
type Spec struct {
	Vocab   int `json:"vocab"`   // rows of the embedding, tokens
	Context int `json:"context"` // positions that a sequence can have
	Width   int `json:"width"`   // of the residual stream

	Decoder Stack `json:"decoder"`
	Encoder Stack `json:"encoder"` // Depth 0: a decoder-only model

	EmbedScale float32  `json:"embed_scale"` // factor of token embeddings; 0 is 1
	Position   Position `json:"position"`
	Rotary     Rotary   `json:"rotary"` // of Position Rotary

	Norm       NormKind `json:"norm"`
	Eps        float32  `json:"eps"`         // of the norms
	Parallel   bool     `json:"parallel"`    // x + attention(norm(x)) + feedForward(norm'(x)); else one after the other
	SharedNorm bool     `json:"shared_norm"` // with Parallel: both read the attention's norm (GPT-J)

	Activation Activation      `json:"activation"`
	Gated      bool            `json:"gated"`           // feed-forward is down(act(gate x) ⊙ up x)
	Graph      json.RawMessage `json:"graph,omitempty"` // expression of Activation Composed

	InverseLayerScale bool       `json:"inverse_layer_scale"` // scores of layer i are divided by i+1 (GPT-2 option)
	Cap               kernel.Cap `json:"-"`                   // bound of attention scores
}

// A Stack is the shape of one stack of layers.
type Stack struct {
	Depth   int `json:"depth"`    // layers
	Heads   int `json:"heads"`    // of queries
	KVHeads int `json:"kv_heads"` // of keys and values: each serves Heads/KVHeads heads of queries
	HeadDim int `json:"head_dim"`
	FFN     int `json:"ffn"` // width of the feed-forward block
}

// A Position says how a model knows the order of tokens.
type Position uint8

// Encodings of positions.
const (
	Learned         Position = iota // a table that is added to the embeddings
	Sinusoidal                      // fairseq's: sines, then cosines; position p is row p+2
	RotaryEmbedding                 // queries and keys are turned, see [Rotary]
)

// Rotary is rotary position embedding (Su et al. 2021, sec. 3.4.2): the first Dims
// dimensions of each head are turned, pair j by position·Frequencies[j].
type Rotary struct {
	Dims        int       `json:"dims"`
	Interleaved bool      `json:"interleaved"` // pairs are (2j, 2j+1) as in GPT-J; else (j, j+Dims/2) as in GPT-NeoX
	Frequencies []float32 `json:"frequencies"` // (Dims/2), radians a token
}

// Frequencies returns base^(-2j/dims) for each pair of dims dimensions, computed in
// float32 as the published models were: angles are large, and rounding shows.
func Frequencies(base float64, dims int) []float32 {
	f := make([]float32, dims/2)
	for j := range f {
		exponent := float32(2*j) / float32(dims)
		f[j] = 1 / float32(math.Pow(base, float64(exponent)))
	}
	return f
}

// A NormKind is a normalisation.
type NormKind uint8

// Normalisations.
const (
	LayerNorm NormKind = iota // Ba et al. 2016
	RMSNorm                   // Zhang and Sennrich 2019: no mean, no bias
)

// An Activation is the non-linearity of the feed-forward block.
type Activation string

// Activations. The last three are Alpha's: they have parameters, or an expression.
const (
	GELU      Activation = "gelu_tanh" // 0.5x(1+tanh(√(2/π)(x+0.044715x³)))
	GELUErf   Activation = "gelu"      // 0.5x(1+erf(x/√2))
	ReLU      Activation = "relu"
	SiLU      Activation = "silu"
	Universal Activation = "universal"
	KANSpline Activation = "kan_spline"
	Composed  Activation = "composed"
)
