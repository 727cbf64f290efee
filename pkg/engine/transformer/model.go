// Package transformer computes the forward passes of transformers with a KV cache,
// decoder-only and encoder-decoder: tokens in, logits out. An architecture is data,
// a [Spec]; there is one code path for all. It refuses to know text, sampling,
// requests, files and threads; a [Pass] belongs to one goroutine.
//
// Sources of the architectures: seed 002 (Alpha); Radford et al. 2019 (GPT-2); Wang
// and Komatsuzaki 2021 (GPT-J); Black et al. 2022 (GPT-NeoX); Lin et al. 2021
// (XGLM); Fan et al. 2020 (M2M100); Touvron et al. 2023 and Llama 3; the published
// checkpoints and the code that they were released with.
package transformer

import "glossa/pkg/engine/kernel"

// Model holds weights ready for use. It is immutable and safe for concurrent use.
type Model struct {
	Spec

	kernels     *kernel.Kernels
	embed       []float32 // (Vocab, Width), row-major; nil if the head has it
	positions   []float32 // (Context, Width), row-major, of Position Learned
	frequencies []float32 // (Width/2), of Position Sinusoidal
	head        linear    // (Vocab, Width)

	decoder, encoder         []layer
	decoderNorm, encoderNorm norm
	elements                 int64
}

// linear is y = x Wᵀ + b.
type linear struct {
	weight *kernel.Matrix // (out, in)
	bias   []float32      // (out), or nil
}

func (l *linear) rows() int { return l.weight.Rows }

// apply computes dst (n, out) from x (n, in).
func (l *linear) apply(k *kernel.Kernels, dst, x []float32, n int) {
	k.MatMul(dst, x, n, l.weight)
	if l.bias == nil {
		return
	}
	rows := l.weight.Rows
	for i := range n {
		k.Add(dst[i*rows:(i+1)*rows], l.bias)
	}
}

type norm struct{ weight, bias []float32 } // (Width); bias may be nil

type layer struct {
	attentionNorm, crossNorm, ffnNorm norm

	qkv, out                  linear
	crossQ, crossKV, crossOut linear // of a decoder below an encoder
	ffn                       feedForward
	scale                     float32 // of scores
}

// Parameters returns the number of weights.
func (m *Model) Parameters() int64 { return m.elements }

// Bytes returns the memory of the weights.
func (m *Model) Bytes() int64 { return 4 * m.elements }
