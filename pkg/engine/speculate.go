package engine

import (
	"context"
	"math/bits"
	"slices"

	"glossa/pkg/engine/transformer"
)

// Speculation computes several tokens of a row in one pass, which reads the weights once: a
// row's draft, the tokens that probably come next, follows its decided tokens in the pass.
// Afterwards the row decides its tokens as ever, from the logits at their places. While it
// decides what was drafted, the next logits are there already; what was drafted otherwise is
// dropped from the cache. Nothing else knows of drafts, so a row's text, its tokens and
// their log-probabilities are the same to the bit without them.

// maxDraft is the maximum number of tokens of a draft.
const maxDraft = min(16, transformer.SpareTokens)

// speculation is the state of a row's drafts.
type speculation struct {
	lookup   *lookup   // of the row's tokens; nil: the row has no drafts
	follower *follower // of the row's tokens; nil: no draft model follows them
	feed     []int     // what the next pass computes: decided tokens, and a draft
	ahead    []int     // tokens in the cache after the decided ones, drafted
	agreed   int       // number of tokens before ahead that agree with its source, see [odds]
	odds     odds      // of drafts from the text
	from     *odds     // of the source of ahead
}

// Drafts are made where they make a row faster.
type drafting uint8

const (
	draftIfFaster drafting = iota
	draftNever
	draftAlways // for tests
)

// limitDrafts limits drafts to what fits the request's memory, and returns their bytes.
func (g *generation) limitDrafts() int64 {
	g.drafts = min(maxDraft, max(0, g.maxTokens-2)) // the first token precedes drafts, the last is not fed
	if g.engine.drafting == draftNever {
		g.drafts = 0
	}
	each := 2 * 4 * int64(g.engine.model.Vocab) * int64(len(g.prompts)*g.bestOf) // logits in the pass and in the row
	g.drafts = int(min(int64(g.drafts), (g.engine.memory-g.need())/each))
	need := int64(g.drafts) * each
	return need + g.limitFollowers(g.engine.memory-g.need()-need)
}

// beginDrafts prepares the drafts of a row that continues p.
func (g *generation) beginDrafts(r *row, p *prompt) {
	if g.drafts == 0 && len(g.predicted) == 0 {
		return
	}
	r.lookup = newLookup(len(g.predicted) + len(p.source) + g.capacity(p))
	r.lookup.predict(g.predicted, slices.Concat(p.source, p.ids))
	r.odds = g.member.startOdds()
	g.beginFollower(r, p)
}

// countPrediction adds what has come of the prediction to the usage of a row that has ended.
func (g *generation) countPrediction(r *row) {
	if n := len(g.predicted); n > 0 {
		came := min(r.lookup.came, n)
		g.usage.Predicted += came
		g.usage.Mispredicted += n - came
	}
}

// draft adds drafts to what the next pass computes of the rows.
func (g *generation) draft(ctx context.Context) error {
	tokens := 0
	for _, r := range g.rows {
		tokens += len(r.feed)
	}
	for _, r := range g.rows {
		g.draftFromText(r, tokens)
		tokens += len(r.ahead)
	}
	if err := g.propose(ctx, tokens); err != nil {
		return err
	}
	for _, r := range g.rows {
		r.feed = append(r.feed, r.ahead...)
		g.member.batch.drafted.Add(int64(len(r.ahead)))
	}
	return nil
}

// draftRoom returns how many tokens a draft of r may have.
func (g *generation) draftRoom(r *row) int {
	room := min(listChunk, g.member.room())/len(g.rows) - len(r.feed)
	left := min(g.maxTokens-r.count, g.window-r.length) - (len(r.decided) - r.written)
	return max(0, min(g.drafts, room, left-1)) // the last token is not fed
}

