package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/table/tabletest"
)

// A ledgerJournal is a ledger and a journal, as all implementations are.
type ledgerJournal interface {
	Ledger
	Journal
}

// A patient ledger waits for a busy disk as long as that takes.
type patient struct{ ledgerJournal }

func (p patient) Take(ctx context.Context, at Account, least, most, limit int64) (got, left int64, err error) {
	return p.ledgerJournal.Take(context.WithoutCancel(ctx), at, least, most, limit)
}

func (p patient) Return(ctx context.Context, at Account, n int64) error {
	return p.ledgerJournal.Return(context.WithoutCancel(ctx), at, n)
}

func (p patient) Add(ctx context.Context, list []Usage) (int, error) {
	return p.ledgerJournal.Add(context.WithoutCancel(ctx), list)
}

// ledgers opens each kind of ledger, empty, once for each process.
func ledgers(t *testing.T) map[string]func() ledgerJournal {
	t.Helper()
	path, service, memory := filepath.Join(t.TempDir(), "usage"), tabletest.New(t), NewMemory()
	return map[string]func() ledgerJournal{
		"memory": func() ledgerJournal { return memory },
		"file":   func() ledgerJournal { return patient{NewFile(path)} },
		"table":  func() ledgerJournal { return NewTable(service.Table()) },
	}
}

// key adds a key with limits to a store and returns its secret.
func key(t *testing.T, store account.Store, name string, limits account.Limits) string {
	t.Helper()
	secret, c, err := account.NewAPIKey(name, account.Client, time.Time{})
	if err == nil {
		c.Limits = limits
		err = store.Add(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// A speaker is a model that generates a token a chunk, of 5 bytes, and counts a token
// for 4 bytes of its prompts. It records its true usage.
type speaker struct {
	truth *atomic.Int64
	says  int // tokens of a row, unless max_tokens is smaller
	fails int // tokens before an error; 0: none
}

func (s speaker) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		p, input := req.Effective(), 0
		for _, prompt := range req.Prompts {
			text, _ := prompt.Text()
			input += (len(text) + 3) / 4
		}
		s.truth.Add(int64(input))
		n, why := s.says, llm.FinishEOS
		if p.MaxTokens != nil && *p.MaxTokens < n {
			n, why = *p.MaxTokens, llm.FinishLength
		}
		for i := range n {
			if err := ctx.Err(); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			s.truth.Add(1)
			if i+1 == s.fails {
				yield(llm.Chunk{}, errors.New("it broke"))
				return
			}
			if !yield(llm.Chunk{Text: "word "}, nil) {
				return
			}
		}
		yield(llm.Chunk{Finish: why, Usage: &llm.Usage{Input: input, Output: n}}, nil)
	}
}

func (s speaker) Open(context.Context, string) (*llm.Model, error) {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: "m", Context: 200_000}, Backend: s}, nil
}

func (s speaker) List(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

// An order is a test request.
type order struct {
	Prompt string
	Max    *int
	Leave  int  // leave after this many chunks
	Panic  bool // at the end
	Count  int  // use this many tokens without a generation
}

// serve returns one process: its budgets and its handler of orders.
func serve(store account.Store, cfg Config, models llm.Models) (*Budgets, http.Handler) {
	b := New(cfg)
	accounts := account.New(account.Config{Store: store})
	orders := orders{b.Models(meter.Models(models))}
	mux := httpx.Mux{
		Observe: b.Observe,
		Guard: func(r *http.Request, route *httpx.Route) (*http.Request, error) {
			r, err := accounts.Guard(r, route)
			if err != nil {
				return nil, err
			}
			return b.Guard(r, route)
		},
		Routes: append(b.Routes(), httpx.Route{Method: "POST", Pattern: "/gen", Permission: httpx.Inference, Handle: orders.handle}),
	}
	return b, mux.Handler()
}

// orders answers orders like a dialect.
type orders struct{ models llm.Models }

func (s orders) handle(w http.ResponseWriter, r *http.Request) error {
	var o order
	body, err := httpx.ReadBody(r)
	if err == nil {
		err = json.Unmarshal(body, &o)
	}
	if err != nil {
		return err
	}
	m, err := s.models.Open(r.Context(), "m")
	if err != nil {
		return err
	}
	if o.Count > 0 {
		httpx.RecordOf(r.Context()).Count(llm.Usage{Input: o.Count})
		return nil
	}
	said := 0
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text(o.Prompt)}, Params: llm.Params{MaxTokens: o.Max}}
	for c, err := range m.Generate(r.Context(), req) {
		if err != nil {
			return err
		}
		if c.Text != "" {
			said++
		}
		if said == o.Leave && o.Leave > 0 {
			break
		}
	}
	if o.Panic {
		panic("on purpose")
	}
	_, err = fmt.Fprint(w, said)
	return err
}

