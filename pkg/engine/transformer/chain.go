package transformer

import (
	"math"
	"sync/atomic"
)

// A chain is portions of which some are parts of the same text. Those of an encoder's wait for each other
// in each layer, see [textKeys]. One of a decoder's begins with the token behind the last one of the portion
// before it. It mixes the tokens of a layer when that one has, whose keys, values and states it needs: so
// each is a little ahead of the next. Where it reads keys of an earlier layer once more, the next may be
// storing its own behind them, which no query of it sees.
//
// In Q8_0, with two threads of Zen 4, a prompt of 128 tokens takes 2 to 6 % less time with layers of 576 to
// 2,048 numbers, and 14 % with 256; a text that an encoder of MiniLM's shape reads 8 to 12 % less. It is 5 to
// 20 % where other guests of the machine hold up its threads (BenchmarkPortions).
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
	c.team.awaitOthers(func() bool { return c.done[place-1].Load() > mine })
}

// precede lets the portion behind p follow.
func (p *Pass) precede() {
	if c := p.chain; c != nil {
		c.done[p.place].Add(1)
		c.team.rouse()
	}
}

// meet waits until all portions have come as far as p.
func (p *Pass) meet() {
	p.precede()
	c := p.chain
	mine := c.done[p.place].Load()
	c.team.awaitOthers(func() bool {
		for i := range c.done {
			if c.done[i].Load() < mine {
				return false
			}
		}
		return true
	})
}

// leave lets all go on that wait for p: it has ended, or was stopped.
func (p *Pass) leave() {
	if c := p.chain; c != nil {
		c.done[p.place].Store(math.MaxInt32)
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
	parts := p.cuts[:0]
	starts, c := p.cut(d, workers, total, func(i, token int) int64 { return costs.of(1, d.seqs[i].start+token) }, func(i, from, to int) {
		parts = append(parts, d.seqs[i].part(from, to))
	})
	p.cuts = parts
	return &decoding{parts, d.logits, d.vocab}, starts, c
}

// cut divides the tokens of a batch into a run for each worker, of about the same cost, and calls add for
// what each has of a text. It returns the first part of each and the number of parts. The chain is nil if
// all texts stay whole.
func (p *Pass) cut(b batch, workers int, total int64, cost func(i, token int) int64, add func(i, from, to int)) (starts []int, c *chain) {
	starts, before, parts, divided := []int{0}, int64(0), 0, false
	for i := range b.count() {
		n := b.tokens(i)
		for from, to := 0, 1; to <= n; to++ {
			before += cost(i, to-1)
			full := len(starts) < workers && before*int64(workers) >= total*int64(len(starts))
			if !full && to < n {
				continue
			}
			add(i, from, to)
			parts++
			if from = to; full {
				starts, divided = append(starts, parts), divided || to < n
			}
		}
	}
	if divided {
		c = &chain{team: p.team, done: make([]atomic.Int32, workers)}
	}
	return append(starts, parts), c
}

// part returns the tokens from, ..., to-1 of a sequence in a pass.
func (s Sequence) part(from, to int) Sequence {
	behind := len(s.Tokens) - to
	s.Tokens, s.start, s.Logits = s.Tokens[from:to], s.start+from, min(max(0, s.Logits-behind), to-from)
	return s
}