// draftFromText drafts what r's text or its grammar suggests, for a pass of a number of tokens.
func (g *generation) draftFromText(r *row, tokens int) {
	r.ahead = r.ahead[:0]
	r.follower.verified(r)
	n := g.draftRoom(r)
	if r.lookup == nil || n < 1 {
		return
	}
	if h := r.constrained; h != nil && len(h.likely) > 0 {
		r.ahead, r.agreed = append(r.ahead, h.likely[:min(n, len(h.likely))]...), 0
	} else if r.follower == nil || r.lookup.match > 1 { // a draft model guesses better than a single token
		r.ahead, r.agreed = r.lookup.draft(r.ahead, n), r.lookup.match
	}
	r.from = &r.odds
	if g.engine.drafting != draftAlways {
		r.ahead = r.ahead[:g.member.chooseDraft(tokens, r.odds.accepted(r.agreed, len(r.ahead)))]
	}
}

// verify compares what r has decided with what was drafted. From the first difference on, the
// draft is dropped from the cache, with the logits after it.
func (g *generation) verify(r *row) {
	n := common(r.decided, r.ahead)
	r.cached = n
	for i := range n {
		r.from.note(r.agreed+i, true)
	}
	g.member.batch.accepted.Add(int64(n))
	if n == len(r.decided) {
		r.ahead, r.agreed = r.ahead[n:], r.agreed+n
		return
	}
	if rejected := len(r.ahead) - n; rejected > 0 {
		r.from.note(r.agreed+n, false)
		r.cache.Truncate(r.cache.Len - rejected)
		r.agreed = 0
	}
	r.ahead, r.logits = r.ahead[:0], r.logits[:(n+1)*g.engine.model.Vocab]
}

// odds are the probabilities that a drafted token is what the model writes, if what was
// drafted before it is, by the class of the number of tokens before it that agree with their
// source. 0 is the class of forced text that the model may end otherwise.
type odds [7]float64

// startingOdds returns what is assumed of a model that has had no drafts.
func startingOdds() odds { return odds{0.7, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95} }

// class returns the class of a number of tokens that agree: 0, 1, 2-3, 4-7, ...
func (o *odds) class(agreed int) *float64 { return &o[min(bits.Len(uint(agreed)), len(o)-1)] }

// note records whether a drafted token was accepted.
func (o *odds) note(agreed int, accepted bool) {
	p, now := o.class(agreed), 0.0
	if accepted {
		now = 1
	}
	*p += (now - *p) / 8
}

// accepted returns how many tokens of drafts of 1, ..., n tokens are expected to be accepted.
func (o *odds) accepted(agreed, n int) []float64 {
	list, sum, all := make([]float64, n), 0.0, 1.0
	for i := range list {
		all *= *o.class(agreed + i)
		sum += all
		list[i] = sum
	}
	return list
}

// startOdds returns the odds of m's next row.
func (m *member) startOdds() odds {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	return m.batch.odds
}

// chooseDraft returns how many tokens to draft for a row, see [passCosts.choose], if the pass
// has a number of tokens of m without them.
func (m *member) chooseDraft(tokens int, accepted []float64) int {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	return m.batch.costs.choose(tokens+m.otherTokens(), accepted)
}

// otherTokens returns how many tokens of other members the next pass probably has; the batch's
// mu is held.
func (m *member) otherTokens() int {
	if m.batch.members.Load() > 1 {
		return m.others
	}
	return 0
}

// learn adds the odds of a row that has ended to those that rows begin with.
func (m *member) learn(s *speculation) {
	if m.batch == nil || s.lookup == nil {
		return
	}
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	for i, p := range s.odds {
		m.batch.odds[i] += (p - m.batch.odds[i]) / 8
	}
	m.batch.proposals.learn(s.follower)
}

// Drafts returns how many tokens have been drafted since the weights were read, and how many of
// these the completions of their engines have.
func (e *Engine) Drafts() (drafted, accepted int64) {
	for _, b := range e.lanes.all {
		drafted += b.drafted.Load()
		accepted += b.accepted.Load()
	}
	return drafted, accepted
}
