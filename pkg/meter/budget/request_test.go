package budget

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/table/tabletest"
)

// one returns one process with one key with limits.
func one(t *testing.T, limits account.Limits, cfg Config, models llm.Models) (*Budgets, http.Handler, string) {
	t.Helper()
	store := newStore(t)
	secret := key(t, store, "k", limits)
	cfg.Store = store
	b, h := serve(store, cfg, models)
	return b, h, secret
}

// leasedToday returns the ledger's lease of the key's day.
func leasedToday(t *testing.T, l Ledger) int64 {
	t.Helper()
	n, err := l.Leased(t.Context(), dayOf("key k", noon()))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRequestsOfABudget(t *testing.T) {
	truth, book := &atomic.Int64{}, NewMemory()
	_, h, secret := one(t, account.Limits{TokensPerDay: 10_000, TokensPerMonth: 50_000}, Config{Ledger: book, Journal: book, Now: at(noon())}, speaker{truth, 3000, 0})
	prompt := strings.Repeat("x", 400) // at most 400 tokens, and 100
	w := post(h, secret, order{Prompt: prompt, Max: new(500)})
	if w.Code != 200 || w.Body.String() != "500" || leasedToday(t, book) != 600+10_000/64 {
		t.Errorf("%d, %s, %d leased", w.Code, w.Body, leasedToday(t, book))
	}
	header := w.Header()
	left, err := strconv.Atoi(header.Get("X-Ratelimit-Remaining-Tokens"))
	if header.Get("X-Ratelimit-Limit-Tokens") != "10000" || header.Get("X-Ratelimit-Reset-Tokens") != "12h0m0s" || err != nil || left < 9000 || left > 9100 {
		t.Errorf("%v", header)
	}
	// A limit that the client sends is not lowered: the request is rejected, with the rest of the
	// budget and its end.
	w = post(h, secret, order{Prompt: prompt, Max: new(9_500)})
	if w.Code != 429 || w.Header().Get("Retry-After") != "43200" || !strings.Contains(w.Body.String(), "10000 tokens a day has 9400 left until "+noon().Add(12*time.Hour).Format(time.RFC3339)) {
		t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
	}
	if n := leasedToday(t, book); n > 600+10_000/64 {
		t.Errorf("a request that was refused has %d", n)
	}
	// Without a limit the request gets the rest: at first all that the model gives, then
	// half of the rest, and all of it at the end.
	for _, want := range []string{"3000", "2942", "2048", "694"} { // 9400, 6300, 3258 and 1110 are left
		if w := post(h, secret, order{Prompt: prompt}); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%d, %s, want %s", w.Code, w.Body, want)
		}
	}
	if w := post(h, secret, order{Prompt: prompt}); w.Code != 429 || w.Header().Get("X-Ratelimit-Remaining-Tokens") == "" {
		t.Errorf("%d, %s", w.Code, w.Body)
	}
	if truth.Load() > 10_000 {
		t.Errorf("%d used", truth.Load())
	}
}

