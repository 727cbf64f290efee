package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// quantum is how long a generation keeps its worker while another sender, who has
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

	mu        sync.Mutex
	running   int              // workers held
	waiting   int              // workers that have not run yet
	lines     map[string]*line // by sender; only those with open generations
	turns     []*line          // lines with waiting workers, the least recently served first
	claimed   int64            // bytes
	claimants []*claimant      // first in, first out
	mean      time.Duration    // of a generation, a moving average
}

// A line is what one sender has in a queue.
type line struct {
	sender  string
	open    int       // generations that have not ended
	held    []*worker // that run, the newest last
	waiting []*worker // interrupted ones first, then in the order of arrival
	claimed int64     // bytes
}

// NewQueue returns a queue with at least one worker and with places to wait, whose
// generations may together claim memory bytes; 0 means no bound.
func NewQueue(workers, waiting int, memory int64) *Queue {
	return &Queue{workers: max(1, workers), places: max(0, waiting), memory: memory, lines: map[string]*line{}}
}

// Stats returns how many generations run and wait.
func (q *Queue) Stats() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turns {
		waiting += len(l.waiting)
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
	l := q.lines[sender]
	if l == nil {
		l = &line{sender: sender}
	}
	w := &worker{queue: q, line: l}
	victim := q.victim(l)
	switch {
	case l.open >= q.workers+q.places:
		return nil, q.full()
	case q.running < q.workers:
		q.give(w)
	case victim != nil:
		q.take(victim)
		q.give(w)
	case q.waiting < q.places || q.drop(l):
		q.waiting++
		q.await(w, len(l.waiting))
	default:
		return nil, q.full()
	}
	l.open++
	q.lines[sender] = l
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
func (q *Queue) drop(l *line) bool {
	longest := l
	for _, other := range q.turns {
		if other.fresh() > longest.fresh() {
			longest = other
		}
	}
	if longest.fresh() <= l.fresh()+1 {
		return false
	}
	w := longest.waiting[len(longest.waiting)-1]
	q.forget(w)
	w.state = dropped
	close(w.turn)
	return true
}

// fresh returns how many workers of l have not run yet.
func (l *line) fresh() (n int) {
	for _, w := range l.waiting {
		if w.began.IsZero() {
			n++
		}
	}
	return n
}

// victim returns the worker that l may take at once, nil if there is none.
func (q *Queue) victim(l *line) *worker {
	var most *line
	for _, other := range q.lines {
		if most == nil || len(other.held) > len(most.held) {
			most = other
		}
	}
	if most == nil || len(most.held) < len(l.held)+2 {
		return nil
	}
	return most.held[len(most.held)-1]
}

// neediest returns the line whose turn is next: among those that hold the fewest workers,
// the least recently served. It returns nil if nobody waits.
func (q *Queue) neediest() *line {
	if len(q.turns) == 0 {
		return nil
	}
	return slices.MinFunc(q.turns, func(a, b *line) int { return cmp.Compare(len(a.held), len(b.held)) })
}

// next hands out the workers that are free.
func (q *Queue) next() {
	for q.running < q.workers && len(q.turns) > 0 {
		q.serve(q.neediest())
	}
}

// serve gives the head of l a worker, and l the last turn.
func (q *Queue) serve(l *line) {
	w := l.waiting[0]
	q.forget(w)
	q.give(w)
	if i := slices.Index(q.turns, l); i >= 0 {
		q.turns = append(slices.Delete(q.turns, i, i+1), l)
	}
}

// give makes w run.
func (q *Queue) give(w *worker) {
	q.running++
	w.line.held = append(w.line.held, w)
	w.state, w.since = running, time.Now()
	if w.began.IsZero() {
		w.began = w.since
	}
	if w.turn != nil {
		close(w.turn)
	}
}

// take makes w, which runs, wait at the head of its line.
func (q *Queue) take(w *worker) {
	q.stop(w)
	q.await(w, 0)
}

// stop makes w, which runs, neither run nor wait.
func (q *Queue) stop(w *worker) {
	q.running--
	w.state = paused
	w.line.held = slices.DeleteFunc(w.line.held, func(other *worker) bool { return other == w })
}

// await puts w into its line.
func (q *Queue) await(w *worker, at int) {
	w.state, w.turn = waiting, make(chan struct{})
	if len(w.line.waiting) == 0 {
		q.turns = append(q.turns, w.line)
	}
	w.line.waiting = slices.Insert(w.line.waiting, at, w)
}

// forget takes w out of its line.
func (q *Queue) forget(w *worker) {
	if w.began.IsZero() {
		q.waiting--
	}
	l := w.line
	l.waiting = slices.DeleteFunc(l.waiting, func(other *worker) bool { return other == w })
	if len(l.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(other *line) bool { return other == l })
	}
}
