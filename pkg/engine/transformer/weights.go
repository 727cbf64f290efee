package transformer

import (
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
)

// Weights describe where [New] reads the parameters of a model. Nothing is read earlier.
// A zero Linear, Vector or Norm means that the model does not have it.
type Weights struct {
	Embed     Linear // (Vocab, Width), or (Vocab, EmbedWidth); of a Spec with Patch (Width, Patch), with a bias if there is one
	Class     Vector // (Width), of a Spec with Class
	ProjectIn Linear // (Width, EmbedWidth), of a Spec with EmbedWidth
	EmbedNorm Norm   // (InputWidth), of a Spec with EmbedNorm
	Positions Linear // (Context, InputWidth), of Position Learned

	// Of a Spec with DecoderInput: EmbedNorm and Positions of the decoder.
	DecoderEmbedNorm Norm
	DecoderPositions Linear

	// Of a Spec with LayerInputs.
	LayerEmbed      Linear // (Vocab, layers*LayerInputs)
	LayerProjection Linear // (layers*LayerInputs, Width)
	LayerNorm       Norm   // (LayerInputs)

	// Of a Spec with Streams.
	StreamsIn  Linear   // ((Streams-1)*Width, Width)
	StreamsOut []Linear // Streams-1 of (Width, Width)

	TokenTypes     Linear // (TokenTypes, InputWidth), of a Spec with TokenTypes
	Relative       Linear // (RelativeBuckets, Heads), of a Spec with RelativeBuckets, but not with RelativeLayers
	CausalRelative Linear // the same, of its decoder
	ProjectOut     Linear // (EmbedWidth, Width), of a decoder with EmbedWidth
	Head           Linear // as Embed, with or without bias; zero: Embed is the head too. Of decoders and of MaskedHead

	// Of a Spec with HeadActivation.
	HeadDense Linear // (Width, Width)
	HeadNorm  Norm   // (Width)

	Decoder, Encoder         []Layer
	DecoderNorm, EncoderNorm Norm // after the last layer, unless NoLastNorm

	// Await, if set, waits for the packed tensors that a stage of a pass needs: stage 0 is
	// the embedding, then come the layers of the encoder, those of the decoder, and the
	// last norm with the head. It is safe for concurrent use. After an error it keeps
	// returning that error.
	Await func(stage int) error
	// Release, if set, releases the memory of packed tensors, see [Model.Close].
	Release func()

	// Pages, if set, brings the packed tensors of experts into memory, which Await does not. At most
	// PageMemory bytes of them stay there.
	Pages      Pages
	PageMemory int64
}

