package budget

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/table/tabletest"
)

// An unbounded model has a record without a context.
type unbounded struct{ speaker }

func (m unbounded) Open(context.Context, string) (*llm.Model, error) {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: "m"}, Backend: m.speaker}, nil
}

// A huge request is rejected rather than overflowed: no request gives tokens back.
func TestHugeRequests(t *testing.T) {
	book := NewMemory()
	_, h, secret := one(t, account.Limits{TokensPerDay: 1000}, Config{Ledger: book, Now: at(noon())}, unbounded{speaker{&atomic.Int64{}, 10, 0}})
	for _, tokens := range []int{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64/2 + 1, 1 << 60} {
		if w := post(h, secret, order{Prompt: "xx", Max: &tokens}); w.Code != 429 {
			t.Errorf("%d: %d, %s", tokens, w.Code, w.Body)
		}
		if n := leasedToday(t, book); n < 0 || n > 1000 {
			t.Fatalf("%d: %d leased", tokens, n)
		}
	}
	unknown := backend{info: &llm.ModelInfo{Name: "m"}} // without a context
	for _, req := range []llm.Request{
		{N: 2, Params: llm.Params{MaxTokens: new(1 << 62)}},
		{N: math.MaxInt64, Params: llm.Params{MaxTokens: new(math.MaxInt64)}},
		{N: 1, Params: llm.Params{BestOf: new(math.MaxInt64), MaxTokens: new(3)}},
	} {
		req.Prompts = []llm.Prompt{llm.Text("x"), llm.Text("y")}
		if n := unknown.bound(&req).total(weights{input: 1, output: 1}); n < 1<<20 || n > 1<<60 {
			t.Errorf("%d rows of %d: %d", req.N, *req.MaxTokens, n)
		}
	}
}

func TestHugeNumbers(t *testing.T) {
	for _, huge := range []any{json.Number("9223372036854775807"), 1e300, math.Inf(1), math.MaxInt64, json.Number("4611686018427387904")} {
		if n, ok := number(huge); !ok || n < 1<<20 || n > 1<<60 {
			t.Errorf("%v: %d, %v", huge, n, ok)
		}
	}
}

// A teller is a model of 20 chunks of 8 bytes, or as many lines of keys, that reports
// the usage that it is made of.
type teller struct {
	usage *llm.Usage
	keys  map[string]any // of the last line
}

func (m teller) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for range 20 {
			if ctx.Err() != nil { // like a backend that is drained
				yield(llm.Chunk{Finish: llm.FinishCancelled, Usage: m.usage}, nil)
				return
			}
			if !yield(llm.Chunk{Text: "8 bytes "}, nil) {
				return
			}
		}
		yield(llm.Chunk{Finish: llm.FinishEOS, Usage: m.usage}, nil)
	}
}

func (m teller) Invoke(ctx context.Context, _ map[string]any, _ bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		for range 20 {
			if !yield(map[string]any{"generated_text": "8 bytes "}, nil) {
				return
			}
		}
		httpx.RecordOf(ctx).Count(llm.Usage{Partial: m.keys["input_tokens"] == nil || m.keys["generated_tokens"] == nil && m.keys["output_tokens"] == nil})
		yield(m.keys, nil)
	}
}

func (m teller) Open(context.Context, string) (*llm.Model, error) {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: "m"}, Backend: m}, nil
}

