package transformer

import (
	"cmp"
	"time"
)

// A pass can be computed in portions: each worker computes some texts alone, or a part of one, from the
// first layer to the last. It waits for nobody, but see [chain], normalises and quantises no rows but its
// own, and finds them in its own cache. On the other hand each worker reads all weights. In Q8_0, with two threads
// of Zen 4, 16 texts of 16 or 128 tokens take an encoder of MiniLM's shape 14 to 16 % less time, and 64
// rows that decode after 272 tokens with 124 M parameters 5 %; with 8 to 32 rows it is the same.

const (
	leastPortion  = 8  // tokens for which multiplying takes about as long as reading the weights
	portionExcess = 10 // a portion may take a tenth longer than the mean
	seenCost      = 4  // of a multiplication of attention, whose numbers are wide and read once, in those of weights
)

// A batch is the work of a pass: texts.
type batch interface {
	count() int
	tokens(i int) int                    // the tokens of a text to compute
	compute(p *Pass, from, to int) error // the texts from, ..., to-1 by p's team

	// divide returns the same work as texts for workers: the first of each, and the number of texts. The
	// texts may be parts of those of the batch, with a chain of the workers. starts is nil if there are no
	// portions that take about the same time.
	divide(p *Pass, layers []layer, workers int) (b batch, starts []int, c *chain)
}

// portions are the job of workers that compute a portion each.
type portions struct {
	batch
	each   []*Pass
	starts []int // the first text of each, and the number of texts
	errs   []error
}

func (ps *portions) work(index, count int, _ *barrier) {
	if count == len(ps.each) { // else the team is busy
		p := ps.each[index]
		defer p.leave()
		ps.errs[index] = ps.compute(p, ps.starts[index], ps.starts[index+1])
	}
}

// compute computes texts as a whole or in portions: the faster way.
func (p *Pass) compute(layers []layer, b batch) error {
	tokens := tokensOf(b, 0, b.count())
	if !p.portionable(layers, tokens) {
		return b.compute(p, 0, b.count())
	}
	parts, starts, c := b.divide(p, layers, p.team.Size())
	if !p.enough(parts, starts) {
		return b.compute(p, 0, b.count())
	}
	choice, begin := p.m.portioned.of(p.team, tokens), time.Now()
	if !p.ShareTexts && !choice.First(tokens) {
		err := b.compute(p, 0, b.count())
		choice.Note(false, tokens, time.Since(begin))
		return err
	}
	ps := &portions{parts, p.lend(layers, parts, starts, tokens, c), starts, make([]error, len(starts)-1)}
	shared := p.team.do(true, ps)
	p.takeBack()
	if !shared {
		return b.compute(p, 0, b.count())
	}
	choice.Note(true, tokens, time.Since(begin))
	return cmp.Or(ps.errs...)
}

// portionable reports whether workers may each compute some of so many tokens.
func (p *Pass) portionable(layers []layer, tokens int) bool {
	workers := p.team.Size()
	return workers > 1 && p.Hidden == nil && !p.ShareAll && tokens >= workers*p.leastPortion() &&
		(p.ShareTexts || p.m.work(tokens, len(layers)) >= worthSharing)
}

// enough reports whether each worker has a portion, with tokens enough.
func (p *Pass) enough(b batch, starts []int) bool {
	for k := 1; k < len(starts); k++ {
		if tokensOf(b, starts[k-1], starts[k]) < p.leastPortion() {
			return false
		}
	}
	return len(starts) > p.team.Size()
}

func (p *Pass) leastPortion() int {
	if p.ShareTexts {
		return 1
	}
	return leastPortion
}

// tokensOf returns the tokens to compute of the texts from, ..., to-1.
func tokensOf(b batch, from, to int) (n int) {
	for i := from; i < to; i++ {
		n += b.tokens(i)
	}
	return n
}

// costs are the multiplications of a token, and with each token that it sees.
type costs struct{ active, seen int64 }

func (p *Pass) costs(layers []layer) costs { return costs{p.m.active, seenCost * attended(layers)} }

// of returns the cost of a number of tokens, the first of which is at start.
func (c costs) of(tokens, start int) int64 {
	n, before := int64(tokens), int64(start)
	return n*c.active + c.seen*(n*before+n*(n+1)/2)
}

// attended returns the multiplications of a token with each that it sees.
func attended(layers []layer) (n int64) {
	for i := range layers {
		if a := &layers[i].Attention; layers[i].attends() {
			n += int64(2 * a.Heads * a.HeadDim)
		}
	}
	return n
}

// likePortions divides texts into n runs of about the same cost. It returns the first of each and the
// number of texts, or nil if a run would cost too much.
func likePortions(costs []int64, n int) []int {
	total := sum(costs)
	starts, before := []int{0}, int64(0)
	for i, c := range costs {
		if k := len(starts); k < n && (before+c/2)*int64(n) >= total*int64(k) {
			starts = append(starts, i)
		}
		before += c
	}
	starts = append(starts, len(costs))
	for k := 1; k < len(starts); k++ {
		if cost := sum(costs[starts[k-1]:starts[k]]); len(starts) <= n || cost*int64(n) > total+total/portionExcess {
			return nil
		}
	}
	return starts
}

func sum(s []int64) (n int64) {
	for _, v := range s {
		n += v
	}
	return n
}

// lend returns passes of one worker each for portions. They have p's workers, and their rows of p's
// memory, until p.takeBack.
func (p *Pass) lend(layers []layer, b batch, starts []int, tokens int, c *chain) []*Pass {
	p.tokens = tokens
	p.makeRoom(layers)
	row := 0
	for k := range len(starts) - 1 {
		if k == len(p.portions) {
			p.portions = append(p.portions, &Pass{m: p.m, angles: make([]angles, len(p.angles)), workers: make([]*worker, 1)})
		}
		q, end := p.portions[k], row+tokensOf(b, starts[k], starts[k+1])
		mine := q.rows()
		for i, all := range p.rows() {
			width := len(*all) / tokens
			*mine[i] = (*all)[row*width : end*width : end*width]
		}
		w := p.workers[k]
		w.Pass, w.index = q, 0
		q.workers[0], q.Stop, q.chain, q.place = w, p.Stop, c, k
		row = end
	}
	return p.portions
}

// takeBack ends what lend began.
func (p *Pass) takeBack() {
	for k, q := range p.portions {
		w := q.workers[0]
		w.Pass, w.index = p, k
		q.workers[0], q.Stop, q.seqs, q.logits, q.chain = nil, nil, nil, nil, nil
		clear(q.spans[:cap(q.spans)])
		clear(q.runs[:cap(q.runs)])
	}
	clear(p.cuts[:cap(p.cuts)])
}

// rows returns the memory that has a number of values for each token.
func (p *Pass) rows() []*[]float32 {
	list := []*[]float32{&p.x, &p.out, &p.qkv, &p.heads, &p.h, &p.g, &p.eh, &p.eg, &p.mixed, &p.cross, &p.narrow, &p.latent, &p.layerInputs, &p.streams, &p.predicted, &p.laurel}
	for i := range p.angles {
		list = append(list, &p.angles[i].cos, &p.angles[i].sin)
	}
	return list
}