// A Layer has the parameters of one layer. Its [Kind] determines which exist. Fields whose
// names begin with Cross belong to the cross-attention of an encoder-decoder.
type Layer struct {
	AttentionNorm, CrossNorm, FFNNorm             Norm // (Width), before a branch
	AttentionPostNorm, CrossPostNorm, FFNPostNorm Norm // (Width), after a branch

	QKV          Linear // ((Heads+2*KVHeads)*HeadDim, Width): rows of queries, keys, values, without those that the layer lacks, and of (Heads*HeadDim) gates if Gated
	QNorm, KNorm Norm   // (HeadDim), (Heads*HeadDim) and (KVHeads*HeadDim) if not of QKNormHead
	Sinks        Vector // (Heads)
	Relative     Linear // (RelativeBuckets, Heads), of a Spec with RelativeLayers
	Out          Linear // (Width, Heads*HeadDim), with a Latent (Width, Heads*ValueDim)

	// With a Latent, QKV has the rows of its first product, QNorm is (QueryRank) and KNorm
	// (HeadDim-Shared).
	LatentQueries Linear // (Heads*(KeyDim+Shared), QueryRank), of QueryRank
	LatentHeads   []LatentHead

	DistanceHeads []DistanceHead // of a Disentangled

	// With a convolution, whose norms are those of attention.
	ConvolutionIn   Linear // (3*Width, Width): rows of b, c, v
	Convolution     Vector // (Taps, Width), row-major
	ConvolutionBias Vector // (Width)
	ConvolutionOut  Linear // (Width, Width)

	// With states, whose norms are those of attention, shared with it if there are both. Convolution is (Taps, channels) then, and its
	// bias (channels): the inputs of all heads, b of all groups, c of all groups.
	StatesIn          Linear // (products, Width): rows of z, of the channels, and of each head's step
	Step, Decay, Skip Vector // (Heads); decays are negative
	InnerNorm         Vector // (Heads*HeadDim), unless GateAlone
	StatesOut         Linear // (Width, Heads*HeadDim)

	// With StepRank, StatesIn has the rows of x and then of z, Decay is (HeadDim, Size), row-major, Skip is
	// (HeadDim), and there is no Step. The channels of Convolution are the inputs.
	StatesSelection Linear // (StepRank+2*Size, HeadDim): rows of what steps are made of, of b and of c
	StatesSteps     Linear // (HeadDim, StepRank)
	StepNorm        Vector // (StepRank+2*Size), with StepEps

	// With deltas, whose norms are those of attention, and with Convolution (Taps, channels), Step,
	// Decay and InnerNorm (HeadDim) as with states.
	DeltasIn  Linear // (products, Width): rows of z, of the channels, and of each head's b, then of its step
	DeltasOut Linear // (Width, Heads*HeadDim)

	CrossQ   Linear // (Heads*HeadDim, Width)
	CrossKV  Linear // (2*KVHeads*HeadDim, Width): rows of keys, values
	CrossOut Linear // (Width, Heads*HeadDim)

	Up, Gate Linear   // (FeedForward.Width, Width); Gate only if Gated
	Down     Linear   // (Width, FeedForward.Width)
	Learned  []Vector // (FeedForward.Width) each, of Universal and KANSpline; of XIELU one value each

	// With experts, Up, Gate and Down are those of the shared block, of width Experts.Shared.
	Router     Linear   // (Experts.Count, Width)
	Correction Vector   // (Experts.Count), of Corrected
	SharedGate Linear   // (1, Width)
	Experts    []Expert // Experts.Count of them

	// Of Apart.
	RouterNorm, ExpertsNorm, SharedPostNorm, ExpertsPostNorm Norm   // (Width)
	ExpertScale                                              Vector // (Experts.Count)

	// Of a Spec with Streams, and with LayerInputs too.
	StreamsNorm    Norm   // (Width)
	StreamsRouter  Linear // (Streams, Width)
	StreamsPredict Linear // (Streams*Streams, Streams): rows of all streams, for each stream
	StreamsCorrect Linear // (Streams, Streams)
	StreamsScale   Vector // (Width)

	// Of a Spec with Laurel.
	LaurelLeft, LaurelRight Linear // (Laurel, Width), (Width, Laurel)
	LaurelNorm              Norm   // (Width)

	// Of a Spec with LayerInputs, and with LayerScale.
	InputGate, InputOut Linear // (LayerInputs, Width), (Width, LayerInputs)
	InputNorm           Norm   // (Width)
	Scale               Vector // (1)
}

// A LatentHead has the parameters of a head of a [Latent].
type LatentHead struct {
	Key   []Tensor // (HeadDim-Shared, KeyDim)
	Value []Tensor // (ValueDim, HeadDim-Shared)
}

// A DistanceHead has the vectors of distances of a head of a [Disentangled].
type DistanceHead struct {
	Keys    []Tensor // (2*Buckets, HeadDim), that queries meet
	Queries []Tensor // the same, that keys meet
}

// An Expert has the parameters of one expert.
type Expert struct {
	Up, Gate Linear // (FeedForward.Width, Width); Gate only if Gated
	Down     Linear // (Width, FeedForward.Width)
}