func (m teller) List(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

// used returns the charge for a request of 400 bytes to a model; do runs it.
func used(t *testing.T, m teller, do func(context.Context, *llm.Model)) (input, output int) {
	t.Helper()
	store, clock := newStore(t), at(noon())
	secret := key(t, store, "k", account.Limits{TokensPerDay: 100_000})
	b, accounts := New(Config{Ledger: NewMemory(), Now: clock}), account.New(account.Config{Store: store})
	var rec *httpx.Record
	mux := httpx.Mux{
		Observe: func(r *httpx.Record) { rec = r; b.Observe(r) },
		Routes: []httpx.Route{{Method: "POST", Pattern: "/x", Permission: httpx.Inference, Handle: func(_ http.ResponseWriter, r *http.Request) error {
			if _, err := httpx.ReadBody(r); err != nil {
				return err
			}
			model, err := b.Models(meter.Models(m)).Open(r.Context(), "m")
			if err == nil {
				do(r.Context(), model)
			}
			return err
		}}},
		Guard: accounts.Guard,
	}
	r := httptest.NewRequest("POST", "/x", strings.NewReader(strings.Repeat("x", 400)))
	r.Header.Set("Authorization", "Bearer "+secret)
	mux.Handler().ServeHTTP(httptest.NewRecorder(), r)
	return rec.Usage.Input, rec.Usage.Output
}

// Usage that a model does not report is estimated, each count separately.
func TestWhatIsNotTold(t *testing.T) {
	generate := func(leave int) func(context.Context, *llm.Model) {
		return func(ctx context.Context, m *llm.Model) {
			for range m.Generate(ctx, &llm.Request{Prompts: []llm.Prompt{llm.Text(strings.Repeat("x", 400))}}) {
				if leave--; leave == 0 {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		usage         *llm.Usage
		input, output [2]int // least, most
		leave         int
	}{
		"all":       {&llm.Usage{Input: 7, Output: 9}, [2]int{7, 7}, [2]int{9, 9}, 0},
		"no output": {&llm.Usage{Input: 7, Partial: true}, [2]int{7, 7}, [2]int{40, 40}, 0},
		"no input":  {&llm.Usage{Output: 9, Partial: true}, [2]int{100, 110}, [2]int{9, 9}, 0},
		"neither":   {&llm.Usage{Partial: true}, [2]int{100, 110}, [2]int{40, 40}, 0},
		"no word":   {nil, [2]int{100, 110}, [2]int{40, 40}, 0},
		"none used": {&llm.Usage{Input: 7}, [2]int{7, 7}, [2]int{0, 0}, 0},
		"left":      {&llm.Usage{Input: 7, Output: 1}, [2]int{7, 7}, [2]int{10, 10}, 5}, // Anthropic's first event
	} {
		in, out := used(t, teller{usage: c.usage}, generate(c.leave))
		if in < c.input[0] || in > c.input[1] || out < c.output[0] || out > c.output[1] {
			t.Errorf("%s: %d and %d", name, in, out)
		}
	}
}

// The same for canonical keys: reported usage is counted once, and missing usage is
// estimated.
func TestWhatInvocationsDoNotTell(t *testing.T) {
	for name, c := range map[string]struct {
		keys          map[string]any
		leave         int
		input, output [2]int
	}{
		"all":       {map[string]any{"input_tokens": json.Number("7"), "generated_tokens": json.Number("9")}, 0, [2]int{7, 7}, [2]int{9, 9}},
		"no output": {map[string]any{"input_tokens": json.Number("7")}, 0, [2]int{7, 7}, [2]int{40, 40}},
		"no input":  {map[string]any{"output_tokens": 9}, 0, [2]int{100, 110}, [2]int{9, 9}},
		"neither":   {map[string]any{"generated_text": ""}, 0, [2]int{100, 110}, [2]int{40, 40}},
		"left soon": {nil, -1, [2]int{100, 110}, [2]int{0, 0}},
		"left":      {map[string]any{}, 5, [2]int{100, 110}, [2]int{10, 10}},
	} {
		in, out := used(t, teller{keys: c.keys}, func(ctx context.Context, m *llm.Model) {
			invoker, err := llm.As[llm.Invoker](m)
			if err != nil {
				t.Fatal(err)
			}
			leave := c.leave
			if leave < 0 {
				left, cancel := context.WithCancel(ctx)
				cancel()
				ctx = left
			}
			for range invoker.Invoke(ctx, map[string]any{"prompt": "x"}, true) {
				if leave--; leave == 0 {
					return
				}
			}
		})
		if in < c.input[0] || in > c.input[1] || out < c.output[0] || out > c.output[1] {
			t.Errorf("%s: %d and %d", name, in, out)
		}
	}
}

// Usage of a model whose name is too long for a key is stored, and so is later usage.
func TestNamesThatNoKeyHas(t *testing.T) {
	book := NewTable(tabletest.New(t).Table())
	day := noon().Format("2006-01-02")
	list := []Usage{{Day: day, Model: "a", Input: 1}, {Day: day, Model: strings.Repeat("é", 1000), Input: 2}, {Day: day, Model: "\xff\x00\n", Input: 3}, {Day: day, Model: "z", Input: 4}}
	if n, err := book.Add(t.Context(), list); n != len(list) || err != nil {
		t.Error(n, err)
	}
	written, err := book.Of(t.Context(), day)
	var sum int64
	for _, u := range written {
		sum += u.Input
	}
	if err != nil || len(written) != len(list) || sum != 10 {
		t.Errorf("%v, %v", written, err)
	}
}

// unlimited is a model whose record does not map max_new_tokens.
type unlimited struct{ speaker }

func (unlimited) Unmapped(body map[string]any) (names []string) {
	for name := range body {
		names = append(names, name)
	}
	return names
}

// No limit is added for a model that would reject it.
func TestLimitsThatNoRecordMaps(t *testing.T) {
	book := NewMemory()
	b := New(Config{Ledger: book, Now: at(noon())})
	account := dayOf("key k", noon())
	for _, m := range []llm.Backend{speaker{&atomic.Int64{}, 100, 0}, unlimited{speaker{&atomic.Int64{}, 100, 0}}} {
		h := &hold{rec: &httpx.Record{}, now: b.cfg.Now, quotas: []quota{{account, tokens, 1000, "day"}}, leases: []*lease{b.lease(account, 1000)}}
		limited := backend{m, &llm.ModelInfo{Context: 200_000}, []*hold{h}}
		fitted, err := limited.fit(t.Context(), httpx.RecordOf(t.Context()), &llm.Request{Prompts: []llm.Prompt{llm.Text("x")}})
		if _, ok := m.(unlimited); err != nil || (fitted.MaxTokens == nil) != ok {
			t.Errorf("%T: %v, %v", m, fitted, err)
		}
		if err := errors.Join(h.settle(t.Context(), 0)...); err != nil {
			t.Error(err)
		}
	}
}

// reluctant is a journal that stores one usage at a time.
type reluctant struct{ *Memory }

func (r reluctant) Add(ctx context.Context, list []Usage) (int, error) {
	n, err := r.Memory.Add(ctx, list[:1])
	if len(list) > 1 {
		err = errors.New("it broke")
	}
	return n, err
}

// Usage that could not be stored is stored later, once.
func TestUsageWrittenLater(t *testing.T) {
	book := NewMemory()
	b := New(Config{Journal: reluctant{book}, Now: at(noon())})
	for _, model := range []string{"a", "b", "c"} {
		b.usage.count(noon(), &httpx.Record{Model: model, Usage: llm.Usage{Input: 5}})
	}
	for _, fails := range []bool{true, true, false, false} {
		if err := b.flush(t.Context()); (err != nil) != fails {
			t.Error(err)
		}
	}
	list, err := book.Of(t.Context(), noon().Format("2006"))
	if err != nil || len(list) != 3 || list[0].Input != 5 || list[2].Requests != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// broken is a ledger and a journal that fail.
type broken struct{ *Memory }

var errBroken = errors.New("it broke")

func (broken) Return(context.Context, Account, int64) error       { return errBroken }
func (broken) Add(context.Context, []Usage) (stored int, _ error) { return 0, errBroken }

// An error is reported even if another ledger is not called because it failed a moment ago.
func TestFailuresAreReported(t *testing.T) {
	var reported []error
	book := broken{NewMemory()}
	b := New(Config{Journal: book, Now: at(noon()), Failed: func(err error) { reported = append(reported, err) }})
	list := quotas("key k", account.Limits{TokensPerDay: 1, TokensPerMonth: 1}, noon())
	leases := func() []*lease {
		paused := &lease{at: list[0].Account, share: tokenShare, ledger: book, now: b.cfg.Now, retry: noon().Add(callPause)}
		return []*lease{paused, {at: list[1].Account, share: tokenShare, ledger: book, now: b.cfg.Now}}
	}
	rec := &httpx.Record{}
	b.holds[rec] = []*hold{{rec: rec, now: b.cfg.Now, leases: leases(), reserved: 10}}
	b.Observe(rec)
	if len(reported) != 1 || !errors.Is(reported[0], errBroken) || errors.Is(reported[0], errPause) {
		t.Errorf("of a request: %v", reported)
	}
	b.usage.count(noon(), &httpx.Record{Model: "m"})
	idle := leases()[0]
	idle.idle.Store(1)
	b.leases[idle.at], b.last, reported = idle, time.Time{}, nil
	b.work(t.Context())
	if len(reported) != 1 || !errors.Is(reported[0], errBroken) || errors.Is(reported[0], errPause) {
		t.Errorf("of the usage: %v", reported)
	}
}
