package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// as returns the context of a request of sender.
func as(t *testing.T, sender string) context.Context { return llm.WithSender(t.Context(), sender) }

func acquire(t *testing.T, q *Queue, sender string) *worker {
	t.Helper()
	w, err := q.acquire(as(t, sender))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// expectEmpty checks that no generation is left, and no claimed memory.
func (q *Queue) expectEmpty(t *testing.T) {
	t.Helper()
	if running, waiting := q.Stats(); running+waiting+q.waiting != 0 || q.turns.Busiest() != nil || q.turns.Next() != nil {
		t.Errorf("left behind: %+v", q)
	}
	c, err := q.pool.Claim("", 1, fair.Limits{}) // only an empty pool grants it
	if err != nil || !c.Granted() {
		t.Errorf("left behind in the pool: %+v, %v", &q.pool, err)
	}
	c.Release()
}

// A sender that holds every worker loses one at once to another sender, then one more,
// until both have equally many. Preempted work continues later.
func TestWorkersAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8, 0, 0)
		var all, bs []*worker
		for range 8 {
			all = append(all, acquire(t, q, "a"))
		}
		for range 4 {
			bs = append(bs, acquire(t, q, "b"))
		}
		if _, err := q.acquire(as(t, "b")); llm.AsError(err).Code != llm.Overloaded {
			t.Errorf("a fifth of eight: %v", err)
		}
		if running, waiting := q.Stats(); running != 8 || waiting != 4 {
			t.Errorf("%d running, %d waiting", running, waiting)
		}
		cs := []*worker{acquire(t, q, "c"), acquire(t, q, "c")}
		if _, err := q.acquire(as(t, "c")); llm.AsError(err).Code != llm.Overloaded {
			t.Errorf("a third where others have three: %v", err)
		}
		for _, w := range cs {
			w.release()
		}
		resumed := make(chan bool)
		go func() { resumed <- all[7].awaitTurn(t.Context()) == nil }()
		synctest.Wait()
		for _, w := range append(bs, all[:7]...) {
			w.release()
		}
		if !<-resumed {
			t.Error("interrupted work does not go on")
		}
		all[7].release()
		q.expectEmpty(t)
	})
}

// Senders take turns with a worker that cannot be divided between them.
func TestWorkersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 10, 0)
		var wg sync.WaitGroup
		var mu sync.Mutex
		steps := map[string]int{}
		end := time.Now().Add(30 * quantum)
		for _, sender := range []string{"a", "a", "a", "b", "c"} {
			wg.Go(func() {
				w := acquire(t, q, sender)
				defer w.release()
				for time.Now().Before(end) {
					if err := w.awaitTurn(t.Context()); err != nil {
						t.Error(err)
					}
					mu.Lock()
					steps[sender]++
					mu.Unlock()
					time.Sleep(quantum / 10)
				}
			})
		}
		wg.Wait()
		for sender, n := range steps {
			if n < 90 || n > 115 {
				t.Errorf("%s: %d of 300 steps", sender, n)
			}
		}
	})
}

// If the queue is full, a sender with fewer waiting requests is admitted, and the newest
// request of the sender with the most is rejected.
func TestPlacesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 3, 0)
		first := acquire(t, q, "a")
		refused, served := make(chan int, 10), make(chan string, 10)
		enter := func(sender string, i int) {
			go func() {
				w, err := q.acquire(as(t, sender))
				if err != nil {
					refused <- i
					return
				}
				served <- sender
				w.release()
			}()
			synctest.Wait()
		}
		for i := range 3 {
			enter("a", i)
		}
		enter("a", 3)
		enter("b", 4)
		enter("b", 5) // two of each would be no better
		if x, y, z := <-refused, <-refused, <-refused; x != 3 || y != 2 || z != 5 {
			t.Errorf("refused %d, %d, %d", x, y, z)
		}
		first.release()
		if got := <-served + <-served + <-served; strings.Count(got, "b") != 1 {
			t.Errorf("served %s", got)
		}
	})
}

// A generation whose client does not read does not delay others: it releases its worker
// until the client has read.
func TestStalledWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 64, Config{Queue: NewQueue(1, 10, 0)})
		var wg sync.WaitGroup
		for i := range 8 {
			params := llm.Params{MaxTokens: new(20)}
			if i%2 == 1 {
				params.BestOf = new(2)
			}
			wg.Go(func() {
				n := 0
				for c, err := range e.Generate(as(t, "slow"), with(params)) {
					if err != nil {
						t.Error(err)
					}
					n += len(c.Text)
					time.Sleep(time.Hour)
				}
				if n != 20 {
					t.Errorf("%d characters", n)
				}
			})
		}
		for _, sender := range []string{"slow", "other"} {
			wg.Go(func() {
				begin := time.Now()
				for range 3 {
					rows, _, err := llm.Collect(e.Generate(as(t, sender), with(llm.Params{MaxTokens: new(50)})), 1)
					if err != nil || len(rows[0].Text) != 50 {
						t.Error(err, rows)
					}
				}
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("%s waited %v", sender, took)
				}
			})
		}
		wg.Wait()
		e.queue.expectEmpty(t)
	})
}

