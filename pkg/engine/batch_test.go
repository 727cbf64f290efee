package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// mixed is one of many requests that begin alike and differ otherwise.
func mixed(i int) *llm.Request {
	req := request(strings.Repeat("the quick brown fox ", i%4) + strings.Repeat("jumps", i%3) + string(rune('a'+i%5)))
	if i%6 == 0 {
		req.Prompts = append(req.Prompts, llm.Text("the quick brown dog"))
	}
	req.N = 1 + i%2
	req.Params = llm.Params{Seed: new(int64(i % 7)), Temperature: new(1.0), MaxTokens: new(10 + i%9), Logprobs: new(2)}
	req.Echo = new(i%5 == 0)
	if i%8 == 7 {
		req.BestOf = new(3)
	}
	return req
}

// A request's result is, to the bit, the same as alone, whatever other requests run,
// stall, are cancelled or leave, and whatever was computed before.
func TestTogether(t *testing.T) {
	const requests = 24
	alone := random(t, 128, Config{PrefixMemory: -1})
	var want [requests][]llm.Chunk
	var cost [requests]llm.Usage
	for i := range want {
		want[i], cost[i] = collect(t, alone, mixed(i))
	}
	embedded := &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("jumps"), llm.Text("over")}}
	vectors, _, err := alone.Embed(t.Context(), embedded)
	if err != nil {
		t.Fatal(err)
	}
	team := transformer.NewTeam(2)
	defer team.Close()
	for name, cfg := range map[string]Config{
		"without prefixes": {PrefixMemory: -1},
		"with prefixes":    {},
		"few prefixes":     {PrefixMemory: 40 << 10},
		"a team":           {Team: team},
		"a queue":          {Team: team, Queue: NewQueue(5, 100, 0)},
	} {
		e := random(t, 128, cfg)
		var wg sync.WaitGroup
		for i := range 3 * requests {
			wg.Go(func() { disruptiveClient(t, e, mixed(i), i) })
			wg.Go(func() {
				if got, _, err := e.Embed(t.Context(), embedded); err != nil || !reflect.DeepEqual(got, vectors) {
					t.Errorf("%s: other vectors: %v", name, err)
				}
			})
			wg.Go(func() {
				rows, usage, err := llm.Collect(e.Generate(t.Context(), mixed(i%requests)), mixed(i%requests).Rows())
				usage.Cached = cost[i%requests].Cached // depends on the others
				if err != nil || !same(rows, want[i%requests]) || usage != cost[i%requests] {
					t.Errorf("%s: request %d: %v %+v %+v, want %+v %+v", name, i, err, rows, usage, want[i%requests], cost[i%requests])
				}
			})
			if i%requests == requests-1 {
				wg.Wait()
			}
		}
		for _, b := range e.lanes.all {
			if b.members.Load() != 0 || len(b.waiting) != 0 || b.awaited != 0 || b.running || b.pass != nil {
				t.Errorf("%s: somebody is still there: %+v", name, b)
			}
		}
	}
}

