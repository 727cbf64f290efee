package transformer

import "slices"

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
	e := &encoding{make([]text, len(texts)), make([]*Memory, len(texts))}
	for i, tokens := range texts {
		e.texts[i] = text{tokens: tokens, first: len(tokens), seen: len(tokens)}
		if second != nil {
			e.texts[i].first = second[i]
		}
		if seen != nil {
			e.texts[i].seen = seen[i]
		}
	}
	if err := p.compute(p.m.encoder, e); err != nil {
		return nil, err
	}
	return e.memories, nil
}

// A text is what the encoder reads, or a part of it.
type text struct {
	tokens []int
	first  int       // tokens of type 0
	seen   int       // tokens of the whole text that each sees
	start  int       // position of the first one
	keys   *textKeys // nil: the text is whole
}

// part returns the tokens from, ..., to-1 of a text, whose workers share its keys.
func (t text) part(from, to int, keys *textKeys) text {
	return text{t.tokens[from:to], min(max(0, t.first-from), to-from), t.seen, from, keys}
}

// encoding is the work of passes of the encoder over texts.
type encoding struct {
	texts    []text
	memories []*Memory // of each text
}

func (e *encoding) count() int { return len(e.texts) }

func (e *encoding) tokens(i int) int { return len(e.texts[i].tokens) }

// divide gives each worker some texts, or parts of texts where whole ones would not take workers about
// the same time.
func (e *encoding) divide(p *Pass, layers []layer, workers int) (batch, []int, *chain) {
	if len(e.texts) >= workers {
		each, costs := make([]int64, len(e.texts)), p.costs(layers)
		for i, t := range e.texts {
			each[i] = costs.of(len(t.tokens), 0)
		}
		if starts := likePortions(each, workers); starts != nil {
			return e, starts, nil
		}
	}
	whole := func(l layer) bool { return l.disentangled != nil } // its distances are read with all rows of a text
	if len(p.m.decoder) > 0 || slices.ContainsFunc(layers, whole) {
		return nil, nil, nil
	}
	return e.cut(p, layers, workers)
}

func (e *encoding) compute(p *Pass, from, to int) error {
	texts := e.texts[from:to]
	spans := make([]span, len(texts))
	for i, t := range texts {
		spans[i] = span{n: len(t.tokens), start: t.start, seen: t.seen, keys: t.keys}
	}
	memories, err := p.encode(spans, func(sp span) {
		t := texts[sp.index]
		p.embed(sp, t.tokens, t.first, nil)
	})
	copy(e.memories[from:], memories)
	return err
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
	p.growKept()
	out := make([]*Memory, len(spans))
	for i, sp := range p.spans {
		embed(sp)
		out[i] = m.newMemory(sp.n)
	}
	p.show(true, 0)
	p.memories = out
	p.lastLayer.Store(allLayers)
	p.run(len(m.order))
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
