package batch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/batch"
)

// memory is a store in memory, whose objects all processes share.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (m *memory) Create(_ context.Context, key string, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects[key] != nil {
		return batch.ErrExists
	}
	m.objects[key] = b
	return nil
}

func (m *memory) Open(_ context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[key]
	if !ok {
		return nil, batch.ErrNotFound
	}
	b = b[offset:]
	if n >= 0 {
		b = b[:n]
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (m *memory) List(_ context.Context, prefix string) (keys []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
	return nil
}

var (
	errKilled  = errors.New("killed")
	errOffline = errors.New("no connection")
)

// faults is the store as one process sees it. It kills the process before or after an
// operation, or stops it for longer than a lease.
type faults struct {
	batch.Store
	rng  *rand.Rand
	rate float64
	dead bool
	wake time.Time // a stopped process does nothing before
	kind *[3]int   // how often each fault happened, of all processes
	mu   sync.Mutex
}

// stop stops the process for a time, or for what is left of it.
func (f *faults) stop(d time.Duration) {
	f.mu.Lock()
	if d > 0 {
		f.wake = time.Now().Add(d)
	}
	left := time.Until(f.wake)
	f.mu.Unlock()
	time.Sleep(left)
}

func (f *faults) around(op func() error) error {
	f.mu.Lock()
	roll, dead := f.rng.Float64()/f.rate, f.dead
	f.mu.Unlock()
	die := func(kind int) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.dead = true
		f.kind[kind]++
		return errKilled
	}
	switch {
	case dead:
		return errKilled
	case roll < 0.4:
		return die(0)
	case roll < 0.5:
		f.mu.Lock()
		f.kind[1]++
		f.mu.Unlock()
		f.stop(25 * time.Minute)
	}
	f.stop(0)
	err := op()
	if roll >= 0.5 && roll < 1 {
		return die(2)
	}
	return err
}

func (f *faults) Create(ctx context.Context, key string, body io.Reader) error {
	return f.around(func() error { return f.Store.Create(ctx, key, body) })
}

func (f *faults) Open(ctx context.Context, key string, offset, n int64) (r io.ReadCloser, err error) {
	return r, f.around(func() (err error) { r, err = f.Store.Open(ctx, key, offset, n); return err })
}

func (f *faults) List(ctx context.Context, prefix string) (keys []string, err error) {
	return keys, f.around(func() (err error) { keys, err = f.Store.List(ctx, prefix); return err })
}

func (f *faults) Delete(ctx context.Context, key string) error {
	return f.around(func() error { return f.Store.Delete(ctx, key) })
}

// echo answers with the body, throttles some requests and refuses some.
type echo struct {
	mu     sync.Mutex
	rng    *rand.Rand
	calls  map[string]int
	poison string // the custom_id that kills
	rate   float64
}

func (e *echo) Run(ctx context.Context, _ string, line batch.Line) (batch.Answer, error) {
	e.mu.Lock()
	e.calls[line.CustomID]++
	roll := e.rng.Float64()
	e.mu.Unlock()
	time.Sleep(time.Duration(roll * float64(time.Second)))
	switch {
	case ctx.Err() != nil:
		return batch.Answer{}, ctx.Err()
	case line.CustomID == e.poison:
		return batch.Answer{}, errKilled
	case roll < e.rate:
		return batch.Answer{Status: 429, RetryAfter: 7 * time.Second}, nil
	case roll < 2*e.rate:
		return batch.Answer{}, errOffline
	case strings.HasSuffix(line.CustomID, "3"):
		return batch.Answer{Status: 400, Body: json.RawMessage(`{"error":{}}`)}, nil
	}
	return batch.Answer{Status: 200, RequestID: "req_1", Body: line.Body}, nil
}

const endpoint = "/v1/embeddings"

func input(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, `{"custom_id":"c%d","method":"POST","url":%q,"body":{"input":"text %d"}}`+"\n", i, endpoint, i)
	}
	return b.String()
}

