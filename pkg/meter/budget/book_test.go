package budget

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/account"
)

// TestWithoutLedger: limits hold in the process if there is nothing that processes share.
func TestWithoutLedger(t *testing.T) {
	for name, limits := range map[string]account.Limits{
		"tokens a day": {TokensPerDay: 10}, "tokens a month": {TokensPerMonth: 10}, "requests": {Requests: account.Rate{N: 1, Per: time.Minute}},
	} {
		_, h, secret := one(t, limits, Config{Now: at(noon())}, speaker{&atomic.Int64{}, 10, 0})
		for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
			if w := post(h, secret, order{Count: 10}); w.Code != want {
				t.Errorf("%s: request %d: %d %s", name, i, w.Code, w.Body)
			}
		}
	}
}

// TestMemoryForgetsWindows: the memory has few windows of a rate, and those of other periods stay.
func TestMemoryForgetsWindows(t *testing.T) {
	m, now := NewMemory(), noon()
	take := func(at Account) {
		if _, _, err := m.Take(t.Context(), at, 1, 1, 10); err != nil {
			t.Fatal(err)
		}
	}
	take(dayOf("key k", now))
	take(monthOf("key k", now))
	for range 1000 {
		take(requestsOf("key k", account.Rate{N: 1, Per: time.Second}, now))
		now = now.Add(10 * time.Second)
	}
	if n := len(m.book.Leased); n > 10 {
		t.Errorf("%d entries", n)
	}
	for _, at := range []Account{dayOf("key k", noon()), monthOf("key k", noon())} {
		if n, err := m.Leased(t.Context(), at); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", at.Period, n, err)
		}
	}
}
