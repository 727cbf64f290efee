package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A request that could take more memory than allowed has a smaller window. It is rejected
// if its prompts alone take more.
func TestMemory(t *testing.T) {
	e := larger(t, nil) // a row of 64 tokens: 32 KiB of cache
	e.memory = 1 << 20
	const fits, lowered, refused = "fits", "lowered", "refused"
	for _, test := range []struct {
		name   string
		n      int
		params llm.Params
		want   string
	}{
		{"few rows", 16, llm.Params{}, fits},
		{"many rows", 64, llm.Params{}, lowered},
		{"many short rows", 64, llm.Params{MaxTokens: new(8)}, fits},
		{"many decoded rows", 1, llm.Params{BestOf: new(64)}, lowered},
		{"log-probabilities", 4, llm.Params{Logprobs: new(math.MaxInt)}, lowered},
		{"few log-probabilities", 4, llm.Params{Logprobs: new(1)}, fits},
		{"described prompt", 1, llm.Params{Truncate: new(0), Logprobs: new(64), Echo: new(true), MaxTokens: new(1)}, fits},
		{"described prompts", 24, llm.Params{Truncate: new(0), Logprobs: new(5), Echo: new(true), MaxTokens: new(1)}, refused},
	} {
		req, long := request("abc"), e.context-3
		if test.params.Echo != nil {
			req = request(strings.Repeat("a", 50))
		}
		req.N, req.Params = test.n, test.params
		req.Temperature, req.Seed = new(1.0), new(int64(1))
		rows, _, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
		got, ok := errors.AsType[*llm.Error](err)
		if test.want == refused {
			if !ok || got.Code != llm.Invalid || !strings.Contains(got.Message, "MiB of memory and may use 1:") {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		for _, row := range rows {
			short := row.Finish == llm.FinishContext && len(row.Text) < long
			if short != (test.want == lowered) {
				t.Errorf("%s: %d characters, %s", test.name, len(row.Text), row.Finish)
			}
		}
	}
}

// A record can lower the context of its model.
func TestContext(t *testing.T) {
	m, err := arch.FromAlpha(checkpointtest.Golden(), "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(m, Config{Context: 3})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := collect(t, e, request("a"))
	if rows[0].Text != "\na" || rows[0].Finish != llm.FinishContext || e.Info().Context != 3 {
		t.Errorf("%+v, context %d", rows[0], e.Info().Context)
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

// oneMessage returns a request of a chat.
func oneMessage(text string) *llm.Request {
	req := request()
	req.Prompts = []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: text}}}}}}
	return req
}

// Tokenising needs a worker: a prompt of megabytes takes seconds.
func TestTokenisingWaits(t *testing.T) {
	q := NewQueue(1, 1, 0)
	e := golden(t, Config{Queue: q})
	worker, err := q.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, _, err := llm.Collect(e.Generate(t.Context(), oneMessage("aaaaa")), 1)
		ended <- err
	}()
	waitFor(t, func() bool { _, waiting := q.Stats(); return waiting == 1 })
	worker.release()
	if err := <-ended; llm.AsError(err).Code != llm.TooLong {
		t.Error(err)
	}
	waitFor(t, func() bool { running, waiting := q.Stats(); return running+waiting == 0 })
}

