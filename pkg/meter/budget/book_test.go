package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	if n := len(m.book.Leased); n > leastSwept {
		t.Errorf("%d entries", n)
	}
	for _, at := range []Account{dayOf("key k", noon()), monthOf("key k", noon())} {
		if n, err := m.Leased(t.Context(), at); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", at.Period, n, err)
		}
	}
}

// TestFileIsFull: a file with the leases of too many principals accepts no others, but those that it
// has can use their budgets, and usage has a place.
func TestFileIsFull(t *testing.T) {
	now := time.Now().UTC()
	full := func(days int) *File { // of accounts that end after so many days
		b, path := newBook(), filepath.Join(t.TempDir(), "usage")
		for i := 0; b.leasedBytes() <= maxLeased; i++ {
			at := dayOf(fmt.Sprintf("user %d%s", i, strings.Repeat("x", 4000)), now)
			b.Leased[at.key()] = entry{5, now.AddDate(0, 0, days)}
		}
		content, err := json.Marshal(b)
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return NewFile(path)
	}
	if _, _, err := full(-1).Take(t.Context(), dayOf("user new", now), 1, 1, 10); err != nil {
		t.Errorf("a new account, when the others are over: %v", err)
	}
	f := full(1)
	if _, _, err := f.Take(t.Context(), dayOf("user new", now), 1, 1, 10); !errors.Is(err, errFull) {
		t.Errorf("a new account: %v", err)
	}
	known := dayOf("user 0"+strings.Repeat("x", 4000), now)
	if got, _, err := f.Take(t.Context(), known, 1, 2, 10); got != 2 || err != nil {
		t.Errorf("a known account: %d, %v", got, err)
	}
	used := []Usage{{Day: now.Format(time.DateOnly), Principal: "user 0", Model: "m", Requests: 1}}
	if _, err := f.Add(t.Context(), used); err != nil {
		t.Error(err)
	}
	if kept, err := f.Of(t.Context(), used[0].Day); len(kept) != 1 || err != nil {
		t.Errorf("the usage: %v, %v", kept, err)
	}
}

// TestFileLosesTheOldestUsage: a file with the usage of many principals and days stays small enough to
// be changed. A full one would refuse all requests that have a budget.
func TestFileLosesTheOldestUsage(t *testing.T) {
	f, now := NewFile(filepath.Join(t.TempDir(), "usage")), time.Now().UTC()
	var list []Usage
	for i := range 60_000 {
		day := now.AddDate(0, 0, -i/1000).Format(time.DateOnly)
		list = append(list, Usage{Day: day, Principal: fmt.Sprintf("key %s%d", strings.Repeat("x", 250), i%1000), Model: "m", Requests: 1})
	}
	if n, err := f.Add(t.Context(), list); n != len(list) || err != nil {
		t.Fatal(n, err)
	}
	if got, _, err := f.Take(t.Context(), dayOf("key a", now), 1, 7, 10); got != 7 || err != nil {
		t.Error(got, err)
	}
	for day, want := range map[string]int{list[0].Day: 1000, list[len(list)-1].Day: 0} {
		if kept, err := f.Of(t.Context(), day); len(kept) != want || err != nil {
			t.Errorf("%s: %d, %v", day, len(kept), err)
		}
	}
}