// A generation that is preempted while its client does not read gets no worker until the client has read.
func TestPreemptedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(2, 10, 0)
		a1, a2 := acquire(t, q, "a"), acquire(t, q, "a")
		a2.writing()
		b := acquire(t, q, "b") // preempts a2
		time.Sleep(2 * slowWrite)
		b.release()
		if running, waiting := q.Stats(); running != 1 || waiting != 0 {
			t.Errorf("%d run and %d wait while a client does not read", running, waiting)
		}
		a2.wrote()
		if err := a2.awaitTurn(t.Context()); err != nil {
			t.Error(err)
		}
		a2.writing()
		b = acquire(t, q, "b")
		done := make(chan error, 1)
		go func() { done <- a2.awaitTurn(t.Context()) }()
		time.Sleep(2 * slowWrite) // the timer comes too late: a2 waits for its turn
		synctest.Wait()
		if running, waiting := q.Stats(); running != 2 || waiting != 1 {
			t.Errorf("%d run and %d wait", running, waiting)
		}
		b.release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		a1.release()
		a2.release()
		q.expectEmpty(t)
	})
}

// A write that a client does not read ends if others wait for memory that its generation holds.
func TestUnreadWriteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, cuts := NewQueue(8, 10, 100), atomic.Int32{}
		w, err := q.acquire(llm.WithCut(as(t, "a"), func() { cuts.Add(1) }))
		if err == nil {
			err = w.claim(t.Context(), 40)
		}
		if err != nil {
			t.Fatal(err)
		}
		other := acquire(t, q, "b")
		if err := other.claim(t.Context(), 25); err != nil {
			t.Fatal(err)
		}
		beyond, waits := acquire(t, q, "b"), make(chan error, 1)
		ctx, leave := context.WithCancel(t.Context())
		go func() { waits <- beyond.claim(ctx, 25) }() // beyond its sender's share
		w.writing()
		time.Sleep(4 * deadWrite)
		if leave(); cuts.Load() > 0 || <-waits == nil {
			t.Errorf("%d writes were ended for nobody", cuts.Load())
		}
		beyond.release()
		second := acquire(t, q, "a")
		go func() { waits <- second.claim(t.Context(), 40) }()
		time.Sleep(2 * deadWrite)
		if w.wrote(); cuts.Load() != 1 {
			t.Errorf("%d writes were ended", cuts.Load())
		}
		time.Sleep(4 * deadWrite) // w does not write
		w.release()
		if err := <-waits; err != nil || cuts.Load() != 1 {
			t.Errorf("%v, and %d writes were ended", err, cuts.Load())
		}
		second.release()
		other.release()
		q.expectEmpty(t)
	})
}

// Another sender's request is in the next pass, however many rows a sender has.
func TestRowsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := random(t, 1024, Config{PrefixMemory: -1, Queue: NewQueue(2, 20, 0)})
		var passes atomic.Int32
		m := watchPasses(t, e, func(n int) {
			passes.Add(1)
			if n > passTokens {
				t.Errorf("a pass of %d tokens", n)
			}
			time.Sleep(time.Millisecond)
		})
		ctx, cancel := context.WithCancel(as(t, "large"))
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				req := with(llm.Params{MaxTokens: new(500), Temperature: new(1.0), Seed: new(int64(1))})
				req.N = 2 * passTokens
				for range e.Generate(ctx, req) { //nolint:revive // read to its end
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		for range 10 {
			before := passes.Load()
			rows, _, err := llm.Collect(e.Generate(as(t, "small"), with(llm.Params{MaxTokens: new(1)})), 1)
			if err != nil || len(rows[0].Text) != 1 {
				t.Error(err, rows)
			}
			if n := passes.Load() - before; n > 3 {
				t.Errorf("one token took %d passes", n)
			}
			time.Sleep(7 * time.Millisecond)
		}
		cancel()
		wg.Wait()
		m.leave()
	})
}

// A sender may claim as much memory as it leaves to others, and waits beyond that.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8, 8, 800)
		claim := func(sender string, need int64) (*worker, chan error) {
			w, done := acquire(t, q, sender), make(chan error, 1)
			go func() { done <- w.claim(t.Context(), need) }()
			synctest.Wait()
			return w, done
		}
		waits := func(done chan error) bool { return len(done) == 0 }
		a1, done1 := claim("a", 300)
		a2, done2 := claim("a", 90)
		a3, done3 := claim("a", 100) // 490 would leave 310
		a4, done4 := claim("a", 1)   // behind it
		b1, doneB := claim("b", 410) // all that is left
		c1, doneC := claim("c", 1)
		if waits(done1) || waits(done2) || !waits(done3) || !waits(done4) || waits(doneB) || !waits(doneC) {
			t.Errorf("waits: %v %v %v %v %v %v", waits(done1), waits(done2), waits(done3), waits(done4), waits(doneB), waits(doneC))
		}
		if running, waiting := q.Stats(); running != 3 || waiting != 3 {
			t.Errorf("%d run, %d wait: a generation that waits for memory needs no worker", running, waiting)
		}
		b1.release()
		synctest.Wait()
		if waits(doneC) || !waits(done3) || !waits(done4) {
			t.Error("what became free went to the wrong one")
		}
		a1.release()
		synctest.Wait()
		if waits(done3) || waits(done4) {
			t.Error("what became free is not used")
		}
		for _, w := range []*worker{a2, a3, a4, c1} {
			w.release()
		}
		q.expectEmpty(t)
	})
}

// A generation that stops waiting for memory claims none.
func TestClaimCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(2, 2, 100)
		a, b := acquire(t, q, "a"), acquire(t, q, "b")
		if err := a.claim(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.claim(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		b.release()
		a.release()
		q.expectEmpty(t)
	})
}
