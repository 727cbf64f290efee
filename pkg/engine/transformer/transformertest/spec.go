package transformertest

import (
	"math/rand/v2"
	"slices"

	"glossa/pkg/engine/transformer"
)

// Random returns a model of a random architecture, always the same for a seed: small, with
// several kinds of layers, in which any field may be set. One of four has an encoder.
func Random(seed uint64) *Model {
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	spec := g.spec()
	for i := range spec.Kinds {
		g.experts(&spec.Kinds[i])
		g.mixer(spec, &spec.Kinds[i])
		g.scales(&spec.Kinds[i], spec.Encoder != nil)
		if !spec.Kinds[i].Parallel && g.one(12) {
			spec.Kinds[i].FeedForward = transformer.FeedForward{}
		}
	}
	dropUnused(spec)
	if len(spec.Encoder) > 0 && g.one(2) {
		g.relate(spec)
	}
	g.extend(spec)
	spec.DecoderInput = len(spec.Encoder) > 0 && (spec.Position == transformer.Learned || spec.EmbedNorm) && g.one(2)
	streams(spec, seed)
	g.latents(spec)
	for i := range spec.Kinds {
		if e := spec.Kinds[i].FeedForward.Experts; e != nil && g.one(2) {
			g.groups(e)
		}
	}
	g.last(spec)
	bare(spec, seed)
	return New(spec, seed)
}

// RandomEncoder returns the encoder of [Random] without its decoder and with types of tokens, or nil if there
// is none.
func RandomEncoder(seed uint64) *Model {
	spec := Random(seed).Spec
	if len(spec.Encoder) == 0 {
		return nil
	}
	spec.Decoder, spec.DecoderInput, spec.TokenTypes = nil, false, 2
	spec.LogitScale, spec.LogitSoftCap = 0, 0
	for kind := len(spec.Kinds) - 1; kind >= 0; kind-- {
		if slices.Contains(spec.Encoder, kind) {
			continue
		}
		spec.Kinds = slices.Delete(spec.Kinds, kind, kind+1)
		for i, k := range spec.Encoder {
			if k > kind {
				spec.Encoder[i]--
			}
		}
	}
	dropUnused(spec)
	return New(spec, seed)
}

// groups divides experts into groups.
func (g *generator) groups(e *transformer.Experts) {
	for n := 2; n <= 3; n++ {
		if used := n - 1; e.Count%n == 0 && e.Used <= used*(e.Count/n) {
			e.Groups, e.GroupsUsed = n, used
		}
	}
}

// latents gives some layers of models without an encoder latent attention.
func (g *generator) latents(s *transformer.Spec) {
	read := map[int]bool{} // kinds of layers whose keys others read
	for i := range s.Kinds {
		if from := s.Kinds[i].Attention.KVLayer; from > 0 {
			read[i], read[s.Decoder[from-1]] = true, true
		}
	}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		if a := &k.Attention; s.Encoder == nil && a.Heads > 0 && !k.Parallel && k.States == nil && !read[i] && g.one(2) {
			a.Latent = &transformer.Latent{QueryRank: maybe(g, 6, 20), KeyDim: pick(g, 3, 8, 17), Shared: pick(g, 4, 6), ValueDim: pick(g, 3, 10, 16), Eps: maybe[float32](g, 0.1)}
			a.KVHeads, a.HeadDim, a.KeysAsValues = 1, a.Latent.Shared+pick(g, 5, 12), true
			a.QKNorm, a.ValueNorm, a.Gated = transformer.NoQKNorm, false, false
		}
	}
}

