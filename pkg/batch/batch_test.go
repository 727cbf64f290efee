package batch_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/batch"
)

// runnerFunc is a function as a [batch.Runner].
type runnerFunc func(ctx context.Context, owner string, line batch.Line) (batch.Answer, error)

func (f runnerFunc) Run(ctx context.Context, owner string, line batch.Line) (batch.Answer, error) {
	return f(ctx, owner, line)
}

func newBatches(r batch.Runner) *batch.Batches {
	return batch.New(batch.Config{Store: &memory{objects: map[string][]byte{}}, Runner: r, Endpoints: []string{endpoint}, MaxLine: 1000, MaxLines: 40})
}

func newEcho() *echo { return &echo{rng: rand.New(rand.NewPCG(1, 2)), calls: map[string]int{}} }

func TestBrokenLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := func(id string) string {
			return `{"custom_id":"` + id + `","method":"POST","url":"/v1/embeddings","body":{"input":"text"}}`
		}
		text := strings.Join([]string{
			"\ufeff" + good("a"), // with a byte order mark
			`{"custom_id":`,
			"",
			good("a"),
			strings.Replace(good("b"), "POST", "GET", 1),
			strings.Replace(good("c"), "embeddings", "completions", 1),
			strings.Replace(good("d"), `{"input":"text"}`, `[1]`, 1),
			strings.Replace(good("e"), `"text"`, `"text","stream":true`, 1),
			strings.Replace(good("f"), "text", strings.Repeat("x", 1000), 1),
			`[]`, good(""),
			strings.Replace(good("h"), "text", "\xff", 1),
			good("g"), // without a newline
		}, "\n")
		b := newBatches(newEcho())
		got := drive(t, b, order(t, b, text).ID)
		if got.Status != batch.Completed || got.Counts != (batch.Counts{Total: 12, Completed: 2, Failed: 10}) {
			t.Fatalf("%+v", got)
		}
		if list := results(t, b, got.Output); *list[0].CustomID != "a" || *list[1].CustomID != "g" {
			t.Errorf("answers %+v", list)
		}
		want := map[int]string{
			2: "invalid_json_line", 4: "duplicate_custom_id", 5: "invalid_request", 6: "invalid_request", 7: "invalid_request",
			8: "invalid_request", 9: "line_too_long", 10: "invalid_json_line", 11: "invalid_request", 12: "invalid_json_line",
		}
		for _, r := range results(t, b, got.Errors) {
			if want[r.Error.Line] != r.Error.Code {
				t.Errorf("line %d: %s, want %q", r.Error.Line, r.Error.Code, want[r.Error.Line])
			}
			delete(want, r.Error.Line)
		}
		if len(want) > 0 {
			t.Errorf("not reported: %v", want)
		}
	})
}

// TestKeysOfLines has lines whose keys encoding/json would accept: each is refused, and its key named.
func TestKeysOfLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := func(id, more string) string {
			return `{"custom_id":"` + id + `","method":"POST","url":"` + endpoint + `","body":{"input":"text"}` + more + "}"
		}
		lines := []struct{ id, text, key, message string }{
			{"good", line("good", ""), "", ""},
			{"escaped", strings.Replace(line("escaped", ""), "method", `\u006dethod`, 1), "", ""},
			{"twice", line("twice", ` , "body":{"input":"other"}`), "body", "body appears twice"},
			{"escaped twice", line("escaped twice", `,"\u0062ody":{}`), "body", "body appears twice"},
			{"id", line("other", `,"custom_id":"id"`), "custom_id", "custom_id appears twice"},
			{"outside", line("outside", `,"max_tokens":[{"a":"}"}]`), "max_tokens", `unknown key "max_tokens": a line has the keys custom_id, method, url and body, and body has the parameters of the request`},
			{"case", strings.Replace(line("case", ""), "custom_id", "Custom_ID", 1), "Custom_ID", `unknown key "Custom_ID"`},
			{"case twice", line("case twice", `,"Body":{"input":"other"}`), "Body", `unknown key "Body"`},
			{"long", line("long", `,"`+strings.Repeat("a", 79)+`éé":1`), strings.Repeat("a", 79), `unknown key "aaa`},
			{"empty", line("empty", `,"":1`), "", `unknown key ""`},
		}
		var text []string
		for _, l := range lines {
			text = append(text, l.text)
		}
		b := newBatches(newEcho())
		got := drive(t, b, order(t, b, strings.Join(text, "\n")).ID)
		if got.Counts != (batch.Counts{Total: len(lines), Completed: 2, Failed: len(lines) - 2}) {
			t.Fatalf("%+v", got)
		}
		for i, r := range results(t, b, got.Errors) {
			want := lines[i+2]
			if r.Error.Code != "invalid_request" || r.Error.Line != i+3 || r.Error.Param != want.key || !strings.HasPrefix(r.Error.Message, want.message) || *r.CustomID != want.id {
				t.Errorf("%s: %+v of %q, want key %s: %s", want.id, r.Error, *r.CustomID, want.key, want.message)
			}
		}
	})
}

func TestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, code := range map[string]string{"": "empty_file", "\n \n": "empty_file", input(41): "too_many_requests"} {
			b := newBatches(newEcho())
			got := drive(t, b, order(t, b, text).ID)
			if got.Status != batch.Failed || len(got.Problems) != 1 || got.Problems[0].Code != code || got.Output+got.Errors != "" {
				t.Errorf("%.20q: %+v, want %s", text, got, code)
			}
		}
	})
}

// TestCancel cancels after ten lines. All lines are in the files.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *batch.Batches
		var id string
		runner, calls := newEcho(), 0
		b = newBatches(runnerFunc(func(ctx context.Context, owner string, line batch.Line) (batch.Answer, error) {
			if calls++; calls == 10 {
				got, err := b.Cancel(ctx, owner, id)
				if err != nil || got.Status != batch.Cancelling {
					t.Errorf("%+v, %v", got, err)
				}
			}
			time.Sleep(2 * time.Second) // as often as an attempt looks
			return runner.Run(ctx, owner, line)
		}))
		id = order(t, b, input(40)).ID
		got := drive(t, b, id)
		if got.Status != batch.Cancelled || calls != 10 || got.Counts.Completed != 9 {
			t.Errorf("%d calls, %+v", calls, got)
		}
		checkOnce(t, b, got, 40)
		if again, err := b.Cancel(t.Context(), "ann", id); err != nil || again.Status != batch.Cancelled {
			t.Errorf("cancelled again: %+v, %v", again, err)
		}
	})
}

// TestExpires lets a batch wait for a model that is never free.
func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := newEcho()
		runner.rate = 1
		b := newBatches(runner)
		begun := time.Now()
		got := drive(t, b, order(t, b, input(40)).ID)
		if got.Status != batch.Expired || got.Counts.Failed != 40 || got.Output != "" || time.Since(begun) < 24*time.Hour {
			t.Errorf("%+v after %v", got, time.Since(begun))
		}
		checkOnce(t, b, got, 40)
		if n := runner.calls["c0"]; n > 60 {
			t.Errorf("a throttled line ran %d times in a day", n)
		}
	})
}

// TestThrottledLine shows that a line that is always throttled does not hold up the others.
func TestThrottledLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatches(runnerFunc(func(_ context.Context, _ string, line batch.Line) (batch.Answer, error) {
			if line.CustomID == "c0" {
				return batch.Answer{Status: 429}, nil
			}
			return batch.Answer{Status: 200, Body: line.Body}, nil
		}))
		got := drive(t, b, order(t, b, input(20)).ID)
		if got.Status != batch.Expired || got.Counts.Completed != 19 {
			t.Errorf("%+v", got)
		}
	})
}

// TestRunnerError shows that Step returns the error of a line that cannot run, and that the line is tried again
// later.
func TestRunnerError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 0
		b := newBatches(runnerFunc(func(_ context.Context, _ string, line batch.Line) (batch.Answer, error) {
			if failures < 10 {
				return batch.Answer{}, errOffline
			}
			return batch.Answer{Status: 200, Body: line.Body}, nil
		}))
		for id := order(t, b, input(1)).ID; ; {
			step, err := b.Step(t.Context(), "ann", id)
			if err != nil {
				failures++
				if step, err = b.Step(t.Context(), "ann", id); step.Wait == 0 || err != nil {
					t.Fatalf("after failure %d: %+v, %v", failures, step, err)
				}
			}
			if step.Ended {
				got, err := b.Batch(t.Context(), "ann", id)
				if err != nil || got.Counts != (batch.Counts{Total: 1, Completed: 1}) || failures != 10 {
					t.Errorf("%d failures, %+v, %v", failures, got, err)
				}
				return
			}
			time.Sleep(step.Wait)
		}
	})
}

