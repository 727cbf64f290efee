package arch

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/kinds"
)

// alphaType is [Model.Type] of Alpha's models: GPT-2 without biases in linear layers,
// with a separate output matrix.
const alphaType = "alpha"

// alphaActivations maps Alpha's names of functions. SwiGLU uses SiLU for the gate.
var alphaActivations = map[string]transformer.Activation{
	checkpoint.GELU: transformer.GELU, checkpoint.SiLU: transformer.SiLU, checkpoint.ReLU: transformer.ReLU,
	checkpoint.SwiGLU: transformer.SiLU, checkpoint.Universal: transformer.Universal,
	checkpoint.KANSpline: transformer.KANSpline, checkpoint.Composed: transformer.Composed,
}

// alphaLearned are the names of an activation's parameters.
var alphaLearned = map[string][]string{
	checkpoint.Universal: {"act_gate", "act_skip"},
	checkpoint.KANSpline: {"kan_c0", "kan_c1", "kan_c2", "kan_c3", "kan_c4"},
}

// OpenAlpha opens the checkpoint in a file like [FromAlpha].
func OpenAlpha(fsys fs.FS, file, limit string) (*Model, error) {
	ck, err := checkpoint.OpenAlpha(fsys, file)
	if err != nil {
		return nil, err
	}
	m, err := FromAlpha(ck, limit)
	if err != nil {
		return nil, errors.Join(err, ck.Close())
	}
	return m, nil
}

// FromAlpha opens a checkpoint, which the model keeps and closes. limit bounds attention scores:
// "none", "clamp30", "tanh30", a number for the tanh form, or "" for the checkpoint's own
// bound: its softCap, or else 30 for files with a fused wqkv, or else none. Files of the
// clamp generation cannot be distinguished from older ones.
func FromAlpha(ck *checkpoint.Alpha, limit string) (*Model, error) {
	score, err := readBound(ck, limit)
	if err != nil {
		return nil, err
	}
	if ck.Tokenizer == nil {
		return nil, errors.New("the checkpoint has no tokenizerArtifacts")
	}
	src := &tokenizer.Source{Kind: tokenizer.KindAlpha, Parts: map[string][]byte{tokenizer.PartJSON: ck.Tokenizer}}
	t, err := kinds.Open(src)
	if err != nil {
		return nil, err
	}
	m := &Model{
		Type: alphaType, Version: ck.ConfigHash + "-" + strconv.Itoa(ck.Step),
		Spec: alphaSpec(&ck.ModelConfig, score), Weights: alphaWeights(ck), Tokenizer: t,
		source: func() (*tokenizer.Source, error) { return src, nil }, closer: ck,
	}
	if err := checkSpec(m.Spec); err != nil {
		return nil, err
	}
	if line := t.Encode("\n"); len(line) == 1 {
		m.Empty = line[0] // there is no start token: a line begins after the end of another
	}
	return m, m.finish()
}

func alphaSpec(c *checkpoint.ModelConfig, score scoreBound) *transformer.Spec {
	s := &transformer.Spec{
		Vocab: c.VocabSize, Context: c.BlockSize, Width: c.NEmbd,
		Position: transformer.Learned, Eps: 1e-5,
	}
	k := transformer.Kind{
		Attention: transformer.Attention{Heads: c.NHead, KVHeads: c.NHead, HeadDim: c.NEmbd / c.NHead},
		FeedForward: transformer.FeedForward{
			Width: c.FFN(), Activation: alphaActivations[c.Activation()], Gated: c.Activation() == checkpoint.SwiGLU,
		},
	}
	if k.FeedForward.Activation == transformer.Composed {
		k.FeedForward.Graph = c.ActivationGraph
	}
	s.Decoder = addStack(s, k, c.NLayer)
	score.apply(s)
	return s
}

