package engine

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// passTokens bounds the tokens of one pass, and thereby how long a long prompt or many
// rows delay the others. More tokens take several passes. With many prompts, see picks, it
// bounds those of prompts and those of rows that generate, each.
const passTokens = 2 * prefillChunk

// textTokens bounds the tokens of a text that is embedded next to others for the sake of speed: each
// worker then computes texts alone, see [transformer.Pass]. Texts of 128 tokens take an encoder of
// MiniLM's shape 15 % less time so in Q8_0, 29 % in float32, and those of 512 tokens 12 % (two threads of Zen 4).
const textTokens = 8 * prefillChunk

// A batch waits for the other members of its last pass before it begins the next: for a
// share of the last pass's duration, within bounds.
const (
	lingerShare = 8
	minLinger   = 100 * time.Microsecond
	maxLinger   = 10 * time.Millisecond
)

// A batch runs forward passes over the weights of its engines one at a time, each over the input of all
// generations that wait. It has no goroutine: a member that finds the others waiting, or
// that has waited longest, runs a pass for all. A pass waits a moment for the members of
// the last one, so that members keep sharing passes.
type batch struct {
	model *transformer.Model
	team  *transformer.Team

	mu      sync.Mutex
	waiting []*member // first in, first out
	picked  []*member // scratch of picks
	awaited int       // members of the last pass that have neither come back nor left
	last    []*member // in the current pass, or else in the last
	running bool      // a pass runs; its member owns pass and seqs
	linger  time.Duration

	shares   map[string]*share // of the senders that have members, by name
	members  atomic.Int32      // changes under mu
	computed atomic.Int64      // tokens, in all passes
	cost     time.Duration     // of a token in a pass of many; 0: not known yet
	costs    passCosts         // of passes of few
	odds     odds              // that the next row begins with

	proposals proposals // of draft models

	drafted, accepted atomic.Int64 // tokens

	pass  *transformer.Pass // nil while the batch has no members
	lent  [2]*lent          // what the pass writes its logits to, and other memory
	lends bool              // the current pass lends its logits
	seqs  []transformer.Sequence
}

func newBatch(m *transformer.Model, team *transformer.Team) *batch {
	return &batch{model: m, team: team, shares: map[string]*share{}, odds: startingOdds(), proposals: newProposals(), lent: [2]*lent{{}, {}}}
}

// A member is a generation's place in a batch; its generation alone uses it.
type member struct {
	lanes  *lanes
	worker *worker // nil without a queue
	sender string
	batch  *batch        // nil after it has left
	share  *share        // of the sender, in batch
	wake   chan struct{} // room for one: call nextAction again
	timer  *time.Timer

	// The work: seqs, or else exclusive.
	seqs      []transformer.Sequence
	exclusive func(*transformer.Pass) error

	from, to int // the part of seqs in the current pass; everything before it is computed
	inPass   bool
	ctxErr   error // of a context that ended during the pass

	logits  []float32 // (outputs, vocab), after the passes
	lent    *lent     // what they are in, if they are not in own
	own     []float32
	err     error
	served  bool
	awaited bool // by the batch

	others      int           // tokens of other members in the last pass
	awaitedThen int           // how many members were awaited when it began to linger
	linger      time.Duration // how long it lingers
	proposing   time.Duration // how long its draft model took before the last pass
}

// enter adds m to the batch.
func (b *batch) enter(m *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members.Add(1)
	m.batch, m.share = b, b.acquireShare(m.sender)
}

// quit removes m from the batch.
func (b *batch) quit(m *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.releaseLast(m)
	b.remove(m) // it still waits if another member's pass panicked
	if !b.running {
		// During a pass, last holds the members of that pass, and m is not one of them.
		b.last = slices.DeleteFunc(b.last, func(l *member) bool { return l == m })
	}
	b.notifyFirst()
	b.releaseShare(m.share)
	if b.members.Add(-1) == 0 {
		if b.pass != nil {
			b.model.RecyclePass(b.pass)
		}
		b.pass, b.seqs, b.last = nil, nil, nil
		b.lent[1].memory = nil
	}
}

// leave removes m from its batch.
func (m *member) leave() {
	if m.batch != nil {
		m.batch.quit(m)
		m.batch = nil
	}
}

