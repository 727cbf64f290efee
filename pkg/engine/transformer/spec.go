package transformer

import (
	"encoding/json"
	"math"
)

// A Spec describes an architecture: everything about a model except its weights.
// Architectures share one code path; each difference is a field here. Zero values are the
// plain choice: a scale of 0 is 1, a bound of 0 is none. [Spec.Check] refuses descriptions
// that cannot be computed.
//
// Linears and layer norms have a bias if the weights have one.
type Spec struct {
	Vocab   int `json:"vocab"`   // rows of the embedding, tokens; 0 with Patch
	Context int `json:"context"` // positions that a sequence can have
	Width   int `json:"width"`   // of the residual stream

	// EmbedWidth is the width of the embedding, and of the head, if projections lie between
	// them and the residual stream (OPT-350m). Positions, types and the norm of embeddings of an
	// encoder have it too: its projection follows them (ELECTRA, ALBERT). 0: it is Width. One stack
	// only.
	EmbedWidth int `json:"embed_width,omitempty"`

	// Kinds are the kinds of layers, each of which some layer has. Decoder and Encoder
	// give each layer's index in Kinds; a decoder-only model has no Encoder, and an encoder of
	// sentences no Decoder.
	Kinds   []Kind `json:"kinds"`
	Decoder []int  `json:"decoder"`
	Encoder []int  `json:"encoder,omitempty"`

	// Order lists the layers of an encoder alone as they are computed, if that is not each of them once: some
	// more often, with the same weights (ALBERT).
	Order []int `json:"order,omitempty"`

	// Rotaries are the tables of rotary position embedding, each of which some kind uses.
	Rotaries []Rotary `json:"rotaries,omitempty"`

	// Patch is the number of values of a patch of a picture. If it is set, the inputs are patches
	// instead of tokens, and Vocab is 0: a matrix makes a vector of each (Dosovitskiy et al. 2021,
	// sec. 3.1). Encoders without a decoder only.
	Patch int `json:"patch,omitempty"`

	// Class says that a learned vector precedes the patches, with the first position (Dosovitskiy et
	// al. 2021; CLIP).
	Class bool `json:"class,omitempty"`

	// Kept are the layers of an encoder of patches, counted from 1 and ascending, whose results are kept
	// for [Pass.Kept].
	Kept []int `json:"kept,omitempty"`

	// Mutual, if set, is the most vectors next to each other in place of tokens. Each of them sees all
	// of these, besides what it sees as a causal token, as far back as its window reaches (Gemma 3,
	// pictures). Decoders without an encoder only.
	Mutual int `json:"mutual,omitempty"`

	// Deep is the number of first layers to whose results pictures add vectors: a token that is replaced by
	// vectors has 1+Deep, of which the first is its input (Meng et al. 2024, DeepStack; Qwen3-VL).
	// Decoders without an encoder, Streams and LayerInputs only.
	Deep int `json:"deep,omitempty"`

	// TokenTypes is the number of types of tokens, each of which has an embedding that is
	// added to that of the token: the segments of BERT. Encoders without a decoder only.
	TokenTypes int `json:"token_types,omitempty"`

	// RelativeBuckets is the number of biases that each head of an encoder adds to scores, by
	// the distance of the key from the query: half of them for keys after the query. Distances
	// from RelativeDistance on share the last (Raffel et al. 2020, sec. 2.1; MPNet). A decoder
	// below the encoder has as many for its own tokens, all for keys before the query, and none
	// for the encoder's (T5). Not for decoders alone.
	RelativeBuckets  int `json:"relative_buckets,omitempty"`
	RelativeDistance int `json:"relative_distance,omitempty"`

	// RelativeLayers says that each layer has such biases of its own (Chung et al. 2023, UniMax: umT5).
	// Otherwise those of a stack share them.
	RelativeLayers bool `json:"relative_layers,omitempty"`

	// MaskedHead says that a head over the vocabulary follows an encoder: it predicts masked
	// tokens (Devlin et al. 2018). [Pass.MaskedLogits] computes it. Encoders without a decoder only.
	MaskedHead bool `json:"masked_head,omitempty"`

	Position   Position `json:"position"`               // what is added to token embeddings
	EmbedScale float32  `json:"embed_scale,omitempty"`  // factor of token embeddings, before that
	EmbedNorm  bool     `json:"embed_norm,omitempty"`   // the sum is normalised (BLOOM)
	Norm       NormKind `json:"norm"`                   // of all norms
	Eps        float32  `json:"eps"`                    // of all norms
	NoLastNorm bool     `json:"no_last_norm,omitempty"` // the head reads what the last layer returns

	// DecoderInput says that the decoder below an encoder has learned positions and a norm of
	// embeddings of its own (BART). Otherwise both stacks use the same.
	DecoderInput bool `json:"decoder_input,omitempty"`

	ResidualScale float32 `json:"residual_scale,omitempty"` // factor of what a branch adds to the residual stream (Granite)
	LogitScale    float32 `json:"logit_scale,omitempty"`    // factor of logits
	LogitSoftCap  float32 `json:"logit_soft_cap,omitempty"` // c of c·tanh(logit/c), after that (Gemma 2)

	// HeadActivation, if set, is that of a block before the head, which reads norm(act(dense y)) of what the
	// last norm returns, y (ModernBERT's decoder). It has no parameters. Decoders alone, without EmbedWidth.
	HeadActivation Activation `json:"head_activation,omitempty"`

	// LayerInputs, if set, is the width of the input p that each layer has for each token (Gemma 4):
	// p = (norm(projection x/√Width) + embedding·√LayerInputs)/√2, where x is the input of the first
	// layer and the embedding a second one, of the token and the layer. A layer ends with the branch
	// x + norm(out(act(gate x) ⊙ p)), where act is the activation of its gated feed-forward block.
	// Decoders alone, without Mutual.
	LayerInputs int `json:"layer_inputs,omitempty"`

	// Streams, if set, is the number of residual streams (Baykal et al. 2023, AltUp; Gemma 3n). The first
	// begins as the embedding, the others as products with it, of its magnitude. A layer predicts each
	// stream as itself plus all streams times the factors predict s, where s = tanh(router norm(x)/Width)
	// and x is the first stream. Its branches change the first prediction by d. Then each stream becomes
	// its prediction plus (1 + correct s)·d, with s of what the branches return. The branch of
	// LayerInputs reads the first stream times a vector, and is added to the others. The head reads the
	// mean of the first and of products with the others, of its magnitude. Decoders alone, without
	// LayerScale.
	Streams int `json:"streams,omitempty"`

	// Laurel, if set, is the rank of a branch next to attention, which reads the same norm n
	// (Menghani et al. 2024; Gemma 3n): x = (x + n + norm(right left n))/√2, after attention. Decoders
	// alone, whose layers have attention behind a norm.
	Laurel int `json:"laurel,omitempty"`

	// LayerScale says that each layer multiplies what it returns by a learned number (Gemma 4).
	// Decoders alone.
	LayerScale bool `json:"layer_scale,omitempty"`
}

