package engine

import (
	"context"
	"time"

	"glossa/pkg/fair"
)

// patientWrite is how long a write to the client may take before the generation gives up
// its worker for the rest of it.
const patientWrite = 50 * time.Millisecond

// A worker is the right to compute, of one generation. Its generation alone calls its
// methods, which do nothing for a nil worker. Its other fields are the queue's, under mu.
type worker struct {
	queue *Queue
	line  *fair.Line[*worker]
	state workerState
	turn  chan struct{} // closed when the state is no longer waiting
	began time.Time     // when it ran first; zero before
	since time.Time     // when it began to run again

	claims []*fair.Claim // of memory; the generation's own
	stall  *time.Timer   // of a write that is under way; the generation's own
}

type workerState uint8

const (
	paused  workerState = iota // neither runs nor waits, as after its release
	waiting                    // in line
	running
	dropped // refused to make a place for others
)

// wait returns when w runs. Errors are those of ctx, and that of a full queue.
func (w *worker) wait(ctx context.Context) error {
	for !w.goesOn() {
		turn, err := w.place()
		if err != nil {
			return err
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// place returns what is closed when the state of w, which waited, changes.
func (w *worker) place() (turn <-chan struct{}, err error) {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if w.state == dropped {
		return nil, w.queue.full()
	}
	return w.turn, nil
}

// breathe is called between two steps. If it is another sender's turn, that sender gets
// the worker. breathe returns when w runs again; its only error is that of ctx.
func (w *worker) breathe(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.wait(ctx)
}

// goesOn reports whether w keeps running. If not, w waits in line.
func (w *worker) goesOn() bool {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch w.state {
	case running:
		if l := q.turns.Next(); l != nil && len(l.Held) < len(w.line.Held) && time.Since(w.since) >= quantum {
			q.take(w)
			q.serve(l)
		}
	case paused:
		q.await(w, 0)
		if victim := q.victim(w.line); q.running >= q.workers && victim != nil {
			q.take(victim)
		}
		q.next()
	}
	return w.state == running
}

// writing is called before a write to the client, and wrote after it. If the write takes
// long, w pauses until the next step.
func (w *worker) writing() {
	switch {
	case w == nil:
	case w.stall == nil:
		w.stall = time.AfterFunc(patientWrite, w.pause)
	default:
		w.stall.Reset(patientWrite)
	}
}

func (w *worker) wrote() {
	if w != nil {
		w.stall.Stop() // if it is too late for that, w pauses for a moment
	}
}

// pause gives the worker up until the next step, if w runs.
func (w *worker) pause() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.state == running {
		q.stop(w)
		q.next()
	}
}

// yield gives up the worker, or the place in line, until the next step.
func (w *worker) yield() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop(w)
	q.next()
}

// release gives up the worker, in any state, and the memory that it has claimed.
func (w *worker) release() {
	if w == nil {
		return
	}
	if w.stall != nil {
		w.stall.Stop()
	}
	for _, c := range w.claims {
		c.Release()
	}
	w.claims = nil
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop(w)
	if took := time.Since(w.began); !w.began.IsZero() {
		if q.mean == 0 {
			q.mean = took
		}
		q.mean += (took - q.mean) / 8
	}
	q.turns.Leave(w.line)
	q.next()
}
