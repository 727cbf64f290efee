package bench

import (
	"path/filepath"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// A Model is a model to measure: a random one, or one from a file.
type Model struct {
	Name    string
	Spec    *transformer.Spec
	Weights *transformer.Weights

	shape *shape // of a random one
	close func() error
}

// Open opens a model's directory or file, see [arch.OpenPath]; the model has the file's
// name. The caller closes it.
func Open(name string) (*Model, error) {
	full, err := filepath.Abs(name) // "." has a name too
	if err != nil {
		return nil, err
	}
	m, err := arch.OpenPath(full)
	if err != nil {
		return nil, err
	}
	return &Model{Name: filepath.Base(full), Spec: m.Spec, Weights: m.Weights, close: m.Close}, nil
}

// Close closes the files, if there are any.
func (m *Model) Close() error {
	if m.close == nil {
		return nil
	}
	return m.close()
}

// matrices lists the matrices that are multiplied in a layer.
func matrices(l *transformer.Layer) []transformer.Linear {
	list := []transformer.Linear{l.QKV, l.Out, l.ConvolutionIn, l.ConvolutionOut, l.StatesIn, l.StatesOut, l.DeltasIn, l.DeltasOut, l.Up, l.Down, l.Gate}
	return slices.DeleteFunc(list, func(x transformer.Linear) bool { return x.Weight == nil })
}

// A load is the machine's work for the products of a pass.
type load struct {
	bytes        int64 // of weights, including padding
	layers, head int64 // weights multiplied for a token, and for its logits
}

// Load returns the work of a model in a format: the bytes of the weights that a pass reads,
// and the multiply-adds of its layers for a token.
func (m *Model) Load(format transformer.Format) (bytes, operations int64) {
	l := m.load(format)
	return l.bytes, l.layers
}

// Format returns the format of the weights when they are read in format, as [Result.Quant]
// names it.
func (m *Model) Format(format transformer.Format) string { return m.resolve(format).String() }

func (m *Model) load(format transformer.Format) (l load) {
	for i := range m.Weights.Decoder {
		for _, x := range matrices(&m.Weights.Decoder[i]) {
			l.layers += elements(x.Weight)
		}
		l.layers += elements(m.Weights.Decoder[i].Router.Weight)
		if e := m.Spec.Kinds[m.Spec.Decoder[i]].FeedForward.Experts; e != nil { // all have the same size
			x := &m.Weights.Decoder[i].Experts[0]
			l.layers += int64(e.Used) * (elements(x.Up.Weight) + elements(x.Gate.Weight) + elements(x.Down.Weight))
		}
	}
	head := m.Weights.Head.Weight
	if head == nil {
		head = m.Weights.Embed.Weight
	}
	l.head = elements(head)
	l.bytes = m.Weights.ProductBytes(m.Spec, format)
	return l
}

func elements(tensors []transformer.Tensor) (n int64) {
	for _, t := range tensors {
		n += int64(t.Rows) * int64(t.Cols)
	}
	return n
}

// least returns the time of a pass over tokens at the limit, in seconds: that of its
// arithmetic or of reading the weights, whichever is longer; 0 if it is unknown.
func (l load) least(limit Limit, tokens, outputs int) float64 {
	if limit.Bandwidth == 0 || limit.Operations == 0 {
		return 0
	}
	return max(float64(l.bytes)/limit.Bandwidth, l.operations(tokens, outputs)/limit.Operations)
}

// raise returns the limit that allows a pass of some seconds: it raises the speed that the pass
// proves too low. Unknown limits stay.
func (b bound) raise(limit Limit, seconds float64) Limit {
	if b.least(limit, b.tokens, b.outputs) == 0 {
		return limit
	}
	limit.Bandwidth = max(limit.Bandwidth, float64(b.bytes)/seconds)
	limit.Operations = max(limit.Operations, b.operations(b.tokens, b.outputs)/seconds)
	return limit
}

// operations returns the operations of a pass, two a multiply-add.
func (l load) operations(tokens, outputs int) float64 {
	return 2 * (float64(l.layers)*float64(tokens) + float64(l.head)*float64(outputs))
}

// resolve returns the format of a model's layers when they are read in format.
func (m *Model) resolve(format transformer.Format) transformer.Format {
	if format != transformer.Stored {
		return format
	}
	first := matrices(&m.Weights.Decoder[0])[0].Weight[0]
	if first.Transposed {
		return transformer.F32
	}
	return first.Stored
}
