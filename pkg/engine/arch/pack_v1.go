package arch

import (
	"encoding/json"
	"fmt"

	"glossa/pkg/engine/transformer"
)

// descriptionV1 is the description of a packed model of version 1, in which all layers
// are equal. It is never written, and its fields must not change.
type descriptionV1 struct {
	Type   string  `json:"type"`
	Quant  string  `json:"quant"`
	Source string  `json:"source"`
	Spec   *specV1 `json:"spec"`
	Cap    *struct {
		Kind  string  `json:"kind"` // "clamp" or "tanh"
		Value float32 `json:"value"`
	} `json:"cap"`
	Start        []int        `json:"start"`
	Empty        int          `json:"empty"`
	End          []int        `json:"end"`
	Tokens       int          `json:"tokens"`
	ChatTemplate string       `json:"chat_template"`
	Translation  *Translation `json:"translation"`
}

// specV1 is the architecture of a model of version 1.
type specV1 struct {
	Vocab   int `json:"vocab"`
	Context int `json:"context"`
	Width   int `json:"width"`

	Decoder stackV1 `json:"decoder"`
	Encoder stackV1 `json:"encoder"`

	EmbedScale float32  `json:"embed_scale"`
	Position   string   `json:"position"` // "learned", "sinusoidal" or "rotary"
	Rotary     rotaryV1 `json:"rotary"`   // of position "rotary"

	Norm       string  `json:"norm"` // "layer_norm" or "rms_norm"
	Eps        float32 `json:"eps"`
	Parallel   bool    `json:"parallel"`
	SharedNorm bool    `json:"shared_norm"`

	Activation transformer.Activation `json:"activation"`
	Gated      bool                   `json:"gated"`
	Graph      json.RawMessage        `json:"graph"`

	InverseLayerScale bool `json:"inverse_layer_scale"` // scores of layer i are divided by i+1
}

// stackV1 is the shape of the layers of a stack.
type stackV1 struct {
	Depth   int `json:"depth"`
	Heads   int `json:"heads"`
	KVHeads int `json:"kv_heads"`
	HeadDim int `json:"head_dim"`
	FFN     int `json:"ffn"`
}

// rotaryV1 is the table of all layers.
type rotaryV1 struct {
	Dims        int       `json:"dims"`
	Interleaved bool      `json:"interleaved"`
	Frequencies []float32 `json:"frequencies"`
}

// description converts d to the current version.
func (d *descriptionV1) description() (*description, error) {
	if d.Spec == nil {
		return nil, fmt.Errorf("no spec")
	}
	s, err := d.Spec.spec()
	if err != nil {
		return nil, err
	}
	if c := d.Cap; c != nil {
		bound := scoreBound{softCap: c.Value}
		if c.Kind == "clamp" {
			bound = scoreBound{clamp: c.Value}
		}
		if c.Kind != "clamp" && c.Kind != "tanh" || !(c.Value > 0 && c.Value <= 1e6) {
			return nil, fmt.Errorf("cap: %.40q with %v is not a bound", c.Kind, c.Value)
		}
		bound.apply(s)
	}
	return &description{
		Type: d.Type, Quant: d.Quant, Source: d.Source, Spec: s, Start: d.Start, Empty: d.Empty, End: d.End, Tokens: d.Tokens,
		ChatTemplate: d.ChatTemplate, Translation: d.Translation,
	}, nil
}

func (o *specV1) spec() (*transformer.Spec, error) {
	if o.Decoder.Depth < 1 || o.Decoder.Depth > maxDepth || o.Encoder.Depth < 0 || o.Encoder.Depth > maxDepth {
		return nil, fmt.Errorf("depth: %d layers of a decoder and %d of an encoder are not in 1..%d", o.Decoder.Depth, o.Encoder.Depth, maxDepth)
	}
	if o.Encoder.Depth == 0 && o.Encoder != (stackV1{}) {
		return nil, fmt.Errorf("encoder: a stack of 0 layers with %d heads of %d", o.Encoder.Heads, o.Encoder.HeadDim)
	}
	s := &transformer.Spec{Vocab: o.Vocab, Context: o.Context, Width: o.Width, EmbedScale: o.EmbedScale, Eps: o.Eps}
	positions := map[string]transformer.Position{"rotary": transformer.NoPosition, "learned": transformer.Learned, "sinusoidal": transformer.Sinusoidal}
	norms := map[string]transformer.NormKind{"layer_norm": transformer.LayerNorm, "rms_norm": transformer.RMSNorm}
	var position, norm bool
	s.Position, position = positions[o.Position]
	s.Norm, norm = norms[o.Norm]
	if !position || !norm {
		return nil, fmt.Errorf("position %.40q, norm %.40q: unknown", o.Position, o.Norm)
	}
	s.Decoder = addStack(s, o.kind(&o.Decoder), o.Decoder.Depth)
	if o.Encoder.Depth > 0 {
		s.Encoder = addStack(s, o.kind(&o.Encoder), o.Encoder.Depth)
	}
	if o.Position == "rotary" {
		setRotary(s, transformer.Rotary{Dims: o.Rotary.Dims, Interleaved: o.Rotary.Interleaved, Frequencies: o.Rotary.Frequencies})
	}
	if o.InverseLayerScale {
		if o.Encoder.Depth > 0 || o.Decoder.HeadDim < 1 {
			return nil, fmt.Errorf("inverse_layer_scale: %d layers of an encoder, heads of %d", o.Encoder.Depth, o.Decoder.HeadDim)
		}
		inverseScale(s)
	}
	return s, nil
}

func (o *specV1) kind(s *stackV1) transformer.Kind {
	return transformer.Kind{
		Attention:   transformer.Attention{Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim},
		FeedForward: transformer.FeedForward{Width: s.FFN, Activation: o.Activation, Gated: o.Gated, Graph: o.Graph},
		Parallel:    o.Parallel, SharedNorm: o.SharedNorm,
	}
}