// extend gives some models norms of values, and decoders alone what only Gemma 4 has.
func (g *generator) extend(s *transformer.Spec) {
	for i := range s.Kinds {
		if a := &s.Kinds[i].Attention; a.Heads > 0 {
			a.ValueNorm, a.KeysAsValues = g.one(4), a.QKNorm != transformer.QKNormAll && g.one(6)
		}
	}
	if len(s.Encoder) > 0 {
		return
	}
	if s.LayerScale = g.one(3); g.one(4) {
		s.LayerInputs = pick(g, 5, 16, 40)
	}
	for i := range s.Kinds {
		if f := &s.Kinds[i].FeedForward; s.LayerInputs > 0 && !f.Gated {
			*f = transformer.FeedForward{Norms: transformer.PreNorm, Width: pick(g, 7, 40), Activation: pick(g, transformer.GELU, transformer.SiLU), Gated: true}
		}
	}
	if g.one(2) {
		return
	}
	for i := len(s.Decoder) - 1; i > 0; i-- {
		kind := s.Decoder[i]
		from := slices.Index(s.Decoder, kind)
		if k := s.Kinds[kind]; from < i && k.Attention.Heads > 0 {
			k.Attention.KVLayer, k.Attention.KeysAsValues = from+1, false
			if k.Attention.Chunk == 0 && g.one(2) {
				k.Attention.Window = pick(g, 0, 2, 60)
			}
			s.Decoder[i] = len(s.Kinds)
			s.Kinds = append(s.Kinds, k)
		}
	}
}

// relate gives heads biases by distance, and all layers of a stack the same heads, which may share them.
func (g *generator) relate(s *transformer.Spec) {
	s.RelativeBuckets, s.RelativeDistance, s.RelativeLayers = pick(g, 8, 32), pick(g, 20, 128), !g.one(3)
	for _, stack := range [][]int{s.Encoder, s.Decoder} {
		first := &s.Kinds[stack[0]].Attention
		for _, kind := range stack {
			s.Kinds[kind].Attention.Heads, s.Kinds[kind].Attention.KVHeads = first.Heads, first.KVHeads
		}
	}
}

// experts gives some layers experts, and some gated blocks bounds.
func (g *generator) experts(k *transformer.Kind) {
	if k.FeedForward.Gated && g.one(4) {
		k.FeedForward.Limit, k.FeedForward.Activation = 0.8, transformer.QuickGELU
	}
	if k.Parallel || !k.FeedForward.Gated || g.one(2) {
		return
	}
	e := &transformer.Experts{Count: 2 + g.IntN(6), Renormalised: g.one(2), Shared: maybe(g, 13, 40)}
	e.Used = 1 + g.IntN(min(3, e.Count))
	e.SharedGate = e.Shared > 0 && g.one(2)
	if e.Scale = maybe[float32](g, 0.7, 1.8); g.one(2) {
		e.Sigmoid, e.Corrected = true, g.one(2)
	} else {
		e.Corrected = e.Count%2 == 0
	}
	if e.Renormalised && e.Used == 1 && (e.Sigmoid || e.Corrected) {
		e.Floor = 0.3
	}
	e.Apart = e.Shared > 0 && !e.SharedGate && g.one(2)
	k.FeedForward.Experts = e
}

// mixer replaces the attention of some layers of models without an encoder, or adds states to it.
func (g *generator) mixer(s *transformer.Spec, k *transformer.Kind) {
	attention, norms := k.Attention, k.Attention.Norms
	if s.Encoder != nil || k.Parallel {
		return
	}
	switch k.Attention = (transformer.Attention{}); g.IntN(5) {
	case 0:
		k.Convolution = &transformer.Convolution{Norms: norms, Taps: 1 + g.IntN(5)}
	case 1:
		if k.States = g.states(norms); norms == transformer.PreNorm {
			k.Attention = attention
		}
	case 2:
		k.Deltas, s.Eps = g.deltas(norms), 0.02 // or the norm magnifies results of heads that nearly vanish
	default:
		k.Attention = attention
	}
}

// states are those of a layer.
func (g *generator) states(norms transformer.Placement) *transformer.StateSpace {
	s := &transformer.StateSpace{Norms: norms, HeadDim: pick(g, 3, 8), Size: pick(g, 5, 16), Groups: 1 + g.IntN(2), Taps: 1 + g.IntN(4)}
	s.Heads, s.Gating = s.Groups*(1+g.IntN(3)), pick(g, transformer.GateThenNorm, transformer.NormThenGate, transformer.GateAlone)
	s.GateScale, s.StepScale, s.OutScale = maybe[float32](g, 0.6), maybe[float32](g, 1.7), maybe[float32](g, 0.8)
	if s.Gating == transformer.GateAlone && s.Heads < 3 {
		s.HeadDim, s.Heads, s.Groups, s.GateScale, s.StepScale = 9*s.HeadDim, 1, 1, 0, 0
		s.StepRank = 1 + s.Size/3
		if s.Taps > 2 {
			s.StepEps = 0.02
		}
	}
	return s
}

