package engine

import (
	"context"
	"sync"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// quantum is how long a generation keeps its worker while a sender with fewer workers
// waits for one.
const quantum = 200 * time.Millisecond

// A Queue shares the workers and the memory of a process between the senders of
// generations, so that no sender delays another. Each sender has its own line, first in,
// first out. A free worker goes to the sender that holds the fewest. A sender that holds
// at least two fewer than another preempts one of the other's at once; one that holds one
// fewer takes turns with it. A preempted generation keeps what it has computed and waits
// at the head of its sender's line.
type Queue struct {
	workers, maxWaiting int
	memory              int64 // bytes that generations may claim together; 0: unbounded
	pool                fair.Pool

	mu      sync.Mutex
	running int // workers held
	waiting int // workers that have not run yet
	claims  int // of memory, for which workers have paused
	turns   fair.Turns[*worker]
	mean    time.Duration // of a generation, a moving average
}

// NewQueue returns a queue of at least one worker and the given number of waiting
// generations. Together they may claim memory bytes; 0 means no bound.
func NewQueue(workers, waiting int, memory int64) *Queue {
	return &Queue{workers: max(1, workers), maxWaiting: max(0, waiting), memory: memory}
}

// Stats returns the numbers of generations that run, and of those that wait for a worker or for
// memory.
func (q *Queue) Stats() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting = q.claims
	for _, l := range q.turns.Waiting() {
		waiting += len(l.Waiting)
	}
	return q.running, waiting
}

// acquire waits for a worker for the sender of ctx. The caller calls release once when it
// is done. A nil Queue is unbounded and returns a nil worker.
func (q *Queue) acquire(ctx context.Context) (*worker, error) {
	if q == nil {
		llm.Started(ctx)
		return nil, nil
	}
	w, err := q.enter(llm.SenderOf(ctx))
	if err != nil {
		return nil, err
	}
	w.cut = func() { llm.Cut(ctx) }
	if err := w.wait(ctx); err != nil {
		w.release()
		return nil, err
	}
	llm.Started(ctx)
	return w, nil
}

// enter returns a worker of the sender that runs or waits.
func (q *Queue) enter(sender string) (*worker, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.turns.Enter(sender)
	w := &worker{queue: q, line: l}
	victim := q.victim(l)
	switch {
	case l.Open > q.workers+q.maxWaiting:
		q.turns.Leave(l)
		return nil, q.full()
	case q.running < q.workers:
		q.grant(w)
	case victim != nil:
		q.preempt(victim)
		q.grant(w)
	case q.waiting < q.maxWaiting || q.drop(l):
		q.waiting++
		q.enqueue(w, len(l.Waiting))
	default:
		q.turns.Leave(l)
		return nil, q.full()
	}
	return w, nil
}

// full returns the error for a request that the queue has no room for.
func (q *Queue) full() error {
	wait := q.mean * time.Duration(q.waiting+1) / time.Duration(q.workers)
	return &llm.Error{
		Code: llm.Overloaded, Message: "too many generations at once: try again later",
		RetryAfter: min(max(wait, time.Second), time.Minute),
	}
}

// drop makes room for l if another line has more workers that have not run yet than l
// will have. It rejects the newest of the longest line.
func (q *Queue) drop(l *fair.Line[*worker]) bool {
	longest := l
	for _, other := range q.turns.Waiting() {
		if unstarted(other) > unstarted(longest) {
			longest = other
		}
	}
	if unstarted(longest) <= unstarted(l)+1 {
		return false
	}
	w := longest.Waiting[len(longest.Waiting)-1]
	q.stop(w)
	w.state = dropped
	close(w.turn)
	return true
}

// unstarted returns how many waiting workers of l have not run yet.
func unstarted(l *fair.Line[*worker]) (n int) {
	for _, w := range l.Waiting {
		if w.began.IsZero() {
			n++
		}
	}
	return n
}

// victim returns the worker that l may preempt at once, nil if there is none.
func (q *Queue) victim(l *fair.Line[*worker]) *worker {
	most := q.turns.Busiest()
	if most == nil || len(most.Held) < len(l.Held)+2 {
		return nil
	}
	return most.Held[len(most.Held)-1]
}

// next assigns the free workers.
func (q *Queue) next() {
	for l := q.turns.Next(); l != nil && q.running < q.workers; l = q.turns.Next() {
		q.serve(l)
	}
}

// serve gives a worker to the head of l, which then has the last turn.
func (q *Queue) serve(l *fair.Line[*worker]) {
	w := q.turns.Serve(l)
	if w.began.IsZero() {
		q.waiting--
	}
	q.start(w)
	close(w.turn)
}

// grant makes w, which does not wait, run.
func (q *Queue) grant(w *worker) {
	q.turns.Hold(w.line, w)
	q.start(w)
}

// start marks w, which holds a turn, as running.
func (q *Queue) start(w *worker) {
	q.running++
	w.state, w.since = running, time.Now()
	if w.began.IsZero() {
		w.began = w.since
	}
}

// preempt moves w, which runs, to the head of its line.
func (q *Queue) preempt(w *worker) {
	q.stop(w)
	q.enqueue(w, 0)
}

// stop makes w neither run nor wait.
func (q *Queue) stop(w *worker) {
	switch w.state {
	case running:
		q.running--
		q.turns.Free(w.line, w)
	case waiting:
		if w.began.IsZero() {
			q.waiting--
		}
		q.turns.Cancel(w.line, w)
	}
	w.state = paused
}

// enqueue puts w into its line at index at.
func (q *Queue) enqueue(w *worker, at int) {
	w.state, w.turn = waiting, make(chan struct{})
	q.turns.Wait(w.line, w, at)
}
