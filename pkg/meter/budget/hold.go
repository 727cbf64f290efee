package budget

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A hold is the reservation of one request in one unit: the same amount of each budget. It is made in
// the budgets' order and undone in reverse, so that while another request takes what an earlier
// budget has back, a later one, such as the month after the day, does not have it leased twice.
type hold struct {
	unit unit
	rec  *httpx.Record // of the request
	now  func() time.Time

	mu       sync.Mutex
	leases   []*lease
	quotas   []quota // of the leases
	reserved int64
	settled  bool
}

// adjust sets the reservation to most, or to less if most is not left, but at least to least.
func (h *hold) adjust(ctx context.Context, least, most int64) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settled {
		return 0, errors.New("budget: the request is over")
	}
	if most < h.reserved {
		h.release(ctx, len(h.leases), h.reserved-most)
		h.reserved = most
		return most, nil
	}
	more, need := most-h.reserved, max(0, least-h.reserved)
	for i, l := range h.leases {
		got, err := l.reserve(ctx, need, more)
		if err != nil {
			h.release(ctx, i, more)
			return 0, h.refuse(err, need)
		}
		h.release(ctx, i, more-got) // the budgets before it gave more
		more = got
	}
	h.reserved += more
	h.show()
	return h.reserved, nil
}

// release returns n of the reservations of the first leases. An amount that cannot be
// returned now stays idle, or is lost to the period.
func (h *hold) release(ctx context.Context, first int, n int64) {
	for _, l := range slices.Backward(h.leases[:first]) {
		_ = l.settle(ctx, n, 0)
	}
}

// settle ends the reservation, and returns an element for each lease: its error, or nil.
func (h *hold) settle(ctx context.Context, used int64) (errs []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range slices.Backward(h.leases) {
		errs = append(errs, l.settle(ctx, h.reserved, used))
	}
	h.reserved, h.settled = 0, true
	return errs
}

// room returns the largest total reservation possible, as far as the process knows.
func (h *hold) room(ctx context.Context) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.leases[0].room(ctx)
	for _, l := range h.leases[1:] {
		room = min(room, l.room(ctx))
	}
	return h.reserved + room
}

// refuse returns the client's error for a failed reservation.
func (h *hold) refuse(err error, need int64) error {
	h.show()
	r, ok := errors.AsType[*refusal](err)
	if !ok || !errors.Is(err, ErrSpent) {
		return &llm.Error{Code: llm.Unavailable, Message: "the budget cannot be read now: try again", RetryAfter: callPause, Err: err}
	}
	wait, others := r.at.End.Sub(h.now()), r.reserved-h.reserved
	also := ""
	if others > 0 {
		also = ", in addition to " + h.unit.format(others) + " reserved by running requests"
		if need <= r.left+others {
			wait = min(wait, 10*time.Second) // others may use less than they reserved
		}
	}
	name := "day"
	for i, l := range h.leases {
		if l.at == r.at {
			name = h.quotas[i].name
		}
	}
	return &llm.Error{
		Code: llm.Overloaded, RetryAfter: max(time.Second, wait), Err: err,
		Message: fmt.Sprintf("the budget%s of %s a %s has %s left until %s%s; this request may use %s", whose(r.at.Principal), h.unit.spell(r.limit), name,
			h.unit.format(r.left+h.reserved), r.at.End.Format(time.RFC3339), also, h.unit.format(need+h.reserved)),
	}
}

// whose returns the words that say that a limit is a team's, "" if it is the caller's own.
func whose(principal string) string {
	if kind, team, _ := strings.Cut(principal, " "); kind == string(account.Team) {
		return " of the team " + team
	}
	return ""
}

// show writes the budget with the least left to the answer's headers, in the format of
// OpenAI's. It does not include requests of other processes since this one's last lease.
func (h *hold) show() {
	var least int64 = -1
	for i, l := range h.leases {
		l.mu.Lock()
		left := max(0, l.left+l.idle.Load())
		l.mu.Unlock()
		if least >= 0 && left >= least {
			continue
		}
		least = left
		of := h.unit.header()
		h.rec.SetHeader(func(header http.Header) {
			header.Set("X-Ratelimit-Limit-"+of, h.unit.format(h.quotas[i].limit))
			header.Set("X-Ratelimit-Remaining-"+of, h.unit.format(left))
			header.Set("X-Ratelimit-Reset-"+of, spell(l.at.End.Sub(h.now())))
		})
	}
}

// spell formats a time as OpenAI's headers do: 1s, 6m0s, 20ms.
func spell(d time.Duration) string {
	if d < time.Second {
		return max(0, d).Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// begin reserves an amount for a request that has used this much, or the rest if that is less,
// but at least least, and one.
func (h *hold) begin(ctx context.Context, used, least, amount int64) error {
	h.mu.Lock()
	reserved := h.reserved
	h.mu.Unlock()
	least = max(1, least)
	if amount = max(least, amount); reserved >= used+amount {
		return nil
	}
	_, err := h.adjust(ctx, used+least, used+amount)
	return err
}
