package engine

import (
	"cmp"
	"slices"
	"time"
)

// passTarget is how long a pass may take while several senders share a batch, since each
// waits for the pass under way and for its own.
const passTarget = 100 * time.Millisecond

// minRoom is how many tokens a pass may have, however long they take. A pass of
// manyTokens or more takes time in proportion to its tokens; a smaller one takes as long
// as reading the weights.
const (
	minRoom    = 8
	manyTokens = 32
)

// A share is what one sender has of a batch. Passes begin with the sender that has had
// least (start-time fair queueing: Goyal, Vin, Cheng 1996).
type share struct {
	sender  string
	members int
	had     int64 // tokens, counted on from the least of the others when it came
}

// enrol returns the share of a sender with one member more; b.mu is held.
func (b *batch) enrol(sender string) *share {
	s := b.shares[sender]
	if s == nil {
		s = &share{sender: sender}
		first := true
		for _, other := range b.shares {
			if first || other.had < s.had {
				s.had, first = other.had, false
			}
		}
		b.shares[sender] = s
	}
	s.members++
	return s
}

// dismiss counts a member of s out; b.mu is held.
func (b *batch) dismiss(s *share) {
	if s.members--; s.members == 0 {
		delete(b.shares, s.sender)
	}
}

// charge counts the tokens that m has in a pass. What m does alone counts as a whole
// pass.
func (s *share) charge(m *member, tokens int) {
	if m.alone != nil {
		tokens = passTokens
	}
	s.had += int64(tokens)
}

// order sorts the waiting members by what their senders have had, then by arrival; b.mu
// is held.
func (b *batch) order() {
	if len(b.shares) > 1 {
		slices.SortStableFunc(b.waiting, func(x, y *member) int { return cmp.Compare(x.share.had, y.share.had) })
	}
}

// room returns how many tokens the next pass may have; b.mu is held.
func (b *batch) room() int {
	if len(b.shares) < 2 || b.cost == 0 {
		return passTokens
	}
	return min(max(int(passTarget/b.cost), minRoom), passTokens)
}

// learn updates the cost of a token with the time of the last pass; b.mu is held.
func (b *batch) learn(took time.Duration) {
	tokens := 0
	for i := range b.seqs {
		tokens += len(b.seqs[i].Tokens)
	}
	if tokens < manyTokens {
		return
	}
	each := max(1, took/time.Duration(tokens))
	if b.cost == 0 {
		b.cost = each
	}
	b.cost += (each - b.cost) / 4
}

// room returns how many tokens m's next pass may have.
func (m *member) room() int {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	return m.batch.room()
}
