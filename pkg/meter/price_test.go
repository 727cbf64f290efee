package meter

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// open returns a catalog of one priced model.
func open(info llm.ModelInfo, b llm.Backend, c *Computer) llm.Models {
	info.Name = "m"
	return Models(llm.Fixed{*Price(&llm.Model{ModelInfo: info, Backend: b}, c)})
}

// recorded returns the record of a request that calls do with the model.
func recorded(t *testing.T, models llm.Models, do func(context.Context, *llm.Model)) (*httpx.Record, http.Header) {
	t.Helper()
	var rec *httpx.Record
	mux := httpx.Mux{Observe: func(r *httpx.Record) { rec = r }, Routes: []httpx.Route{{
		Method: "GET", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
			m, err := models.Open(r.Context(), "m")
			if err == nil {
				do(r.Context(), m)
			}
			return err
		},
	}}}
	w := httptest.NewRecorder()
	mux.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return rec, w.Header()
}

// The usage of a chunk, the record and the header have the same cost, in the prices of the
// model.
func TestPrice(t *testing.T) {
	info := llm.ModelInfo{Prices: &llm.Prices{Input: 3, CachedInput: 2, Output: 50, Request: 1000}}
	for _, requests := range []int{1, 2} {
		rec, header := recorded(t, open(info, llmtest.Script{"a", "b"}, nil), func(ctx context.Context, m *llm.Model) {
			for range requests {
				_, used, err := llm.Collect(m.Generate(ctx, request()), 1)
				if want := llm.KnownCost(1*3 + 2*50 + 1000); err != nil || used.Cost != want {
					t.Errorf("%v, %v", used.Cost, err)
				}
			}
		})
		want := llm.KnownCost(1103 * llm.USD(requests))
		if rec.Usage.Cost != want || header.Get(httpx.CostHeader) != want.USD.String() {
			t.Errorf("%v, %v, want %v", rec.Usage.Cost, header, want)
		}
	}
	rec, header := recorded(t, open(llm.ModelInfo{}, llmtest.Script{"a"}, &Computer{MiB: 1, GBSecond: 1, Request: 1}), func(ctx context.Context, m *llm.Model) {
		if _, used, err := llm.Collect(m.Generate(ctx, request()), 1); err != nil || used.Cost.Known {
			t.Errorf("%v, %v", used.Cost, err)
		}
	})
	if rec.Usage.Cost.Known || header.Get(httpx.CostHeader) != "" {
		t.Errorf("a remote model without prices costs %v, %v", rec.Usage.Cost, header)
	}
}

// ranker is a backend that ranks.
type ranker struct{ llmtest.Script }

func (ranker) Rerank(_ context.Context, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	return make([]llm.Relevance, len(req.Pairs)), llm.Usage{Input: 1}, nil
}

// The rows of a remote model are requests to its provider.
func TestPriceOfRows(t *testing.T) {
	for inProcess, want := range map[bool]llm.USD{false: 3, true: 1} {
		info := llm.ModelInfo{InProcess: inProcess, Prices: &llm.Prices{Request: 1}}
		recorded(t, open(info, llmtest.Script{"a"}, nil), func(ctx context.Context, m *llm.Model) {
			req := request()
			req.N = 3
			if _, used, err := llm.Collect(m.Generate(ctx, req), 3); err != nil || used.Cost.USD != want {
				t.Errorf("in process %v: %v, %v", inProcess, used.Cost, err)
			}
		})
	}
	var pairs [201]llm.Pair
	recorded(t, open(llm.ModelInfo{Prices: &llm.Prices{Request: 7}}, ranker{}, nil), func(ctx context.Context, m *llm.Model) {
		for n, want := range map[int]llm.USD{1: 7, 100: 7, 101: 14, 201: 21} {
			r, err := llm.As[llm.Reranker](m)
			if err != nil {
				t.Fatal(err)
			}
			if _, used, err := r.Rerank(ctx, &llm.RerankRequest{Pairs: pairs[:n]}); err != nil || used.Cost.USD != want {
				t.Errorf("%d documents: %v, %v", n, used.Cost, err)
			}
		}
	})
}

// Canonical keys have the cost beside the tokens, and none where the model reports no tokens.
func TestPriceOfKeys(t *testing.T) {
	b := invoker{answers: []map[string]any{{"input_tokens": 10, "cached_tokens": 4}, {"generated_text": "a"}, {"output_tokens": 2}}}
	info := llm.ModelInfo{Prices: &llm.Prices{Input: 100, CachedInput: 1, Output: 1e6}}
	rec, _ := recorded(t, open(info, b, nil), func(ctx context.Context, m *llm.Model) {
		in, err := llm.As[llm.Invoker](m)
		if err != nil {
			t.Fatal(err)
		}
		var costs []any
		for keys := range in.Invoke(ctx, nil, true) {
			costs = append(costs, keys["cost"])
		}
		want := []any{json.Number("0.000000000604"), nil, json.Number("0.000002000604")}
		for i := range want {
			if costs[i] != want[i] {
				t.Errorf("%v, want %v", costs, want)
			}
		}
	})
	if rec.Usage.Cost != llm.KnownCost(2_000_604) || b.answers[0]["cost"] != nil {
		t.Errorf("%+v, %v", rec.Usage, b.answers[0])
	}
}

// slow is a backend whose answers take a time.
type slow struct {
	llmtest.Script
	time.Duration
}

func (s slow) Embed(context.Context, *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	time.Sleep(s.Duration)
	return nil, llm.Usage{Input: 1}, nil
}

// A function is billed for the time of the whole request and for the request once, however
// many calls it makes.
func TestComputer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Computer{MiB: 1536, GBSecond: 16_666_700, Request: 200_000}
		for calls, want := range map[int]llm.USD{1: 25_000_050 + 200_000, 3: 75_000_150 + 200_000} {
			sum := llm.USD(0)
			rec, _ := recorded(t, open(llm.ModelInfo{InProcess: true}, slow{Duration: time.Second}, c), func(ctx context.Context, m *llm.Model) {
				e, err := llm.As[llm.Embedder](m)
				if err != nil {
					t.Fatal(err)
				}
				for range calls {
					_, used, err := e.Embed(ctx, &llm.EmbedRequest{})
					if err != nil {
						t.Fatal(err)
					}
					sum += used.Cost.USD
				}
			})
			if rec.Usage.Cost != llm.KnownCost(want) || sum != want {
				t.Errorf("%d calls: %v, %v, want %v", calls, rec.Usage.Cost, sum, want)
			}
		}
		info := llm.ModelInfo{InProcess: true, Prices: &llm.Prices{Input: 5}}
		rec, _ := recorded(t, open(info, slow{Duration: time.Second}, c), func(ctx context.Context, m *llm.Model) {
			e, _ := llm.As[llm.Embedder](m)
			_, _, _ = e.Embed(ctx, &llm.EmbedRequest{})
		})
		if rec.Usage.Cost != llm.KnownCost(5) {
			t.Errorf("a record's prices come first: %v", rec.Usage.Cost)
		}
	})
	// A begun millisecond, and a begun picodollar, count whole.
	small := &Computer{MiB: 128, GBSecond: 1}
	if got := small.Cost(time.Nanosecond); got != 1 {
		t.Errorf("%d", got)
	}
	if got := (&Computer{MiB: 1024, GBSecond: 1e12}).Cost(1500 * time.Microsecond); got != 2e9 {
		t.Errorf("%d", got)
	}
}
