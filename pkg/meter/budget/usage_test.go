package budget

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/account"
)

func TestUsage(t *testing.T) {
	for name, open := range ledgers(t) {
		t.Run(name, func(t *testing.T) { usageOf(t, open()) })
	}
}

// A reader reads GET /usage of a process.
type reader struct {
	t *testing.T
	h http.Handler
}

func (r reader) get(secret, query string) (int, report) {
	req := httptest.NewRequest("GET", "/usage"+query, nil)
	req.Header.Set("Authorization", secret)
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, req)
	var out report
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil && w.Code == 200 {
		r.t.Fatal(w.Code, w.Body, err)
	}
	return w.Code, out
}

func usageOf(t *testing.T, book ledgerJournal) {
	store := account.NewFile(filepath.Join(t.TempDir(), "accounts.json"))
	secrets := []string{key(t, store, "a", account.Limits{TokensPerDay: 6400, Requests: account.Rate{N: 600, Per: time.Minute}}), key(t, store, "b", account.Limits{})}
	monitor, c, err := account.NewAPIKey("m", account.Monitor, time.Time{})
	if err == nil {
		err = store.Add(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	clock := noon()
	_, h := serve(store, Config{Ledger: book, Journal: book, Store: store, Now: func() time.Time { return clock }}, speaker{&atomic.Int64{}, 10, 0})
	get := reader{t, h}.get
	for i, secret := range secrets {
		for range i + 1 {
			if w := post(h, secret, order{Prompt: "abcdefgh", Max: new(10)}); w.Code != 200 {
				t.Fatal(w.Code)
			}
		}
	}
	day := clock.Format(time.DateOnly)
	code, got := get(monitor, "")
	want := []Usage{{day, "key a", "m", 1, 2, 10, 0}, {day, "key b", "m", 2, 4, 20, 0}}
	if code != 200 || got.Day != day || len(got.Days) != 2 || got.Days[0] != want[0] || got.Days[1] != want[1] || len(got.Months) != 2 || got.Months[1].Day != day[:7] {
		t.Errorf("%d, %+v", code, got)
	}
	if len(got.Limits) != 1 || got.Limits[0].Principal != "key a" || got.Limits[0].Requests != "600/m" || len(got.Limits[0].Tokens) != 1 {
		t.Fatalf("%+v", got.Limits)
	}
	if l := got.Limits[0].Tokens[0]; l.Period != "day" || l.Limit != 6400 || l.Left != 6400-24 || !l.Resets.Equal(noon().Add(12*time.Hour)) {
		t.Errorf("%+v", l)
	}
	asked(t, get, monitor, secrets[0])
}

// asked requests parts of the usage, and invalid ones.
func asked(t *testing.T, get func(secret, query string) (int, report), monitor, client string) {
	day := noon().Format(time.DateOnly)
	if code, got := get(monitor, "?principal=key%20b&day="+day); code != 200 || len(got.Days) != 1 || len(got.Months) != 1 || len(got.Limits) != 0 {
		t.Errorf("%d, %+v", code, got)
	}
	if code, got := get(monitor, "?day=1999-01-01"); code != 200 || got.Days == nil || len(got.Days) != 0 || got.Months == nil {
		t.Errorf("%d, %+v", code, got)
	}
	for query, want := range map[string]int{"?day=today": 400, "?day=2026-13-01": 400, "?month=2026-11": 400, "?day=": 400, "?day=2026-11-22&day=2026-11-23": 400} {
		if code, _ := get(monitor, query); code != want {
			t.Errorf("%s: %d", query, code)
		}
	}
	if code, _ := get(client, ""); code != 403 {
		t.Errorf("a client: %d", code)
	}
}
