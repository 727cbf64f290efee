package budget

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

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
	wait, left, reset := b.pace(of.Name, rate, now)
	if wait == 0 {
		l := b.windowOf(of.Name, rate, now)
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

// pace takes one request from the process's pace of a principal or a team. It returns the time to
// wait, the requests left, and the time until all are. From time to time it deletes the paces of those
// who have sent nothing for so long that all are left: an identity provider may know any number of people.
func (b *Budgets) pace(principal string, rate account.Rate, now time.Time) (wait time.Duration, left int, reset time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own, ok := b.paces[principal]
	if !ok {
		swept(&b.pacesSwept, b.paces, func(_ string, other *account.Bucket) bool { return other.Full(now) })
		own = &account.Bucket{}
		b.paces[principal] = own
	}
	pause := rate.Per / time.Duration(rate.N)
	wait = own.Take(now, rate.N, pause)
	left, reset = own.Left(now, rate.N, pause)
	return wait, left, reset
}

// windowOf returns the lease of the current window of a principal or a team.
func (b *Budgets) windowOf(principal string, rate account.Rate, now time.Time) *lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, limit := window(rate)
	return b.lease(requestsOf(principal, rate, now), limit)
}