// A Kind describes layers. A layer has two branches that add to the residual stream: one
// mixes tokens, by attention, a convolution, a delta rule or a recurrence of states, one computes the
// feed-forward block of each token, or some of several. One of them may be absent (Nemotron-H: each layer
// has one).
type Kind struct {
	Attention   Attention    `json:"attention,omitzero"`    // zero if there is another mixer only, or none
	Convolution *Convolution `json:"convolution,omitempty"` // instead of Attention

	// Deltas replace Attention too.
	Deltas *DeltaNet `json:"deltas,omitempty"`

	// States replace Attention, or come in addition to it: then both read the same norm, and both
	// results are added to the residual stream (Falcon-H1).
	States *StateSpace `json:"states,omitempty"`

	FeedForward FeedForward `json:"feed_forward,omitzero"` // zero: there is none (Mamba 2)

	Parallel   bool `json:"parallel,omitempty"`    // both branches read the same x; else the second reads x after the first
	SharedNorm bool `json:"shared_norm,omitempty"` // with Parallel: both read the attention's norm (GPT-J)
}

// Attention describes the attention of a layer. Below an encoder its heads, scale and
// bounds of scores are those of the cross-attention too.
type Attention struct {
	Norms   Placement `json:"norms"`
	Heads   int       `json:"heads"`    // of queries
	KVHeads int       `json:"kv_heads"` // of keys and values: each serves Heads/KVHeads heads of queries
	HeadDim int       `json:"head_dim"`

	// Window is the number of tokens that a token of a decoder sees, including itself. A
	// token of an encoder sees the tokens at a distance less than Window. Chunk is an
	// alternative for decoders: a token sees earlier tokens with the same position/Chunk
	// (Llama 4). 0: there is no bound.
	Window int `json:"window,omitempty"`
	Chunk  int `json:"chunk,omitempty"`

	// Local says that a patch sees those of its own window alone, see [Patches]. Encoders of patches
	// without Class and Window only (Qwen2.5-VL).
	Local bool `json:"local,omitempty"`

	// KVLayer is the layer of the decoder, counted from 1, whose keys and values this one reads; 0: it
	// has its own (Gemma 4). It is an earlier one that has its own, of as many heads of the same width.
	// A layer that others read keeps all tokens, even with a window. Decoders alone.
	KVLayer int `json:"kv_layer,omitempty"`

	Rotary int    `json:"rotary,omitempty"`  // the table, counted from 1; 0: no rotary embedding
	QKNorm QKNorm `json:"qk_norm,omitempty"` // of queries and keys, before rotary embedding

	RotatedNorm bool `json:"rotated_norm,omitempty"` // QKNorm, of each head, comes after rotary embedding (HunYuan)

	ValueNorm    bool `json:"value_norm,omitempty"`     // each head of values is normalised, without a weight (Gemma 4)
	KeysAsValues bool `json:"keys_as_values,omitempty"` // the values are the keys before their norm; not with KVLayer or QKNormAll (Gemma 4)

	Scale   float32 `json:"scale,omitempty"`    // factor of scores; 0: 1/√HeadDim, with Latent 1/√(KeyDim+Shared)
	SoftCap float32 `json:"soft_cap,omitempty"` // c of c·tanh(score/c)
	Clamp   float32 `json:"clamp,omitempty"`    // or scores are bounded to -Clamp...Clamp
	Sinks   bool    `json:"sinks,omitempty"`    // each head's softmax has one score more, without a value (GPT-OSS)

	OutScale float32 `json:"out_scale,omitempty"` // factor of the last product's results

	// Gated says that the results of heads are multiplied by σ of as many values more of the first
	// product (Qwen3-Next), or, with HeadGates, by σ of one value more for each head (LFM3). Models
	// without an encoder only.
	Gated     bool `json:"gated,omitempty"`
	HeadGates bool `json:"head_gates,omitempty"`

	// Latent, if set, makes keys, values and perhaps queries of narrow vectors (DeepSeek-V2).
	Latent *Latent `json:"latent,omitempty"`

	// Disentangled, if set, compares tokens with their distances too (DeBERTa). Encoders without a
	// decoder only.
	Disentangled *Disentangled `json:"disentangled,omitempty"`

	// Growth makes rotated queries grow with their position p: their factor is
	// 1 + Growth·ln(1 + ⌊p/GrowthStep⌋) (Ministral 3). Decoders without an encoder only.
	Growth     float32 `json:"growth,omitempty"`
	GrowthStep int     `json:"growth_step,omitempty"` // tokens

	// Slopes are those of ALiBi (Press et al. 2022), one for each head of queries: the score
	// of a key decreases by the slope for each token of distance, in an encoder on both sides. Not with
	// biases by distance, and not in an encoder below a decoder.
	Slopes []float32 `json:"slopes,omitempty"`
}

