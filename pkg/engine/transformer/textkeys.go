package transformer

import "glossa/pkg/engine/kernel"

// Workers can compute parts of a text of an encoder, whose tokens see all others: in each layer they store
// the keys and values of their own tokens, and wait until all have.

// textKeys are the keys and values of a text, of two layers in turn: one worker stores those of a layer
// while others read those of the layer before.
type textKeys struct {
	tokens int
	layers [2][]float32
}

// head returns the room of a head of a layer.
func (k *textKeys) head(a *Attention, layer int32, head int) kernel.KV {
	keys, values := kernel.KVLen(kernel.KVF32, k.tokens, a.HeadDim)
	room := k.layers[layer%2][head*(keys+values):]
	return kernel.KV{Keys: room[:keys], Values: room[keys : keys+values], Dim: a.HeadDim}
}

// textKeys returns room for text number i of those of a pass that are cut.
func (p *Pass) textKeys(i, tokens int) *textKeys {
	if i == len(p.keys) {
		p.keys = append(p.keys, &textKeys{})
	}
	k, size := p.keys[i], 0
	for j := range p.m.encoder {
		a := &p.m.encoder[j].Attention
		keys, values := kernel.KVLen(kernel.KVF32, tokens, a.HeadDim)
		size = max(size, a.KVHeads*(keys+values))
	}
	k.tokens = tokens
	fit(&k.layers[0], size)
	fit(&k.layers[1], size)
	return k
}

// cut gives each worker tokens of about the same cost.
func (e *encoding) cut(p *Pass, layers []layer, workers int) (batch, []int, *chain) {
	total, costs := int64(0), p.costs(layers)
	cost := func(i, _ int) int64 { return costs.active + costs.seen*int64(e.tokens(i)) }
	for i := range e.texts {
		total += int64(e.tokens(i)) * cost(i, 0)
	}
	parts, texts, keys := &encoding{}, 0, (*textKeys)(nil)
	starts, c := p.cut(e, workers, total, cost, func(i, from, to int) {
		t := e.texts[i]
		if n := len(t.tokens); to-from < n {
			if from == 0 {
				keys = p.textKeys(texts, n)
				texts++
			}
			t = t.part(from, to, keys)
		}
		parts.texts = append(parts.texts, t)
	})
	parts.memories = make([]*Memory, len(parts.texts))
	return parts, starts, c
}

// storeParts stores the keys and values of parts of texts, waits for those of other workers and returns the
// number of the layer.
func (w *worker) storeParts(l *layer) (number int32) {
	c := w.chain
	if c == nil {
		return 0
	}
	number = c.done[w.place].Load()
	w.eachHead(&l.Attention, func(sp span, head int) {
		if sp.keys != nil {
			w.storeKV(sp.keys.head(&l.Attention, number, head), sp.start, l, sp, head)
		}
	})
	w.meet()
	return number
}
