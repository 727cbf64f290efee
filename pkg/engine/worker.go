package engine

import (
	"context"
	"sync/atomic"
	"time"

	"glossa/pkg/fair"
)

// slowWrite is how long a write to the client may take before the generation releases its
// worker for the rest of the write.
const slowWrite = 50 * time.Millisecond

// deadWrite is how long a write to the client may take while others wait for memory that the generation
// holds. Then it ends, see [llm.Cut].
const deadWrite = 5 * time.Second

// A worker is a generation's right to compute. Only that generation calls its methods,
// which do nothing for a nil worker. Unless stated otherwise, the queue owns its fields,
// under mu.
type worker struct {
	queue *Queue
	line  *fair.Line[*worker]
	state workerState
	turn  chan struct{} // closed when the state is no longer waiting
	began time.Time     // when it first ran; zero before
	since time.Time     // when it last began to run

	claims     []*fair.Claim // of memory; owned by the generation
	writeTimer *time.Timer   // of a write in progress; owned by the generation
	writes     atomic.Int64  // beginnings and ends of writes: odd during one
	cut        func()        // ends a write
}

type workerState uint8

const (
	paused  workerState = iota // neither runs nor waits, as after its release
	waiting                    // in line
	running
	dropped // rejected to make room for others
)

// wait returns when w runs. It fails with the error of ctx, or with that of a full queue.
func (w *worker) wait(ctx context.Context) error {
	for !w.keepsRunning() {
		turn, err := w.turnChannel()
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

// turnChannel returns the channel that is closed when the state of w, which waits,
// changes.
func (w *worker) turnChannel() (turn <-chan struct{}, err error) {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if w.state == dropped {
		return nil, w.queue.full()
	}
	return w.turn, nil
}

// awaitTurn is called between two steps. If it is another sender's turn, that sender gets
// the worker. awaitTurn returns when w runs again; its only error is that of ctx.
func (w *worker) awaitTurn(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.wait(ctx)
}

// keepsRunning reports whether w keeps running. If not, w waits in line.
func (w *worker) keepsRunning() bool {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch w.state {
	case running:
		if l := q.turns.Next(); l != nil && len(l.Held) < len(w.line.Held) && time.Since(w.since) >= quantum {
			q.preempt(w)
			q.serve(l)
		}
	case paused:
		q.enqueue(w, 0)
		if victim := q.victim(w.line); q.running >= q.workers && victim != nil {
			q.preempt(victim)
		}
		q.next()
	}
	return w.state == running
}

// writing is called before a write to the client, and wrote after it. If the write takes
// long, w pauses until the next step.
func (w *worker) writing() {
	if w == nil {
		return
	}
	if w.writes.Add(1); w.writeTimer == nil {
		w.writeTimer = time.AfterFunc(slowWrite, w.pause)
	} else {
		w.writeTimer.Reset(slowWrite)
	}
}

func (w *worker) wrote() {
	if w != nil {
		w.writeTimer.Stop() // if it is too late, w pauses for a moment
		w.writes.Add(1)
	}
}

// pause releases the worker until the next step, or leaves the line: another sender may have preempted w
// before it wrote, and a turn would be lost on it.
func (w *worker) pause() {
	w.watch()
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch w.state {
	case waiting:
		close(w.turn) // where w waits already, it gets in line again
	case paused, dropped:
		return
	}
	q.stop(w)
	q.next()
}

// watch ends the write in progress if it takes too long and others wait for memory that w holds.
func (w *worker) watch() {
	now := w.writes.Load()
	if now%2 == 0 || w.queue.memory == 0 {
		return
	}
	time.AfterFunc(deadWrite, func() {
		switch {
		case w.writes.Load() != now: // it has ended
		case w.queue.pool.Blocks(w.line.Sender):
			w.cut()
		default:
			w.watch()
		}
	})
}

// yield releases the worker, or leaves the line, until the next step.
func (w *worker) yield() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop(w)
	q.next()
}

// release releases the worker, in any state, and the memory that it has claimed.
func (w *worker) release() {
	if w == nil {
		return
	}
	if w.writeTimer != nil {
		w.writeTimer.Stop()
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