// rows returns the number of values that attention reads of a token: of queries, and of keys and values if
// the layer has its own. Without Latent they are the rows of the first product.
func (a *Attention) rows() int {
	heads := a.Heads
	if a.KVLayer == 0 {
		heads += a.KVHeads
	}
	if a.KVLayer == 0 && !a.KeysAsValues {
		heads += a.KVHeads
	}
	return heads*a.HeadDim + a.gates()
}

// gates returns the number of values that the results of heads are multiplied by, after σ.
func (a *Attention) gates() int {
	switch {
	case a.HeadGates:
		return a.Heads
	case a.Gated:
		return a.Heads * a.HeadDim
	}
	return 0
}

// FeedForward describes the feed-forward block of a layer: down(act(up x)), or gated
// down(act(gate x) ⊙ up x).
type FeedForward struct {
	Norms      Placement       `json:"norms"`
	Width      int             `json:"width"`
	Activation Activation      `json:"activation"`
	Gated      bool            `json:"gated,omitempty"`
	Graph      json.RawMessage `json:"graph,omitempty"` // expression of Activation Composed

	GateScale float32 `json:"gate_scale,omitempty"` // factor of gate x
	OutScale  float32 `json:"out_scale,omitempty"`  // factor of the results of down

	// Limit, if set, bounds the gate to at most Limit and what it multiplies to ±Limit, to which
	// 1 is added (GPT-OSS): (1 + bounded up x) ⊙ act(bounded gate x).
	Limit float32 `json:"limit,omitempty"`

	// Sparsity, if set, is the part of gates that are cut off, if they are distributed normally
	// (Gemma 3n): act(max(0, g - mean g - Φ⁻¹(Sparsity)·σ g)) of g = gate x. Gated blocks without
	// experts and Limit.
	Sparsity float32 `json:"sparsity,omitempty"`

	// Experts, if set, are several blocks of this form, of which a router chooses some for each
	// token.
	Experts *Experts `json:"experts,omitempty"`
}

