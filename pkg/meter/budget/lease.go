package budget

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// The largest parts of a limit that a process may keep idle: of tokens, and of requests.
const (
	tokenShare   = 64
	requestShare = 8
)

// A lease is a process's share of an account.
//
// leased = idle + reserved + used, where a negative idle is a debt
type lease struct {
	at     Account
	share  int64
	ledger Ledger
	now    func() time.Time
	limit  atomic.Int64 // as last reported
	idle   atomic.Int64 // changed under mu; read without it

	mu       sync.Mutex // held during calls to the ledger: one at a time
	reserved int64      // by running requests
	used     int64      // by requests of this process
	left     int64      // leased by no process, as last reported
	heard    bool
	touched  time.Time // last use by a request
	retry    time.Time // no ledger call before this time
}

// A refusal is the reason why a budget rejects a request.
type refusal struct {
	at       Account
	limit    int64
	left     int64 // of the limit
	reserved int64 // of it, by running requests of this process
	err      error // [ErrSpent], or the error of the ledger
}

func (r *refusal) Error() string { return r.at.Principal + ": " + r.at.Period + ": " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// reserve reserves up to most, and at least least. Its error is a *refusal; nothing is
// reserved then.
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

// take leases more, in a block that grows with the process's usage.
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

// keep returns the largest amount that the process may keep idle.
func (l *lease) keep() int64 { return min(l.limit.Load()/l.share, l.used) }

// ask calls the ledger, unless it failed a moment ago. A cancelled request does not
// cancel the call, because the lease would be lost.
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

// errPause is returned instead of calling a ledger that failed a moment ago.
var errPause = errors.New("the ledger failed a moment ago")

// room returns the amount available to a request, as far as the process knows; it calls the ledger
// once.
func (l *lease) room(ctx context.Context) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.heard {
		_ = l.ask(ctx, func(ctx context.Context) error { // take reports its error
			leased, err := l.ledger.Leased(ctx, l.at)
			if err == nil {
				l.left, l.heard = max(0, l.limit.Load()-leased), true
			}
			return err
		})
	}
	return max(0, l.left+l.idle.Load())
}

// settle ends a reservation, of which a request used this much, or more. It returns an
// error if something could not be returned to the ledger, or is still owed.
func (l *lease) settle(ctx context.Context, reserved, used int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched = l.now()
	l.reserved -= reserved
	l.used += used
	switch idle := l.idle.Add(reserved - used); {
	case !l.now().Before(l.at.End): // of no use any more
	case idle < 0:
		return l.refund(ctx, idle)
	case idle > l.keep():
		return l.refund(ctx, idle-l.keep())
	}
	return nil
}

// returnIdle returns idle tokens to the ledger.
func (l *lease) returnIdle(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle.Load() == 0 || !l.now().Before(l.at.End) {
		return nil
	}
	return l.refund(ctx, l.idle.Load())
}

// refund returns n to the ledger, or charges -n. If the call may have succeeded, n no
// longer counts as idle, or as owed: the period loses tokens rather than uses them
// twice.
func (l *lease) refund(ctx context.Context, n int64) error {
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

// untouched reports whether the lease has idle or owed tokens and no request has used it since a
// time.
func (l *lease) untouched(since time.Time) bool {
	if l.idle.Load() == 0 || !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	return l.touched.Before(since)
}
