package engine

import (
	"cmp"
	"slices"
	"time"

	"glossa/pkg/engine/transformer"
)

// passTarget is the maximum duration of a pass while several senders share a batch, since
// each waits for the current pass and for its own.
const passTarget = 100 * time.Millisecond

// minRoom is the number of tokens that a pass may always have. A pass of manyTokens or
// more takes time in proportion to its tokens; a smaller one takes the time of reading
// the weights.
const (
	minRoom    = 8
	manyTokens = 32
)

// manyRows is a number of rows that generate whose passes compute a part of one prompt as fast, token
// for token, as parts of two.
const manyRows = 8

// A share is one sender's use of a batch. Passes begin with the sender that has used the
// least (start-time fair queueing: Goyal, Vin, Cheng 1996).
type share struct {
	sender  string
	members int
	used    int64 // tokens, starting from the least of the other senders
}

// acquireShare returns the share of a sender, with one more member; b.mu is held.
func (b *batch) acquireShare(sender string) *share {
	s := b.shares[sender]
	if s == nil {
		s = &share{sender: sender}
		first := true
		for _, other := range b.shares {
			if first || other.used < s.used {
				s.used, first = other.used, false
			}
		}
		b.shares[sender] = s
	}
	s.members++
	return s
}

// releaseShare removes a member from s; b.mu is held.
func (b *batch) releaseShare(s *share) {
	if s.members--; s.members == 0 {
		delete(b.shares, s.sender)
	}
}

// workers returns how many workers may compute texts of m alone: one if others wait meanwhile.
func (m *member) workers() int {
	b := m.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.shares) > 1 {
		return 1
	}
	return b.team.Size()
}

// charge counts the tokens of m in a pass. Exclusive work counts as a whole pass.
func (s *share) charge(m *member, tokens int) {
	if m.exclusive != nil {
		tokens = passTokens
	}
	s.used += int64(tokens)
}

// order sorts the waiting members by the use of their senders, then by arrival; b.mu is
// held.
func (b *batch) order() {
	if len(b.shares) > 1 {
		slices.SortStableFunc(b.waiting, func(x, y *member) int { return cmp.Compare(x.share.used, y.share.used) })
	}
}

// picks returns the waiting members in the order in which the next pass takes their work: the first
// in line, then those that generate, which wait for each token, then the others. manyPrompts reports
// whether more members read prompts than generate, and all have one sender; b.mu is held.
func (b *batch) picks() (list []*member, manyPrompts bool) {
	b.picked = append(b.picked[:0], b.waiting[0])
	rows := 0
	for _, generates := range []bool{true, false} {
		for i, m := range b.waiting {
			if m.generates() != generates {
				continue
			}
			if generates {
				rows++
			}
			if i > 0 {
				b.picked = append(b.picked, m)
			}
		}
	}
	return b.picked, len(b.shares) < 2 && len(b.waiting) > 2*rows
}

// generates reports whether m's sequences are those of rows that generate: a token each, with drafts.
func (m *member) generates() bool {
	return m.exclusive == nil && !slices.ContainsFunc(m.seqs[m.to:], func(s transformer.Sequence) bool { return len(s.Tokens) > max(minRoom, 1+maxDraft) })
}

// room returns how many tokens the next pass may have; b.mu is held.
func (b *batch) room() int {
	if len(b.shares) < 2 || b.cost == 0 {
		return passTokens
	}
	return min(max(int(passTarget/b.cost), minRoom), passTokens)
}

// A use is the number of tokens of a pass, of rows that generate and of prompts.
type use struct{ rows, prompts int }

func (u *use) add(tokens int, generates bool) {
	if generates {
		u.rows += tokens
	} else {
		u.prompts += tokens
	}
}

// left returns how much of a pass's room is left for a member. With many prompts, these and the rows
// that generate have room of their own, so that neither waits for the other. Else many rows wait for
// the part of one prompt only.
func (u *use) left(room int, generates, manyPrompts bool) int {
	switch {
	case manyPrompts && generates:
		return room - u.rows
	case manyPrompts:
		return room - u.prompts
	case !generates && u.rows >= manyRows:
		return min(room-u.rows, prefillChunk) - u.prompts
	}
	return room - u.rows - u.prompts
}

// countTokens returns the number of tokens of sequences.
func countTokens(seqs []transformer.Sequence) (n int) {
	for i := range seqs {
		n += len(seqs[i].Tokens)
	}
	return n
}

// updateCost updates the costs of tokens with the duration of the last pass, and returns its
// tokens; b.mu is held.
func (b *batch) updateCost(took time.Duration) (tokens int) {
	tokens = countTokens(b.seqs)
	outputs := 0
	for i := range b.seqs {
		outputs += b.seqs[i].Logits
	}
	if outputs == tokens {
		b.costs.note(tokens, took)
	}
	if tokens < manyTokens {
		return tokens
	}
	each := max(1, took/time.Duration(tokens))
	if b.cost == 0 {
		b.cost = each
	}
	b.cost += (each - b.cost) / 4
	return tokens
}

// room returns how many tokens m's next pass may have.
func (m *member) room() int {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	return m.batch.room()
}
