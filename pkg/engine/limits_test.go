package engine

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A request that could take more memory than one may is refused before it does.
func TestMemory(t *testing.T) {
	e := larger(t, nil) // a row of 64 tokens: 32 KiB of cache
	e.memory = 1 << 20
	for _, test := range []struct {
		name   string
		n      int
		params llm.Params
		fits   bool
	}{
		{"few rows", 16, llm.Params{}, true},
		{"many rows", 64, llm.Params{}, false},
		{"many short rows", 64, llm.Params{MaxTokens: new(8)}, true},
		{"many decoded rows", 1, llm.Params{BestOf: new(64)}, false},
		{"log-probabilities", 4, llm.Params{Logprobs: new(math.MaxInt)}, false},
		{"few log-probabilities", 4, llm.Params{Logprobs: new(1)}, true},
		{"described prompt", 1, llm.Params{Truncate: new(0), Logprobs: new(64), Echo: new(true), MaxTokens: new(1)}, true},
		{"described prompts", 24, llm.Params{Truncate: new(0), Logprobs: new(5), Echo: new(true), MaxTokens: new(1)}, false},
	} {
		req := request("abc")
		if test.params.Echo != nil {
			req = request(strings.Repeat("a", 50))
		}
		req.N, req.Params = test.n, test.params
		_, _, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
		got, ok := errors.AsType[*llm.Error](err)
		if test.fits && err != nil || !test.fits && (!ok || got.Code != llm.Invalid || !strings.Contains(got.Message, "MiB of memory and may take 1:")) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestRowsDoNotOverflow(t *testing.T) {
	e := golden(t, Config{})
	req := request("a", "b", "a", "b")
	req.N = 1 << 62 // times 4 is 0
	for _, err := range e.Generate(t.Context(), req) {
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Param != "n" {
			t.Fatal(err)
		}
	}
}

// Tokenising is done by a worker: a prompt of megabytes takes seconds.
func TestTokenisingWaits(t *testing.T) {
	q := NewQueue(1, 1)
	e := golden(t, Config{Queue: q})
	release, err := q.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, _, err := llm.Collect(e.Generate(t.Context(), request("aaaaa")), 1)
		ended <- err
	}()
	waitFor(t, func() bool { _, waiting := q.Stats(); return waiting == 1 })
	release()
	if err := <-ended; llm.AsError(err).Code != llm.TooLong {
		t.Error(err)
	}
	waitFor(t, func() bool { running, waiting := q.Stats(); return running+waiting == 0 })
}

// Nothing is computed for one who has left.
func TestLeaving(t *testing.T) {
	g := prepare(t, larger(t, nil), request("abc"))
	g.run(t.Context(), func(llm.Chunk, error) bool { return false })
	if n := g.rows[0].cache.Len; n != 3 {
		t.Errorf("%d tokens were computed, 3 are the prompt", n)
	}
}

// Whatever ends a generation gives its worker back.
func TestWorkerComesBack(t *testing.T) {
	q := NewQueue(1, 0)
	e := golden(t, Config{Queue: q})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := golden(t, Config{Queue: q})
	broken.model = &transformer.Model{Spec: broken.model.Spec} // no layers of weights
	for name, end := range map[string]func(){
		"leaving":         func() { e.Generate(t.Context(), request("a"))(func(llm.Chunk, error) bool { return false }) },
		"a panic outside": func() { e.Generate(t.Context(), request("a"))(func(llm.Chunk, error) bool { panic("out") }) },
		"a panic inside":  func() { broken.Generate(t.Context(), request("a"))(func(llm.Chunk, error) bool { return true }) },
		"cancelled":       func() { e.Generate(cancelled, request("a"))(func(llm.Chunk, error) bool { return true }) },
		"too long":        func() { e.Generate(t.Context(), request("aaaaa"))(func(llm.Chunk, error) bool { return true }) },
	} {
		func() {
			defer func() {
				if (recover() != nil) != strings.Contains(name, "panic") {
					t.Errorf("%s: panicked, or did not", name)
				}
			}()
			end()
		}()
		if running, _ := q.Stats(); running != 0 {
			t.Fatalf("%s: the worker is gone", name)
		}
	}
}