func alphaWeights(ck *checkpoint.Alpha) *transformer.Weights {
	a := alphaParams{ck}
	w := &transformer.Weights{
		Embed: a.linear("wte"), Positions: a.linear("wpe"), Head: a.linear("lmHead"), DecoderNorm: a.norm("lnF"),
	}
	c := &ck.ModelConfig
	up, down := "mlp.fc1", "mlp.fc2"
	if c.Activation() == checkpoint.SwiGLU {
		up, down = "mlp.fc_up", "mlp.fc_proj"
	}
	for i := range c.NLayer {
		prefix := "layer." + strconv.Itoa(i) + "."
		l := transformer.Layer{
			AttentionNorm: a.norm(prefix + "ln1"), FFNNorm: a.norm(prefix + "ln2"),
			Out: a.linear(prefix + "attn.wo"), Up: a.linear(prefix + up), Down: a.linear(prefix + down),
		}
		if ck.Fused() {
			l.QKV = a.linear(prefix + "attn.wqkv")
		} else {
			l.QKV = a.linear(prefix+"attn.wq", prefix+"attn.wk", prefix+"attn.wv")
		}
		if c.Activation() == checkpoint.SwiGLU {
			l.Gate = a.linear(prefix + "mlp.fc_gate")
		}
		for _, name := range alphaLearned[c.Activation()] {
			l.Learned = append(l.Learned, a.vector(prefix+"mlp."+name))
		}
		w.Decoder = append(w.Decoder, l)
	}
	return w
}

// alphaParams returns the parameters of a checkpoint.
type alphaParams struct{ ck *checkpoint.Alpha }

func (a alphaParams) tensor(name string, rows, cols int) transformer.Tensor {
	return transformer.Tensor{Name: name, Rows: rows, Cols: cols, Read: func(dst []float32, from int) error {
		return a.ck.Values(name, from, dst)
	}}
}

func (a alphaParams) linear(names ...string) (l transformer.Linear) {
	for _, name := range names {
		shape := a.ck.Params[name].Shape
		l.Weight = append(l.Weight, a.tensor(name, shape[0], shape[1]))
	}
	return l
}

func (a alphaParams) vector(name string) transformer.Vector {
	p := a.ck.Params[name]
	return transformer.Vector{a.tensor(name, p.Elements(), 1)}
}

func (a alphaParams) norm(name string) transformer.Norm {
	return transformer.Norm{Weight: a.vector(name + ".weight"), Bias: a.vector(name + ".bias")}
}

// A scoreBound bounds attention scores in one of two ways, see [transformer.Attention].
type scoreBound struct{ softCap, clamp float32 }

// apply sets the bound in all layers.
func (b scoreBound) apply(s *transformer.Spec) {
	for i := range s.Kinds {
		s.Kinds[i].Attention.SoftCap, s.Kinds[i].Attention.Clamp = b.softCap, b.clamp
	}
}

// readBound reads the limit of [FromAlpha].
func readBound(ck *checkpoint.Alpha, limit string) (scoreBound, error) {
	if limit == "" {
		return ownBound(ck), nil
	}
	return parseBound(limit)
}

// parseBound parses a non-empty limit.
func parseBound(limit string) (scoreBound, error) {
	switch limit {
	case "none":
		return scoreBound{}, nil
	case "clamp30":
		return scoreBound{clamp: 30}, nil
	case "tanh30":
		return scoreBound{softCap: 30}, nil
	}
	v, err := strconv.ParseFloat(limit, 32)
	if err != nil || !(v > 0 && v <= 1e6) {
		return scoreBound{}, fmt.Errorf("cap %q is not none, clamp30, tanh30 or a positive number", limit)
	}
	return scoreBound{softCap: float32(v)}, nil
}

// ownBound returns the checkpoint's own bound.
func ownBound(ck *checkpoint.Alpha) scoreBound {
	switch soft := ck.ModelConfig.SoftCap; {
	case soft != nil && *soft > 0:
		return scoreBound{softCap: float32(*soft)}
	case soft == nil && ck.Fused():
		return scoreBound{softCap: 30}
	}
	return scoreBound{}
}
