package budget

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/table/tabletest"
)

// team adds a team and two keys of it, and returns the secrets of these.
func team(t *testing.T, store account.Store, limits account.Limits) (secrets []string) {
	t.Helper()
	shop, err := account.NewTeam("shop", limits)
	if err == nil {
		err = store.Add(t.Context(), shop)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		secrets = append(secrets, key(t, store, name, account.Limits{TokensPerDay: 15_000, Team: "shop"}))
	}
	return secrets
}

// All members together use no more than the team's budget, and each no more than its own.
func TestTeamBudget(t *testing.T) {
	for name, open := range ledgers(t) {
		t.Run(name, func(t *testing.T) {
			const limit = 20_000
			store, truth, now := newStore(t), []*atomic.Int64{{}, {}}, noon()
			secrets := team(t, store, account.Limits{TokensPerDay: limit})
			var processes []*Budgets
			var wg sync.WaitGroup
			var told atomic.Int64
			for range 2 {
				for i, secret := range secrets {
					b, h := serve(store, Config{Ledger: open(), Now: at(now)}, speaker{truth[i], 150, 0})
					processes = append(processes, b)
					for range 4 {
						wg.Go(func() {
							for range 40 {
								switch w := post(h, secret, order{Prompt: strings.Repeat("x", 200), Max: new(150)}); {
								case w.Code == 429 && strings.Contains(w.Body.String(), "the budget of the team shop of 20000 tokens a day has "):
									told.Add(1)
								case w.Code == 429 && strings.Contains(w.Body.String(), "the budget of 15000 tokens a day has "):
								case w.Code != 200:
									t.Errorf("%d: %s", w.Code, w.Body)
								}
							}
						})
					}
				}
			}
			wg.Wait()
			for _, b := range processes {
				if err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			used := truth[0].Load() + truth[1].Load()
			leased, err := open().Leased(t.Context(), dayOf("team shop", now))
			if err != nil || used > limit || leased != used || used < limit*9/10 || told.Load() == 0 {
				t.Errorf("%d and %d tokens were used of %d, %d are leased; %d were told; %v", truth[0].Load(), truth[1].Load(), limit, leased, told.Load(), err)
			}
			for i, k := range []string{"key a", "key b"} {
				if n, err := open().Leased(t.Context(), dayOf(k, now)); err != nil || n != truth[i].Load() {
					t.Errorf("%s: %d leased, %d used, %v", k, n, truth[i].Load(), err)
				}
			}
		})
	}
}

// All members together send no more requests than the team may, and headers show the rate with the
// fewest left.
func TestTeamRate(t *testing.T) {
	service, store, now := tabletest.New(t), newStore(t), noon()
	secrets := team(t, store, account.Limits{Requests: account.Rate{N: 3, Per: time.Minute}})
	_, h := serve(store, Config{Ledger: NewTable(service.Table()), Store: store, Now: at(now)}, speaker{&atomic.Int64{}, 1, 0})
	for i, want := range []int{200, 200, 200, 429, 429} {
		w := post(h, secrets[i%2], order{})
		left := fmt.Sprint(max(0, 2-i))
		if told := strings.Contains(w.Body.String(), "the rate limit of the team shop of 3/m is reached"); told != (want == 429) {
			t.Errorf("request %d: %s", i, w.Body)
		}
		if w.Code != want || w.Header().Get("X-Ratelimit-Remaining-Requests") != left || w.Header().Get("X-Ratelimit-Limit-Requests") != "3" {
			t.Errorf("request %d: %d %v, want %d with %s left", i, w.Code, w.Header(), want, left)
		}
	}
	wide, err := account.NewTeam("wide", account.Limits{Requests: account.Rate{N: 100, Per: time.Minute}})
	if err == nil {
		err = store.Add(t.Context(), wide)
	}
	if err != nil {
		t.Fatal(err)
	}
	own := key(t, store, "c", account.Limits{Requests: account.Rate{N: 2, Per: time.Minute}, Team: "wide"})
	if w := post(h, own, order{}); w.Code != 200 || w.Header().Get("X-Ratelimit-Limit-Requests") != "2" || w.Header().Get("X-Ratelimit-Remaining-Requests") != "1" {
		t.Errorf("a tighter rate of its own: %d %v", w.Code, w.Header())
	}
	admin, c, err := account.NewAPIKey("admin", account.Admin, time.Time{})
	if err == nil {
		err = store.Add(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/usage", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+admin)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	for _, part := range []string{`{"principal":"team shop","requests":"3/m"`, `"principal":"key a"`, `"team":"shop"`} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("the report lacks %s: %s", part, w.Body)
		}
	}
}
