package budget

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"glossa/pkg/account"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
)

// priced is a speaker with prices.
type priced struct {
	speaker
	prices llm.Prices
}

func (p priced) Open(ctx context.Context, name string) (*llm.Model, error) {
	m, err := p.speaker.Open(ctx, name)
	m.Prices = &p.prices
	return meter.Price(m, nil), err
}

// However many requests run in however many processes, they cost no more than the limit, and
// when the processes have ended the ledger has what they cost.
func TestNoMoreMoneyThanTheLimit(t *testing.T) {
	// The price of an answer makes a token for four bytes of a prompt cheap: the bound is real.
	prices := llm.Prices{Input: 3e6, CachedInput: 3e5, Output: 15e6, Request: 7}
	const limit = llm.Dollar / 10
	for name, open := range ledgers(t) {
		t.Run(name, func(t *testing.T) {
			store, truth := newStore(t), &atomic.Int64{}
			secret := key(t, store, "k", account.Limits{USDPerDay: limit, USDPerMonth: 2 * limit, TokensPerDay: 1e9})
			now := noon()
			var processes []*Budgets
			var wg sync.WaitGroup
			var refused atomic.Int64
			for i := range 3 {
				book := open()
				b, h := serve(store, Config{Ledger: book, Journal: book, Now: at(now)}, priced{speaker{truth, 150, 0}, prices})
				processes = append(processes, b)
				for g := range 4 {
					wg.Go(func() {
						random := rand.New(rand.NewPCG(uint64(i), uint64(g)))
						for range 15 {
							o := order{Prompt: strings.Repeat("x", random.IntN(400))}
							if random.IntN(2) == 0 {
								o.Max = new(random.IntN(200))
							}
							w := post(h, secret, o)
							if w.Code == http.StatusTooManyRequests {
								refused.Add(1)
								if got := w.Body.String(); !strings.Contains(got, "the budget of 0.1 US dollars a day has 0") || w.Header().Get("Retry-After") == "" {
									t.Errorf("%s", got)
								}
							} else if w.Code != http.StatusOK || w.Header().Get("X-Ratelimit-Limit-Usd") != "0.1" || w.Header().Get("X-Ratelimit-Limit-Tokens") != "1000000000" {
								t.Errorf("%d %v: %s", w.Code, w.Header(), w.Body)
							}
						}
					})
				}
			}
			wg.Wait()
			for _, b := range processes {
				if err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			list, err := open().Of(t.Context(), now.Format("2006-01"))
			if err != nil || len(list) != 1 {
				t.Fatalf("%v, %v", list, err)
			}
			u := list[0]
			tokens, answered := u.Input+u.Output, (int64(u.Cost)-u.Input*3e6-u.Output*15e6)/7
			if tokens != truth.Load() || u.Cost > limit || u.Cost < limit/2 || answered <= 0 || answered+refused.Load() != 180 || refused.Load() == 0 {
				t.Errorf("%+v: %d answered, %d refused, %d tokens used", u, answered, refused.Load(), truth.Load())
			}
			for _, q := range quotas("key k", account.Limits{USDPerDay: 1, USDPerMonth: 1}, now) {
				if n, err := open().Leased(t.Context(), q.Account); err != nil || n != int64(u.Cost) {
					t.Errorf("%s: %d leased, %v cost, %v", q.Period, n, u.Cost, err)
				}
			}
		})
	}
}

// Without max_tokens an answer ends where the money does, at the price of an answer.
func TestMoneyEndsTheAnswer(t *testing.T) {
	for limit, want := range map[llm.USD]string{
		100 + 1000*20 + 1000*30: "50", // the prompt has no token, its bound is 16
		100 + 1000*20:           "20",
		1e9:                     "150",
	} {
		store, truth := newStore(t), &atomic.Int64{}
		secret := key(t, store, "k", account.Limits{USDPerDay: limit})
		_, h := serve(store, Config{Ledger: NewMemory(), Now: at(noon())}, priced{speaker{truth, 150, 0}, llm.Prices{Output: 1000, Request: 100}})
		if w := post(h, secret, order{}); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%d: %d %s, want %s", limit, w.Code, w.Body, want)
		}
	}
}

// A key without money left is refused before the model is opened; a model without prices costs
// nothing.
func TestMoneyOfUnpricedModels(t *testing.T) {
	store, truth := newStore(t), &atomic.Int64{}
	secret := key(t, store, "k", account.Limits{USDPerDay: 1})
	book := NewMemory()
	_, h := serve(store, Config{Ledger: book, Now: at(noon())}, speaker{truth, 5, 0})
	for range 3 {
		if w := post(h, secret, order{Prompt: "x"}); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	spent := quotas("key k", account.Limits{USDPerDay: 1}, noon())[0].Account
	if err := book.Return(t.Context(), spent, -1); err != nil {
		t.Fatal(err)
	}
	_, h = serve(store, Config{Ledger: book, Now: at(noon())}, speaker{truth, 5, 0})
	if w := post(h, secret, order{Prompt: "x"}); w.Code != 429 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The tokens of a client that leaves cost what was generated for it.
func TestMoneyOfClientsThatLeave(t *testing.T) {
	store, truth := newStore(t), &atomic.Int64{}
	secret := key(t, store, "k", account.Limits{USDPerDay: llm.Dollar})
	book := NewMemory()
	b, h := serve(store, Config{Ledger: book, Journal: book, Now: at(noon())}, priced{speaker{truth, 150, 0}, llm.Prices{Output: 1000}})
	post(h, secret, order{Prompt: "x", Leave: 10})
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := book.Of(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Output < 10 || list[0].Cost != llm.USD(list[0].Output)*1000 {
		t.Errorf("%+v, %v", list, err)
	}
}