// Experts describe a mixture of experts (Shazeer et al. 2017, sec. 2): a token's result is the
// sum of those of the Used experts with the highest probabilities, each multiplied by its
// probability. The probabilities are the softmax of the router's logits, unless Sigmoid says
// otherwise. Of equal ones that of the lower index counts as the higher.
type Experts struct {
	Count int `json:"count"`
	Used  int `json:"used"` // for each token

	// Sigmoid makes the probabilities σ(logit), each for itself (LFM2-MoE). With Corrected, each
	// expert has a number that is added to its probability, but only to choose (Wang et al. 2024;
	// of a softmax: ERNIE 4.5).
	Sigmoid   bool `json:"sigmoid,omitempty"`
	Corrected bool `json:"corrected,omitempty"`

	// Groups, if set, divide the experts into equal parts, one behind the other. Only those of the GroupsUsed
	// best parts can be chosen: of those with the highest probability of an expert, or, with Corrected, with
	// the highest sum of two corrected ones (DeepSeek-AI 2024, "DeepSeek-V2", sec. 2.2.2, and "DeepSeek-V3").
	Groups     int `json:"groups,omitempty"`
	GroupsUsed int `json:"groups_used,omitempty"`

	// Renormalised divides the probabilities of the used experts by their sum, as if the softmax
	// were over these alone. Floor is added to the sum if there are sigmoids or corrections; 0: 1e-6.
	// Scale is a factor of the results.
	Renormalised bool    `json:"renormalised,omitempty"`
	Floor        float32 `json:"floor,omitempty"`
	Scale        float32 `json:"scale,omitempty"`

	// Shared is the width of one more block, which computes all tokens (Qwen2-MoE, Granite 4);
	// 0: there is none. With SharedGate its result is multiplied by σ(gate x).
	Shared     int  `json:"shared,omitempty"`
	SharedGate bool `json:"shared_gate,omitempty"`

	// Apart computes the experts next to the shared block, from the same residual stream, with norms of
	// their own (Gemma 4): before the router, whose logits are divided by √Width, before the experts,
	// and behind each of the two, whose sum is the result. Each expert has a factor of its probability.
	Apart bool `json:"apart,omitempty"`
}

// common returns the width of the block that computes all tokens, 0 if there is none.
func (f *FeedForward) common() int {
	if f.Experts != nil {
		return f.Experts.Shared
	}
	return f.Width
}

// chosen returns the width of what experts compute for a token, all together.
func (f *FeedForward) chosen() int {
	if f.Experts != nil {
		return f.Experts.Used * f.Width
	}
	return 0
}

// A Placement is the position of the norms of a branch f.
type Placement uint8

// Placements of norms.
const (
	PreNorm          Placement = iota // x + f(norm(x))
	PostNorm                          // x + norm(f(x)) (OLMo 2)
	SandwichNorm                      // x + norm(f(norm(x))) (Gemma 2)
	PostResidualNorm                  // norm(x + f(x)) (Vaswani et al. 2017)
	NoNorm                            // x + f(x)
)

