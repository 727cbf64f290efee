package transformer

// Encode runs the encoder over texts of 1 to Context tokens. It fails as [Pass.Forward]
// does. Without a decoder the memories are empty: the result is [Pass.Last].
func (p *Pass) Encode(texts [][]int) ([]*Memory, error) { return p.EncodePairs(texts, nil) }

// EncodePrefixes is [Pass.Encode] of texts whose tokens see only the first seen[i] tokens of
// text i, at least one. Layers have no biases by distance, and no windows that reach none of
// those tokens.
func (p *Pass) EncodePrefixes(texts [][]int, seen []int) error {
	_, err := p.encodeTexts(texts, nil, seen)
	return err
}

// EncodePairs is [Pass.Encode] of texts whose tokens have types: from index second[i] on, text
// i has tokens of type 1, before it of type 0. If second is nil, all are of type 0. Types
// matter only to a Spec with TokenTypes.
func (p *Pass) EncodePairs(texts [][]int, second []int) ([]*Memory, error) {
	return p.encodeTexts(texts, second, nil)
}

// encodeTexts runs the encoder. If seen is nil, tokens see all others.
func (p *Pass) encodeTexts(texts [][]int, second, seen []int) ([]*Memory, error) {
	e := &encoding{texts, second, seen, make([]*Memory, len(texts))}
	if err := p.compute(p.m.encoder, e); err != nil {
		return nil, err
	}
	return e.memories, nil
}

// encoding is the work of passes of the encoder over texts.
type encoding struct {
	texts        [][]int
	second, seen []int // nil, or of each text
	memories     []*Memory
}

func (e *encoding) count() int { return len(e.texts) }

func (e *encoding) tokens(i int) int { return len(e.texts[i]) }

func (e *encoding) divide(p *Pass, layers []layer, workers int) (batch, []int, *chain) {
	if len(e.texts) < workers {
		return nil, nil, nil
	}
	each, costs := make([]int64, len(e.texts)), p.costs(layers)
	for i, text := range e.texts {
		each[i] = costs.of(len(text), 0)
	}
	return e, likePortions(each, workers), nil
}

func (e *encoding) compute(p *Pass, from, to int) error {
	part := func(s []int) []int {
		if s == nil {
			return nil
		}
		return s[from:to]
	}
	memories, err := p.encodeSome(e.texts[from:to], part(e.second), part(e.seen))
	copy(e.memories[from:], memories)
	return err
}

// encodeSome is encodeTexts by the pass's team.
func (p *Pass) encodeSome(texts [][]int, second, seen []int) ([]*Memory, error) {
	spans := make([]span, len(texts))
	for i, t := range texts {
		spans[i] = span{n: len(t), seen: len(t)}
		if seen != nil {
			spans[i].seen = seen[i]
		}
	}
	return p.encode(spans, func(sp span) {
		first := sp.n
		if second != nil {
			first = second[sp.index]
		}
		p.embed(sp, texts[sp.index], first, nil)
	})
}

// encode runs the encoder over spans, whose inputs embed writes.
func (p *Pass) encode(spans []span, embed func(sp span)) ([]*Memory, error) {
	m := p.m
	if err := m.await.enter(); err != nil {
		return nil, err
	}
	defer m.await.leave()
	p.begin()
	m.await.stage(0)
	for _, sp := range spans {
		p.add(sp)
	}
	p.grow(m.encoder)
	p.growTexts()
	out := make([]*Memory, len(spans))
	for i, sp := range p.spans {
		embed(sp)
		out[i] = m.newMemory(sp.n)
	}
	p.show(true, 0)
	p.memories = out
	p.lastLayer.Store(allLayers)
	p.run(len(m.encoder))
	p.memories = nil
	if p.lastLayer.Load() != allLayers {
		return nil, ErrStopped
	}
	return out, m.await.failed()
}

// memorise computes the keys and values of each text for each layer of the decoder.
func (w *worker) memorise(out []*Memory) {
	if len(w.m.decoder) == 0 {
		return
	}
	in := w.x
	if !w.m.NoLastNorm {
		w.normalise(w.m.encoderNorm)
		in = w.norm
	}
	for l := range w.m.decoder {
		w.apply(&w.m.decoder[l].crossKV, w.cross, in, w.tokens, nil)
		w.barrier.wait()
		a := &w.m.decoder[l].Attention
		w.eachHead(a, func(sp span, head int) {
			all := a.KVHeads * a.HeadDim
			rows := w.cross[sp.row*2*all : (sp.row+sp.n)*2*all]
			w.m.kernels.Store(out[sp.index].layers[l].head(head), 0, rows[head*a.HeadDim:], rows[all+head*a.HeadDim:], sp.n, 2*all)
		})
		w.barrier.wait()
	}
}
