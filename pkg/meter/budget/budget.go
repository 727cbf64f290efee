// Package budget enforces the limits of users and keys: requests per time, tokens and
// money per UTC day and month. It counts for all processes that share a [Ledger], and
// reports usage. It knows principals, the waist and the record of a request, nothing of
// dialects and the origin of limits and prices.
//
// A budget is leased in blocks: a process takes tokens, or picodollars, out of the ledger
// before it uses them, reserves the most that a request may use, and settles when the
// request has ended, in whatever way. So the ledger never falls short:
//
//	used by requests <= leased by processes <= limit
//
// except for usage beyond the bound of a request, which is charged anyway. A process
// keeps as many idle tokens as it has used in the period, but no more than 1/64 of the
// limit. It returns any more when a request ends, and the rest after a minute without
// requests and on an orderly shutdown. The leases of a killed process count as used
// until the period ends: at most its idle tokens and the reservations of its running
// requests.
package budget

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
)

// Times.
const (
	flushEvery   = 10 * time.Second // between two flushes of usage
	idleAfter    = time.Minute      // a lease without a request is returned after this time
	callPatience = 2 * time.Second  // for one answer of a ledger
	callPause    = time.Second      // before the next call to a ledger that failed
)

// Config configures [New].
type Config struct {
	Ledger  Ledger        // where budgets are leased; nil: in this process
	Journal Journal       // where usage is kept; nil: in this process
	Store   account.Store // whose limits GET /usage shows; nil: none
	// Failed is called with errors of storing usage and returning leases; it may be nil.
	Failed func(error)
	// Now returns the time; nil: the system's clock.
	Now func() time.Time
}

// Budgets are the budgets of one process.
type Budgets struct {
	cfg   Config
	since time.Time

	mu     sync.Mutex
	leases map[Account]*lease
	paces  map[string]*account.Bucket // of requests, by principal
	holds  map[*httpx.Record][]*hold  // of a request: one for each unit
	usage  usage
	timer  *time.Timer // nil: nothing is due
	closed bool

	leasesSwept, pacesSwept sweep

	chores sync.Mutex // held during a flush
	last   time.Time  // of the last flush; under chores
}

// New returns unused budgets.
func New(cfg Config) *Budgets {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	memory := NewMemory()
	if cfg.Ledger == nil {
		cfg.Ledger = memory
	}
	if cfg.Journal == nil {
		cfg.Journal = memory
	}
	return &Budgets{
		cfg: cfg, since: cfg.Now().UTC(), leases: map[Account]*lease{}, paces: map[string]*account.Bucket{},
		holds: map[*httpx.Record][]*hold{}, usage: usage{},
	}
}

// lease returns the process's lease of an account. From time to time it deletes leases of
// periods that are over, because their rest is of no use. Its caller holds mu.
func (b *Budgets) lease(at Account, limit int64) *lease {
	l, ok := b.leases[at]
	if !ok {
		now := b.cfg.Now()
		// The running requests of a deleted lease settle with their own pointers.
		swept(&b.leasesSwept, b.leases, func(other Account, _ *lease) bool { return !now.Before(other.End) })
		l = &lease{at: at, share: tokenShare, ledger: b.cfg.Ledger, now: b.cfg.Now}
		if strings.HasPrefix(at.Period, kindRequests) {
			l.share = requestShare
		}
		b.leases[at] = l
	}
	l.limit.Store(limit)
	return l
}

// Observe settles the reservation of a request and counts its usage; it is the Observe
// hook of an [httpx.Mux]. On Lambda, where nothing runs between requests, it also
// flushes usage and returns idle leases.
func (b *Budgets) Observe(rec *httpx.Record) {
	b.mu.Lock()
	holds := b.holds[rec]
	delete(b.holds, rec)
	b.usage.count(b.cfg.Now(), rec)
	b.mu.Unlock()
	ctx := context.Background()
	for _, h := range holds {
		b.failed(h.settle(ctx, h.unit.used(rec))...)
	}
	b.work(ctx)
	b.wake()
}

// work does the chores that are due, unless another goroutine does.
func (b *Budgets) work(ctx context.Context) {
	if !b.chores.TryLock() {
		return
	}
	defer b.chores.Unlock()
	if now := b.cfg.Now(); now.Sub(b.last) >= flushEvery {
		b.last = now
		errs := []error{b.flush(ctx)} // usage that could not be stored is retried later
		for _, l := range b.idle(now.Add(-idleAfter)) {
			errs = append(errs, l.returnIdle(ctx))
		}
		b.failed(errs...)
	}
}

// failed reports errors. Those of ledgers that were not called were reported when the ledger failed.
func (b *Budgets) failed(errs ...error) {
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, errPause) })
	if err := errors.Join(errs...); err != nil && b.cfg.Failed != nil {
		b.cfg.Failed(err)
	}
}

// idle returns the leases that no request has used since a time.
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

// wake sets the timer of a process without requests. It owns the one goroutine here,
// which ends when nothing is left to do.
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

// busy reports whether anything is left to flush or return.
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

// Close stores the usage and returns unused leases. Running requests settle themselves.
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
		err = errors.Join(err, l.returnIdle(ctx))
	}
	return err
}