// A key without limits causes no writes, and a key whose limits are removed has none.
func TestNoLimits(t *testing.T) {
	service := tabletest.New(t)
	book := NewTable(service.Table())
	_, h, secret := one(t, account.Limits{}, Config{Ledger: book, Now: at(noon())}, speaker{&atomic.Int64{}, 10, 0})
	for range 10 {
		if w := post(h, secret, order{Prompt: "a"}); w.Code != 200 || w.Header().Get("X-Ratelimit-Limit-Tokens") != "" {
			t.Errorf("%d, %v", w.Code, w.Header())
		}
	}
	if n := service.Requests(""); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// If a budget holds many requests, most of them write nothing.
func TestMostRequestsWriteNothing(t *testing.T) {
	service := tabletest.New(t)
	book := NewTable(service.Table())
	_, h, secret := one(t, account.Limits{TokensPerDay: 1_000_000, TokensPerMonth: 10_000_000, Requests: account.Rate{N: 1000, Per: time.Minute}},
		Config{Ledger: book, Now: at(noon())}, speaker{&atomic.Int64{}, 100, 0})
	const requests = 1000
	for range requests {
		if w := post(h, secret, order{Prompt: strings.Repeat("x", 800), Max: new(200)}); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	t.Logf("%d calls of the table for %d requests", service.Requests(""), requests)
	if n := service.Requests(""); n > requests/5 {
		t.Errorf("%d calls of the table for %d requests", n, requests)
	}
}

// Usage beyond the bound, and usage of capabilities without a bound, is charged.
func TestWhatIsUsedBeyondTheBound(t *testing.T) {
	for _, kind := range []string{"memory", "table"} {
		book := ledgers(t)[kind]()
		_, h, secret := one(t, account.Limits{TokensPerDay: 1000}, Config{Ledger: book, Now: at(noon())}, speaker{&atomic.Int64{}, 10, 0})
		if w := post(h, secret, order{Count: 990}); w.Code != 200 || leasedToday(t, book) != 1000 && leasedToday(t, book) != 990 {
			t.Errorf("%s: %d, %d", kind, w.Code, leasedToday(t, book))
		}
		if w := post(h, secret, order{Count: 5000}); w.Code != 200 || leasedToday(t, book) != 5990 {
			t.Errorf("%s: the last request: %d, %d", kind, w.Code, leasedToday(t, book))
		}
		if w := post(h, secret, order{Count: 1}); w.Code != 429 || leasedToday(t, book) != 5990 {
			t.Errorf("%s: %d, %d", kind, w.Code, leasedToday(t, book))
		}
	}
}

// Leased tokens can be used while the table is down; other requests are rejected, and pass later.
func TestTableThatIsGone(t *testing.T) {
	service, clock := tabletest.New(t), noon()
	book := NewTable(service.Table())
	b, h, secret := one(t, account.Limits{TokensPerDay: 64_000}, Config{Ledger: book, Now: func() time.Time { return clock }}, speaker{&atomic.Int64{}, 10, 0})
	ask := func(tokens int) int { return post(h, secret, order{Max: new(tokens)}).Code }
	for range 100 {
		if ask(100) != 200 {
			t.Fatal("refused")
		}
	}
	service.Fault(func(string) (int, string) { return tabletest.Close, "" })
	before, served := service.Requests(""), 0
	for ask(50) == 200 {
		if served++; served > 1000 {
			t.Fatal("the key has no limit any more")
		}
	}
	w := post(h, secret, order{Max: new(50)})
	if served == 0 || w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "dynamodb") {
		t.Errorf("%d served, then %d, %s", served, w.Code, w.Body)
	}
	if n := service.Requests("") - before; n > 3 {
		t.Errorf("the table is asked %d times in one moment", n)
	}
	service.Fault(nil)
	if clock = clock.Add(callPause); ask(100) != 200 {
		t.Error("refused when the table is back")
	}
	// A failed charge is charged later.
	service.Fault(func(op string) (int, string) {
		if op == "UpdateItem" {
			return tabletest.Close, ""
		}
		return 0, ""
	})
	if w := post(h, secret, order{Count: 10_000}); w.Code != 200 {
		t.Error(w.Code)
	}
	service.Fault(nil)
	clock = clock.Add(callPause)
	if err := b.Close(t.Context()); err != nil || leasedToday(t, book) < 11_000 {
		t.Errorf("%v: %d leased", err, leasedToday(t, book))
	}
}

// A short prompt of many bytes passes if the model can count its tokens.
type counter struct{ speaker }

func (c counter) Tokenize(_ context.Context, p []llm.Part, _ bool) ([]llm.Token, error) {
	return make([]llm.Token, (len(p[0].Text)+3)/4), nil
}
func (counter) Detokenize(context.Context, []int) (string, error) { return "", errors.ErrUnsupported }
func (c counter) Open(context.Context, string) (*llm.Model, error) {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: "m", Context: 200_000}, Backend: c}, nil
}

func TestPromptsAreCountedWhereItMatters(t *testing.T) {
	prompt := strings.Repeat("x", 12_000) // 3000 tokens
	for _, models := range []llm.Models{counter{speaker{&atomic.Int64{}, 10, 0}}, speaker{&atomic.Int64{}, 10, 0}} {
		_, exact := models.(counter)
		book := NewMemory()
		_, h, secret := one(t, account.Limits{TokensPerDay: 10_000}, Config{Ledger: book, Now: at(noon())}, models)
		if w := post(h, secret, order{Prompt: prompt, Max: new(100)}); (w.Code == 200) != exact {
			t.Errorf("exact %v: %d, %s", exact, w.Code, w.Body)
		}
		if w := post(h, secret, order{Prompt: prompt[:4000], Max: new(100)}); w.Code != 200 {
			t.Errorf("exact %v: %d, %s", exact, w.Code, w.Body)
		}
	}
}

// invoker accepts canonical keys.
type invoker struct{ llmtest.Script }

func (invoker) Invoke(ctx context.Context, body map[string]any, _ bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) { yield(map[string]any{"generated_text": "x"}, nil) }
}

// held returns a model whose calls count against h.
func held(b llm.Backend, h *hold) llm.Backend {
	info := llm.ModelInfo{}
	var holds []*hold
	if h != nil {
		holds = append(holds, h)
	}
	return intercept.Wrap(&llm.Model{Backend: b}, backend{b, &info, holds}).Backend
}

func must[C any](c C, err error) C {
	if err != nil {
		panic(err)
	}
	return c
}

