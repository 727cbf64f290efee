package transformer

import (
	"slices"

	"glossa/pkg/engine/kernel"
)

// A division is a way to share the attention of a layer among the workers.
type division uint8

const (
	byHeads  division = iota // spans and heads of keys
	byTokens                 // and the tokens of long spans
	byKeys                   // and the keys that few tokens see
)

// divided returns how workers share a layer's attention: by heads, unless these are too few for
// like shares. The smaller models of Gemma 3 have one head of keys.
func (w *worker) divided(index int) division {
	a, slot, far := &w.m.decoder[index].Attention, w.m.decoder[index].slot, false
	if !w.uneven(a) {
		return byHeads
	}
	for _, sp := range w.spans {
		if sp.mutual != nil || sp.fits(slot, 0) < sp.n {
			return byHeads
		}
		seen := sp.start + sp.n
		if a.Window > 0 {
			seen = min(seen, a.Window)
		}
		far = far || kernel.MostSegments(seen) > 1
	}
	switch {
	case w.long(a):
		return byTokens
	case far && a.Heads/a.KVHeads <= kernel.MostTogether:
		return byKeys
	}
	return byHeads
}

// uneven reports whether the heads of keys are too few for like shares.
func (w *worker) uneven(a *Attention) bool {
	units := len(w.spans) * a.KVHeads
	return units%w.count != 0 && units < 4*w.count && w.m.RelativeBuckets == 0 && a.Disentangled == nil
}

// long reports whether a span has more tokens than pass over the keys together.
func (w *worker) long(a *Attention) bool {
	step := kernel.AttendTokens(a.Heads / a.KVHeads)
	return slices.ContainsFunc(w.spans, func(sp span) bool { return sp.n > step })
}

// growParts makes room for the parts of each layer's attention.
func (p *Pass) growParts() {
	if p.team.Size() == 1 {
		return
	}
	heads, segments := 0, 0
	for i := range p.m.decoder {
		heads = max(heads, p.m.decoder[i].Attention.KVHeads)
	}
	for _, sp := range p.spans {
		segments += kernel.MostSegments(sp.start + sp.n)
	}
	fit(&p.parts, heads*segments)
}

// growTexts makes room for the keys and values of each layer of an encoder, if workers share the
// tokens of a text.
func (p *Pass) growTexts() {
	most := 0
	for i := range p.m.encoder {
		a, size := &p.m.encoder[i].Attention, 0
		if p.team.Size() == 1 || len(p.spans)*a.KVHeads >= 4*p.team.Size() {
			continue
		}
		for _, sp := range p.spans {
			keys, values := kernel.KVLen(kernel.KVF32, sp.n, a.HeadDim)
			size += a.KVHeads * (keys + values)
		}
		most = max(most, size)
	}
	fit(&p.texts, most)
}

// attendTokens computes the attention of the worker's share of all spans' heads, each divided into
// as many tokens as pass over the keys together. Workers take turns, as later tokens see more keys.
func (w *worker) attendTokens(index int) {
	a, turn := &w.m.decoder[index].Attention, 0
	step := kernel.AttendTokens(a.Heads / a.KVHeads)
	for _, sp := range w.spans {
		for head := range a.KVHeads {
			for at := 0; at < sp.n; at += step {
				if turn%w.count == w.index {
					w.attendSpan(index, sp.part(at, min(step, sp.n-at)), head)
				}
				turn++
			}
		}
	}
}

// fullTokens is attendTokens for a layer of an encoder.
func (w *worker) fullTokens(l *layer) {
	w.eachText(l, func(kv kernel.KV, sp span, head, unit int) {
		if unit%w.count == w.index {
			w.storeKV(kv, 0, l, sp, head)
		}
	})
	w.barrier.wait() // for the keys that other workers have stored
	turn, step := 0, kernel.AttendTokens(l.Attention.Heads/l.Attention.KVHeads)
	w.eachText(l, func(kv kernel.KV, sp span, head, _ int) {
		for at := 0; at < sp.n; at += step {
			if turn%w.count == w.index {
				q := w.queries(l, l.Attention.rows(), sp.part(at, min(step, sp.n-at)), head)
				q.First, q.Seen, q.Window, q.Sinks = at, sp.seen, l.Attention.Window, l.headSinks(head)
				w.m.kernels.Attend(w.attention, q, kv)
			}
			turn++
		}
	})
}

// eachText calls do for each text and head of keys of an encoder, with room for keys and values that
// workers share.
func (w *worker) eachText(l *layer, do func(kv kernel.KV, sp span, head, unit int)) {
	a, room, unit := &l.Attention, w.texts, 0
	for _, sp := range w.spans {
		keys, values := kernel.KVLen(kernel.KVF32, sp.n, a.HeadDim)
		for head := range a.KVHeads {
			do(kernel.KV{Keys: room[:keys], Values: room[keys : keys+values], Dim: a.HeadDim}, sp, head, unit)
			room = room[keys+values:]
			unit++
		}
	}
}

// attendKeys computes the attention of spans whose tokens pass over the keys together: each worker
// that of its share of their segments, then the results of its share of heads from those of all.
func (w *worker) attendKeys(index int) {
	dim, own := w.m.decoder[index].Attention.HeadDim, 0
	w.eachPart(index, func(sp span, head, first, from, to int) {
		for s := from; s < to; s++ {
			if turn := first + s - from; turn%w.count == w.index {
				q := w.causal(index, sp, head)
				n := q.PartLen(dim)
				if own++; own > len(w.ownParts) {
					w.ownParts = append(w.ownParts, nil)
				}
				part := &w.ownParts[own-1]
				fit(part, n)
				w.m.kernels.AttendSegment(w.attention, q, w.kept(sp, index, head), s, *part)
				w.parts[turn] = *part
			}
		}
	})
	w.barrier.wait()
	unit := 0
	w.eachPart(index, func(sp span, head, first, from, to int) {
		if unit%w.count == w.index {
			w.m.kernels.AttendParts(w.attention, w.causal(index, sp, head), dim, w.parts[first:first+to-from])
		}
		unit++
	})
}

// eachPart calls do for each span and head of keys, with the number of its first part and the segments
// of its keys.
func (w *worker) eachPart(index int, do func(sp span, head, first, from, to int)) {
	a, first := &w.m.decoder[index].Attention, 0
	for _, sp := range w.spans {
		for head := range a.KVHeads {
			from, to := w.causal(index, sp, head).Segments()
			do(sp, head, first, from, to)
			first += to - from
		}
	}
}
