package llm

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestParseUSD(t *testing.T) {
	for text, want := range map[string]USD{
		"0": 0, "0.000": 0, "1": Dollar, "2.5": 25e11, "0.000000000001": 1, "1e-12": 1, "1E-6": 1e6, "3.000000000000000": 3e12,
		"1.5e+3": 1500e12, "00.1": 1e11, "999999.999999999999": 999999_999999999999, "0e99": 0,
	} {
		if got, err := ParseUSD(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", ".", ".5", "5.", "-1", "-0.1", "+1", "1,5", "0x1", "NaN", "Inf", "1e", "1e999999999", "1e-100", "0.0000000000001", "1e-13", "1000000",
		"1e6", "1_000", " 1", "1 ", "٣", "1.2.3",
	} {
		if got, err := ParseUSD(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The text of an amount is the amount: written and read it is the same, and the sum of
// amounts is that of exact fractions.
func TestUSDIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var sum USD
	exact := new(big.Rat)
	for range 10_000 {
		u := USD(r.Int64N(1 << r.IntN(50)))
		b, err := json.Marshal(KnownCost(u))
		var back USD
		if err != nil || json.Unmarshal(b, &back) != nil || back != u {
			t.Fatalf("%d: %s is %d, %v", u, b, back, err)
		}
		written, ok := new(big.Rat).SetString(string(b))
		if !ok {
			t.Fatalf("%s", b)
		}
		sum, exact = sum.Plus(u), exact.Add(exact, written)
	}
	if got, _ := new(big.Rat).SetString(sum.String()); got.Cmp(exact) != 0 {
		t.Errorf("%s, want %s", sum, exact.FloatString(12))
	}
	if s := USD(-25e11).String(); s != "-2.5" {
		t.Error(s)
	}
}

// The cost is the fresh, the cached and the generated tokens at their own prices, and the
// requests.
func TestCost(t *testing.T) {
	p := &Prices{Input: 1, CachedInput: 1000, Output: 1_000_000, Request: 1_000_000_000}
	for _, test := range []struct {
		used     Usage
		requests int64
		want     USD
	}{
		{Usage{}, 0, 0},
		{Usage{Input: 7}, 0, 7},
		{Usage{Input: 7, Cached: 2, Output: 3, Reasoning: 2}, 4, 4_003_002_005},
		{Usage{Input: 7, Cached: 9}, 0, 7000}, // a provider that counts wrongly
		{Usage{Input: 1}, 0, 1},
	} {
		if got := p.Cost(test.used, test.requests); got != KnownCost(test.want) {
			t.Errorf("%+v: %v, want %v", test.used, got, test.want)
		}
	}
	if got := (*Prices)(nil).Cost(Usage{Input: 7}, 1); got != (Cost{}) {
		t.Errorf("without prices: %v", got)
	}
	huge := &Prices{Input: 1e11, Output: 1e11}
	if got := huge.Cost(Usage{Input: math.MaxInt32, Output: math.MaxInt32}, 1).USD; got <= 0 {
		t.Errorf("it overflows: %d", got)
	}
}

// A usage of several calls has the cost that is known.
func TestAdd(t *testing.T) {
	u := Usage{Input: 1, Cost: KnownCost(0)}
	u.Add(Usage{Input: 2, Cached: 3, Output: 4, Reasoning: 5, Predicted: 6, Mispredicted: 7, Truncated: true, Partial: true})
	u.Add(Usage{Cost: KnownCost(7)})
	if want := (Usage{3, 3, 4, 5, 6, 7, true, true, KnownCost(7)}); u != want {
		t.Errorf("%+v", u)
	}
	var none Usage
	if none.Add(Usage{Input: 1}); none.Cost.Known {
		t.Error("an unknown cost is known")
	}
	for c, want := range map[Cost]string{{}: `{}`, KnownCost(0): `{"cost":0}`, KnownCost(1): `{"cost":0.000000000001}`} {
		if b, err := json.Marshal(struct {
			Cost Cost `json:"cost,omitzero"`
		}{c}); string(b) != want || err != nil {
			t.Errorf("%s, %v", b, err)
		}
	}
}
