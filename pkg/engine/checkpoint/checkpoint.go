// Package checkpoint reads and writes weight files: Alpha's two encodings, which share
// one file name, and Alpha's run directories. It also reads safetensors, single and
// sharded, and GGUF. It checks an Alpha file completely against the architecture of its
// configuration, so that its results can be indexed without further tests. In the other
// formats it checks that every tensor lies where its description places it. It does not
// know how a model computes, what a tokenizer does or where files are stored.
//
// Start with [Open]: it returns the tensors and keys of any GGUF or safetensors file. [WriteGGUF]
// writes GGUF.
//
// Source: Alpha's documentation and the formats that its trainer writes; the safetensors
// format's description; gguf.h and the reference dequantisation of ggml.
package checkpoint

import (
	"encoding/json"
	"fmt"
)

// Activations of the feed-forward block, with Alpha's names.
const (
	GELU      = "gelu"
	SiLU      = "silu"
	ReLU      = "relu"
	SwiGLU    = "swiglu"
	Universal = "universal"
	KANSpline = "kan_spline"
	Composed  = "composed"
)

// ModelConfig is the shape of an Alpha model.
type ModelConfig struct {
	VocabSize       int             `json:"vocabSize"`
	BlockSize       int             `json:"blockSize"` // context length, tokens
	NLayer          int             `json:"nLayer"`
	NEmbd           int             `json:"nEmbd"`
	NHead           int             `json:"nHead"`
	Dropout         float64         `json:"dropout"`
	FFNActivation   string          `json:"ffnActivation,omitempty"` // "" means gelu
	FFNDim          int             `json:"ffnDim,omitempty"`        // 0 means the activation's default, see [ModelConfig.FFN]
	SoftCap         *float64        `json:"softCap,omitempty"`       // attention score cap; nil if the file has none
	ActivationGraph json.RawMessage `json:"activationGraph,omitempty"`
}

// Activation returns the feed-forward activation with its default filled in.
func (c *ModelConfig) Activation() string {
	if c.FFNActivation == "" {
		return GELU
	}
	return c.FFNActivation
}

// FFN returns the width of the feed-forward block: ffnDim, or else four times nEmbd, for
// swiglu two thirds of that rounded up to a multiple of 64.
func (c *ModelConfig) FFN() int {
	switch {
	case c.FFNDim > 0:
		return c.FFNDim
	case c.Activation() == SwiGLU:
		return (8*c.NEmbd + 3*64 - 1) / (3 * 64) * 64
	}
	return 4 * c.NEmbd
}

// Tensor is a dense array of float32.
type Tensor struct {
	Shape []int
	Data  []float32 // row-major, the last dimension contiguous; nil if it stayed in the file
}

// Elements returns the number of values.
func (t *Tensor) Elements() int { return elements(t.Shape) }

// Alpha is the content of an Alpha checkpoint. Params holds exactly the tensors that
// [Params] lists for its configuration, each of the right shape and finite.
type Alpha struct {
	ModelConfig    ModelConfig
	ModelConfigRaw json.RawMessage // modelConfig as written in the file
	Params         map[string]Tensor
	Optimizer      map[string]Tensor // nil unless requested in [Options]
	OptimizerStep  int
	Tokenizer      json.RawMessage // tokenizerArtifacts; nil if the file has none
	RNGState       float64
	ConfigHash     string
	Step           int

	file parameters // that are read when they are needed; nil: all are in memory
}

// parameters are those of an open file.
type parameters interface {
	Values(name string, from int, dst []float32) error
	Close() error
}

// Values copies len(dst) values of a parameter, beginning with value from.
func (a *Alpha) Values(name string, from int, dst []float32) error {
	if a.file != nil {
		return a.file.Values(name, from, dst)
	}
	data := a.Params[name].Data
	if err := within(len(data), from, len(dst)); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	copy(dst, data[from:])
	return nil
}

// Close closes the file of a checkpoint from [OpenAlpha].
func (a *Alpha) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// Fused reports whether the attention matrices are stored as one wqkv.
func (a *Alpha) Fused() bool {
	_, ok := a.Params["layer.0.attn.wqkv"]
	return ok
}