// TestPoison has a line that kills each process that runs it. The others are answered.
func TestPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := newEcho()
		shared := &memory{objects: map[string][]byte{}}
		cfg := batch.Config{Store: shared, Endpoints: []string{endpoint}}
		sound := batch.New(cfg)
		id := order(t, sound, input(20)).ID
		for kills := 0; ; {
			f := &faults{Store: shared, rng: rand.New(rand.NewPCG(1, 2)), kind: &[3]int{}, rate: 1e-300}
			mine := cfg
			mine.Store, mine.Runner = f, runnerFunc(func(ctx context.Context, owner string, line batch.Line) (batch.Answer, error) {
				if line.CustomID == "c7" {
					f.dead = true
					kills++
				}
				return runner.Run(ctx, owner, line)
			})
			b, ended := batch.New(mine), false
			for !f.dead && !ended {
				step, err := b.Step(t.Context(), "ann", id)
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				ended = step.Ended
				time.Sleep(step.Wait)
			}
			if ended {
				break
			}
			if kills > 20 {
				t.Fatal("the line is not given up")
			}
		}
		got, err := sound.Batch(t.Context(), "ann", id)
		if err != nil || got.Status != batch.Completed {
			t.Fatalf("%+v, %v", got, err)
		}
		checkOnce(t, sound, got, 20)
		for _, r := range results(t, sound, got.Errors) {
			if *r.CustomID == "c7" && r.Error.Code != "worker_lost" {
				t.Errorf("c7: %+v", r.Error)
			}
		}
	})
}

// TestSlowLine has a line that takes longer than an attempt may. It is given up, the others are
// answered.
func TestSlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBatches(runnerFunc(func(ctx context.Context, _ string, line batch.Line) (batch.Answer, error) {
			if line.CustomID == "c7" {
				tries++
				<-ctx.Done()
				return batch.Answer{}, ctx.Err()
			}
			return batch.Answer{Status: 200, Body: line.Body}, nil
		}))
		got := drive(t, b, order(t, b, input(20)).ID)
		if got.Status != batch.Completed || got.Counts != (batch.Counts{Total: 20, Completed: 19, Failed: 1}) || tries > 8 {
			t.Errorf("%d tries, %+v", tries, got)
		}
	})
}

// TestAlone shows that the only process of a store takes over at once what was running when the
// one before it was killed, and that a process among others waits for the lease.
func TestAlone(t *testing.T) {
	for _, alone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			shared := &memory{objects: map[string][]byte{}}
			cfg := batch.Config{Store: shared, Endpoints: []string{endpoint}, Lease: 5 * time.Minute}
			f := &faults{Store: shared, rng: rand.New(rand.NewPCG(1, 2)), kind: &[3]int{}, rate: 1e-300}
			killed := cfg
			killed.Store, killed.Runner = f, runnerFunc(func(context.Context, string, batch.Line) (batch.Answer, error) {
				f.dead = true
				return batch.Answer{}, errKilled
			})
			b := batch.New(killed)
			id := order(t, b, input(20)).ID
			for !f.dead {
				_, _ = b.Step(t.Context(), "ann", id) // the last one fails
			}
			time.Sleep(time.Second)
			began := time.Now()
			if alone {
				cfg.Alone = began
			}
			cfg.Runner = newEcho()
			got := drive(t, batch.New(cfg), id)
			took := time.Since(began)
			if got.Status != batch.Completed || alone != (took < time.Minute) || took > 6*time.Minute {
				t.Errorf("alone %v: %v, %+v", alone, took, got)
			}
		})
	}
}

