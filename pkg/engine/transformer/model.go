// Package transformer computes the forward passes of transformers: decoders with a KV cache,
// encoder-decoders and encoders. Tokens go in, logits or vectors come out. An architecture is data,
// a [Spec]; there is one code path for all. The package does not know text, sampling,
// requests, files and threads; a [Pass] belongs to one goroutine.
//
// Start with [New], which reads the weights of a model that package arch has opened, and
// [Pass.Forward].
//
// Sources of the architectures: Alpha's trainer; Radford et al. 2019 (GPT-2); Wang
// and Komatsuzaki 2021 (GPT-J); Black et al. 2022 (GPT-NeoX); Lin et al. 2021
// (XGLM); Fan et al. 2020 (M2M100); Touvron et al. 2023 and Llama 3; the published
// checkpoints and their reference code.
package transformer

import (
	"sync"

	"glossa/pkg/engine/kernel"
)

// Model holds weights ready for use. It is immutable and safe for concurrent use.
type Model struct {
	Spec

	kernels     *kernel.Kernels
	embed       *linear   // (Vocab, Width or EmbedWidth), looked up by row; may be the head
	patches     linear    // (Width, Patch), of Patch
	class       []float32 // (Width), of Class
	projectIn   linear    // (Width, EmbedWidth), of EmbedWidth
	projectOut  linear    // (EmbedWidth, Width), of a decoder with EmbedWidth
	input       input     // of both stacks, or of the encoder with DecoderInput
	ownInput    input     // of the decoder with DecoderInput
	frequencies []float32 // (InputWidth/2), of Position Sinusoidal
	divisors    []float64 // (InputWidth/2), of Position SinusoidalFirst
	tokenTypes  []float32 // (TokenTypes, InputWidth), row-major
	relative    []float32 // (RelativeBuckets, Heads), row-major
	buckets     []int     // by distance, of RelativeBuckets on one side
	head        linear    // (Vocab, Width or EmbedWidth)
	headBlock   headBlock // before it, of HeadActivation

	layerEmbed      linear // (Vocab, layers*LayerInputs), looked up by row
	layerProjection linear // (layers*LayerInputs, Width)
	layerNorm       norm   // (LayerInputs)

	streamsIn  linear   // ((Streams-1)*Width, Width)
	streamsOut []linear // Streams-1 of (Width, Width)

	causalRelative []float32 // (RelativeBuckets, Heads), row-major, of the decoder
	causalBuckets  []int     // by distance

	decoder, encoder         []layer
	order                    []int  // the layers of the encoder as they are computed
	slots                    []slot // of a cache, see setSlots
	kvFormat                 kernel.KVFormat
	packed                   bool // not all matrices that tokens multiply are float32
	decoderNorm, encoderNorm norm
	ones                     []float32 // the weights of plain norms
	elements, bytes          int64
	active                   int64 // elements that one token uses

	slabs     slabs     // memory for caches
	passes    sync.Pool // of passes that nobody uses
	await     *awaiter
	pager     *pager // nil: all experts are in memory
	pace      pace   // of teams, or of one worker
	portioned pace   // of portions, or of whole passes
}

// input is what makes the input of a stack's first layer from the embeddings of tokens.
type input struct {
	positions []float32 // (Context, InputWidth), row-major, of Position Learned
	norm      norm      // of EmbedNorm
}

// inputOf returns the input of a span's stack.
func (m *Model) inputOf(sp span) *input {
	if m.DecoderInput && sp.cache != nil {
		return &m.ownInput
	}
	return &m.input
}

// linear is y = x Wᵀ + b, of shape (rows, cols).
type linear struct {
	rows, cols int
	number     int      // from 1 on, of those that adapters can update
	scale      float32  // factor of the results; 0: 1
	pieces     []linear // one below the other, without a bias; or one of the following
	full       *kernel.Matrix
	packed     *kernel.Packed
	table      []float32 // (rows, cols), row-major: not for products
	bias       []float32 // (rows), or nil
}

// row writes a row of the weights to dst (cols).
func (l *linear) row(dst []float32, r int) {
	switch {
	case l.packed != nil:
		l.packed.Row(dst, r)
	case l.table != nil:
		copy(dst, l.table[r*l.cols:(r+1)*l.cols])
	default:
		l.full.Row(dst, r)
	}
}

type norm struct{ weight, bias []float32 } // bias may be nil

// norms holds the norms around a branch of a layer.
type norms struct {
	Placement
	first, last norm // (Width): before and after the branch
}

type layer struct {
	*Kind
	attentionNorms, crossNorms norms

	convolution *convolution // nil: there is attention,
	deltas      *deltas      // or this,
	states      *states      // or this, or both attention and this
	latent      *latent      // of the attention; nil: it reads one product

	disentangled *disentangled // of the attention; nil: it does not compare tokens with distances

	slot int // of what it reads in a cache

	qkv, out                  linear
	qNorm, kNorm              norm
	sinks                     []float32 // (Heads), or nil
	relative                  []float32 // (RelativeBuckets, Heads), row-major, of RelativeLayers
	crossQ, crossKV, crossOut linear    // of a decoder below an encoder
	ffn                       feedForward
	experts                   *experts   // nil: there are none
	scale                     float32    // of scores
	cap                       kernel.Cap // of scores

	streams streams // of Streams
	laurel  laurel  // of Laurel

	inputGate, inputOut linear    // (LayerInputs, Width), (Width, LayerInputs), of LayerInputs
	inputNorms          norms     // around that branch
	factor              []float32 // (1), of LayerScale
}

// Failed returns the error of loading weights in the background; nil if there is none.
func (m *Model) Failed() error { return m.await.failed() }

// Close releases the memory of weights that are used in place, such as a mapped file, when
// the last running pass ends. Later passes fail.
func (m *Model) Close() { m.await.close() }

// Parameters returns the number of weights.
func (m *Model) Parameters() int64 { return m.elements }

// Bytes returns the memory of the weights. Of experts that stay in their file it counts what the
// limit lets into memory.
func (m *Model) Bytes() int64 { return m.bytes }
