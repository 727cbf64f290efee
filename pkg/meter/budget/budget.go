// Package budget holds users and keys to their limits: requests in a time, tokens in a
// day and a month of UTC. It counts for all processes that share a [Ledger], and tells
// what was used. It knows principals, the waist and the record of a request, nothing of
// dialects, of prices, and of who gives the limits.
//
// A budget is leased in blocks: a process takes tokens out of the ledger before it uses
// them, reserves what a request may use at most, and settles when the request has ended,
// however it ended. So no ledger is ever short:
//
//	used by requests <= leased by processes <= limit
//
// save for what a model uses beyond the bound of its request, which is charged all the
// same. A process keeps idle what it has used in the period, but no more than 1/64 of
// the limit; what is more it gives back as the request ends, and the rest after a minute
// without requests and when it ends in order. What a process that is killed had leased
// counts as used until the period ends: at most that, and what its running requests had
// reserved.
package budget

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
)

// Times.
const (
	flushEvery   = 10 * time.Second // between two flushes of what was used
	idleAfter    = time.Minute      // without a request, a lease goes back
	callPatience = 2 * time.Second  // for one answer of a ledger
	callPause    = time.Second      // between two questions to a ledger that failed
)

// Config of [New].
type Config struct {
	Ledger  Ledger        // where budgets are leased; nil: no limit is held to
	Journal Journal       // where usage is kept; nil: in this process
	Store   account.Store // whose limits GET /usage shows; nil: nobody's
	// Failed is told what could not be written down or given back; nil: nobody is.
	Failed func(error)
	// Now is the time; nil: that of the system.
	Now func() time.Time
}

// Budgets are those of one process.
type Budgets struct {
	cfg   Config
	since time.Time

	mu     sync.Mutex
	leases map[Account]*lease
	paces  map[string]*pace // by principal
	holds  map[*httpx.Record]*hold
	usage  usage
	timer  *time.Timer // nil: nothing is to be done
	closed bool

	chores sync.Mutex // held by whoever flushes
	last   time.Time  // of the last flush; under chores
}

// New returns budgets of which nothing is used.
func New(cfg Config) *Budgets {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Journal == nil {
		cfg.Journal = NewMemory()
	}
	return &Budgets{
		cfg: cfg, since: cfg.Now().UTC(), leases: map[Account]*lease{}, paces: map[string]*pace{},
		holds: map[*httpx.Record]*hold{}, usage: usage{},
	}
}

// lease returns the process's lease of an account. Those of periods that are over go
// with the occasion: nothing can use what is left of them. Its caller holds mu.
func (b *Budgets) lease(at Account, limit int64) *lease {
	l, ok := b.leases[at]
	if !ok {
		now := b.cfg.Now()
		for other := range b.leases {
			if !now.Before(other.End) {
				delete(b.leases, other) // its running requests settle on what they hold
			}
		}
		l = &lease{at: at, share: tokenShare, ledger: b.cfg.Ledger, now: b.cfg.Now}
		if strings.HasPrefix(at.Period, kindRequests) {
			l.share = requestShare
		}
		b.leases[at] = l
	}
	l.limit.Store(limit)
	return l
}

// Observe settles what a request had reserved and counts what it used; it is for
// [httpx.Mux]. On Lambda, where nothing runs between requests, this is also where usage
// is flushed and idle leases go back.
func (b *Budgets) Observe(rec *httpx.Record) {
	b.mu.Lock()
	h := b.holds[rec]
	delete(b.holds, rec)
	b.usage.count(b.cfg.Now(), rec)
	b.mu.Unlock()
	ctx := context.Background()
	if h != nil {
		b.failed(h.settle(ctx, total(rec)))
	}
	b.work(ctx)
	b.wake()
}

// work does what is due, unless somebody is at it.
func (b *Budgets) work(ctx context.Context) {
	if !b.chores.TryLock() {
		return
	}
	defer b.chores.Unlock()
	if now := b.cfg.Now(); now.Sub(b.last) >= flushEvery {
		b.last = now
		err := b.flush(ctx) // what could not be written is tried again
		for _, l := range b.idle(now.Add(-idleAfter)) {
			err = errors.Join(err, l.giveBack(ctx))
		}
		b.failed(err)
	}
}

// failed tells of an error, if it is one that was not just told.
func (b *Budgets) failed(err error) {
	if err != nil && b.cfg.Failed != nil && !errors.Is(err, errPause) {
		b.cfg.Failed(err)
	}
}

// idle returns the leases that were not touched since a time.
func (b *Budgets) idle(since time.Time) (list []*lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.leases {
		if l.untouched(since) {
			list = append(list, l)
		}
	}
	return list
}

// wake sets the timer of a process that nobody asks for anything any more. It owns the
// one goroutine here, which ends when nothing is left to do.
func (b *Budgets) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil && !b.closed && b.busy() {
		b.timer = time.AfterFunc(flushEvery, func() {
			b.work(context.Background())
			b.mu.Lock()
			b.timer = nil
			b.mu.Unlock()
			b.wake()
		})
	}
}

// busy tells whether anything is to be flushed or given back.
func (b *Budgets) busy() bool {
	if len(b.usage) > 0 {
		return true
	}
	now := b.cfg.Now()
	for at, l := range b.leases {
		if now.Before(at.End) && l.idle.Load() != 0 {
			return true
		}
	}
	return false
}

// Close writes down what was used and gives back what is leased and not in use. Requests
// that still run settle by themselves.
func (b *Budgets) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.chores.Lock()
	defer b.chores.Unlock()
	err := b.flush(ctx)
	for _, l := range b.idle(b.cfg.Now().Add(time.Hour)) {
		err = errors.Join(err, l.giveBack(ctx))
	}
	return err
}

// total is what a request has used.
func total(rec *httpx.Record) int64 { return int64(rec.Usage.Input) + int64(rec.Usage.Output) }
