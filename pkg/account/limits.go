package account

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits are what a user or a key may use; zero is no limit.
type Limits struct {
	Requests       Rate  `json:"requests,omitzero"`
	TokensPerDay   int64 `json:"tokens_per_day,omitempty"`   // of prompts and answers, in a day of UTC
	TokensPerMonth int64 `json:"tokens_per_month,omitempty"` // in a month of UTC
}

// Bounds of limits: sums of them fit an int64, and a pause between requests is at
// least a microsecond.
const (
	maxRequests = 1_000_000
	maxTokenSum = 1_000_000_000_000_000
)

// Check tells what is wrong with limits that somebody may have written by hand.
func (l Limits) Check() error {
	if l.TokensPerDay < 0 || l.TokensPerMonth < 0 || l.TokensPerDay > maxTokenSum || l.TokensPerMonth > maxTokenSum {
		return errors.New("a limit of tokens is a number from 1 to 10^15")
	}
	return l.Requests.check()
}

// String is how people read limits: "10/s, 50000 tokens a day"; "none".
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
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// A Rate is so many requests in a second or a minute: "10/s", "600/m".
type Rate struct {
	N   int
	Per time.Duration // time.Second or time.Minute
}

// ParseRate reads N/s or N/m.
func ParseRate(s string) (Rate, error) {
	count, per, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	r := Rate{n, map[string]time.Duration{"s": time.Second, "m": time.Minute}[per]}
	if err != nil || n == 0 || r.check() != nil {
		return Rate{}, fmt.Errorf("the rate %.40q: N/s or N/m, with N from 1 to %d", s, maxRequests)
	}
	return r, nil
}

func (r Rate) check() error {
	switch {
	case r == Rate{}:
		return nil
	case r.N < 1 || r.N > maxRequests, r.Per != time.Second && r.Per != time.Minute:
		return fmt.Errorf("a rate is N/s or N/m, with N from 1 to %d", maxRequests)
	}
	return nil
}

// String returns what [ParseRate] reads.
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
