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

// passTokens bounds what generations compute in one pass, and so how long a long
// prompt or many rows hold up the others. What is more takes several passes.
const passTokens = 2 * prefillChunk

// How long a batch waits for the next of those who took part in its last pass: a part
// of what that pass took, within bounds.
const (
	patienceShare = 8
	minPatience   = 100 * time.Microsecond
	maxPatience   = 10 * time.Millisecond
)

// A batch runs the forward passes of an engine one at a time, each over what the
// generations want that wait for it. It has no goroutine of its own: who finds the
// others waiting, or waits longest, runs a pass for all. Those of the last pass are
// waited for a moment, so that who decodes together stays together.
type batch struct {
	model *transformer.Model
	team  *transformer.Team

	mu       sync.Mutex
	waiting  []*member // first in, first out
	awaited  int       // members of the last pass that neither came back nor left
	last     []*member // took part in the pass under way, or in the last
	running  bool      // a pass; pass and seqs are whose runs it
	patience time.Duration

	shares   map[string]*share // of the senders that have members, by name
	members  atomic.Int32      // changes under mu
	computed atomic.Int64      // tokens, in all passes
	cost     time.Duration     // of a token in a pass of many; 0: not known yet

	pass *transformer.Pass // nil while nobody is there
	lent *member           // was alone and still reads the pass's own logits
	seqs []transformer.Sequence
}

func newBatch(m *transformer.Model, team *transformer.Team) *batch {
	return &batch{model: m, team: team, shares: map[string]*share{}}
}

// A member is a generation's place in a batch; its generation alone uses it.
type member struct {
	lanes  *lanes
	worker *worker // nil without a queue
	sender string
	batch  *batch        // nil after it has left
	share  *share        // of the sender, in batch
	wake   chan struct{} // room for one: look again
	timer  *time.Timer

	// What passes are to compute: seqs, or what alone does.
	seqs  []transformer.Sequence
	alone func(*transformer.Pass) error

	from, to int // the part of seqs in the pass under way; before it, all is computed
	computed bool
	stop     error // of its context, which ended meanwhile

	logits  []float32 // (outputs, vocab), after the passes
	own     []float32 // memory for a copy of them
	err     error
	served  bool
	awaited bool // by the batch

	watched  int           // how many were awaited when it began to watch
	patience time.Duration // that it began with
}

// enter counts m in.
func (b *batch) enter(m *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members.Add(1)
	m.batch, m.share = b, b.enrol(m.sender)
}

// quit counts m out, which wants nothing any more.
func (b *batch) quit(m *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(m)
	b.remove(m) // it is in the line if a pass of others broke in its hands
	if !b.running {
		// Else last are those whom the pass computes, and m is none of them.
		b.last = slices.DeleteFunc(b.last, func(l *member) bool { return l == m })
	}
	b.rouse()
	b.dismiss(m.share)
	if b.members.Add(-1) == 0 {
		b.pass, b.lent, b.seqs, b.last = nil, nil, nil, nil
	}
}

// leave tells that m wants nothing any more.
func (m *member) leave() {
	if m.batch != nil {
		m.batch.quit(m)
		m.batch = nil
	}
}

// forward computes seqs, with those of others, in one pass or in several, and returns
// their logits (outputs, vocab), row-major, valid until the next call. The only errors
// are those of ctx, when some of seqs may be computed and none is half, and of a pass
// that broke or whose weights did not come.
func (m *member) forward(ctx context.Context, seqs []transformer.Sequence) ([]float32, error) {
	m.seqs, m.alone = seqs, nil
	err := m.serve(ctx)
	return m.logits, err
}

// use has do compute with the pass, while nothing else is computed.
func (m *member) use(ctx context.Context, do func(*transformer.Pass) error) error {
	m.seqs, m.alone = nil, do
	return m.serve(ctx)
}

