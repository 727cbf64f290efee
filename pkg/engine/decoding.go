package engine

import "glossa/pkg/engine/transformer"

// A decoding is the search for the text that answers one source, with what the model has computed
// for it.
type decoding struct {
	model  *transformer.Model
	memory *transformer.Memory // of the source
	search *beamSearch
	caches []*transformer.Cache // of the running hypotheses
}

// newDecoding begins a search. Its caches begin with room for so many tokens.
func newDecoding(m *transformer.Model, memory *transformer.Memory, search *beamSearch, room int) decoding {
	room = min(search.limit+1, max(room, search.begin+1))
	return decoding{model: m, memory: memory, search: search, caches: []*transformer.Cache{m.NewCache(room)}}
}

// decodingBytes returns the memory that a search of so many beams takes at most, without that of its source.
func decodingBytes(m *transformer.Model, beams, limit int) int64 {
	return int64(beams) * RowMemory(m.CacheBytes(limit+1), m.Vocab)
}

// beginning appends what is computed before the first step: all tokens that every hypothesis
// begins with but the last, of which a step computes the logits.
func (d *decoding) beginning(seqs []transformer.Sequence) []transformer.Sequence {
	b := d.search
	if b.begin == 0 {
		return seqs
	}
	tokens := append([]int{b.start}, b.running[0].tokens[:b.begin-1]...)
	return append(seqs, transformer.Sequence{Cache: d.caches[0], Tokens: tokens, Memory: d.memory})
}

// inputs appends the newest token of every running hypothesis.
func (d *decoding) inputs(seqs []transformer.Sequence) []transformer.Sequence {
	for i, h := range d.search.running {
		if c := d.caches[i]; c.Len == c.Capacity() {
			d.caches[i] = d.model.Fork(c, min(2*c.Len, d.search.limit+1))
		}
		last := d.search.start
		if n := len(h.tokens); n > 0 {
			last = h.tokens[n-1]
		}
		seqs = append(seqs, transformer.Sequence{Cache: d.caches[i], Tokens: []int{last}, Logits: 1, Memory: d.memory})
	}
	return seqs
}

// extend takes a step by the first of the logits (outputs, vocab) of inputs, and returns the rest.
func (d *decoding) extend(logits []float32) (rest []float32) {
	rows := make([][]float32, len(d.search.running))
	for i := range rows {
		rows[i], logits = logits[:d.model.Vocab], logits[d.model.Vocab:]
	}
	d.search.step(rows)
	if d.search.done {
		d.memory, d.caches = nil, nil
	} else {
		d.inherit()
	}
	return logits
}

// inherit gives the running hypotheses their caches, made from those of their parents: the first
// child takes its parent's cache, the others receive copies.
func (d *decoding) inherit() {
	old, running := d.caches, d.search.running
	taken, out := make([]bool, len(old)), make([]*transformer.Cache, len(running))
	for i, h := range running {
		if !taken[h.parent] {
			taken[h.parent], out[i] = true, old[h.parent]
		}
	}
	var spare []*transformer.Cache
	for i, c := range old {
		if !taken[i] {
			spare = append(spare, c)
		}
	}
	for i, h := range running {
		if out[i] != nil {
			continue
		}
		from := old[h.parent]
		if n := len(spare); n > 0 && spare[n-1].Capacity() >= from.Len {
			out[i], spare = spare[n-1], spare[:n-1]
			d.model.Copy(out[i], from)
			continue
		}
		out[i] = d.model.Fork(from, from.Capacity())
	}
	d.caches = out
}