// deltas are those of a layer.
func (g *generator) deltas(norms transformer.Placement) *transformer.DeltaNet {
	d := &transformer.DeltaNet{Norms: norms, HeadDim: pick(g, 3, 8, 17), KeyHeads: 2 + g.IntN(2), KeyDim: pick(g, 5, 16), Taps: 1 + g.IntN(4)}
	d.Heads, d.Turns = d.KeyHeads*pick(g, 2, 3), g.one(2)
	return d
}

// scales gives some branches factors.
func (g *generator) scales(k *transformer.Kind, encoder bool) {
	if k.Attention.Heads > 0 && g.one(4) {
		k.Attention.OutScale = 0.7
	}
	k.Attention.Gated = k.Attention.Heads > 0 && !encoder && g.one(5)
	if f := &k.FeedForward; f.Experts == nil && g.one(4) {
		if f.OutScale = 0.8; f.Gated {
			f.GateScale = 0.6
		}
	}
}

type generator struct{ *rand.Rand }

// one is true once in n times.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// maybe is one of the values half of the times, else zero.
func maybe[T any](g *generator, list ...T) (v T) {
	if g.one(2) {
		v = pick(g, list...)
	}
	return v
}

func (g *generator) spec() *transformer.Spec {
	s := &transformer.Spec{
		Vocab: 31, Context: 300, Width: pick(g, 20, 33, 48),
		Position:      pick(g, transformer.NoPosition, transformer.Learned, transformer.Sinusoidal, transformer.SinusoidalFirst),
		EmbedScale:    maybe[float32](g, 2.5),
		EmbedNorm:     g.one(3),
		Norm:          pick(g, transformer.LayerNorm, transformer.RMSNorm, transformer.PlainLayerNorm, transformer.PlainRMSNorm),
		Eps:           pick[float32](g, 1e-6, 1e-5, 0.02),
		NoLastNorm:    g.one(4),
		ResidualScale: maybe[float32](g, 0.22, 1.5),
		LogitScale:    maybe[float32](g, 0.125, 3),
		LogitSoftCap:  maybe[float32](g, 2, 30),
	}
	encoder := g.one(4)
	for range 1 + g.IntN(3) {
		s.Rotaries = append(s.Rotaries, g.rotary())
	}
	s.Decoder = g.stack(s, encoder, false)
	if encoder {
		s.Encoder = g.stack(s, encoder, true)
	}
	dropUnused(s)
	if !encoder {
		s.EmbedWidth = maybe(g, 8, 40)
	}
	return s
}

func (g *generator) rotary() transformer.Rotary {
	dims := pick(g, 2, 4)
	return transformer.Rotary{
		Dims: dims, Interleaved: g.one(2), Magnitude: maybe[float32](g, 1.35),
		Frequencies: transformer.Frequencies(pick(g, 10., 10000, 1e6), dims),
	}
}

// stack adds up to three kinds, and returns a stack in which each occurs.
func (g *generator) stack(s *transformer.Spec, crossed, encoder bool) (layers []int) {
	for range 1 + g.IntN(3) {
		layers = append(layers, len(s.Kinds))
		s.Kinds = append(s.Kinds, g.kind(s, crossed, encoder))
	}
	for len(layers) < 4 {
		layers = append(layers, layers[g.IntN(len(layers))])
	}
	return layers
}

