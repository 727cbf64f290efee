package engine

import "time"

const (
	// longAnswer is how many tokens more than it has a row is expected to get, and as many as it
	// has: that pays for the text before, which the draft model must read.
	longAnswer = 32

	// readShare is the cost that is assumed of a token that a draft model reads, as a share of one
	// that it proposes, until it is known.
	readShare = 0.5

	// tryShare is the share of the time of answers that may be spent on proposals that probably do
	// not pay, to learn whether they do now.
	tryShare = 0.005
)

// proposals is what a batch knows of those of its draft models. The caller locks it.
type proposals struct {
	took   passCosts // of passes of the draft model, by the number of rows
	read   float64   // nanoseconds for a token of the text before; 0: unknown
	credit float64   // nanoseconds for proposals that probably do not pay
	odds   odds      // that the next row begins with
}

func newProposals() proposals {
	return proposals{odds: odds{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}
}

// learn adds the odds of a row that has ended to those that rows begin with.
func (p *proposals) learn(f *follower) {
	if f == nil || f.cache == nil {
		return
	}
	for i, o := range f.odds {
		p.odds[i] += (o - p.odds[i]) / 2
	}
}

// note records a pass of the draft model for a number of rows: proposals if no row has more than
// two tokens, and else mostly text that the model has not read yet.
func (p *proposals) note(rows, tokens, most int, took time.Duration) {
	switch {
	case most <= 2:
		p.took.note(rows, took)
	case tokens >= manyTokens:
		each := float64(took) / float64(tokens)
		if p.read == 0 {
			p.read = each
		}
		p.read += (each - p.read) / 4
	}
}

// choose returns how many tokens to propose to a row in a pass with a number of tokens without
// them, if so many rows get proposals. The draft model has not read behind tokens of the text.
// left is how many tokens the row will probably get. accepted is as in [passCosts.best].
func (p *proposals) choose(costs *passCosts, tokens, rows, behind, left int, accepted []float64) int {
	price := costs.price(tokens)
	if price == 0 {
		return 0
	}
	rows = min(rows, maxCosted)
	each := p.took.of(rows) / float64(rows)
	if each == 0 {
		return min(2, len(accepted)) // the second is measured alone
	}
	n, gain := costs.best(tokens, accepted, each)
	if n == 0 {
		return 0
	}
	read := 0.0
	if behind > 2 {
		if read = p.read; read == 0 {
			read = each * readShare
		}
		read *= float64(behind - 1)
	}
	if gain > minGain && price*(1-1/gain)*float64(left) >= read {
		return n
	}
	p.credit += tryShare * price
	if cost := read + price*((1+accepted[n-1])/gain-1); cost <= p.credit {
		p.credit -= cost
		return n
	}
	return 0
}

// startProposals returns the odds of proposals to m's next row.
func (m *member) startProposals() odds {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	return m.batch.proposals.odds
}

// notePass records a pass of the draft model, see [proposals.note].
func (m *member) notePass(rows, tokens, most int, took time.Duration) {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	m.batch.proposals.note(rows, tokens, most, took)
}

// chooseProposals returns how many tokens to propose to a row of m, see [proposals.choose].
func (m *member) chooseProposals(tokens, rows, behind, left int, accepted []float64) int {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	return m.batch.proposals.choose(&m.batch.costs, tokens+m.otherTokens(), rows, behind, left, accepted)
}

// proposed records how long the draft model took before m's next pass.
func (m *member) proposed(took time.Duration) {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	m.proposing = took
}