// order uploads an input and creates its batch.
func order(t *testing.T, b *batch.Batches, text string) batch.Batch {
	t.Helper()
	f, err := b.Upload(t.Context(), "ann", "in.jsonl", "batch", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Create(t.Context(), "ann", batch.Order{Input: f.ID, Endpoint: endpoint, Sender: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// drive calls Step until the batch has ended.
func drive(t *testing.T, b *batch.Batches, id string) batch.Batch {
	t.Helper()
	for {
		step, err := b.Step(t.Context(), "ann", id)
		if err != nil {
			t.Fatal(err)
		}
		if step.Ended {
			got, err := b.Batch(t.Context(), "ann", id)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		time.Sleep(step.Wait)
	}
}

// A line of a file of results.
type result struct {
	ID       string
	CustomID *string `json:"custom_id"`
	Response *struct {
		Status int `json:"status_code"`
		Body   struct{ Input string }
	}
	Error *struct {
		Code, Message, Param string
		Line                 int
	}
}

func results(t *testing.T, b *batch.Batches, id string) (list []result) {
	t.Helper()
	if id == "" {
		return nil
	}
	_, r, err := b.Content(t.Context(), "ann", id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for d := json.NewDecoder(r); ; {
		var one result
		if err := d.Decode(&one); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
}

// checkOnce fails unless each of the lines is in one of the files once, with its own answer.
func checkOnce(t *testing.T, b *batch.Batches, got batch.Batch, lines int) {
	t.Helper()
	answers, failures := results(t, b, got.Output), results(t, b, got.Errors)
	if got.Counts != (batch.Counts{Total: lines, Completed: len(answers), Failed: len(failures)}) || len(answers)+len(failures) != lines {
		t.Errorf("counts %+v, files of %d and %d lines, want %d", got.Counts, len(answers), len(failures), lines)
	}
	ids := map[string]bool{}
	for _, r := range answers {
		if ids[*r.CustomID] = true; r.Response.Status != 200 || "c"+strings.TrimPrefix(r.Response.Body.Input, "text ") != *r.CustomID {
			t.Fatalf("%s has the answer %+v", *r.CustomID, r.Response)
		}
	}
	for _, r := range failures {
		if ids[*r.CustomID] = true; r.Error == nil && r.Response.Status != 400 {
			t.Fatalf("%s failed with %+v", *r.CustomID, r.Response)
		}
	}
	if len(ids) != lines {
		t.Errorf("%d different lines, want %d", len(ids), lines)
	}
}

// TestFaults works with processes that are killed at any operation of the store, or stopped
// for longer than their lease, over a model that throttles.
func TestFaults(t *testing.T) {
	for seed, lines := range []int{1, 33, 500, 10_000} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faulty(t, uint64(seed), lines) })
		})
	}
}

func faulty(t *testing.T, seed uint64, lines int) {
	shared := &memory{objects: map[string][]byte{}}
	runner := &echo{rng: rand.New(rand.NewPCG(seed, 0)), calls: map[string]int{}, rate: 0.005}
	cfg := batch.Config{Store: shared, Runner: runner, Endpoints: []string{endpoint}, Window: 1000 * time.Hour}
	sound := batch.New(cfg)
	id := order(t, sound, input(lines)).ID
	rate := 0.01
	if lines > 1000 {
		rate = 0.001 // otherwise few attempts live to commit
	}
	var kinds [8][3]int
	var group sync.WaitGroup
	for n := range kinds {
		rng := rand.New(rand.NewPCG(seed, uint64(n+1)))
		group.Go(func() {
			for {
				f := &faults{Store: shared, rng: rng, rate: rate, kind: &kinds[n]}
				mine := cfg
				mine.Store = f
				b := batch.New(mine)
				for {
					step, err := b.Step(t.Context(), "ann", id)
					if step.Ended && err == nil {
						return
					}
					if err != nil {
						if !f.dead && !errors.Is(err, errOffline) {
							t.Errorf("a process that was not killed: %v", err)
						}
						break // the process starts again
					}
					time.Sleep(step.Wait)
				}
			}
		})
	}
	group.Wait()
	got, err := sound.Batch(t.Context(), "ann", id)
	if err != nil || got.Status != batch.Completed {
		t.Fatalf("%+v, %v", got, err)
	}
	checkOnce(t, sound, got, lines)
	for _, r := range results(t, sound, got.Errors) {
		if r.Error != nil && r.Error.Code != "worker_lost" {
			t.Errorf("%s: %+v", *r.CustomID, r.Error)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runner.calls)) {
		if lines > 100 && runner.calls[name] > 100 {
			t.Errorf("%s ran %d times", name, runner.calls[name])
		}
	}
	sum := [3]int{}
	for _, k := range kinds {
		for i := range k {
			sum[i] += k[i]
		}
	}
	if lines >= 500 && (sum[0] == 0 || sum[1] == 0 || sum[2] == 0) {
		t.Errorf("faults that happened: %v", sum)
	}
	if open, err := sound.Open(t.Context()); len(open) > 0 || err != nil {
		t.Errorf("left open: %v, %v", open, err)
	}
}

// failingInput is a store in which one read of the input fails.
type failingInput struct {
	*memory
	reads int // before the one that fails
	fail  func(context.Context) error
}

func (s *failingInput) Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	if strings.Contains(key, "/content/") && n >= 0 {
		if s.reads--; s.reads == -1 {
			return nil, s.fail(ctx)
		}
	}
	return s.memory.Open(ctx, key, offset, n)
}

// TestAnswersAreKept shows that an attempt that ends while it reads the next line keeps its answers.
func TestAnswersAreKept(t *testing.T) {
	errStore := errors.New("the store is away")
	for name, fail := range map[string]func(context.Context) error{
		"fault":   func(context.Context) error { return errStore },
		"timeout": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, runner := &failingInput{&memory{objects: map[string][]byte{}}, 2, fail}, newEcho()
				b := batch.New(batch.Config{Store: store, Runner: runner, Endpoints: []string{endpoint}})
				padding := strings.Repeat(" ", 1<<20) + "\n" // each line is read alone
				id := order(t, b, strings.ReplaceAll(input(3), "\n", padding)).ID
				var failed error
				for {
					step, err := b.Step(t.Context(), "ann", id)
					failed = errors.Join(failed, err)
					if step.Ended {
						break
					}
					time.Sleep(step.Wait)
				}
				if errors.Is(failed, errStore) != (name == "fault") || name == "timeout" && failed != nil {
					t.Errorf("failed with %v", failed)
				}
				if want := map[string]int{"c0": 1, "c1": 1, "c2": 1}; !maps.Equal(runner.calls, want) {
					t.Errorf("the lines ran %v", runner.calls)
				}
				got, err := b.Batch(t.Context(), "ann", id)
				if err != nil || got.Status != batch.Completed {
					t.Fatalf("%+v, %v", got, err)
				}
				checkOnce(t, b, got, 3)
			})
		})
	}
}