// same compares like reflect.DeepEqual, but treats the NaN of a first token as equal to
// itself.
func same(a, b []llm.Chunk) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// disruptiveClient is slow, leaves or is cancelled at a moment of its own.
func disruptiveClient(t *testing.T, e *Engine, req *llm.Request, i int) {
	if i%3 != 0 {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
	defer cancel()
	n := 0
	for range e.Generate(ctx, req) {
		if n++; n == 1+i%11 {
			switch i % 9 {
			case 0:
				return
			case 3:
				cancel()
			default:
				time.Sleep(300 * time.Microsecond)
			}
		}
	}
}

// holdPass returns a function that occupies a pass until hold is closed.
func holdPass(hold chan struct{}) func(*transformer.Pass) error {
	return func(*transformer.Pass) error {
		<-hold
		return nil
	}
}

// watchPasses calls see with the tokens of each pass of e until the end of the test.
func watchPasses(t *testing.T, e *Engine, see func(tokens int)) *member {
	t.Helper()
	m := e.lanes.join("", nil)
	err := m.runExclusive(t.Context(), func(p *transformer.Pass) error {
		p.Hidden = func(_ bool, layer int, x []float32) {
			if layer == 0 {
				see(len(x) / e.model.Width)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Members keep sharing passes, also between the parts of a long prompt.
func TestLockstep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 1024, Config{PrefixMemory: -1})
		passes := map[int]int{}
		m := watchPasses(t, e, func(n int) { passes[n]++ })
		ask := func(prompt string, tokens int) {
			req := request(prompt)
			req.MaxTokens = new(tokens)
			collect(t, e, req)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { ask("abc", 400) })
		}
		wg.Go(func() { ask(strings.Repeat("ab", 5*prefillChunk), 100) })
		wg.Wait()
		m.leave()
		// 399 steps of the four members, few of them before all have joined; ten parts of
		// the prompt, most with the four; 99 steps after it.
		with, five := 0, passes[5]
		for n, count := range passes {
			if n > prefillChunk {
				with += count
			}
			if n > passTokens {
				t.Errorf("a pass of %d tokens", n)
			}
		}
		if with < 8 || five < 80 || passes[4] < 250 || passes[4]+five+with > 420 {
			t.Errorf("passes by tokens: %v", passes)
		}
	})
}

// Several long prompts share the tokens of one pass.
func TestPassTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 512, Config{PrefixMemory: -1})
		most, total := 0, 0
		m := watchPasses(t, e, func(n int) { most, total = max(most, n), total+n })
		hold, busy := make(chan struct{}), e.lanes.join("", nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = busy.runExclusive(t.Context(), holdPass(hold))
			busy.leave()
		})
		synctest.Wait()
		for range 6 {
			wg.Go(func() {
				req := request(strings.Repeat("a", 6*prefillChunk))
				req.MaxTokens = new(1)
				collect(t, e, req)
			})
		}
		synctest.Wait() // all are in line
		close(hold)
		wg.Wait()
		m.leave()
		if most != passTokens || total != 36*prefillChunk {
			t.Errorf("%d tokens at most in a pass, %d in all", most, total)
		}
	})
}

// Rows that generate have a token in each pass, however many prompts are read at the same time. If
// these are the most, the rows take none of their tokens.
func TestGeneratingStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 512, Config{PrefixMemory: -1})
		passes, most := map[bool]int{}, 0 // that read prompts, with the row that generates or without
		m := watchPasses(t, e, func(n int) {
			if most = max(most, n); n >= prefillChunk {
				passes[n%prefillChunk == 1]++
			}
		})
		ask := func(prompt string, tokens int) {
			req := request(prompt)
			req.MaxTokens = new(tokens)
			collect(t, e, req)
		}
		var wg sync.WaitGroup
		wg.Go(func() { ask("abc", 200) })
		for range 6 {
			wg.Go(func() { ask(strings.Repeat("a", 6*prefillChunk), 1) })
		}
		wg.Wait()
		m.leave()
		if passes[true] < 15 || passes[false] > 3 || most <= passTokens {
			t.Errorf("%d passes read prompts with the row that generates, %d without; the largest has %d tokens", passes[true], passes[false], most)
		}
	})
}

// As many prompts as rows that generate, or fewer, share the tokens of a pass with these.
func TestFewPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 512, Config{PrefixMemory: -1})
		most := 0
		m := watchPasses(t, e, func(n int) { most = max(most, n) })
		var wg sync.WaitGroup
		for prompt, rows := range map[string]int{"abc": 100, strings.Repeat("a", 6*prefillChunk): 1} {
			wg.Go(func() {
				req := request(prompt)
				req.N, req.MaxTokens, req.Temperature = rows, new(60), new(1.0)
				collect(t, e, req)
			})
		}
		wg.Wait()
		m.leave()
		if most < 101 || most > passTokens {
			t.Errorf("a pass of %d tokens", most)
		}
	})
}

