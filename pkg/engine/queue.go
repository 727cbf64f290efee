package engine

import (
	"context"
	"sync"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// quantum is how long a generation keeps its worker while another sender, which has
// fewer, waits for one.
const quantum = 200 * time.Millisecond

// A Queue shares the workers and the memory of a process between the senders of
// generations, so that no sender delays another. Each sender has its own line, first in,
// first out. A free worker goes to the sender that holds the fewest. A sender that holds
// at least two fewer than another takes one of the other's at once; one that holds one
// fewer takes turns with it. A generation that loses its worker keeps what it has
// computed and waits at the head of its sender's line.
type Queue struct {
	workers, places int
	memory          int64 // bytes that generations may claim together; 0: unbounded
	pool            fair.Pool

	mu      sync.Mutex
	running int // workers held
	waiting int // workers that have not run yet
	turns   fair.Turns[*worker]
	mean    time.Duration // of a generation, a moving average
}

// NewQueue returns a queue with at least one worker and with places to wait, whose
// generations may together claim memory bytes; 0 means no bound.
func NewQueue(workers, waiting int, memory int64) *Queue {
	return &Queue{workers: max(1, workers), places: max(0, waiting), memory: memory}
}

// Stats returns how many generations run and wait.
func (q *Queue) Stats() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turns.Waiting() {
		waiting += len(l.Waiting)
	}
	return q.running, waiting
}

// acquire waits for a worker for the sender of ctx. The caller calls release once when
// it is done. A nil Queue is unbounded and gives a nil worker.
func (q *Queue) acquire(ctx context.Context) (*worker, error) {
	if q == nil {
		return nil, nil
	}
	w, err := q.enter(llm.SenderOf(ctx))
	if err != nil {
		return nil, err
	}
	if err := w.wait(ctx); err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// enter gives a sender a worker that runs or waits.
func (q *Queue) enter(sender string) (*worker, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.turns.Enter(sender)
	w := &worker{queue: q, line: l}
	victim := q.victim(l)
	switch {
	case l.Open > q.workers+q.places:
		q.turns.Leave(l)
		return nil, q.full()
	case q.running < q.workers:
		q.give(w)
	case victim != nil:
		q.take(victim)
		q.give(w)
	case q.waiting < q.places || q.drop(l):
		q.waiting++
		q.await(w, len(l.Waiting))
	default:
		q.turns.Leave(l)
		return nil, q.full()
	}
	return w, nil
}

// full is the error for a request that finds no place.
func (q *Queue) full() error {
	wait := q.mean * time.Duration(q.waiting+1) / time.Duration(q.workers)
	return &llm.Error{
		Code: llm.Overloaded, Message: "too many generations at once: try again later",
		RetryAfter: min(max(wait, time.Second), time.Minute),
	}
}

// drop makes a place for l if another line has more workers that have not run yet than l
// will have. It refuses the newest of the longest line.
func (q *Queue) drop(l *fair.Line[*worker]) bool {
	longest := l
	for _, other := range q.turns.Waiting() {
		if fresh(other) > fresh(longest) {
			longest = other
		}
	}
	if fresh(longest) <= fresh(l)+1 {
		return false
	}
	w := longest.Waiting[len(longest.Waiting)-1]
	q.stop(w)
	w.state = dropped
	close(w.turn)
	return true
}

// fresh returns how many workers of l have not run yet.
func fresh(l *fair.Line[*worker]) (n int) {
	for _, w := range l.Waiting {
		if w.began.IsZero() {
			n++
		}
	}
	return n
}

// victim returns the worker that l may take at once, nil if there is none.
func (q *Queue) victim(l *fair.Line[*worker]) *worker {
	most := q.turns.Richest()
	if most == nil || len(most.Held) < len(l.Held)+2 {
		return nil
	}
	return most.Held[len(most.Held)-1]
}

// next hands out the workers that are free.
func (q *Queue) next() {
	for l := q.turns.Next(); l != nil && q.running < q.workers; l = q.turns.Next() {
		q.serve(l)
	}
}

// serve gives the head of l a worker, and l the last turn.
func (q *Queue) serve(l *fair.Line[*worker]) {
	w := q.turns.Serve(l)
	if w.began.IsZero() {
		q.waiting--
	}
	q.start(w)
	close(w.turn)
}

// give makes w, which does not wait, run.
func (q *Queue) give(w *worker) {
	q.turns.Hold(w.line, w)
	q.start(w)
}

// start notes that w, which holds a turn, runs from now on.
func (q *Queue) start(w *worker) {
	q.running++
	w.state, w.since = running, time.Now()
	if w.began.IsZero() {
		w.began = w.since
	}
}

// take makes w, which runs, wait at the head of its line.
func (q *Queue) take(w *worker) {
	q.stop(w)
	q.await(w, 0)
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
		q.turns.Forget(w.line, w)
	}
	w.state = paused
}

// await puts w into its line.
func (q *Queue) await(w *worker, at int) {
	w.state, w.turn = waiting, make(chan struct{})
	q.turns.Wait(w.line, w, at)
}
