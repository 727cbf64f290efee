package transformer

import (
	"fmt"
	"math"

	"glossa/pkg/engine/kernel"
)

// New reads the weights of a model and packs them in a format. What does not fit the
// spec is an error that names the tensor. Beside the model itself it needs about a MiB.
func New(spec *Spec, w *Weights, k *kernel.Kernels, format Format) (*Model, error) {
	m := &Model{Spec: *spec, kernels: k, elements: w.Elements(), bytes: w.Bytes(format)}
	if err := spec.check(w); err != nil {
		return nil, err
	}
	ld := &loader{kernels: k, format: format}
	ld.format = format.head()
	m.head = ld.linear("head", w.head(), spec.Vocab, spec.Width)
	ld.format = format
	if w.Head.Weight != nil {
		m.embed = ld.table("embedding", w.Embed, spec.Vocab, spec.Width)
	}
	switch spec.Position {
	case Learned:
		m.positions = ld.table("positions", w.Positions, spec.Context, spec.Width)
	case Sinusoidal:
		m.frequencies = sinusoidFrequencies(spec.Width)
	}
	m.decoderNorm = ld.norm("the last norm", w.DecoderNorm, spec.Width)
	if len(w.Encoder) > 0 {
		m.encoderNorm = ld.norm("the encoder's last norm", w.EncoderNorm, spec.Width)
	}
	m.decoder = ld.stack(spec, &spec.Decoder, w.Decoder, len(w.Encoder) > 0)
	m.encoder = ld.stack(spec, &spec.Encoder, w.Encoder, false)
	if ld.err != nil {
		return nil, ld.err
	}
	return m, nil
}

func (w *Weights) head() Linear {
	if w.Head.Weight != nil {
		return w.Head
	}
	return Linear{Weight: w.Embed.Weight, Bias: w.Head.Bias}
}

// check refuses what the forward pass could not index.
func (s *Spec) check(w *Weights) error {
	if s.Vocab < 1 || s.Context < 1 || s.Width < 1 || s.Decoder.Depth < 1 {
		return fmt.Errorf("a model of %d tokens, %d positions, width %d and %d layers", s.Vocab, s.Context, s.Width, s.Decoder.Depth)
	}
	for _, st := range []struct {
		Stack
		layers []Layer
	}{{s.Decoder, w.Decoder}, {s.Encoder, w.Encoder}} {
		switch {
		case st.Depth != len(st.layers):
			return fmt.Errorf("%d layers of weights for a stack of %d", len(st.layers), st.Depth)
		case st.Depth == 0:
		case st.Heads < 1 || st.KVHeads < 1 || st.Heads%st.KVHeads != 0:
			return fmt.Errorf("%d heads of queries cannot share %d heads of keys", st.Heads, st.KVHeads)
		case st.HeadDim < 1 || st.FFN < 1:
			return fmt.Errorf("heads of %d dimensions, feed-forward width %d", st.HeadDim, st.FFN)
		case s.Position == RotaryEmbedding && (s.Rotary.Dims > st.HeadDim || s.Rotary.Dims != 2*len(s.Rotary.Frequencies)):
			return fmt.Errorf("%d rotary dimensions, %d frequencies, heads of %d", s.Rotary.Dims, len(s.Rotary.Frequencies), st.HeadDim)
		}
	}
	return nil
}

// chunk is about how many values are read at once.
const chunk = 256 << 10

// A loader reads tensors one after the other. After an error it does nothing.
type loader struct {
	kernels *kernel.Kernels
	format  Format
	buffer  []float32
	err     error
}

func (ld *loader) stack(spec *Spec, s *Stack, layers []Layer, cross bool) []layer {
	out := make([]layer, len(layers))
	for i := range layers {
		l, o, queries, keys := &layers[i], &out[i], s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
		name := func(part string) string { return fmt.Sprintf("layer %d: %s", i, part) }
		o.attentionNorm = ld.norm(name("attention norm"), l.AttentionNorm, spec.Width)
		o.qkv = ld.linear(name("queries, keys and values"), l.QKV, queries+2*keys, spec.Width)
		o.out = ld.linear(name("attention output"), l.Out, spec.Width, queries)
		if cross {
			o.crossNorm = ld.norm(name("cross-attention norm"), l.CrossNorm, spec.Width)
			o.crossQ = ld.linear(name("cross-attention queries"), l.CrossQ, queries, spec.Width)
			o.crossKV = ld.linear(name("cross-attention keys and values"), l.CrossKV, 2*keys, spec.Width)
			o.crossOut = ld.linear(name("cross-attention output"), l.CrossOut, spec.Width, queries)
		}
		if !spec.SharedNorm {
			o.ffnNorm = ld.norm(name("feed-forward norm"), l.FFNNorm, spec.Width)
		}
		o.ffn = ld.feedForward(name("feed-forward"), spec, s, l)
		o.scale = float32(1 / math.Sqrt(float64(s.HeadDim)))
		if spec.InverseLayerScale {
			o.scale /= float32(i + 1)
		}
	}
	return out
}

