package llm

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of US dollars in picodollars, 10^-12 dollars, so that sums are exact. The
// price of a token given in dollars per million tokens with six decimals is a whole number.
type USD int64

const (
	picoDigits = 12
	// Dollar is one US dollar.
	Dollar USD = 1e12
	// maxUSD bounds sums and products: two of them fit an int64.
	maxUSD USD = math.MaxInt64 / 2
)

// ParseUSD parses a decimal number of dollars, such as 2.5 or 1e-6, with at most 12 decimals.
func ParseUSD(s string) (USD, error) {
	const malformed = "it must be a decimal number of US dollars, such as 2.5"
	number, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n < -99 || n > 99 {
			return 0, errors.New(malformed)
		}
		number, exponent = s[:i], n
	}
	whole, fraction, dot := strings.Cut(number, ".")
	digits := whole + fraction
	switch {
	case strings.HasPrefix(s, "-"):
		return 0, errors.New("it must not be negative")
	case whole == "", dot && fraction == "", strings.Trim(digits, "0123456789") != "":
		return 0, errors.New(malformed)
	}
	digits = strings.TrimLeft(digits, "0")
	shift := picoDigits + exponent - len(fraction)
	for shift < 0 && strings.HasSuffix(digits, "0") {
		digits, shift = digits[:len(digits)-1], shift+1
	}
	switch {
	case digits == "":
		return 0, nil
	case shift < 0:
		return 0, errors.New("it has more than 12 decimals")
	case len(digits)+shift > 18:
		return 0, errors.New("it is too large: at most 999999 dollars")
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", shift), 10, 64)
	return USD(n), err
}

// String formats u as a decimal number of dollars without trailing zeros.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	s := strconv.FormatUint(n, 10)
	if len(s) <= picoDigits {
		s = strings.Repeat("0", picoDigits+1-len(s)) + s
	}
	point := len(s) - picoDigits
	return sign + strings.TrimSuffix(strings.TrimRight(s[:point]+"."+s[point:], "0"), ".")
}

// MarshalJSON writes u as a number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a number of dollars.
func (u *USD) UnmarshalJSON(b []byte) error {
	var n json.Number
	if len(b) == 0 || b[0] == '"' || json.Unmarshal(b, &n) != nil {
		return errors.New("it must be a number of US dollars, such as 2.5")
	}
	var err error
	*u, err = ParseUSD(string(n))
	return err
}

// Plus returns the sum of two amounts that are not negative. It does not overflow.
func (u USD) Plus(v USD) USD { return min(u+v, maxUSD) }

// Times returns n times u, both not negative. It does not overflow.
func (u USD) Times(n int64) USD {
	if u > 0 && n > int64(maxUSD/u) {
		return maxUSD
	}
	return u * USD(n)
}

// A Cost is an amount that may be unknown, as the zero Cost is. Dialects write it with
// omitzero, as a number of dollars.
type Cost struct {
	USD   USD
	Known bool
}

// KnownCost returns a known cost.
func KnownCost(u USD) Cost { return Cost{u, true} }

// Plus returns the sum of what is known of two costs.
func (c Cost) Plus(d Cost) Cost { return Cost{c.USD.Plus(d.USD), c.Known || d.Known} }

// IsZero reports whether c is unknown. A known cost of nothing is not zero.
func (c Cost) IsZero() bool { return !c.Known }

// MarshalJSON writes c as a number of dollars, or null.
func (c Cost) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return c.USD.MarshalJSON()
}

// Prices are the prices of a model.
type Prices struct {
	Input       USD // for a token of a prompt
	CachedInput USD // for a token of a prompt that the provider read from its cache
	Output      USD // for a generated token, reasoning included
	Request     USD // for a call; for each hundred documents that a call ranks
}

// Cost returns the cost of a number of requests that used this much together. It is not known
// without prices.
func (p *Prices) Cost(u Usage, requests int64) Cost {
	if p == nil {
		return Cost{}
	}
	cached := min(u.Cached, u.Input)
	sum := p.Input.Times(int64(u.Input - cached)).Plus(p.CachedInput.Times(int64(cached)))
	return KnownCost(sum.Plus(p.Output.Times(int64(u.Output))).Plus(p.Request.Times(requests)))
}
