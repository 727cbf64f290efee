package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// A Queue bounds the generations of a process: some run, some wait first in,
// first out, and the rest are refused at once.
type Queue struct {
	workers, places int

	mu      sync.Mutex
	running int
	waiting []chan struct{} // closed when a worker is handed over
	mean    time.Duration   // of a generation, a moving average
}

// NewQueue returns a queue of that many workers and places to wait, at least one
// worker.
func NewQueue(workers, waiting int) *Queue {
	return &Queue{workers: max(1, workers), places: max(0, waiting)}
}

// Stats returns how many generations run and wait.
func (q *Queue) Stats() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, len(q.waiting)
}

// acquire waits for a worker. The caller calls release once when it is done.
func (q *Queue) acquire(ctx context.Context) (release func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	turn, err := q.enter()
	if err != nil {
		return nil, err
	}
	if turn != nil {
		select {
		case <-turn:
		case <-ctx.Done():
			q.leave(turn)
			return nil, ctx.Err()
		}
	}
	begin := time.Now()
	return func() { q.done(time.Since(begin)) }, nil
}

// enter takes a worker, or a place in the line whose channel it returns.
func (q *Queue) enter() (turn chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running < q.workers {
		q.running++
		return nil, nil
	}
	if len(q.waiting) >= q.places {
		wait := q.mean * time.Duration(len(q.waiting)+1) / time.Duration(q.workers)
		return nil, &llm.Error{
			Code: llm.Overloaded, Message: "too many generations at once: try again later",
			RetryAfter: min(max(wait, time.Second), time.Minute),
		}
	}
	turn = make(chan struct{})
	q.waiting = append(q.waiting, turn)
	return turn, nil
}

// leave gives up a place in the line, or the worker that came at the same moment.
func (q *Queue) leave(turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, turn); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	q.next()
}

// done gives the worker back after a generation that took d.
func (q *Queue) done(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mean == 0 {
		q.mean = d
	}
	q.mean += (d - q.mean) / 8
	q.next()
}

// next hands a free worker to the head of the line; q.mu is held.
func (q *Queue) next() {
	if len(q.waiting) == 0 {
		q.running--
		return
	}
	close(q.waiting[0])
	q.waiting = slices.Delete(q.waiting, 0, 1)
}