// A Norm has the parameters of a normalisation.
type Norm struct {
	Weight, Bias Vector
	LessOne      bool // the file stores Weight minus 1 (Gemma)
}

// A Linear is y = x Wᵀ + b. The pieces of Weight are stacked by rows.
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
	Transposed bool   // stored as (in, out), as in GPT-2
	Stored     Format // the stored format, if it is one of these formats

	// ReadStored, if set, reads values as Read does, but in format Stored as GGUF and
	// safetensors files encode it.
	ReadStored func(dst []byte, from int) error

	// Packed, if set, returns the bytes of a tensor that is stored as models keep it, see
	// [NewLayout]. They are valid after [Weights.Await]. Read is nil then.
	Packed func() []byte
	Page   int // of a packed tensor, what [Pages] knows it by

	// Read reads len(dst) values, starting at index from, in stored order. Both numbers
	// are multiples of the length of a stored row. There are Rows stored rows, or Cols if
	// the tensor is Transposed.
	Read func(dst []float32, from int) error

	// Update, if set, is the part of the values that Read adds for an adapter: the rows of it
	// that begin with row UpdateRow. [Model.NewAdapter] uses it without the rest.
	Update    *LowRank
	UpdateRow int
}

// A Format is the encoding of a model's matrices in memory. BF16 and F16 give the same results
// as the same weights in F32. The others are types of GGUF, but for Q8W, and round the inputs of products
// to 8 bits; Q8_0, Q8W, Q4_0, Q4K and Q6K can also round weights. The format of a model may
// have another one for its embedding and its head, see [Format.WithHead].
type Format uint16

// The formats.
const (
	F32    Format = iota
	Stored        // of each matrix, the file's format if it is one of the following; else F32
	BF16
	Q8_0
	Q4_0 // except the embedding and the head, which have Q8_0
	Q8W  // q8_128: Q8_0 with a scale for 128 inputs instead of 32
	Q2K  // this and the following, but for Q4K and Q6K: only of files that have them
	Q3K
	Q4K // except the embedding and the head, which have Q6K
	Q5K
	Q6K
	Q4_1
	Q5_0
	Q5_1
	IQ4NL
	IQ4XS
	MXFP4
	F16 // as float32, of half the size; of files that have it, with or without adapters
)

// kinds has the kernel's kinds of the formats.
var kinds = [...]kernel.Kind{
	BF16: kernel.BF16, Q8_0: kernel.Q8_0, Q4_0: kernel.Q4_0, Q8W: kernel.Q8W, Q2K: kernel.Q2K, Q3K: kernel.Q3K, Q4K: kernel.Q4K, Q5K: kernel.Q5K,
	Q6K: kernel.Q6K, Q4_1: kernel.Q4_1, Q5_0: kernel.Q5_0, Q5_1: kernel.Q5_1, IQ4NL: kernel.IQ4NL, IQ4XS: kernel.IQ4XS,
	MXFP4: kernel.MXFP4, F16: kernel.F16,
}

// Formats returns the formats that a model can be loaded in, by name, as records and
// commands spell them.
func Formats() map[string]Format {
	return map[string]Format{
		"stored": Stored, dtype.F32.Option(): F32, dtype.BF16.Option(): BF16, dtype.Q8_0.Option(): Q8_0, dtype.Q8W.Option(): Q8W,
		dtype.Q4_0.Option(): Q4_0, dtype.Q4K.Option(): Q4K, dtype.Q6K.Option(): Q6K,
	}
}

// FormatOf returns the format that keeps values of a type as they are stored, F32 if there
// is none.
func FormatOf(t dtype.Type) Format {
	for f, k := range kinds {
		if k != 0 && k.Type() == t {
			return Format(f)
		}
	}
	return F32
}

// Type returns the type of GGUF and safetensors that the format keeps, F32 for Stored.
func (f Format) Type() dtype.Type {
	if k, ok := f.kind(); ok {
		return k.Type()
	}
	return dtype.F32
}

