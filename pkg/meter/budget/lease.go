package budget

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Parts of a limit that a process may keep idle at most: of tokens, and of requests.
const (
	tokenShare   = 64
	requestShare = 8
)

// A lease is what a process has of an account.
//
//	leased = idle + reserved + used, where idle may be negative: it is owed
type lease struct {
	at     Account
	share  int64
	ledger Ledger
	now    func() time.Time
	limit  atomic.Int64 // as it was last heard
	idle   atomic.Int64 // changed under mu; read by whoever wants to know

	mu       sync.Mutex // held while the ledger is asked: one at a time
	reserved int64      // by running requests
	used     int64      // by requests of this process
	left     int64      // that no process had leased, when that was last heard
	heard    bool
	touched  time.Time // by a request
	retry    time.Time // the ledger may be asked again
}

// A refusal says why a budget does not let a request pass.
type refusal struct {
	at       Account
	limit    int64
	left     int64 // of the limit
	reserved int64 // of it, by running requests of this process
	err      error // [ErrSpent], or what the ledger failed with
}

func (r *refusal) Error() string { return r.at.Principal + ": " + r.at.Period + ": " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// reserve sets aside up to most, and at least least. Its error is a *refusal, and nothing
// is set aside then.
func (l *lease) reserve(ctx context.Context, least, most int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched = l.now()
	var err error
	if lack := most - l.idle.Load(); lack > 0 {
		err = l.take(ctx, max(1, least-l.idle.Load()), lack)
	}
	got := min(most, max(0, l.idle.Load()))
	if got < least {
		if err == nil {
			err = ErrSpent
		}
		return 0, &refusal{l.at, l.limit.Load(), max(0, l.left+l.idle.Load()), l.reserved, err}
	}
	l.reserved += got
	l.idle.Add(-got)
	return got, nil
}

// take leases more, a block that grows with what the process uses.
func (l *lease) take(ctx context.Context, least, lack int64) error {
	limit := l.limit.Load()
	return l.ask(ctx, func(ctx context.Context) error {
		got, left, err := l.ledger.Take(ctx, l.at, least, lack+l.keep(), limit)
		if err == nil || errors.Is(err, ErrSpent) {
			l.left, l.heard = left, true
		}
		l.idle.Add(got)
		return err
	})
}

// keep is what the process may have idle.
func (l *lease) keep() int64 { return min(l.limit.Load()/l.share, l.used) }

// ask calls the ledger, unless that failed a moment ago. A request that is cancelled
// does not cancel the call: what it leased would be lost.
func (l *lease) ask(ctx context.Context, call func(context.Context) error) error {
	if now := l.now(); now.Before(l.retry) {
		return errPause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
	defer cancel()
	err := call(ctx)
	if err != nil && !errors.Is(err, ErrSpent) {
		l.retry = l.now().Add(callPause)
	}
	return err
}

// errPause is said in place of a ledger that failed a moment ago.
var errPause = errors.New("the ledger failed a moment ago")

// room is what a request could have, as far as the process knows; it asks once.
func (l *lease) room(ctx context.Context) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.heard {
		_ = l.ask(ctx, func(ctx context.Context) error { // whoever takes hears of it
			leased, err := l.ledger.Leased(ctx, l.at)
			if err == nil {
				l.left, l.heard = max(0, l.limit.Load()-leased), true
			}
			return err
		})
	}
	return max(0, l.left+l.idle.Load())
}

// settle ends a reservation, of which a request used so much, or more. Its error says that
// something could not be given back, or is owed on.
func (l *lease) settle(ctx context.Context, reserved, used int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched = l.now()
	l.reserved -= reserved
	l.used += used
	switch idle := l.idle.Add(reserved - used); {
	case !l.now().Before(l.at.End): // nothing can use it
	case idle < 0:
		return l.give(ctx, idle)
	case idle > l.keep():
		return l.give(ctx, idle-l.keep())
	}
	return nil
}

// giveBack returns what is idle.
func (l *lease) giveBack(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle.Load() == 0 || !l.now().Before(l.at.End) {
		return nil
	}
	return l.give(ctx, l.idle.Load())
}

// give returns n to the ledger, or charges -n. What may have been given is not idle any
// more, and what may have been charged is owed on: it is lost to the period rather than
// used twice.
func (l *lease) give(ctx context.Context, n int64) error {
	err := l.ask(ctx, func(ctx context.Context) error { return l.ledger.Return(ctx, l.at, n) })
	if errors.Is(err, ErrBusy) || errors.Is(err, errPause) || err != nil && n < 0 {
		return err
	}
	l.idle.Add(-n)
	if err == nil {
		l.left = max(0, l.left+n)
	}
	return err
}

// untouched tells whether something is idle, or owed, that no request touched since.
func (l *lease) untouched(since time.Time) bool {
	if l.idle.Load() == 0 || !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	return l.touched.Before(since)
}
