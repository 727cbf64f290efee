package engine

import (
	"slices"

	"glossa/pkg/engine/sampler"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
)

// newBlock returns the reasoning of a row that answers p, nil if the row has none.
func (g *generation) newBlock(p *prompt, r *row) *block {
	k := g.engine.thinker
	if k == nil || !p.chat {
		return nil
	}
	begin, framed := p.begin, len(g.tools) > 0 && g.calls.Anywhere && k.marks.End != ""
	if g.constraint != nil && begin == reasoning.Between && !framed {
		begin = reasoning.Answer // white space at its beginning is part of the constrained text
	}
	b := &block{thinker: k, reader: reasoning.NewReader(&k.marks, begin), decoder: r.text.decoder, limit: g.maxThinking}
	if len(g.tools) > 0 && len(b.answer) > 0 {
		own := *k
		own.answer, own.marks.Direct = k.header, "" // a call may come in its place
		own.marks.Calls, own.framed = g.calls.Trigger, framed
		b.thinker, b.reader = &own, reasoning.NewReader(&own.marks, begin)
	}
	return b
}

// take appends a decided token to the row.
func (g *generation) take(r *row, id int) {
	r.decided = append(r.decided, id)
	r.lookup.add(id)
	if r.block != nil && r.block.take(id, r.constrained) {
		r.constrained.restart(g.constraint)
	}
}

// think decides the next tokens of a row that reasons: a sampled one, or the marks that must
// come next. If the row ends instead, it returns the reason and the token that ended it.
func (g *generation) think(r *row, logits []float32) (end int, why llm.Finish) {
	b := r.block
	if len(b.forced) == 0 && g.mustClose(r) {
		b.forced = b.close
	}
	if len(b.forced) == 0 {
		id := g.sampleThought(r, logits)
		switch {
		case !g.engine.ends[id] || slices.Contains(b.close, id):
			r.sampler.Observe(id)
			g.take(r, id)
			return -1, ""
		case r.constrained == nil:
			return id, llm.FinishEOS
		}
		b.forced = b.close // the model has nothing more to think, and owes the answer
	}
	room := max(1, min(listChunk, g.member.room())/len(g.rows))
	if r.constrained == nil {
		room = min(room, g.maxTokens-r.count, g.window-r.length)
	}
	for len(b.forced) > 0 && len(r.decided) < room {
		g.take(r, b.forced[0])
	}
	return -1, ""
}

// mustClose reports whether the reasoning of a row must end: the client's limit is reached, or
// the answer needs all tokens that are left.
func (g *generation) mustClose(r *row) bool {
	b := r.block
	if b.limit >= 0 && b.tokens >= b.limit {
		return true
	}
	if r.constrained == nil {
		return false
	}
	left, bound := g.tokensLeft(r)
	if left > b.cost()+g.constraint.Min() {
		return false
	}
	if r.constrained.limitedBy == "" {
		r.constrained.limitedBy = bound
	}
	return true
}

// sampleThought samples a token of the reasoning. In a constrained row, no token may both end
// the reasoning and begin the answer.
func (g *generation) sampleThought(r *row, logits []float32) int {
	n := g.engine.tokens
	logits = logits[:n]
	if r.constrained == nil {
		return r.sampler.Sample(logits, r.count)
	}
	var banned []int
	for id, text := range r.block.closers() {
		if r.block.reader.Closes(text) {
			banned = append(banned, id)
		}
	}
	if len(banned) == 0 {
		return r.sampler.Sample(logits, r.count)
	}
	m := sampler.Mask{Bits: make([]uint64, (n+63)/64), Count: n - len(banned)}
	for i := range m.Bits {
		m.Bits[i] = ^uint64(0)
	}
	if n%64 > 0 {
		m.Bits[len(m.Bits)-1] = 1<<(n%64) - 1
	}
	for _, id := range banned {
		m.Bits[id/64] &^= 1 << (id % 64)
	}
	return r.sampler.SampleMasked(logits, r.count, &m)
}

// openToken returns the token by which a constrained row may begin to reason now, -1 if there
// is none. A row without room for marks and answer no longer may.
func (g *generation) openToken(r *row, left int) int {
	b := r.block
	if !b.undecided() {
		return -1
	}
	least := b.cost() + g.constraint.Min()
	if left <= least {
		b.reader.Stop()
		return -1
	}
	if id := b.openToken(); left >= len(b.open)-b.opened+least {
		return id
	}
	return -1
}
