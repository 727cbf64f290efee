package account

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// Limits bound the use by a user, a key or a team; zero means unlimited. They are comparable.
type Limits struct {
	Requests       Rate    `json:"requests,omitzero"`
	TokensPerDay   int64   `json:"tokens_per_day,omitempty"`   // of prompts and answers, per UTC day
	TokensPerMonth int64   `json:"tokens_per_month,omitempty"` // per UTC month
	USDPerDay      llm.USD `json:"usd_per_day,omitzero"`       // the cost of requests, as far as prices are known
	USDPerMonth    llm.USD `json:"usd_per_month,omitzero"`
	Models         Models  `json:"models,omitempty"` // the only models to be used; "": all
	Team           string  `json:"team,omitempty"`   // of a user or a key: whose limits hold, too; "": none
}

// Bounds of limits: their sums fit an int64, and the pause between requests is at
// least a microsecond.
const (
	maxRequests = 1_000_000
	maxTokenSum = 1_000_000_000_000_000
	maxUSD      = 100_000 * llm.Dollar
)

// Check returns an error if limits, which may have been written by hand, are invalid.
func (l Limits) Check() error {
	if l.TokensPerDay < 0 || l.TokensPerMonth < 0 || l.TokensPerDay > maxTokenSum || l.TokensPerMonth > maxTokenSum {
		return errors.New("a token limit must be an integer from 1 to 10^15")
	}
	if l.USDPerDay < 0 || l.USDPerMonth < 0 || l.USDPerDay > maxUSD || l.USDPerMonth > maxUSD {
		return fmt.Errorf("a limit of US dollars must be at most %s", maxUSD)
	}
	if l.Team != "" {
		if err := checkName(l.Team); err != nil {
			return fmt.Errorf("team: %w", err)
		}
	}
	return cmp.Or(l.Models.check(), l.Requests.check())
}

// String formats limits for people: "10/s, 50000 tokens a day"; "none".
func (l Limits) String() string {
	var parts []string
	if l.Requests.N > 0 {
		parts = append(parts, l.Requests.String())
	}
	if l.TokensPerDay > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens a day", l.TokensPerDay))
	}
	if l.TokensPerMonth > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens a month", l.TokensPerMonth))
	}
	if l.USDPerDay > 0 {
		parts = append(parts, l.USDPerDay.String()+" US dollars a day")
	}
	if l.USDPerMonth > 0 {
		parts = append(parts, l.USDPerMonth.String()+" US dollars a month")
	}
	if l.Models != "" {
		parts = append(parts, "only the models "+string(l.Models))
	}
	if l.Team != "" {
		parts = append(parts, "those of the team "+l.Team)
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// A Rate is a number of requests per second or minute: "10/s", "600/m".
type Rate struct {
	N   int
	Per time.Duration // time.Second or time.Minute
}

// ParseRate parses N/s or N/m.
func ParseRate(s string) (Rate, error) {
	count, per, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	r := Rate{n, map[string]time.Duration{"s": time.Second, "m": time.Minute}[per]}
	if err != nil || n == 0 || r.check() != nil {
		return Rate{}, fmt.Errorf("invalid rate %.40q: it must be N/s or N/m, with N from 1 to %d", s, maxRequests)
	}
	return r, nil
}

func (r Rate) check() error {
	switch {
	case r == Rate{}:
		return nil
	case r.N < 1 || r.N > maxRequests, r.Per != time.Second && r.Per != time.Minute:
		return fmt.Errorf("a rate must be N/s or N/m, with N from 1 to %d", maxRequests)
	}
	return nil
}

// String returns the form that [ParseRate] parses.
func (r Rate) String() string {
	if r.Per == time.Minute {
		return strconv.Itoa(r.N) + "/m"
	}
	return strconv.Itoa(r.N) + "/s"
}

// MarshalText implements [encoding.TextMarshaler].
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRate(string(b))
	return err
}
