package budget

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// An Account is one limit of one principal in one period.
type Account struct {
	Principal string    // from [account.Principal.String]: "key ci"
	Period    string    // day#2026-11-22, month#2026-11, usd-day#2026-11-22, requests#2026-11-22T10:05:00Z
	End       time.Time // of the period, UTC
}

// earliest returns a time that is not after now in the period.
func (at Account) earliest() time.Time {
	if strings.HasPrefix(at.Period, kindRequests) {
		return at.End.Add(-time.Minute)
	}
	return at.End.AddDate(0, -1, -1)
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
	kindMoney    = "usd-" // before the others
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

// A unit is what a budget counts.
type unit int

const (
	tokens unit = iota
	money       // in picodollars, see [llm.USD]
)

// header returns the name of the unit in the headers of answers.
func (u unit) header() string {
	if u == money {
		return "Usd"
	}
	return "Tokens"
}

// format formats an amount as a number.
func (u unit) format(n int64) string {
	if u == money {
		return llm.USD(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// spell formats an amount for people.
func (u unit) spell(n int64) string {
	if u == money {
		return u.format(n) + " US dollars"
	}
	return u.format(n) + " tokens"
}

// used returns what a request has used.
func (u unit) used(rec *httpx.Record) int64 {
	if u == money {
		return int64(rec.Usage.Cost.USD)
	}
	return int64(rec.Usage.Input) + int64(rec.Usage.Output)
}

// quota is an account and its limit.
type quota struct {
	Account
	unit  unit
	limit int64
	name  string // of the period, for people
}

// quotas returns the budgets in limits: of tokens, then of money.
func quotas(principal string, limits account.Limits, now time.Time) (list []quota) {
	for _, q := range []quota{
		{dayOf(principal, now), tokens, limits.TokensPerDay, "day"}, {monthOf(principal, now), tokens, limits.TokensPerMonth, "month"},
		{dayOf(principal, now), money, int64(limits.USDPerDay), "day"}, {monthOf(principal, now), money, int64(limits.USDPerMonth), "month"},
	} {
		if q.unit == money {
			q.Period = kindMoney + q.Period
		}
		if q.limit > 0 {
			list = append(list, q)
		}
	}
	return list
}