func (ld *loader) norm(what string, n Norm, width int) norm {
	out := norm{weight: ld.vector(what+" weight", n.Weight, width)}
	if n.Bias != nil {
		out.bias = ld.vector(what+" bias", n.Bias, width)
	}
	return out
}

// linear reads a matrix (rows, cols) and its bias.
func (ld *loader) linear(what string, l Linear, rows, cols int) (out linear) {
	if ld.err != nil || !ld.fits(what, l.Weight, rows, cols) {
		return out
	}
	out.rows, out.cols = rows, cols
	kind, packed := ld.format.of(&l).kind()
	transposed := l.Weight[0].Transposed
	if packed {
		out.packed = kernel.NewPacked(kind, rows, cols)
	}
	if !packed || transposed {
		out.full = kernel.NewMatrix(rows, cols)
	}
	at := 0
	for i := range l.Weight {
		ld.pack(&out, at, &l.Weight[i])
		at += l.Weight[i].Rows
	}
	if packed && transposed {
		ld.repack(&out)
	}
	if l.Bias != nil {
		out.bias = ld.vector(what+" bias", l.Bias, rows)
	}
	return out
}

// fits tells whether the pieces make a matrix (rows, cols).
func (ld *loader) fits(what string, pieces []Tensor, rows, cols int) bool {
	got := 0
	for i := range pieces {
		t := &pieces[i]
		if t.Rows < 1 || t.Cols != cols || t.Rows > rows-got {
			ld.fail(what, t, fmt.Errorf("shape (%d, %d) does not fit (%d, %d)", t.Rows, t.Cols, rows, cols))
			return false
		}
		if t.Transposed && t.Rows != rows {
			ld.fail(what, t, fmt.Errorf("one of several pieces, and transposed"))
			return false
		}
		got += t.Rows
	}
	if got != rows {
		ld.err = fmt.Errorf("%s: %d rows of weights, %d are needed", what, got, rows)
	}
	return ld.err == nil
}

func (ld *loader) fail(what string, t *Tensor, err error) {
	if ld.err == nil {
		ld.err = fmt.Errorf("%s: tensor %q: %w", what, t.Name, err)
	}
}

// pack reads t into the rows of l from the given one on.
func (ld *loader) pack(l *linear, row int, t *Tensor) {
	ld.read(t, func(from int, w []float32) {
		switch {
		case t.Transposed:
			ld.kernels.LoadColumns(l.full, from, w)
		case l.packed != nil:
			l.packed.LoadRows(row+from, w)
		default:
			ld.kernels.LoadRows(l.full, row+from, w)
		}
	})
}

// repack moves a matrix that was stored transposed to its packed form, which can only
// be filled by rows.
func (ld *loader) repack(l *linear) {
	row := make([]float32, l.cols)
	for r := range l.rows {
		l.full.Row(row, r)
		l.packed.LoadRows(r, row)
	}
	l.full = nil
}

// read gives the stored rows of t to use, some at a time, with the first one's index.
func (ld *loader) read(t *Tensor, use func(from int, w []float32)) {
	rows, cols := t.Rows, t.Cols
	if t.Transposed {
		rows, cols = cols, rows
	}
	const panel = 32 // whole panels of a packed matrix are faster
	step := min(rows, max(panel, chunk/cols/panel*panel))
	if len(ld.buffer) < step*cols {
		ld.buffer = make([]float32, step*cols)
	}
	for from := 0; from < rows && ld.err == nil; from += step {
		w := ld.buffer[:min(step, rows-from)*cols]
		if err := t.Read(w, from*cols); err != nil {
			ld.err = err // names the file and the tensor
			return
		}
		use(from, w)
	}
}

// table reads a matrix (rows, cols) that is looked up by row.
func (ld *loader) table(what string, l Linear, rows, cols int) []float32 {
	if ld.err != nil || !ld.fits(what, l.Weight, rows, cols) {
		return nil
	}
	out, at := make([]float32, rows*cols), 0
	for i := range l.Weight {
		t := &l.Weight[i]
		if t.Transposed {
			ld.fail(what, t, fmt.Errorf("a table cannot be transposed"))
		}
		ld.read(t, func(_ int, w []float32) { at += copy(out[at:], w) })
	}
	return out
}

// vector reads n values.
func (ld *loader) vector(what string, v Vector, n int) []float32 {
	return ld.table(what, Linear{Weight: v}, n, 1)
}