// Prompts are many if more members of one sender read them than generate, whoever is first in line.
func TestManyPrompts(t *testing.T) {
	for _, test := range []struct {
		waiting string // p: a prompt, g: a member that generates
		senders int
		order   string
		many    bool
	}{
		{"p", 1, "p", true}, {"g", 1, "g", false}, {"pg", 1, "pg", false}, {"pgp", 1, "pgp", true}, {"ppg", 1, "pgp", true}, {"pgpg", 1, "pggp", false},
		{"ppgpp", 1, "pgppp", true}, {"gppp", 1, "gppp", true}, {"gpgp", 1, "ggpp", false}, {"gppp", 2, "gppp", false},
	} {
		b := &batch{shares: map[string]*share{}}
		for i := range test.senders {
			b.shares[strconv.Itoa(i)] = &share{}
		}
		kinds := map[*member]string{}
		for _, kind := range strings.Split(test.waiting, "") {
			m := &member{seqs: []transformer.Sequence{{Tokens: make([]int, map[string]int{"p": prefillChunk, "g": 1}[kind])}}}
			b.waiting, kinds[m] = append(b.waiting, m), kind
		}
		list, many := b.picks()
		order := ""
		for _, m := range list {
			order += kinds[m]
		}
		if order != test.order || many != test.many {
			t.Errorf("%+v: %s, %v", test, order, many)
		}
	}
}

// A slow client does not delay others.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 64, Config{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for range e.Generate(t.Context(), with(llm.Params{MaxTokens: new(20)})) {
					time.Sleep(time.Hour)
				}
			})
		}
		for range 3 {
			wg.Go(func() {
				begin := time.Now()
				for range 3 {
					collect(t, e, with(llm.Params{MaxTokens: new(50)}))
				}
				if took := time.Since(begin); took > time.Second {
					t.Errorf("it took %v", took)
				}
			})
		}
		wg.Wait()
	})
}

// forward computes a token of m.
func forward(t *testing.T, e *Engine, m *member) error {
	logits, err := m.forward(t.Context(), []transformer.Sequence{{Cache: e.model.NewCache(1), Tokens: []int{1}, Logits: 1}})
	if err == nil && len(logits) != e.model.Vocab {
		t.Errorf("%d logits", len(logits))
	}
	return err
}

// A pass waits a moment for the members of the last one, but not for those that have
// left.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := larger(t, nil)
		a, b := e.lanes.join("", nil), e.lanes.join("", nil)
		waited := func() time.Duration {
			begin := time.Now()
			if err := forward(t, e, b); err != nil {
				t.Error(err)
			}
			return time.Since(begin)
		}
		if err := forward(t, e, a); err != nil {
			t.Error(err)
		}
		if d := waited(); d != minLinger {
			t.Errorf("waited %v for who is to come back", d)
		}
		if d := waited(); d != 0 {
			t.Errorf("waited %v for who did not come", d)
		}
		if err := forward(t, e, a); err != nil {
			t.Error(err)
		}
		done := make(chan time.Duration)
		go func() { done <- waited() }()
		synctest.Wait()
		a.leave()
		if d := <-done; d != 0 {
			t.Errorf("waited %v for who left", d)
		}
		b.leave()
	})
}

// While one member after another comes back, the pass waits for the rest.
func TestLingerIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := larger(t, nil)
		passes := []int{}
		m := watchPasses(t, e, func(n int) { passes = append(passes, n) })
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				own := e.lanes.join("", nil)
				for range 3 {
					if err := forward(t, e, own); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(i) * minLinger * 2 / 3)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		m.leave()
		if n := len(passes); n < 2 || passes[n-1] != 4 || passes[n-2] != 4 {
			t.Errorf("passes of %v", passes)
		}
	})
}

// A member cancelled in the line leaves it without affecting the others.
func TestCancelledInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := larger(t, nil)
		busy, gone, next := e.lanes.join("", nil), e.lanes.join("", nil), e.lanes.join("", nil)
		hold := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := busy.runExclusive(t.Context(), holdPass(hold)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			cache := e.model.NewCache(1)
			_, err := gone.forward(ctx, []transformer.Sequence{{Cache: cache, Tokens: []int{1}, Logits: 1}})
			if !errors.Is(err, context.Canceled) || cache.Len != 0 {
				t.Errorf("%v after %d tokens", err, cache.Len)
			}
			gone.leave()
		})
		synctest.Wait()
		served := make(chan error)
		go func() { served <- forward(t, e, next) }()
		cancel()
		synctest.Wait()
		if n := len(e.lanes.all[0].waiting); n != 1 {
			t.Errorf("%d in line", n)
		}
		close(hold)
		if err := <-served; err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// A pass that panics is an error for the other members, and only that.
func TestBrokenPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := larger(t, nil)
		busy, cause, victim := e.lanes.join("", nil), e.lanes.join("", nil), e.lanes.join("", nil)
		hold, panicked, failed := make(chan struct{}), make(chan any), make(chan error)
		go func() {
			_ = busy.runExclusive(t.Context(), holdPass(hold))
			busy.leave()
		}()
		synctest.Wait()
		go func() {
			defer func() { panicked <- recover() }()
			_, _ = cause.forward(t.Context(), []transformer.Sequence{{Tokens: []int{1}}}) // no cache
		}()
		synctest.Wait()
		go func() { failed <- forward(t, e, victim) }()
		synctest.Wait()
		close(hold)
		if <-panicked == nil {
			t.Error("no panic")
		}
		if err := <-failed; llm.AsError(err).Code != llm.Internal {
			t.Errorf("got %v", err)
		}
		cause.leave()
		if err := forward(t, e, victim); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// A pass may panic in the goroutine of a member that it does not compute.
func TestBrokenByOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := larger(t, nil)
		cause, runner, next := e.lanes.join("", nil), e.lanes.join("", nil), e.lanes.join("", nil)
		for _, m := range []*member{next, cause, runner} { // the last pass is the runner's
			if err := forward(t, e, m); err != nil {
				t.Error(err)
			}
		}
		failed := make(chan error, 2)
		go func() {
			_, err := cause.forward(t.Context(), []transformer.Sequence{{Tokens: make([]int, passTokens)}})
			failed <- err
		}()
		synctest.Wait()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_ = forward(t, e, runner)
		}()
		go func() { failed <- forward(t, e, next) }()
		synctest.Wait()
		runner.leave()
		if err := <-failed; llm.AsError(err).Code != llm.Internal {
			t.Errorf("got %v", err)
		}
		cause.leave()
		if err := <-failed; err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// Requests with more rows than a pass has room for take turns with others.
func TestManyRows(t *testing.T) {
	e, rng := random(t, 64, Config{}), rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	for range 8 {
		req := with(llm.Params{MaxTokens: new(8), Seed: new(int64(3)), Temperature: new(1.0)})
		req.N = 1 + rng.IntN(2*passTokens-1)
		wg.Go(func() {
			rows, _, err := llm.Collect(e.Generate(t.Context(), req), req.N)
			if err != nil || len(rows[req.N-1].Text) != 8 {
				t.Errorf("%d rows: %v", req.N, err)
			}
		})
	}
	wg.Wait()
}

// A token needs no allocation.
func TestForwardAllocates(t *testing.T) {
	e := larger(t, nil)
	m, cache := e.lanes.join("", nil), e.model.NewCache(64)
	seqs := []transformer.Sequence{{Cache: cache, Tokens: []int{1}, Logits: 1}}
	n := testing.AllocsPerRun(100, func() {
		cache.Len = 5
		if _, err := m.forward(t.Context(), seqs); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A batch without members keeps no caches and logits of its last pass.
func TestBatchForgets(t *testing.T) {
	e := random(t, 128, Config{PrefixMemory: -1})
	req := request("the quick brown fox")
	req.MaxTokens = new(10)
	collect(t, e, req)
	for _, b := range e.lanes.all {
		for _, m := range b.picked[:cap(b.picked)] {
			if m != nil {
				t.Error("a member of the last pass is kept")
			}
		}
	}
}

// A row that generates does not wait for prompts, however many tokens are drafted for it.
func TestLongDraftStays(t *testing.T) {
	e := random(t, 512, Config{PrefixMemory: -1})
	b := e.lanes.all[0]
	join := func(tokens, logits int) *member {
		m := &member{lanes: e.lanes, wake: make(chan struct{}, 1), sender: "s"}
		b.enter(m)
		m.seqs = []transformer.Sequence{{Cache: e.model.NewCache(100), Tokens: make([]int, tokens), Logits: logits}}
		b.waiting = append(b.waiting, m)
		return m
	}
	join(prefillChunk, 0)
	join(prefillChunk, 0)
	row := join(1+maxDraft, 1+maxDraft)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
	if !row.inPass {
		t.Errorf("a row with a draft of %d tokens waits", maxDraft)
	}
}