// String returns the name of the format: "stored", "f32", "q4_k" or "q4_k with q4_k head".
func (f Format) String() string {
	name := f.Type().Option()
	if f.body() == Stored {
		name = "stored"
	}
	if f != f.body() {
		name += " with " + f.head().String() + " head"
	}
	return name
}

// kind returns the kernel's kind of a format; ok is false for F32 and Stored.
func (f Format) kind() (k kernel.Kind, ok bool) {
	if f = f.body(); int(f) < len(kinds) {
		k = kinds[f]
	}
	return k, k != 0
}

// headShift is the place of the format of the head, plus one, in a Format.
const headShift = 8

// WithHead returns f, which has no head of its own, with another format of the embedding and
// the head.
func (f Format) WithHead(head Format) Format { return f | (head+1)<<headShift }

// body returns the format of all matrices but the embedding and the head.
func (f Format) body() Format { return f & (1<<headShift - 1) }

// head returns the format of the embedding and the head.
func (f Format) head() Format {
	if own := f >> headShift; own > 0 {
		return own - 1
	}
	return f.Head()
}

// Head returns the format of the embedding, the head and the image encoder of a model in format f,
// unless it has another one of its own for the first two. That of Q4_0 and Q4K is finer, as rounding
// costs the head more than other matrices: see the table in ../README.md.
func (f Format) Head() Format {
	switch f = f.body(); f {
	case Q4_0:
		return Q8_0
	case Q4K:
		return Q6K
	}
	return f
}

// fit returns the format of a matrix in a model of format f: Q8_0 where that is smaller than f,
// whose blocks of 256 inputs are filled up with zeros.
func (f Format) fit(rows, cols int) Format {
	if kind, ok := f.kind(); ok && kind.Bytes(rows, cols) > kernel.Q8_0.Bytes(rows, cols) && (f == Q4K || f == Q6K) {
		return Q8_0
	}
	return f
}

// Bytes returns the memory of the weights in a format.
func (w *Weights) Bytes(spec *Spec, f Format) int64 {
	return w.sum(spec, f, func(_ *part, bytes int64) int64 { return bytes })
}

// Quantised reports whether a matrix is stored in a format that rounds the inputs of
// products.
func (w *Weights) Quantised() bool {
	for _, stack := range [][]Layer{w.Decoder, w.Encoder} {
		for i := range stack {
			for _, m := range stack[i].matrices() {
				for _, t := range m.Weight {
					if t.Stored != F32 && t.Stored != BF16 && t.Stored != F16 && !t.Transposed {
						return true
					}
				}
			}
		}
	}
	return false
}

// matrices lists the matrices of a layer.
func (l *Layer) matrices() []Linear {
	list := []Linear{l.QKV, l.Out, l.CrossQ, l.CrossKV, l.CrossOut, l.Up, l.Gate, l.Down, l.Router, l.SharedGate, l.ConvolutionIn, l.ConvolutionOut, l.StatesIn, l.StatesSelection, l.StatesSteps, l.StatesOut, l.DeltasIn, l.DeltasOut, l.InputGate, l.InputOut, l.LaurelLeft, l.LaurelRight, l.LatentQueries}
	for i := range l.LatentHeads {
		list = append(list, Linear{Weight: l.LatentHeads[i].Key}, Linear{Weight: l.LatentHeads[i].Value})
	}
	for i := range l.Experts {
		e := &l.Experts[i]
		list = append(list, e.Up, e.Gate, e.Down)
	}
	return list
}

// ProductBytes returns the memory of the matrices that one token multiplies: of experts, of
// those that it uses.
func (w *Weights) ProductBytes(spec *Spec, f Format) (total int64) {
	return w.sum(spec, f, func(p *part, bytes int64) int64 {
		switch {
		case p.usage != multiplied:
			return 0
		case p.experts != nil:
			return bytes / int64(p.experts.Count) * int64(p.experts.Used)
		}
		return bytes
	})
}