// A prompt that cannot fit is rejected by its bytes, without waiting for a worker.
func TestTooLongDoesNotWait(t *testing.T) {
	q := NewQueue(1, 0, 0)
	e := golden(t, Config{Queue: q})
	worker, err := q.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer worker.release()
	mixed := request("aaa")
	mixed.Prompts[0].Parts = append(mixed.Prompts[0].Parts, llm.Part{Tokens: []int{1, 2}})
	for name, req := range map[string]*llm.Request{"one": request("aaaaa"), "the second": request("a", strings.Repeat("ab", 1<<19)), "tokens": mixed} {
		_, _, err := llm.Collect(e.Generate(t.Context(), req), len(req.Prompts))
		if got := llm.AsError(err); got.Code != llm.TooLong || !strings.Contains(got.Message, "at least") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := request(strings.Repeat("ab", 1<<19))
	cut.Truncate = new(0)
	for name, req := range map[string]*llm.Request{"short": request("aaaa"), "cut": cut} {
		if _, _, err := llm.Collect(e.Generate(t.Context(), req), 1); llm.AsError(err).Code != llm.Overloaded {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// All tokenising ends with the context of its request.
func TestTokenisingObeysContext(t *testing.T) {
	e := larger(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &settings{truncate: new(0)}
	for name, tokenise := range map[string]func() error{
		"prompt": func() error { _, err := e.encodePrompts(ctx, request("a").Prompts, s); return err },
		"score": func() error {
			_, err := e.encodeScore(ctx, &llm.ScoreRequest{Prompt: llm.Text("a"), Continuation: "b"})
			return err
		},
		"tokens": func() error { _, err := e.Tokenize(ctx, []llm.Part{{Text: "a"}}, false); return err },
		"embedding": func() error {
			_, _, err := e.Embed(ctx, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a")}})
			return err
		},
	} {
		if err := tokenise(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of a truncated prompt the last tokens are fed, and no more are kept.
func TestTruncatedPrompt(t *testing.T) {
	e := larger(t, nil)
	for _, n := range []int{1, 10, e.context - 1, e.context, e.context + 1, 100_000} {
		text := strings.Repeat("abc", n/3) + "abc"[:n%3]
		ids := e.tokenizer.Encode(text)
		for _, keep := range []int{0, 5, 1_000_000} {
			s := &settings{truncate: &keep, maxTokens: 3}
			got, err := e.encodePrompts(t.Context(), []llm.Prompt{llm.Text(text)}, s)
			if err != nil {
				t.Fatal(err)
			}
			want := ids[len(ids)-e.room(len(ids), e.context, s):]
			if !slices.Equal(got[0].ids, want) || got[0].truncated != (len(want) < len(ids)) {
				t.Errorf("%d tokens, keep %d: %d are fed, truncated %v, want %d", len(ids), keep, len(got[0].ids), got[0].truncated, len(want))
			}
		}
	}
}

// Tokenising alone needs a worker too.
func TestTokenizeWaits(t *testing.T) {
	q := NewQueue(1, 0, 0)
	e := golden(t, Config{Queue: q})
	worker, err := q.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Tokenize(t.Context(), []llm.Part{{Text: "a"}}, false); llm.AsError(err).Code != llm.Overloaded {
		t.Errorf("while the worker is busy: %v", err)
	}
	worker.release()
	for range 2 {
		if _, err := e.Tokenize(t.Context(), []llm.Part{{Text: "a"}}, false); err != nil {
			t.Error(err)
		}
	}
}

// A client that has left causes no more computation.
func TestLeaving(t *testing.T) {
	g := prepare(t, larger(t, nil), request("abc"))
	g.run(t.Context(), func(llm.Chunk, error) bool { return false })
	if n := g.engine.lanes.computed(); n != 3 {
		t.Errorf("%d tokens were computed, 3 are the prompt", n)
	}
}

// A generation releases its worker however it ends.
func TestWorkerComesBack(t *testing.T) {
	q := NewQueue(1, 0, 0)
	e := golden(t, Config{Queue: q})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := golden(t, Config{Queue: q})
	broken.lanes.all[0].model = &transformer.Model{Spec: broken.model.Spec} // no layers of weights
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

// A chat that is much longer than the context is rejected before its template runs.
func TestLongChatsAreRejectedFirst(t *testing.T) {
	e := withTokenizer(t, characters(t), 64, Config{})
	e.template = named(t, chat.ChatML) // its marks are not in the vocabulary: a prompt of it is longer than its messages
	for name, test := range map[string]struct {
		messages int
		text     string
		first    bool
	}{
		"many":  {chatSlack*64 + 1, "", true},
		"long":  {1, strings.Repeat("a", chatSlack*64+1), true},
		"other": {1, strings.Repeat("a", 65), false},
	} {
		req := &llm.Request{Prompts: []llm.Prompt{{}}}
		for range test.messages {
			req.Prompts[0].Messages = append(req.Prompts[0].Messages, llm.Message{Role: "user", Parts: []llm.Part{{Text: test.text}}})
		}
		err := e.checkPrompts(req.Prompts, &settings{})
		if (err != nil) != test.first || err != nil && llm.AsError(err).Code != llm.TooLong {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := llm.Collect(e.Generate(t.Context(), req), 1); err == nil || llm.AsError(err).Code != llm.TooLong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