// forward computes seqs together with those of other members, in one or more passes, and
// returns their logits (outputs, vocab), row-major, valid until the next call. It fails
// only if ctx ends, if a pass fails, or if the weights could not be read. If ctx ends,
// some of seqs may be computed, but none partly.
func (m *member) forward(ctx context.Context, seqs []transformer.Sequence) ([]float32, error) {
	for i := range seqs {
		seqs[i].Adapter = m.lanes.adapter
	}
	m.seqs, m.exclusive = seqs, nil
	if err := m.serve(ctx); err != nil {
		return m.logits, err
	}
	if m.lanes.kernels.HasNaN(m.logits) {
		// Nobody reads the weights of a packed or mapped file before.
		return nil, m.lanes.damaged()
	}
	return m.logits, nil
}

// damaged returns the error of a model that computes NaN.
func (l *lanes) damaged() error {
	return llm.Errorf(llm.Internal, "the model %q computes NaN instead of numbers: its weights, or its file, are damaged", l.name)
}

// runExclusive calls do with the pass while nothing else is computed.
func (m *member) runExclusive(ctx context.Context, do func(*transformer.Pass) error) error {
	m.seqs, m.exclusive = nil, do
	return m.serve(ctx)
}

// encode is runExclusive for a pass of an encoder, which ends after the current layer when ctx
// ends.
func (m *member) encode(ctx context.Context, do func(*transformer.Pass) error) error {
	err := m.runExclusive(ctx, func(p *transformer.Pass) error {
		p.Stop = func() bool { return ctx.Err() != nil }
		defer func() { p.Stop = nil }()
		return do(p)
	})
	if errors.Is(err, transformer.ErrStopped) {
		return ctx.Err()
	}
	return err
}

// serve returns when m's work is computed, or when ctx ends before it began. Another
// sender may first take its turn with m's worker.
func (m *member) serve(ctx context.Context) error {
	if err := m.worker.awaitTurn(ctx); err != nil {
		return err
	}
	m.lanes.rebalance(m)
	b, gone, expired := m.batch, ctx.Done(), false
	for first := true; ; first = false {
		var alarm <-chan time.Time
		switch b.nextAction(m, first, expired) {
		case actionDone:
			return m.err
		case actionRun:
			b.run(m)
			expired = false
			continue
		case actionLinger:
			alarm = m.lingerTimer()
		}
		expired = false
		select {
		case <-m.wake:
			// Processors with a spinning team worker take goroutines from the global
			// queue only. Gosched puts m there, so that they help to sample.
			runtime.Gosched()
		case <-alarm:
			expired = true
		case <-gone:
			if b.withdraw(m, ctx.Err()) {
				return ctx.Err()
			}
			gone = nil // a pass is computing it
		}
		if alarm != nil && !expired {
			m.timer.Stop()
		}
	}
}

// lingerTimer returns the channel that fires when m has lingered long enough.
func (m *member) lingerTimer() <-chan time.Time {
	if m.timer == nil {
		m.timer = time.NewTimer(m.linger)
	} else {
		m.timer.Reset(m.linger)
	}
	return m.timer.C
}

// An action is a member's next step.
type action uint8

const (
	actionWait   action = iota // until it is notified
	actionLinger               // for the awaited members, for a limited time; only the first in line does
	actionRun                  // runs a pass
	actionDone                 // returns
)

// nextAction returns what m does next. first reports whether m has just arrived, expired
// whether it has lingered long enough.
func (b *batch) nextAction(m *member, first, expired bool) action {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first {
		b.releaseLast(m)
		m.served, m.err, m.ctxErr = false, nil, nil
		m.from, m.to, m.inPass = 0, 0, false
		b.waiting = append(b.waiting, m)
	}
	switch {
	case m.served:
		return actionDone
	case b.running:
		return actionWait
	case b.awaited == 0 || expired && b.awaited == m.awaitedThen:
		b.begin()
		return actionRun
	case b.waiting[0] == m:
		m.awaitedThen, m.linger = b.awaited, b.linger
		return actionLinger
	}
	return actionWait
}

// releaseLast ends m's use of the last pass; b.mu is held.
func (b *batch) releaseLast(m *member) {
	m.giveBack()
	if m.awaited {
		m.awaited = false
		b.awaited--
	}
}

// rest says that m does not come back soon, so that no member waits for it. Its logits are
// invalid afterwards.
func (m *member) rest() {
	m.batch.mu.Lock()
	defer m.batch.mu.Unlock()
	m.batch.releaseLast(m)
	m.batch.notifyFirst()
}