func TestInvokeReserves(t *testing.T) {
	book := NewMemory()
	b := New(Config{Ledger: book, Now: at(noon())})
	account := dayOf("key k", noon())
	for max, want := range map[any]bool{json.Number("900"): true, 900.0: true, 901: true, json.Number("1500"): false, nil: true} {
		h := &hold{rec: &httpx.Record{}, now: b.cfg.Now, quotas: []quota{{account, tokens, 1000, "day"}}, leases: []*lease{b.lease(account, 1000)}}
		m := held(invoker{}, h)
		body := map[string]any{"prompt": "x"}
		if max != nil {
			body["max_new_tokens"] = max
		}
		for _, err := range must(llm.As[llm.Invoker](m)).Invoke(t.Context(), body, false) {
			if (err == nil) != want {
				t.Errorf("%v: %v", max, err)
			}
		}
		if err := errors.Join(h.settle(t.Context(), 0)...); err != nil {
			t.Error(err)
		}
	}
	for range must(llm.As[llm.Invoker](held(invoker{}, nil))).Invoke(t.Context(), nil, false) {
	}
	if err := llmtest.TestBackend(t.Context(), held(llmtest.Script{`{"ok":`, "true", "}"}, nil)); err != nil {
		t.Error(err)
	}
}

// A process without requests stores its usage and returns its leases by itself; so does
// one that ends.
func TestIdleProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := NewMemory()
		b, h, secret := one(t, account.Limits{TokensPerDay: 100_000}, Config{Ledger: book, Journal: book}, speaker{&atomic.Int64{}, 10, 0})
		used := func() (sum int64) {
			list, err := book.Of(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range list {
				sum += u.Input + u.Output
			}
			return sum
		}
		leased := func() int64 {
			n, err := book.Leased(t.Context(), dayOf("key k", time.Now()))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		ask := func() {
			t.Helper()
			if w := post(h, secret, order{Max: new(100)}); w.Code != 200 {
				t.Error(w.Code)
			}
		}
		ask()
		if used() != 10 {
			t.Errorf("the first request of a process is written down at once: %d", used())
		}
		ask()
		if used() != 10 || leased() != 2*20 {
			t.Errorf("%d used, %d leased", used(), leased())
		}
		time.Sleep(flushEvery + time.Second)
		if used() != 20 {
			t.Errorf("%d used", used())
		}
		time.Sleep(idleAfter + flushEvery)
		if leased() != 20 {
			t.Errorf("%d leased", leased())
		}
		ask()
		if err := b.Close(t.Context()); err != nil || used() != 30 || leased() != 30 {
			t.Errorf("%v: %d used, %d leased", err, used(), leased())
		}
	})
}

// A killed process loses no more than it has used, or 1/64 of the limit.
func TestKilledProcesses(t *testing.T) {
	book, store, truth := NewMemory(), newStore(t), &atomic.Int64{}
	secret := key(t, store, "k", account.Limits{TokensPerDay: 100_000})
	for range 1000 { // functions that serve three requests each, and then freeze
		_, h := serve(store, Config{Ledger: book, Now: at(noon())}, speaker{truth, 40, 0})
		for range 3 {
			post(h, secret, order{Max: new(1000)})
		}
	}
	if n := truth.Load(); n < 100_000/2-1000 || n > 100_000 {
		t.Errorf("%d of 100000 could be used", n)
	}
}

// The smaller of two budgets determines the reservation in both.
func TestTwoBudgets(t *testing.T) {
	book := NewMemory()
	_, h, secret := one(t, account.Limits{TokensPerDay: 100_000, TokensPerMonth: 5000}, Config{Ledger: book, Now: at(noon())}, speaker{&atomic.Int64{}, 10, 0})
	w := post(h, secret, order{Prompt: strings.Repeat("x", 6000), Count: 10})
	if w.Code != 200 || leasedToday(t, book) != 2*10 || w.Header().Get("X-Ratelimit-Limit-Tokens") != "5000" {
		t.Errorf("%d, %d leased, %v", w.Code, leasedToday(t, book), w.Header())
	}
}

// A watched ledger checks that a month never has more leased than its days.
type watched struct {
	Ledger
	t    *testing.T
	seen *atomic.Int64
}

func (w watched) Return(ctx context.Context, at Account, n int64) error {
	err := w.Ledger.Return(ctx, at, n)
	list := quotas("key k", account.Limits{TokensPerDay: 1, TokensPerMonth: 1}, noon())
	day, errDay := w.Ledger.Leased(ctx, list[0].Account)
	month, errMonth := w.Ledger.Leased(ctx, list[1].Account)
	if err != nil || errDay != nil || errMonth != nil || month > day {
		w.t.Errorf("%d of the month leased, %d of the day: %v, %v, %v", month, day, err, errDay, errMonth)
	}
	w.seen.Add(1)
	return err
}

// What a request does not use goes back to the month before the day: another request may take
// it from the day at once.
func TestUndoneInReverse(t *testing.T) {
	seen := &atomic.Int64{}
	book := watched{NewMemory(), t, seen}
	_, h, secret := one(t, account.Limits{TokensPerDay: 10_000, TokensPerMonth: 10_000}, Config{Ledger: book, Now: at(noon())}, speaker{&atomic.Int64{}, 10, 0})
	for _, o := range []order{{Prompt: strings.Repeat("x", 400), Max: new(500)}, {Prompt: strings.Repeat("x", 4000)}} {
		if w := post(h, secret, o); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if seen.Load() < 4 {
		t.Errorf("%d returns", seen.Load())
	}
}
