package budget

import (
	"context"
	"errors"
	"time"

	"glossa/pkg/account"
)

// An Account is one limit of one principal in one period.
type Account struct {
	Principal string    // from [account.Principal.String]: "key ci"
	Period    string    // day#2026-11-22, month#2026-11, requests#2026-11-22T10:05:00Z
	End       time.Time // of the period, UTC
}

// A Ledger stores how much of each account all processes have leased.
type Ledger interface {
	// Take leases up to most, and at least least, within limit. It returns the amount
	// leased and the rest of the limit. [ErrSpent] means that less than least is left;
	// nothing is leased then. After any other error a lease may exist that nobody uses.
	Take(ctx context.Context, at Account, least, most, limit int64) (got, left int64, err error)
	// Return returns n, or charges -n whatever the limit. After an error it is unknown
	// whether it took effect, so it must not be retried, except after [ErrBusy]: it had no
	// effect.
	Return(ctx context.Context, at Account, n int64) error
	// Leased returns the leased amount, 0 for a new account.
	Leased(ctx context.Context, at Account) (int64, error)
}

// Errors of a [Ledger].
var (
	ErrSpent = errors.New("the budget is used up")
	ErrBusy  = errors.New("too many concurrent changes of the account")
)

// Kinds of periods.
const (
	kindDay      = "day#"
	kindMonth    = "month#"
	kindRequests = "requests#"
)

// dayOf returns the account of the UTC day of now.
func dayOf(principal string, now time.Time) Account {
	y, m, d := now.UTC().Date()
	start := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return Account{principal, kindDay + start.Format(time.DateOnly), start.AddDate(0, 0, 1)}
}

// monthOf returns the account of the UTC month of now.
func monthOf(principal string, now time.Time) Account {
	y, m, _ := now.UTC().Date()
	start := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	return Account{principal, kindMonth + start.Format("2006-01"), start.AddDate(0, 1, 0)}
}

// window returns the length of the window in which all processes together count a
// rate, and its number of requests: a minute, or ten seconds for a rate per second.
func window(rate account.Rate) (time.Duration, int64) {
	if rate.Per == time.Second {
		return 10 * time.Second, 10 * int64(rate.N)
	}
	return time.Minute, int64(rate.N)
}

// requestsOf returns the account of the window of now.
func requestsOf(principal string, rate account.Rate, now time.Time) Account {
	long, _ := window(rate)
	start := now.UTC().Truncate(long)
	return Account{principal, kindRequests + start.Format(time.RFC3339), start.Add(long)}
}

// quota is an account and its limit, in tokens.
type quota struct {
	Account
	limit int64
	name  string // of the period, for people
}

// quotas returns the token budgets in limits.
func quotas(principal string, limits account.Limits, now time.Time) (list []quota) {
	if limits.TokensPerDay > 0 {
		list = append(list, quota{dayOf(principal, now), limits.TokensPerDay, "day"})
	}
	if limits.TokensPerMonth > 0 {
		list = append(list, quota{monthOf(principal, now), limits.TokensPerMonth, "month"})
	}
	return list
}