// Before reports whether there is a norm before the branch.
func (p Placement) Before() bool { return p == PreNorm || p == SandwichNorm }

// After reports whether there is a norm after the branch.
func (p Placement) After() bool {
	return p == PostNorm || p == SandwichNorm || p == PostResidualNorm
}

// A QKNorm is the normalisation of queries and keys.
type QKNorm uint8

// Norms of queries and keys.
const (
	NoQKNorm       QKNorm = iota
	QKNormHead            // each head; all heads of queries share a weight (HeadDim), and all heads of keys (Qwen3)
	QKNormEachHead        // each head with its own weight (StableLM 2)
	QKNormAll             // all heads as one vector (OLMo 2)
)

// A Position is the encoding of positions that is added to token embeddings.
type Position uint8

// Encodings of positions.
const (
	NoPosition      Position = iota // nothing
	Learned                         // a row of a table
	Sinusoidal                      // fairseq's: sines, then cosines; position p is row p+2
	SinusoidalFirst                 // those of Vaswani et al. 2017, the sines first; position p is row p (Marian)
)

// Rotary is a table of rotary position embedding (Su et al. 2021, sec. 3.4.2): the first
// Dims dimensions of each head are rotated, pair j by position·Frequencies[j].
type Rotary struct {
	Dims        int       `json:"dims"`
	Interleaved bool      `json:"interleaved,omitempty"` // pairs are (2j, 2j+1) as in GPT-J; else (j, j+Dims/2) as in GPT-NeoX
	Magnitude   float32   `json:"magnitude,omitempty"`   // factor of sines and cosines (YaRN)
	Frequencies []float32 `json:"frequencies"`           // (Dims/2), radians a token

	// Axes, if set, has the axis of each pair, by which it turns instead of the index of the token, see
	// [Place]. Decoders without an encoder, and encoders of patches without Class.
	Axes []int `json:"axes,omitempty"` // (Dims/2), below 3

	// Long has the frequencies of sequences whose cache has room for more than Original
	// tokens (LongRoPE). Original 0: there are none.
	Long     []float32 `json:"long,omitempty"` // (Dims/2)
	Original int       `json:"original,omitempty"`
}

// embedWidth returns the width of the embedding and of the head.
func (s *Spec) embedWidth() int {
	if s.EmbedWidth > 0 {
		return s.EmbedWidth
	}
	return s.Width
}

// Depth returns the number of layers of the encoder as they are computed.
func (s *Spec) Depth() int {
	if len(s.Order) > 0 {
		return len(s.Order)
	}
	return len(s.Encoder)
}

// InputWidth returns the width of positions, of types of tokens and of the norm of embeddings.
func (s *Spec) InputWidth() int {
	if len(s.Decoder) == 0 {
		return s.embedWidth()
	}
	return s.Width
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
	LayerNorm      NormKind = iota // Ba et al. 2016
	RMSNorm                        // Zhang and Sennrich 2019: no mean, no bias
	PlainLayerNorm                 // LayerNorm without weight and bias (OLMo)
	PlainRMSNorm                   // RMSNorm without a weight (NanoChat)
)

// Plain reports whether norms have neither weights nor biases.
func (n NormKind) Plain() bool { return n == PlainLayerNorm || n == PlainRMSNorm }

// An Activation is the non-linearity of the feed-forward block.
type Activation string

// Activations. The last three are Alpha's: they have parameters, or an expression. XIELU has four
// numbers a, b, β and ε of each layer (Huang and Schlag 2024): it is softplus(a)·x² + βx of positive x,
// of others (e^min(x,ε)-1-x)·(β+softplus(b)) + βx.
const (
	GELU      Activation = "gelu_tanh" // 0.5x(1+tanh(√(2/π)(x+0.044715x³)))
	GELUErf   Activation = "gelu"      // 0.5x(1+erf(x/√2))
	ReLU      Activation = "relu"
	ReLU2     Activation = "relu2" // relu(x)² (So et al. 2021)
	SiLU      Activation = "silu"
	QuickGELU Activation = "quick_gelu" // x·σ(1.702x)
	XIELU     Activation = "xielu"
	Universal Activation = "universal"
	KANSpline Activation = "kan_spline"
	Composed  Activation = "composed"
)