func TestOwners(t *testing.T) {
	b := newBatches(newEcho())
	got := order(t, b, input(1))
	ctx := t.Context()
	_, _, contentErr := b.Content(ctx, "bob", got.Input)
	for name, err := range map[string]error{
		"file":    second(b.File(ctx, "bob", got.Input)),
		"content": contentErr,
		"delete":  b.DeleteFile(ctx, "bob", got.Input),
		"batch":   second(b.Batch(ctx, "bob", got.ID)),
		"cancel":  second(b.Cancel(ctx, "bob", got.ID)),
		"create":  second(b.Create(ctx, "bob", batch.Order{Input: got.Input, Endpoint: endpoint})),
		"path":    second(b.File(ctx, "bob", "../"+got.Input)),
	} {
		if !errors.Is(err, batch.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.DeleteFile(ctx, "ann", got.Input); !errors.Is(err, batch.ErrInUse) {
		t.Errorf("a file in use: %v", err)
	}
	if files, err := b.FileIDs(ctx, "bob"); len(files) > 0 || err != nil {
		t.Errorf("bob's files: %v, %v", files, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestDirectory runs a batch over a directory, opened anew for each step.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	open := func() *batch.Batches {
		store, err := batch.OpenDirectory(dir)
		if err != nil {
			t.Fatal(err)
		}
		return batch.New(batch.Config{Store: store, Endpoints: []string{endpoint}, Runner: runnerFunc(func(_ context.Context, _ string, line batch.Line) (batch.Answer, error) {
			return batch.Answer{Status: 200, Body: line.Body}, nil
		})})
	}
	id := order(t, open(), input(100)).ID
	for {
		step, err := open().Step(t.Context(), "ann", id)
		if err != nil {
			t.Fatal(err)
		}
		if step.Ended {
			break
		}
	}
	b := open()
	got, err := b.Batch(t.Context(), "ann", id)
	if err != nil || got.Status != batch.Completed {
		t.Fatalf("%+v, %v", got, err)
	}
	checkOnce(t, b, got, 100)
	files, err := b.FileIDs(t.Context(), "ann")
	if err != nil || len(files) != 2 || files[0] != got.Output || files[1] != got.Input {
		t.Errorf("files %+v, %v", files, err)
	}
	if f, err := b.File(t.Context(), "ann", got.Input); err != nil || f.Bytes != int64(len(input(100))) {
		t.Errorf("%+v, %v", f, err)
	}
	if err := b.DeleteFile(t.Context(), "ann", got.Input); err != nil {
		t.Error(err)
	}
}

// lateStore adds an answer to the first line after the seal, as a process does that outlived
// its lease.
type lateStore struct{ *memory }

func (s lateStore) Create(ctx context.Context, key string, body io.Reader) error {
	err := s.memory.Create(ctx, key, body)
	if work, ok := strings.CutSuffix(key, "/seal"); ok && err == nil {
		late := `{"line":1,"failed":true,"out":{"custom_id":"c0"}}`
		return s.memory.Create(ctx, work+"/parts/00000/answers/000000-0-1-0", strings.NewReader(late))
	}
	return err
}

func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := batch.New(batch.Config{Store: lateStore{&memory{objects: map[string][]byte{}}}, Endpoints: []string{endpoint}, Runner: newEcho()})
		got := drive(t, b, order(t, b, input(3)).ID)
		if got.Counts != (batch.Counts{Total: 3, Completed: 3}) {
			t.Errorf("an answer after the seal counts: %+v", got.Counts)
		}
		checkOnce(t, b, got, 3)
	})
}

// stoppedStore lets another process end the batch just before this one writes its seal.
type stoppedStore struct {
	*memory
	meanwhile func()
}

func (s stoppedStore) Create(ctx context.Context, key string, body io.Reader) error {
	if strings.HasSuffix(key, "/seal") {
		s.meanwhile()
	}
	return s.memory.Create(ctx, key, body)
}

// A process that seals a batch which has ended meanwhile leaves nothing.
func TestLateSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{objects: map[string][]byte{}}
		cfg := batch.Config{Store: shared, Endpoints: []string{endpoint}, Runner: newEcho()}
		other := batch.New(cfg)
		id := order(t, other, input(3)).ID
		cfg.Store = stoppedStore{shared, func() { drive(t, other, id) }}
		for b := batch.New(cfg); ; { // as a worker does, which no longer sees the batch after its end
			jobs, err := b.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(jobs) == 0 {
				break
			}
			if _, err := b.Step(t.Context(), jobs[0].Owner, jobs[0].ID); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := shared.List(t.Context(), "work/"); err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	})
}

// TestTooManyFiles shows that an owner with too many files can upload no more and begin no batch, but gets the
// results of one that has begun.
func TestTooManyFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := batch.New(batch.Config{Store: &memory{objects: map[string][]byte{}}, Endpoints: []string{endpoint}, Runner: newEcho(), MaxFiles: 2})
		first := order(t, b, input(1))
		second := order(t, b, input(1))
		if _, err := b.Upload(t.Context(), "ann", "in.jsonl", "batch", strings.NewReader("")); !errors.Is(err, batch.ErrFull) {
			t.Errorf("an upload: %v", err)
		}
		checkOnce(t, b, drive(t, b, first.ID), 1)
		again := batch.Order{Input: first.Input, Endpoint: endpoint}
		if _, err := b.Create(t.Context(), "ann", again); !errors.Is(err, batch.ErrFull) {
			t.Errorf("a batch: %v", err)
		}
		checkOnce(t, b, drive(t, b, second.ID), 1)
		ids, err := b.FileIDs(t.Context(), "ann")
		if err != nil || len(ids) != 4 {
			t.Fatalf("files %q, %v", ids, err)
		}
		for _, id := range ids[:2] { // the results
			if err := b.DeleteFile(t.Context(), "ann", id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Create(t.Context(), "ann", again); err != nil {
			t.Errorf("a batch after deletions: %v", err)
		}
	})
}