// post sends an order and returns the answer.
func post(h http.Handler, secret string, o order) *httptest.ResponseRecorder {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest("POST", "/gen", strings.NewReader(string(body)))
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func newStore(t *testing.T) account.Store {
	return account.NewFile(filepath.Join(t.TempDir(), "accounts.json"))
}

// many sends many concurrent requests with all kinds of ends to the processes, and
// counts the tokens that they really use.
func many(t *testing.T, limit int64, processes []*Budgets, handlers []http.Handler, secret string, truth *atomic.Int64) {
	t.Helper()
	var wg sync.WaitGroup
	var refused atomic.Int64
	for i, h := range handlers {
		for g := range 6 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), uint64(g)))
				for range 25 {
					o := order{Prompt: strings.Repeat("x", random.IntN(400)), Leave: random.IntN(4) * random.IntN(40), Panic: random.IntN(8) == 0}
					if random.IntN(2) == 0 {
						o.Max = new(random.IntN(200))
					}
					switch w := post(h, secret, o); w.Code {
					case 200, 500:
					case 429, 503:
						refused.Add(1)
						if w.Header().Get("Retry-After") == "" {
							t.Errorf("%d without Retry-After: %s", w.Code, w.Body)
						}
					default:
						t.Errorf("%d: %s", w.Code, w.Body)
					}
				}
			})
		}
	}
	wg.Wait()
	if truth.Load() > limit {
		t.Errorf("%d tokens were used of %d", truth.Load(), limit)
	}
	if refused.Load() == 0 {
		t.Error("no request was refused: the test shows nothing")
	}
}

// However requests end, the usage does not exceed the limit, and when the processes have
// ended the ledger has their usage.
func TestNoMoreThanTheLimit(t *testing.T) {
	for name, open := range ledgers(t) {
		t.Run(name, func(t *testing.T) {
			const limit = 20_000
			store, truth := newStore(t), &atomic.Int64{}
			secret := key(t, store, "k", account.Limits{TokensPerDay: limit, TokensPerMonth: 2 * limit})
			now := noon()
			var processes []*Budgets
			var handlers []http.Handler
			for i := range 3 {
				book := open()
				b, h := serve(store, Config{Ledger: book, Journal: book, Now: at(now)}, speaker{truth, 150, i * 60})
				processes, handlers = append(processes, b), append(handlers, h)
			}
			many(t, limit, processes, handlers, secret, truth)
			for _, b := range processes {
				if err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			list, err := open().Of(t.Context(), now.UTC().Format("2006-01"))
			if err != nil || len(list) != 1 || list[0].Principal != "key k" || list[0].Model != "m" {
				t.Fatalf("%v, %v", list, err)
			}
			used := list[0].Input + list[0].Output
			for _, at := range []Account{dayOf("key k", now), monthOf("key k", now)} {
				if n, err := open().Leased(t.Context(), at); err != nil || n != used || n < truth.Load() || n < limit/2 {
					t.Errorf("%s: %d of %d leased, %d counted, %d really used; %v", at.Period, n, limit, used, truth.Load(), err)
				}
			}
		})
	}
}

// The same holds if the table fails in every way, and loses answers.
func TestNoMoreThanTheLimitWithFaults(t *testing.T) {
	const limit = 20_000
	service, store, truth := tabletest.New(t), newStore(t), &atomic.Int64{}
	secret := key(t, store, "k", account.Limits{TokensPerDay: limit})
	var processes []*Budgets
	var handlers []http.Handler
	for i := range 3 {
		book := NewTable(service.Table())
		b, h := serve(store, Config{Ledger: book, Journal: book, Now: skipping(50 * time.Millisecond)}, speaker{truth, 150, i * 60})
		processes, handlers = append(processes, b), append(handlers, h)
	}
	service.Fault(anything())
	many(t, limit, processes, handlers, secret, truth)
	service.Fault(nil)
	for _, b := range processes {
		_ = b.Close(t.Context()) // calls that may have taken effect are not retried
	}
	n, err := NewTable(service.Table()).Leased(t.Context(), dayOf("key k", noon()))
	if err != nil || n < truth.Load() || n > limit {
		t.Errorf("%d leased, %d really used of %d, %v", n, truth.Load(), limit, err)
	}
	if truth.Load() < limit/20 {
		t.Errorf("only %d were used: the test shows nothing", truth.Load())
	}
}

// anything returns random faults, mostly none.
func anything() func(string) (int, string) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	return func(string) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		switch random.IntN(16) {
		case 0, 1:
			return tabletest.Lost, ""
		case 2:
			return tabletest.Close, ""
		case 3:
			return 500, "InternalServerError"
		case 4:
			return 400, "ThrottlingException"
		}
		return 0, ""
	}
}

// noon returns today's noon: no test runs past midnight.
func noon() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour) }

// at returns a stopped clock.
func at(now time.Time) func() time.Time { return func() time.Time { return now } }

// skipping returns a clock that advances with each reading, so that ledgers that failed
// are called again.
func skipping(step time.Duration) func() time.Time {
	var looks atomic.Int64
	start := noon()
	return func() time.Time { return start.Add(time.Duration(looks.Add(1)) * step) }
}