func (g *generator) kind(s *transformer.Spec, crossed, encoder bool) (k transformer.Kind) {
	placements := []transformer.Placement{
		transformer.PreNorm, transformer.PreNorm, transformer.PostNorm, transformer.SandwichNorm, transformer.PostResidualNorm, transformer.NoNorm,
	}
	a, f := &k.Attention, &k.FeedForward
	a.KVHeads, a.HeadDim = 1+g.IntN(3), pick(g, 4, 5, 8, 16)
	a.Heads = a.KVHeads * (1 + g.IntN(3))
	a.Rotary = g.IntN(len(s.Rotaries) + 1)
	a.Norms, f.Norms = pick(g, placements...), pick(g, placements...)
	if !crossed && g.one(3) {
		k.Parallel, a.Norms, f.Norms = true, transformer.PreNorm, pick(g, transformer.PreNorm, transformer.NoNorm)
		if k.SharedNorm = g.one(2); k.SharedNorm {
			f.Norms = transformer.PreNorm
		}
	}
	switch sizes := []int{1, 3, 16, 17, 40, 128, 131}; {
	case g.one(2):
		a.Window = pick(g, sizes...)
	case !encoder && g.one(2):
		a.Chunk = pick(g, sizes...)
	}
	a.QKNorm = pick(g, transformer.NoQKNorm, transformer.QKNormHead, transformer.QKNormEachHead, transformer.QKNormAll)
	a.Scale, a.Sinks = maybe[float32](g, 0.3, 0.9), g.one(3)
	switch g.IntN(3) {
	case 0:
		a.SoftCap = pick[float32](g, 1.5, 30)
	case 1:
		a.Clamp = pick[float32](g, 0.8, 30)
	}
	f.Width = pick(g, 7, 40, 64)
	f.Activation = pick(g, transformer.GELU, transformer.GELUErf, transformer.ReLU, transformer.ReLU2, transformer.SiLU, transformer.Universal, transformer.KANSpline)
	if f.Norms == transformer.NoNorm { // or x, which nothing bounds, would be squared in every layer
		f.Activation = pick(g, transformer.ReLU, transformer.Universal)
	}
	f.Gated = f.Norms != transformer.NoNorm && f.Activation != transformer.Universal && f.Activation != transformer.KANSpline && g.one(2)
	return k
}

// dropUnused removes the tables that no kind uses.
func dropUnused(s *transformer.Spec) {
	for table := len(s.Rotaries); table > 0; table-- {
		if slices.ContainsFunc(s.Kinds, func(k transformer.Kind) bool { return k.Attention.Rotary == table }) {
			continue
		}
		s.Rotaries = slices.Delete(s.Rotaries, table-1, table)
		for i := range s.Kinds {
			if a := &s.Kinds[i].Attention; a.Rotary > table {
				a.Rotary--
			}
		}
	}
	if len(s.Rotaries) == 0 {
		s.Rotaries = nil // as a packed file has it
	}
}

// last gives some attention one gate for each head, and some decoders a block before the head.
func (g *generator) last(s *transformer.Spec) {
	for i := range s.Kinds {
		a := &s.Kinds[i].Attention
		a.HeadGates = a.Gated && g.one(2)
	}
	if len(s.Encoder) == 0 && s.EmbedWidth == 0 && g.one(3) {
		s.HeadActivation = pick(g, transformer.GELUErf, transformer.ReLU)
	}
}

// bare takes the gates from the experts of some layers, and what mixes tokens from the last kind of layers of
// some decoders alone.
func bare(s *transformer.Spec, seed uint64) {
	g := &generator{rand.New(rand.NewPCG(seed, 3))}
	reads := false
	for i := range s.Kinds {
		f := &s.Kinds[i].FeedForward
		if f.Experts != nil && f.Limit == 0 && s.LayerInputs == 0 && g.one(2) {
			f.Gated = false
		}
		reads = reads || s.Kinds[i].Attention.KVLayer > 0
	}
	last := &s.Kinds[len(s.Kinds)-1]
	if len(s.Encoder) > 0 || len(s.Kinds) < 2 || s.Laurel > 0 || reads || last.Parallel || last.Convolution != nil || last.FeedForward.Width == 0 {
		return
	}
	if g.one(2) {
		*last = transformer.Kind{FeedForward: last.FeedForward}
		dropUnused(s)
	}
}
