package transformer

// Weights says where the parameters of a model lie, for [New] to read. Nothing is
// read before. The zero Linear, Vector and Norm mean that the model has none.
type Weights struct {
	Embed     Linear // (Vocab, Width)
	Positions Linear // (Context, Width), of Position Learned
	Head      Linear // (Vocab, Width), with or without bias; zero: Embed is the head too

	Decoder, Encoder         []Layer
	DecoderNorm, EncoderNorm Norm // after the last layer
}

// A Layer has the parameters of one layer.
type Layer struct {
	AttentionNorm, CrossNorm, FFNNorm Norm // CrossNorm, Cross*: of a decoder below an encoder

	QKV      Linear // ((Heads+2*KVHeads)*HeadDim, Width): rows of queries, keys, values
	Out      Linear // (Width, Heads*HeadDim)
	CrossQ   Linear // (Heads*HeadDim, Width)
	CrossKV  Linear // (2*KVHeads*HeadDim, Width): rows of keys, values
	CrossOut Linear // (Width, Heads*HeadDim)

	Up, Gate Linear   // (FFN, Width); Gate only if Gated
	Down     Linear   // (Width, FFN)
	Learned  []Vector // (FFN) each, of Universal and KANSpline
}

// A Norm has the parameters of a normalisation.
type Norm struct{ Weight, Bias Vector } // (Width)

// A Linear is y = x Wᵀ + b. Weight's pieces are put one below the other.
type Linear struct {
	Weight []Tensor
	Bias   Vector // (rows)
}

// A Vector is the concatenation of its pieces, which have one column each.
type Vector []Tensor

// A Tensor is a matrix in a file, or some of its rows. A vector has one column.
type Tensor struct {
	Name       string // for errors
	Rows, Cols int    // of the matrix as the model uses it: (out, in)
	Transposed bool   // it is stored as (in, out), as GPT-2's are

	// Read reads len(dst) values from the given one on, in the order in which they are
	// stored. Both are multiples of the length of a stored row, of which there are
	// Rows, or Cols if it is Transposed.
	Read func(dst []float32, from int) error
}

// Elements returns the number of values of all weights.
func (w *Weights) Elements() (n int64) {
	for _, l := range []Linear{w.Embed, w.Positions, w.Head} {
		n += l.elements()
	}
	n += w.DecoderNorm.elements() + w.EncoderNorm.elements()
	for _, stack := range [][]Layer{w.Decoder, w.Encoder} {
		for i := range stack {
			n += stack[i].elements()
		}
	}
	return n
}

func (l *Layer) elements() (n int64) {
	for _, m := range []Linear{l.QKV, l.Out, l.CrossQ, l.CrossKV, l.CrossOut, l.Up, l.Gate, l.Down} {
		n += m.elements()
	}
	for _, v := range l.Learned {
		n += v.elements()
	}
	return n + l.AttentionNorm.elements() + l.CrossNorm.elements() + l.FFNNorm.elements()
}

func (n Norm) elements() int64 { return n.Weight.elements() + n.Bias.elements() }

func (l Linear) elements() int64 { return Vector(l.Weight).elements() + l.Bias.elements() }

func (v Vector) elements() (n int64) {
	for _, t := range v {
		n += int64(t.Rows) * int64(t.Cols)
	}
	return n
}
