package budget

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/table/tabletest"
)

// rates sends a request to each process in turn and counts those that pass.
func rates(handlers []http.Handler, secret string, n int) (in int, last *httptest.ResponseRecorder) {
	for i := range n {
		w := post(handlers[i%len(handlers)], secret, order{})
		if w.Code == 200 {
			in++
		}
		last = w
	}
	return in, last
}

// The rate of a key holds in one process and in all together, and at least half of it
// can be used, however many processes there are.
func TestRate(t *testing.T) {
	for _, test := range []struct {
		rate      account.Rate
		processes int
		least     int // fewest that pass at once
		most      int
		window    time.Duration
	}{
		{account.Rate{N: 10, Per: time.Second}, 1, 10, 10, 10 * time.Second},
		{account.Rate{N: 10, Per: time.Second}, 30, 50, 100, 10 * time.Second},
		{account.Rate{N: 60, Per: time.Minute}, 1, 60, 60, time.Minute},
		{account.Rate{N: 60, Per: time.Minute}, 30, 30, 60, time.Minute},
	} {
		service, clock := tabletest.New(t), noon()
		store := newStore(t)
		secret := key(t, store, "k", account.Limits{Requests: test.rate})
		var handlers []http.Handler
		for range test.processes {
			_, h := serve(store, Config{Ledger: NewTable(service.Table()), Now: func() time.Time { return clock }}, speaker{&atomic.Int64{}, 1, 0})
			handlers = append(handlers, h)
		}
		for range 3 {
			in, last := rates(handlers, secret, 500)
			if in < test.least || in > test.most {
				t.Errorf("%v, %d processes: %d let in, %d to %d are meant", test.rate, test.processes, in, test.least, test.most)
			}
			h := last.Header()
			if last.Code != 429 || h.Get("Retry-After") == "" || h.Get("X-Ratelimit-Limit-Requests") != strconv.Itoa(test.rate.N) ||
				h.Get("X-Ratelimit-Remaining-Requests") != "0" || h.Get("X-Ratelimit-Reset-Requests") == "" {
				t.Errorf("%d, %v", last.Code, h)
			}
			clock = clock.Add(test.window)
		}
		// Without the table each process enforces the rate alone.
		service.Fault(func(string) (int, string) { return tabletest.Close, "" })
		if in, _ := rates(handlers[:1], secret, 500); in != test.rate.N {
			t.Errorf("%v, no table: %d let in", test.rate, in)
		}
	}
}

// The header includes the requests of other processes, as far as this one knows.
func TestRateHeader(t *testing.T) {
	service, store := tabletest.New(t), newStore(t)
	secret := key(t, store, "k", account.Limits{Requests: account.Rate{N: 60, Per: time.Minute}})
	process := func() http.Handler {
		_, h := serve(store, Config{Ledger: NewTable(service.Table()), Now: at(noon())}, speaker{&atomic.Int64{}, 1, 0})
		return h
	}
	if in, _ := rates([]http.Handler{process()}, secret, 40); in != 40 {
		t.Fatal(in)
	}
	w := post(process(), secret, order{})
	if left, err := strconv.Atoi(w.Header().Get("X-Ratelimit-Remaining-Requests")); err != nil || left > 19 {
		t.Errorf("%d left, %v", left, err)
	}
}

// Listing models is not counted, and rejected requests have no budget.
func TestRateIsOfInference(t *testing.T) {
	book := NewMemory()
	b, h, secret := one(t, account.Limits{Requests: account.Rate{N: 1, Per: time.Minute}, TokensPerDay: 100}, Config{Ledger: book, Now: at(noon())}, speaker{&atomic.Int64{}, 1, 0})
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", secret)
	r, err := account.New(account.Config{Store: b.cfg.Store}).Guard(r, &httpx.Route{Permission: httpx.Listing})
	for range 10 {
		if err == nil {
			_, err = b.Guard(r, &httpx.Route{Permission: httpx.Listing})
		}
	}
	if err != nil {
		t.Error(err)
	}
	for i, want := range []int{200, 429, 429} {
		if w := post(h, secret, order{Max: new(1)}); w.Code != want {
			t.Errorf("request %d: %d", i, w.Code)
		}
	}
	if n := leasedToday(t, book); n > 20 {
		t.Errorf("%d leased", n)
	}
}

// Paces are kept while a part of them is used, however many principals there are.
func TestPacesAreForgotten(t *testing.T) {
	b, rate, now := New(Config{}), account.Rate{N: 2, Per: time.Minute}, noon()
	for i := range leastSwept - 1 {
		b.pace(strconv.Itoa(i), rate, now)
	}
	b.pace("busy", rate, now.Add(29*time.Second))
	if _, left, _ := b.pace("0", rate, now.Add(29*time.Second)); left != 0 || len(b.paces) != leastSwept {
		t.Errorf("%d requests left, %d paces", left, len(b.paces))
	}
	b.pace("new", rate, now.Add(30*time.Second))
	if _, left, _ := b.pace("busy", rate, now.Add(30*time.Second)); left != 0 || len(b.paces) != 3 {
		t.Errorf("%d requests left, %d paces", left, len(b.paces))
	}
}
