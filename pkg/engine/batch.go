package engine

import (
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
// prompt holds up the others. A request of more rows has passes of its own.
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

	members  atomic.Int32 // changes under mu
	computed atomic.Int64 // tokens, in all passes

	pass *transformer.Pass // nil while nobody is there
	lent *member           // was alone and still reads the pass's own logits
	seqs []transformer.Sequence
}

func newBatch(m *transformer.Model, team *transformer.Team) *batch {
	return &batch{model: m, team: team}
}

// A member is a generation's place in a batch; its generation alone uses it.
type member struct {
	lanes *lanes
	batch *batch        // nil after it has left
	wake  chan struct{} // room for one: look again
	timer *time.Timer

	// What a pass is to compute: seqs, or what alone does.
	seqs   []transformer.Sequence
	tokens int // in seqs
	alone  func(*transformer.Pass) error

	logits  []float32 // (outputs, vocab), after the pass
	own     []float32 // memory for a copy of them
	err     error
	served  bool
	awaited bool // by the batch

	watched  int           // how many were awaited when it began to watch
	patience time.Duration // that it began with
}

// enter counts a member in.
func (b *batch) enter() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members.Add(1)
	return b
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

// forward computes seqs, with those of others, and returns their logits (outputs,
// vocab), row-major, valid until the next call. The only errors are those of ctx,
// when nothing was computed, and of a pass that broke or whose weights did not come.
func (m *member) forward(ctx context.Context, seqs []transformer.Sequence) ([]float32, error) {
	m.seqs, m.tokens, m.alone = seqs, 0, nil
	for i := range seqs {
		m.tokens += len(seqs[i].Tokens)
	}
	err := m.serve(ctx)
	return m.logits, err
}

// use has do compute with the pass, while nothing else is computed.
func (m *member) use(ctx context.Context, do func(*transformer.Pass) error) error {
	m.seqs, m.tokens, m.alone = nil, 0, do
	return m.serve(ctx)
}

// serve returns when what m wants is computed, or ctx ends before it began.
func (m *member) serve(ctx context.Context) error {
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
			if b.withdraw(m) {
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
		m.served, m.err = false, nil
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

// withdraw takes m out of the line; false means that it is in no line any more.
func (b *batch) withdraw(m *member) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// begin takes from the line what one pass computes: the first, and who fits beside
// it. b.mu is held.
func (b *batch) begin() {
	for _, m := range b.last {
		m.awaited = false
	}
	b.awaited = 0
	b.running, b.last, b.seqs = true, b.last[:0], b.seqs[:0]
	first, tokens, kept := b.waiting[0], 0, b.waiting[:0]
	for _, m := range b.waiting {
		alone := first.alone != nil || m.alone != nil
		if m != first && (alone || tokens+m.tokens > passTokens) {
			kept = append(kept, m)
			continue
		}
		tokens += m.tokens
		b.last, b.seqs = append(b.last, m), append(b.seqs, m.seqs...)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	b.computed.Add(int64(tokens))
	if b.pass == nil || b.lent != nil {
		b.pass, b.lent = b.model.NewPass(b.team), nil
	}
	if b.members.Load() == 1 && first.alone == nil {
		b.lent = first
	}
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
		for i := range m.seqs {
			n += m.seqs[i].Logits * b.model.Vocab
		}
		if m.logits = logits[:n]; m != b.lent {
			m.own = append(m.own[:0], m.logits...)
			m.logits = m.own
		}
		logits = logits[n:]
	}
}

// end gives everybody what the pass of m computed in that time, or why there is nothing.
func (b *batch) end(m *member, took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.last {
		l.err, l.served, l.awaited = err, true, true
		if l != m {
			l.rouse()
		}
	}
	if err != nil { // what it left behind is as broken
		b.pass = b.model.NewPass(b.team)
	}
	clear(b.seqs)
	b.awaited, b.running = len(b.last), false
	b.patience = min(max(took/patienceShare, minPatience), maxPatience)
	b.rouse()
}
