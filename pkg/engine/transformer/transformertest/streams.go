package transformertest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"glossa/pkg/engine/transformer"
)

// streams gives some decoders alone what only Gemma 3n has: several residual streams, a branch next
// to attention, and gates that are cut off.
func streams(s *transformer.Spec, seed uint64) {
	g := &generator{rand.New(rand.NewPCG(seed, 2))}
	for i := range s.Kinds {
		if k := &s.Kinds[i]; k.FeedForward.Gated && k.FeedForward.Experts == nil && k.FeedForward.Limit == 0 && !k.Parallel && g.one(3) {
			k.FeedForward.Sparsity = pick[float32](g, 0.3, 0.8)
		}
	}
	if len(s.Encoder) > 0 {
		return
	}
	if g.one(2) && !s.LayerScale {
		s.Streams = pick(g, 2, 4)
	}
	if g.one(2) || slices.ContainsFunc(s.Kinds, func(k transformer.Kind) bool { return k.Attention.Heads == 0 || k.Parallel }) {
		return
	}
	s.Laurel = pick(g, 3, 16)
	for i := range s.Kinds {
		k := &s.Kinds[i]
		if !k.Attention.Norms.Before() {
			k.Attention.Norms = transformer.SandwichNorm
		}
		if k.States != nil {
			k.Attention.Norms = transformer.PreNorm
		}
	}
}

// streams are the weights that all layers share.
func (b *builder) streams(w *transformer.Weights) {
	width := b.Spec.Width
	if n := b.Spec.Streams; n > 0 {
		w.StreamsIn = b.linear("streams_in", (n-1)*width, width)
		for i := range n - 1 {
			w.StreamsOut = append(w.StreamsOut, b.linear(fmt.Sprintf("streams_out.%d", i), width, width))
		}
	}
}

// layerStreams are those of a layer.
func (b *builder) layerStreams(l *transformer.Layer, at string) {
	width := b.Spec.Width
	if n := b.Spec.Streams; n > 0 {
		l.StreamsNorm, l.StreamsRouter = b.norm(at+"streams_norm", width), b.matrix(at+"streams_router", n, width, 20)
		l.StreamsPredict, l.StreamsCorrect = b.matrix(at+"streams_predict", n*n, n, 0.4), b.matrix(at+"streams_correct", n, n, 0.4)
		if b.Spec.LayerInputs > 0 {
			l.StreamsScale = b.vector(at+"streams_scale", width, 1, 0.3)
		}
	}
	if n := b.Spec.Laurel; n > 0 {
		l.LaurelLeft, l.LaurelRight = b.linear(at+"laurel_left", n, width), b.linear(at+"laurel_right", width, n)
		l.LaurelNorm = b.norm(at+"laurel_post_norm", width)
	}
}