// ExpertBytes returns the memory of the experts that a token chooses among, and of those that it
// chooses. Both are 0 if there are none. packed reports whether all are packed in the format, so
// that [Weights.Pages] can bring them.
func (w *Weights) ExpertBytes(spec *Spec, f Format) (all, chosen int64, packed bool) {
	packed = true
	all = w.sum(spec, f, func(p *part, bytes int64) int64 {
		if p.experts == nil {
			return 0
		}
		packed = packed && p.isStored(f)
		chosen += bytes / int64(p.experts.Count) * int64(p.experts.Used)
		return bytes
	})
	return all, chosen, packed
}

// sum adds what of gives for each part of the model and its memory in a format.
func (w *Weights) sum(spec *Spec, f Format, of func(p *part, bytes int64) int64) (total int64) {
	parts := spec.parts(w, newModel(spec, w), f)
	for i := range parts {
		if p := &parts[i]; !p.absent() {
			total += of(p, p.bytes(p.format(f)))
		}
	}
	return total
}

// CacheBytes returns the memory of the cache of a sequence, see [Model.CacheBytes], of a model in a
// format with [KVAuto].
func (w *Weights) CacheBytes(spec *Spec, f Format, capacity int) int64 {
	m := newModel(spec, w)
	m.packed = anyPacked(spec.parts(w, m, f), f)
	m.StoreKV(KVAuto)
	return m.CacheBytes(capacity)
}

// Elements returns the number of values of all weights.
func (w *Weights) Elements() (n int64) {
	for _, l := range []Linear{w.Embed, w.ProjectIn, w.Positions, w.DecoderPositions, w.TokenTypes, w.Relative, w.CausalRelative, w.ProjectOut, w.Head, w.HeadDense, w.LayerEmbed, w.LayerProjection, w.StreamsIn} {
		n += l.elements()
	}
	for _, l := range w.StreamsOut {
		n += l.elements()
	}
	n += w.Class.elements() + w.EmbedNorm.elements() + w.DecoderEmbedNorm.elements() + w.DecoderNorm.elements() + w.EncoderNorm.elements() + w.LayerNorm.elements() + w.HeadNorm.elements()
	for _, stack := range [][]Layer{w.Decoder, w.Encoder} {
		for i := range stack {
			n += stack[i].elements()
		}
	}
	return n
}

func (l *Layer) elements() (n int64) {
	for _, m := range l.matrices() {
		n += m.elements()
	}
	n += l.Relative.elements() + l.StreamsRouter.elements() + l.StreamsPredict.elements() + l.StreamsCorrect.elements()
	for _, v := range l.Learned {
		n += v.elements()
	}
	for _, norm := range []Norm{
		l.AttentionNorm, l.CrossNorm, l.FFNNorm, l.AttentionPostNorm, l.CrossPostNorm, l.FFNPostNorm, l.QNorm, l.KNorm, l.InputNorm,
		l.RouterNorm, l.ExpertsNorm, l.SharedPostNorm, l.ExpertsPostNorm, l.StreamsNorm, l.LaurelNorm,
	} {
		n += norm.elements()
	}
	for _, v := range []Vector{l.Sinks, l.Correction, l.Convolution, l.ConvolutionBias, l.Step, l.Decay, l.Skip, l.StepNorm, l.InnerNorm, l.Scale, l.ExpertScale, l.StreamsScale} {
		n += v.elements()
	}
	return n
}

func (n Norm) elements() int64 { return n.Weight.elements() + n.Bias.elements() }

func (l Linear) elements() int64 { return Vector(l.Weight).elements() + l.Bias.elements() }

func (v Vector) elements() (n int64) {
	for _, t := range v {
		n += int64(t.Rows) * int64(t.Cols)
	}
	return n
}
