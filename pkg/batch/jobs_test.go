package batch_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/batch"
)

// TestSlots gives places to at most as many processes as there are, again after they left, and
// those of killed ones after their time.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatches(newEcho())
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		take := func() func() {
			leave, err := b.Slot(ctx, 3)
			if err != nil {
				t.Fatal(err)
			}
			if leave == nil {
				return nil
			}
			return func() {
				if err := leave(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		for round := range 3 {
			first, second, third := take(), take(), take()
			if first == nil || second == nil || third == nil || take() != nil {
				t.Fatalf("round %d: %v %v %v", round, first == nil, second == nil, third == nil)
			}
			second()
			if second = take(); second == nil || take() != nil {
				t.Errorf("round %d: a place that was left", round)
			}
			time.Sleep(10 * time.Minute) // they work
			if take() != nil {
				t.Errorf("round %d: a place of one that works", round)
			}
			if round == 1 {
				kill()
				ctx = t.Context()
				time.Sleep(time.Minute)
				continue
			}
			first()
			second()
			third()
		}
	})
}

// TestRenewal runs a line that takes longer than a lease, with a second process that looks for work all the
// time: it runs once, and nothing but the files is left.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		shared := &memory{objects: map[string][]byte{}}
		cfg := batch.Config{Store: shared, Endpoints: []string{endpoint}, Runner: runnerFunc(func(_ context.Context, _ string, line batch.Line) (batch.Answer, error) {
			calls.Add(1)
			time.Sleep(5 * time.Minute)
			return batch.Answer{Status: 200, Body: line.Body}, nil
		})}
		one, two := batch.New(cfg), batch.New(cfg)
		id := order(t, one, input(1)).ID
		var group sync.WaitGroup
		for _, b := range []*batch.Batches{one, two} {
			group.Go(func() { drive(t, b, id) })
		}
		group.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		for key := range shared.objects {
			if strings.HasPrefix(key, "work/") || strings.HasPrefix(key, "open/") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

// TestOverlap has two attempts that answer the same lines: one was stopped for longer than its lease.
// Together they have as many answers as the part has lines, but others are left.
func TestOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{objects: map[string][]byte{}}
		stopped := &faults{Store: shared, rng: rand.New(rand.NewPCG(1, 2)), kind: &[3]int{}, rate: 1e-300}
		process := func(store batch.Store, pause time.Duration) *batch.Batches {
			busy := true // the first time
			return batch.New(batch.Config{Store: store, Endpoints: []string{endpoint}, Runner: runnerFunc(func(_ context.Context, _ string, line batch.Line) (batch.Answer, error) {
				if line.CustomID == "c6" && busy {
					busy = false
					if pause > 0 {
						stopped.stop(pause)
					}
					return batch.Answer{Status: 429, RetryAfter: time.Hour}, nil
				}
				return batch.Answer{Status: 200, Body: line.Body}, nil
			})})
		}
		one, two := process(stopped, 10*time.Minute), process(shared, 0)
		id := order(t, two, input(10)).ID
		var group sync.WaitGroup
		group.Go(func() { drive(t, one, id) })
		time.Sleep(time.Minute)
		got := drive(t, two, id)
		group.Wait()
		if got.Status != batch.Completed || got.Counts != (batch.Counts{Total: 10, Completed: 10}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestReady counts the parts that wait, and the batches whose end is left to do.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatches(newEcho())
		ready := func() int {
			jobs, err := b.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n, err := b.Ready(t.Context(), jobs)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := ready(); n != 0 {
			t.Errorf("nothing to do: %d", n)
		}
		id := order(t, b, input(40)).ID
		order(t, b, "broken")
		if n := ready(); n != 2+1 {
			t.Errorf("40 lines and a broken file: %d", n)
		}
		if _, err := b.Step(t.Context(), "ann", id); err != nil {
			t.Fatal(err)
		}
		if n := ready(); n != 1+1 {
			t.Errorf("after a part: %d", n)
		}
		drive(t, b, id)
		if n := ready(); n != 1 {
			t.Errorf("after the first batch: %d", n)
		}
	})
}

// TestFair has an owner with many batches and one with a single batch, which comes first or
// second.
func TestFair(t *testing.T) {
	b := newBatches(newEcho())
	for i := range 20 {
		owner := "greedy"
		if i == 10 {
			owner = "small"
		}
		f, err := b.Upload(t.Context(), owner, "in.jsonl", "batch", strings.NewReader(input(1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Create(t.Context(), owner, batch.Order{Input: f.ID, Endpoint: endpoint}); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		jobs, err := b.Open(t.Context())
		if err != nil || len(jobs) != 20 {
			t.Fatal(len(jobs), err)
		}
		if first := fmt.Sprint(jobs[0].Owner, jobs[1].Owner); !strings.Contains(first, "small") {
			t.Errorf("first %s", first)
		}
	}
}

// answersRead is a store that counts the answers that are read.
type answersRead struct {
	*memory
	n int
}

func (s *answersRead) Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	if strings.Contains(key, "/answers/") {
		s.n++
	}
	return s.memory.Open(ctx, key, offset, n)
}

// Parts that took several attempts are not read again while others are left.
func TestAnswersAreReadLast(t *testing.T) {
	synctest.Test(t, answersAreReadLast)
}

func answersAreReadLast(t *testing.T) {
	const parts = 500
	store := &answersRead{memory: &memory{objects: map[string][]byte{}}}
	b := batch.New(batch.Config{Store: store, Runner: newEcho(), Endpoints: []string{endpoint}, PartLines: 2})
	id := order(t, b, input(2*parts)).ID
	step := func() {
		if _, err := b.Step(t.Context(), "ann", id); err != nil {
			t.Fatal(err)
		}
	}
	step() // it checks the input
	plan, err := store.List(t.Context(), "work/")
	if err != nil || len(plan) != 1 {
		t.Fatal(plan, err)
	}
	work := strings.TrimSuffix(plan[0], "plan")
	for i := range 2 * (parts - 1) { // lines of all parts but the last
		part, attempt := i/2, i%2+1
		for key, text := range map[string]string{
			fmt.Sprintf("claim/%06d", attempt): `"2026-01-01T00:00:00Z"`, fmt.Sprintf("answers/%06d-1-0-0", attempt): fmt.Sprintf(`{"line":%d,"out":{}}`, i+1),
		} {
			if err := store.Create(t.Context(), fmt.Sprintf("%sparts/%05d/%s", work, part, key), strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if step(); store.n > 0 {
		t.Errorf("%d objects of answers are read before an attempt at the last part", store.n)
	}
}