// serve returns when what m wants is computed, or ctx ends before it began. Its worker
// may be another sender's turn first.
func (m *member) serve(ctx context.Context) error {
	if err := m.worker.breathe(ctx); err != nil {
		return err
	}
	m.lanes.spread(m)
	b, gone, expired := m.batch, ctx.Done(), false
	for first := true; ; first = false {
		var alarm <-chan time.Time
		switch b.look(m, first, expired) {
		case served:
			return m.err
		case runs:
			b.run(m)
			expired = false
			continue
		case watches:
			alarm = m.alarm()
		}
		expired = false
		select {
		case <-m.wake:
			// Processors whose worker of a team spins take goroutines from the global
			// queue alone: this puts m there, so that they help to sample.
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

// alarm returns the channel on which the batch's patience ends.
func (m *member) alarm() <-chan time.Time {
	if m.timer == nil {
		m.timer = time.NewTimer(m.patience)
	} else {
		m.timer.Reset(m.patience)
	}
	return m.timer.C
}

// What a member does next.
type duty uint8

const (
	waits   duty = iota // until it is woken
	watches             // waits, and looks again when patience ends: the first in line does
	runs                // a pass
	served              // nothing: it was
)

// look says what m, who has just come if first is set, is to do. expired tells that
// patience has ended.
func (b *batch) look(m *member, first, expired bool) duty {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first {
		b.forget(m)
		m.served, m.err, m.stop = false, nil, nil
		m.from, m.to, m.computed = 0, 0, false
		b.waiting = append(b.waiting, m)
	}
	switch {
	case m.served:
		return served
	case b.running:
		return waits
	case b.awaited == 0 || expired && b.awaited == m.watched:
		b.begin()
		return runs
	case b.waiting[0] == m:
		m.watched, m.patience = b.awaited, b.patience
		return watches
	}
	return waits
}

// forget tells that m wants nothing more of the last pass; b.mu is held.
func (b *batch) forget(m *member) {
	if b.lent == m {
		b.lent = nil
	}
	if m.awaited {
		m.awaited = false
		b.awaited--
	}
}

// rouse has the first in line look again; b.mu is held.
func (b *batch) rouse() {
	if len(b.waiting) > 0 {
		b.waiting[0].rouse()
	}
}

func (m *member) rouse() {
	select {
	case m.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// withdraw takes m out of the line because of err; false means that a pass computes
// what it wants, or a part of it.
func (b *batch) withdraw(m *member, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.computed {
		m.stop = err
		return false
	}
	was := b.remove(m)
	b.rouse()
	return was
}

// remove takes m out of the line and tells whether it was there; b.mu is held.
func (b *batch) remove(m *member) bool {
	n := len(b.waiting)
	b.waiting = slices.DeleteFunc(b.waiting, func(w *member) bool { return w == m })
	return len(b.waiting) < n
}

// begin takes from the line what one pass computes, beginning with the sender that has
// had least. b.mu is held.
func (b *batch) begin() {
	for _, m := range b.last {
		m.awaited = false
	}
	b.awaited = 0
	b.running, b.last, b.seqs = true, b.last[:0], b.seqs[:0]
	b.order()
	first, room, kept := b.waiting[0], b.room(), b.waiting[:0]
	for _, m := range b.waiting {
		if alone := first.alone != nil || m.alone != nil; m != first && alone {
			kept = append(kept, m)
			continue
		}
		tokens := m.take(room, m == first)
		room -= tokens
		if m.to < len(m.seqs) {
			kept = append(kept, m)
		}
		if m.to == m.from && m.alone == nil {
			continue
		}
		m.computed = true
		m.share.charge(m, tokens)
		b.computed.Add(int64(tokens))
		b.last, b.seqs = append(b.last, m), append(b.seqs, m.seqs[m.from:m.to]...)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	if b.pass == nil || b.lent != nil {
		b.pass, b.lent = b.model.NewPass(b.team), nil
	}
	if b.members.Load() == 1 && first.alone == nil && first.from == 0 && first.to == len(first.seqs) {
		b.lent = first
	}
}

// take assigns to the next pass as many of m's sequences as fit room tokens, at least one
// if m is first, and returns their tokens.
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
			b.end(m, time.Since(began), llm.Errorf(llm.Internal, "the pass that computed this request with others broke"))
		}
	}()
	err := b.compute()
	broken = false
	b.end(m, time.Since(began), err)
}

// compute is passOn, and says for clients that weights did not come.
func (b *batch) compute() error {
	err := b.passOn()
	if failed := b.model.Failed(); err != nil && failed != nil && errors.Is(err, failed) {
		return &llm.Error{Code: llm.Upstream, Message: "the weights of the model could not all be read: try again", Err: err}
	}
	return err
}

// passOn does what the first of the last pass wants alone, or runs a pass for all.
func (b *batch) passOn() error {
	if do := b.last[0].alone; do != nil {
		return do(b.pass)
	}
	logits, err := b.pass.Forward(b.seqs)
	if err == nil {
		b.share(logits)
	}
	return err
}

// share gives everybody their logits, copied if the next pass may come before they
// are read.
func (b *batch) share(logits []float32) {
	for _, m := range b.last {
		n := 0
		for i := range m.seqs[m.from:m.to] {
			n += m.seqs[m.from+i].Logits * b.model.Vocab
		}
		if m == b.lent {
			m.logits = logits[:n]
		} else {
			if m.from == 0 {
				m.own = m.own[:0]
			}
			m.own = append(m.own, logits[:n]...)
			m.logits = m.own
		}
		logits = logits[n:]
	}
}

// end gives everybody what the pass of m computed in that time, or why there is
// nothing. A member with more to compute stays in line.
func (b *batch) end(m *member, took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaited, b.running = 0, false
	for _, l := range b.last {
		l.computed = false
		if l.err = cmp.Or(err, l.stop); l.err == nil && l.to < len(l.seqs) {
			continue
		}
		if l.to < len(l.seqs) {
			b.remove(l)
		}
		l.served, l.awaited = true, true
		b.awaited++
		if l != m {
			l.rouse()
		}
	}
	if err != nil { // what it left behind is as broken
		b.pass = b.model.NewPass(b.team)
	}
	b.learn(took)
	clear(b.seqs)
	b.patience = min(max(took/patienceShare, minPatience), maxPatience)
	b.rouse()
}
