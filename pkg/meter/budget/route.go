package budget

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A report is the answer of GET /usage.
type report struct {
	Day    string    `json:"day" doc:"in UTC"`
	Since  time.Time `json:"since,omitzero" doc:"if usage is kept in this process only: when it began"`
	Days   []Usage   `json:"days" doc:"usage of the day"`
	Months []Usage   `json:"months" doc:"usage of the month of that day"`
	Limits []limited `json:"limits" doc:"the current limits of principals that have any"`
}

// limited is a principal with limits.
type limited struct {
	Principal string          `json:"principal" doc:"who has the limit: a key, a user or a team"`
	Requests  string          `json:"requests,omitempty" doc:"such as 10/s or 600/m"`
	Tokens    []limitedTokens `json:"tokens" doc:"the limits of tokens"`
	Costs     []limitedCost   `json:"costs,omitempty" doc:"the limits in US dollars"`
	Models    account.Models  `json:"models,omitempty" doc:"the only models that the principal may use, separated by commas; NAME* is all models whose names begin with NAME"`
	Team      string          `json:"team,omitempty" doc:"the team whose limits hold, too"`
}

// limitedCost is a budget of money of one period.
type limitedCost struct {
	Period string    `json:"period" doc:"day or month" enum:"day,month"`
	Limit  llm.USD   `json:"limit" doc:"US dollars in a period"`
	Left   llm.USD   `json:"left" doc:"US dollars that no process has leased; some of the leased ones may be unused"`
	Resets time.Time `json:"resets" doc:"when the next period begins"`
}

// limitedTokens is a budget of tokens of one period.
type limitedTokens struct {
	Period string    `json:"period" doc:"day or month" enum:"day,month"`
	Limit  int64     `json:"limit" doc:"tokens in a period"`
	Left   int64     `json:"left" doc:"tokens that no process has leased; some of the leased ones may be unused"`
	Resets time.Time `json:"resets" doc:"when the next period begins"`
}

// usageRequest is the query string of GET /usage.
type usageRequest struct {
	Day       string `json:"day"`
	Principal string `json:"principal"`
}

var usageTable = wire.For[usageRequest](
	wire.Parameter{Name: "day", Absent: "today", Note: "a day in UTC, such as 2026-11-22"},
	wire.Parameter{Name: "principal", Absent: "all", Note: "a principal, such as \"key ci\""},
)

var usageDoc = &httpx.Operation{
	ID: "usage", Tag: "Service", Summary: "Get the tokens and the cost of a day and its month, and what is left of the limits",
	Query: usageTable, Answers: []httpx.Answer{{Of: report{}}}, Codes: []llm.Code{llm.Unavailable},
}

// Routes returns GET /usage: the usage in a day and in its month by each principal of
// each model, and the rest of the limits. It takes ?day=2026-11-22, by default today, and
// ?principal=key%20ci.
func (b *Budgets) Routes() []httpx.Route {
	return []httpx.Route{{
		Method: http.MethodGet, Pattern: "/usage", Permission: httpx.Metrics, Doc: usageDoc,
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			out, err := b.report(r)
			if err != nil {
				return err
			}
			w.Header().Set("Cache-Control", "no-store")
			return httpx.JSON(w, http.StatusOK, out)
		},
	}}
}

func (b *Budgets) report(r *http.Request) (*report, error) {
	in := usageRequest{Day: b.cfg.Now().UTC().Format(time.DateOnly)}
	if err := httpx.DecodeQuery(r, usageTable, &in); err != nil {
		return nil, err
	}
	day, query := in.Day, r.URL.Query()
	if !isDay(day) {
		return nil, wire.Invalid("day", "must be a day in UTC, such as 2026-11-22")
	}
	month := day[:len("2026-11")]
	// Usage that cannot be flushed is not shown; the journal reports why.
	_ = b.flushNow(r.Context())
	list, err := b.cfg.Journal.Of(r.Context(), month)
	if err != nil {
		return nil, &llm.Error{Code: llm.Unavailable, Message: "the usage cannot be read now: try again", RetryAfter: callPause, Err: err}
	}
	other := func(principal string) bool { return query.Has("principal") && principal != in.Principal }
	days, months := usage{}, usage{}
	for _, u := range list {
		if other(u.Principal) {
			continue
		}
		if u.Day == day {
			days.add(u)
		}
		u.Day = month
		months.add(u)
	}
	out := &report{Day: day, Days: days.list(), Months: months.list()}
	if _, ok := b.cfg.Journal.(*Memory); ok {
		out.Since = b.since
	}
	if out.Limits, err = b.limits(r.Context(), other); err != nil {
		return nil, err
	}
	return out, nil
}

func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// limits returns the limits of all principals that have some, and the rest of them.
func (b *Budgets) limits(ctx context.Context, other func(principal string) bool) ([]limited, error) {
	list := []limited{}
	if b.cfg.Store == nil {
		return list, nil
	}
	for _, kind := range []account.Kind{account.APIKey, account.User, account.Team} {
		credentials, err := b.cfg.Store.List(ctx, kind)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, c := range credentials {
			p := account.Principal{Kind: string(kind), Name: c.Name}.String()
			if c.Limits == (account.Limits{}) || other(p) {
				continue
			}
			one := limited{Principal: p, Tokens: []limitedTokens{}, Models: c.Limits.Models, Team: c.Limits.Team}
			if c.Limits.Requests.N > 0 {
				one.Requests = c.Limits.Requests.String()
			}
			for _, q := range quotas(p, c.Limits, b.cfg.Now()) {
				n, err := b.cfg.Ledger.Leased(ctx, q.Account)
				if err != nil {
					return nil, &llm.Error{Code: llm.Unavailable, Message: "the budgets cannot be read now: try again", RetryAfter: callPause, Err: err}
				}
				if left := max(0, q.limit-n); q.unit == money {
					one.Costs = append(one.Costs, limitedCost{q.name, llm.USD(q.limit), llm.USD(left), q.End})
				} else {
					one.Tokens = append(one.Tokens, limitedTokens{q.name, q.limit, left, q.End})
				}
			}
			list = append(list, one)
		}
	}
	slices.SortStableFunc(list, func(a, b limited) int { return strings.Compare(a.Principal, b.Principal) })
	return list, nil
}
