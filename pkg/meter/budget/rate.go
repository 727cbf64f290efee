package budget

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A pace limits the request rate of one principal in this process.
type pace struct {
	mu     sync.Mutex
	bucket account.Bucket
}

// Guard counts a request for inference against the rates of its sender and of its team; it is a guard of
// an [httpx.Mux], to run after [account.Accounts.Guard]. A rate N per second or minute
// means:
//
//   - in one process, N requests at once and then N in each second or minute;
//   - in all processes that share the ledger, N in each minute of the clock, or 10 N in
//     each ten seconds for a rate per second; so, in any time of that length, at most
//     twice as many. Requests are leased in blocks, so that a part of that, half at most,
//     may be refused because processes hold it that do not use it;
//   - while the ledger cannot be asked, in each process alone.
func (b *Budgets) Guard(r *http.Request, route *httpx.Route) (*http.Request, error) {
	p, ok := account.PrincipalOf(r.Context())
	if !ok || route.Permission != httpx.Inference {
		return r, nil
	}
	fewest := math.MaxInt
	for _, bound := range p.Bounds() {
		if bound.Limits.Requests.N == 0 {
			continue
		}
		if err := b.admit(r, bound, &fewest); err != nil {
			return r, err
		}
	}
	return r, nil
}

// admit takes one request from the process's pace and one from the window that all share. The
// headers of the answer have the rate with the fewest requests left.
func (b *Budgets) admit(r *http.Request, of account.Bound, fewest *int) error {
	rate, now := of.Limits.Requests, b.cfg.Now()
	pause := rate.Per / time.Duration(rate.N)
	own, l := b.pace(of.Name, rate, now)
	own.mu.Lock()
	wait := own.bucket.Take(now, rate.N, pause)
	left, reset := own.bucket.Left(now, rate.N, pause)
	own.mu.Unlock()
	if wait == 0 {
		if _, err := l.reserve(r.Context(), 1, 1); err == nil {
			_ = l.settle(r.Context(), 1, 1) // it gives nothing back
			left = int(min(int64(left), l.room(r.Context())))
		} else if errors.Is(err, ErrSpent) || errors.Is(err, ErrBusy) {
			left, reset = 0, l.at.End.Sub(now)
			wait = max(reset, time.Millisecond)
		}
	}
	if left < *fewest {
		*fewest = left
		h := httpx.RecordOf(r.Context()).Header
		h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(rate.N))
		h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(left))
		h.Set("X-Ratelimit-Reset-Requests", spell(reset))
	}
	if wait > 0 {
		return &llm.Error{Code: llm.Overloaded, Message: "the rate limit" + whose(of.Name) + " of " + rate.String() + " is reached: try again later", RetryAfter: wait}
	}
	return nil
}

// pace returns the pace of a principal or a team, of which there are no more than credentials,
// and the lease of the current window.
func (b *Budgets) pace(principal string, rate account.Rate, now time.Time) (*pace, *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paces[principal] == nil {
		b.paces[principal] = &pace{}
	}
	_, limit := window(rate)
	return b.paces[principal], b.lease(requestsOf(principal, rate, now), limit)
}