// notifyFirst makes the first in line call nextAction; b.mu is held.
func (b *batch) notifyFirst() {
	if len(b.waiting) > 0 {
		b.waiting[0].notify()
	}
}

func (m *member) notify() {
	select {
	case m.wake <- struct{}{}:
	default: // it is notified already
	}
}

// withdraw removes m from the line because of err. It returns false if a pass is
// computing m's work or a part of it.
func (b *batch) withdraw(m *member, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.inPass {
		m.ctxErr = err
		return false
	}
	was := b.remove(m)
	b.notifyFirst()
	return was
}

// remove removes m from the line and reports whether it was there; b.mu is held.
func (b *batch) remove(m *member) bool {
	n := len(b.waiting)
	b.waiting = slices.DeleteFunc(b.waiting, func(w *member) bool { return w == m })
	return len(b.waiting) < n
}

// begin moves the work of one pass out of the line, beginning with the sender that has
// used the least. b.mu is held.
func (b *batch) begin() {
	for _, m := range b.last {
		m.awaited = false
	}
	b.awaited = 0
	b.running, b.last, b.seqs = true, b.last[:0], b.seqs[:0]
	b.order()
	first, room := b.waiting[0], b.room()
	picks, manyPrompts := b.picks()
	var used use
	defer clear(picks) // a member that leaves is not kept with its caches
	for _, m := range picks {
		if alone := first.exclusive != nil || m.exclusive != nil; m != first && alone {
			continue
		}
		generates := m.generates()
		tokens := m.take(used.left(room, generates, manyPrompts), m == first)
		used.add(tokens, generates)
		if m.to == m.from && m.exclusive == nil {
			continue
		}
		m.inPass = true
		m.share.charge(m, tokens)
		b.computed.Add(int64(tokens))
		b.last, b.seqs = append(b.last, m), append(b.seqs, m.seqs[m.from:m.to]...)
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(m *member) bool { return m.inPass && m.to == len(m.seqs) })
	if b.pass == nil {
		b.pass = b.model.NewPass(b.team)
	}
	b.spareLogits()
}

// take assigns as many of m's sequences to the next pass as fit into room tokens, at
// least one if m is first. It returns their tokens.
func (m *member) take(room int, first bool) (tokens int) {
	m.from = m.to
	for m.to < len(m.seqs) {
		n := len(m.seqs[m.to].Tokens)
		if tokens+n > room && !(first && m.to == m.from) {
			break
		}
		tokens += n
		m.to++
	}
	return tokens
}

// run computes the pass that m has begun.
func (b *batch) run(m *member) {
	began, broken := time.Now(), true
	defer func() {
		if broken {
			b.end(m, time.Since(began), llm.Errorf(llm.Internal, "the forward pass that this request shared with others failed"))
		}
	}()
	err := b.compute()
	broken = false
	b.end(m, time.Since(began), err)
}

// compute calls runPass and turns unreadable weights into an error for clients.
func (b *batch) compute() error {
	err := b.runPass()
	if failed := b.model.Failed(); err != nil && failed != nil && errors.Is(err, failed) {
		return &llm.Error{Code: llm.Upstream, Message: "some weights of the model could not be read: try again", Err: err}
	}
	return err
}

// runPass calls the exclusive function of the pass's only member, or computes all
// sequences.
func (b *batch) runPass() error {
	if do := b.last[0].exclusive; do != nil {
		return do(b.pass)
	}
	logits, err := b.pass.Forward(b.seqs)
	if err == nil {
		b.distribute(logits)
	}
	return err
}

// end gives each member the result of m's pass, which took that time, or its error. A
// member with more to compute stays in line.
func (b *batch) end(m *member, took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaited, b.running = 0, false
	tokens, proposing := b.updateCost(took), time.Duration(0)
	for _, l := range b.last {
		l.inPass, proposing = false, max(proposing, l.proposing)
		l.others = tokens - countTokens(l.seqs[l.from:l.to])
		if l.err = cmp.Or(err, l.ctxErr); l.err == nil && l.to < len(l.seqs) {
			continue
		}
		if l.to < len(l.seqs) {
			b.remove(l)
		}
		l.served, l.awaited = true, true
		b.awaited++
		if l != m {
			l.notify()
		}
	}
	if err != nil { // the failed pass may be inconsistent
		b.pass = b.model.NewPass(b.team)
	}
	clear(b.seqs)
	b.linger = min(max(took/lingerShare, minLinger), maxLinger) + min(proposing, took) // which may propose again
	b.notifyFirst()
}
