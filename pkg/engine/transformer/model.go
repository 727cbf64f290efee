// Package transformer computes the forward pass of decoder-only transformers with
// a KV cache: tokens in, logits out. It refuses to know text, sampling, requests
// and threads; a [Pass] belongs to one goroutine.
//
// Source of the architecture: seed 002 (Alpha, a GPT-2 without biases in linears
// and with an untied head).
package transformer

import (
	"fmt"
	"math"
	"strconv"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// layerNormEps is added to the variance (seed 002's upstream, GPT-2).
const layerNormEps = 1e-5

// Model holds weights ready for use. It is immutable and safe for concurrent use.
type Model struct {
	Vocab, Context      int // tokens
	Width, Heads, Depth int

	kernels *kernel.Kernels
	limit   kernel.Cap
	scale   float32   // of attention scores: 1/√headDim
	wte     []float32 // (vocab, width), row-major
	wpe     []float32 // (context, width), row-major
	layers  []layer
	final   norm
	head    *kernel.Matrix // (vocab, width)
}

type norm struct{ weight, bias []float32 } // (width)

type layer struct {
	attnNorm, ffnNorm norm
	qkv               *kernel.Matrix // (3*width, width): rows of q, then k, then v
	out               *kernel.Matrix // (width, width)
	ffn               feedForward
}

// New packs the weights of a checkpoint. limit bounds attention scores, see
// [ScoreCap]. The checkpoint's slices are not kept but for embeddings and norms.
func New(ck *checkpoint.Alpha, kernels *kernel.Kernels, limit kernel.Cap) (*Model, error) {
	c := &ck.ModelConfig
	m := &Model{
		Vocab: c.VocabSize, Context: c.BlockSize, Width: c.NEmbd, Heads: c.NHead, Depth: c.NLayer,
		kernels: kernels, limit: limit, scale: float32(1 / math.Sqrt(float64(c.NEmbd/c.NHead))),
		wte:  ck.Params["wte"].Data,
		wpe:  ck.Params["wpe"].Data,
		head: pack(ck, "lmHead"),
		final: norm{
			weight: ck.Params["lnF.weight"].Data,
			bias:   ck.Params["lnF.bias"].Data,
		},
	}
	act, err := newActivation(c)
	if err != nil {
		return nil, err
	}
	for i := range c.NLayer {
		m.layers = append(m.layers, newLayer(ck, "layer."+strconv.Itoa(i)+".", act))
	}
	return m, nil
}

func newLayer(ck *checkpoint.Alpha, prefix string, act activation) layer {
	vector := func(name string) []float32 { return ck.Params[prefix+name].Data }
	return layer{
		attnNorm: norm{vector("ln1.weight"), vector("ln1.bias")},
		ffnNorm:  norm{vector("ln2.weight"), vector("ln2.bias")},
		qkv:      packQKV(ck, prefix),
		out:      pack(ck, prefix+"attn.wo"),
		ffn:      newFeedForward(ck, prefix+"mlp.", act),
	}
}

func pack(ck *checkpoint.Alpha, name string) *kernel.Matrix {
	t := ck.Params[name]
	return kernel.Pack(t.Data, t.Shape[0], t.Shape[1])
}

// packQKV returns the fused attention matrix, made of three in older files.
func packQKV(ck *checkpoint.Alpha, prefix string) *kernel.Matrix {
	if ck.Fused() {
		return pack(ck, prefix+"attn.wqkv")
	}
	e := ck.ModelConfig.NEmbd
	w := make([]float32, 0, 3*e*e)
	for _, name := range []string{"attn.wq", "attn.wk", "attn.wv"} {
		w = append(w, ck.Params[prefix+name].Data...)
	}
	return kernel.Pack(w, 3*e, e)
}

// ScoreCap returns the bound of attention scores for a checkpoint. override, from
// the model's record, is "none", "clamp30", "tanh30", a number for the tanh form,
// or "" for the checkpoint's own: its softCap, else 30 for files with a fused
// wqkv, else none. Files of the clamp generation cannot be told from older ones.
func ScoreCap(ck *checkpoint.Alpha, override string) (kernel.Cap, error) {
	switch override {
	case "":
		return ownCap(ck), nil
	case "none":
		return kernel.Cap{}, nil
	case "clamp30":
		return kernel.Cap{Kind: kernel.CapClamp, Value: 30}, nil
	case "tanh30":
		return kernel.Cap{Kind: kernel.CapTanh, Value: 30}, nil
	}
	v, err := strconv.ParseFloat(override, 32)
	if err != nil || !(v > 0 && v <= 1e6) {
		return kernel.Cap{}, fmt.Errorf("cap %q is not none, clamp30, tanh30 or a positive number", override)
	}
	return kernel.Cap{Kind: kernel.CapTanh, Value: float32(v)}, nil
}

func ownCap(ck *checkpoint.Alpha) kernel.Cap {
	switch soft := ck.ModelConfig.SoftCap; {
	case soft != nil && *soft > 0:
		return kernel.Cap{Kind: kernel.CapTanh, Value: float32(*soft)}
	case soft == nil && ck.Fused():
		return kernel.Cap{Kind: kernel.CapTanh, Value: 30}
	}
	return kernel.Cap{}
}

// Parameters returns the number of weights.
func (m *Model) Parameters() int {
	n := len(m.wte) + len(m.wpe) + len(m.final.weight) + len(m.final.bias) + m.head.Rows*m.head.Cols
	for i := range m.layers {
		l := &m.layers[i]
		n += 4*m.Width + l.qkv.Rows*l.qkv.Cols + l.out.Rows*l.out.Cols + l.ffn.parameters()
	}
	return n
}
