package transformer

import "sync/atomic"

// A chain is portions of the same text, each of which begins with the token behind the last one of the
// portion before it. It mixes the tokens of a layer when that one has, whose keys, values and states it
// needs: so each is a little ahead of the next. Where it reads keys of an earlier layer once more, the next
// may be storing its own behind them, which no query of it sees.
//
// In Q8_0, with two threads of Zen 4, a prompt of 128 tokens takes 2 to 6 % less time with layers of 576 to
// 2,048 numbers, and 14 % with 256; 5 to 20 % where other guests of the machine hold up its threads
// (BenchmarkPortions).
type chain struct {
	team *Team
	done []atomic.Int32 // mixers that each portion has computed
}

// inTurn computes a mixer, which others wait for.
func (w *worker) inTurn(mix func()) {
	w.follow()
	mix()
	w.barrier.wait()
	w.precede()
}

// follow waits until the portion before p has computed the mixer that p is about to.
func (p *Pass) follow() {
	c, place := p.chain, p.place
	if c == nil || place == 0 {
		return
	}
	mine := c.done[place].Load()
	c.team.await(func() bool { return c.done[place-1].Load() > mine })
}

// precede lets the portion behind p follow.
func (p *Pass) precede() {
	if c := p.chain; c != nil {
		c.done[p.place].Add(1)
		c.team.rouse()
	}
}

// divide gives each worker tokens of about the same cost. The last text of one may go on as the first of
// the next, unless vectors are among its tokens. Texts without tokens have no part.
func (d *decoding) divide(p *Pass, layers []layer, workers int) (batch, []int, *chain) {
	total, costs := int64(0), p.costs(layers)
	for i := range d.seqs {
		s := &d.seqs[i]
		if s.Vectors != nil {
			return nil, nil, nil
		}
		total += costs.of(len(s.Tokens), s.start)
	}
	parts, starts, before, cut := p.cuts[:0], []int{0}, int64(0), false
	for _, s := range d.seqs {
		for from, to := 0, 1; to <= len(s.Tokens); to++ {
			before += costs.of(1, s.start+to-1)
			full := len(starts) < workers && before*int64(workers) >= total*int64(len(starts))
			if !full && to < len(s.Tokens) {
				continue
			}
			parts = append(parts, s.part(from, to))
			if from = to; full {
				starts, cut = append(starts, len(parts)), cut || to < len(s.Tokens)
			}
		}
	}
	p.cuts = parts
	var c *chain
	if cut {
		c = &chain{team: p.team, done: make([]atomic.Int32, workers)}
	}
	return &decoding{parts, d.logits, d.vocab}, append(starts, len(parts)), c
}

// part returns the tokens from, ..., to-1 of a sequence in a pass.
func (s Sequence) part(from, to int) Sequence {
	behind := len(s.Tokens) - to
	s.Tokens, s.start, s.Logits = s.Tokens[from:to], s.start+from, min(max(0, s.Logits-behind), to-from)
	return s
}
