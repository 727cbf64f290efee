package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/llm"
)

// A run is a request in progress: workers run rows and send chunks, and do yields
// them. The workers end before do returns. A single row needs no worker.
type run struct {
	backend *Backend
	rows    []row
	next    atomic.Int64 // the next row without a worker
	open    int          // rows that have not ended
	out     chan event
	stopped chan struct{} // closed when no one receives from out any more

	input   int  // tokens of the prompts of all calls, as the provider bills them
	output  int  // tokens of all rows
	thought int  // how many of them are reasoning
	cached  int  // how many of input the provider read from its cache
	partial bool // some usage was not reported
	yielded bool // a chunk was yielded
}

// An event is a chunk, an error or a panic of a worker.
type event struct {
	chunk llm.Chunk
	err   error
	panic any
}

// do runs the rows. A row's last chunk carries the row's usage, and the last of all
// that of the request.
func (r *run) do(ctx context.Context, yield func(llm.Chunk, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.open = len(r.rows); r.open == 1 {
		r.complete(ctx, &r.rows[0], func(e event) bool { return r.yield(e, yield) })
		return
	}
	r.out, r.stopped = make(chan event), make(chan struct{})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(r.stopped)
	defer cancel()
	for range min(r.backend.model.Rows, len(r.rows)) {
		workers.Go(func() { r.work(ctx) })
	}
	for r.open > 0 {
		e := <-r.out
		if e.panic != nil {
			panic(e.panic) // here the caller can recover from it
		}
		if !r.yield(e, yield) {
			return
		}
	}
}

// yield yields a row's event. It returns false if the caller wants no more.
func (r *run) yield(e event, yield func(llm.Chunk, error) bool) bool {
	if e.chunk.Finish != "" {
		r.open--
		r.count(&e.chunk, r.open == 0)
	}
	if e.chunk.Finish == llm.FinishDeadline && e.chunk.Reasoning == "" && e.chunk.Text == "" && e.chunk.Calls == nil && !r.yielded {
		e = event{err: outOfTime()}
	}
	if e.err != nil {
		yield(llm.Chunk{}, e.err)
		return false
	}
	r.yielded = true
	return yield(e.chunk, nil)
}

func outOfTime() error {
	return &llm.Error{Code: llm.Timeout, Message: "the deadline passed before the model answered", Err: context.DeadlineExceeded}
}

// count adds the usage of a row.
func (r *run) count(c *llm.Chunk, last bool) {
	r.input += c.Usage.Input
	r.output += c.Usage.Output
	r.thought += c.Usage.Reasoning
	r.cached += c.Usage.Cached
	r.partial = r.partial || c.Usage.Partial
	c.Usage = nil
	if last {
		c.Usage = &llm.Usage{Input: r.input, Cached: r.cached, Output: r.output, Reasoning: r.thought, Partial: r.partial}
	}
}

// work runs rows until none are left.
func (r *run) work(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			r.send(event{panic: p})
		}
	}()
	for {
		i := int(r.next.Add(1)) - 1
		if i >= len(r.rows) || !r.complete(ctx, &r.rows[i], r.send) {
			return
		}
	}
}

func (r *run) send(e event) bool {
	select {
	case r.out <- e:
		return true
	case <-r.stopped:
		return false
	}
}

// complete runs one row and sends its chunks. It returns false if the caller wants no
// more.
func (r *run) complete(ctx context.Context, row *row, send func(event) bool) bool {
	c := newCompletion(row)
	why := ended(ctx)
	if row.none && why == "" {
		c.chunk.Text, c.output = row.take(), new(0)
		why = llm.FinishLength
	}
	if why != "" {
		return send(event{chunk: c.end(why)})
	}
	call := row.call
	if row.seeded != nil {
		var err error
		if call, err = row.seeded(); err != nil {
			return send(event{err: err})
		}
	}
	for a, err := range r.backend.answers(ctx, call) {
		if err == nil {
			if !echo(row, send) {
				return false
			}
			err = c.add(a)
		}
		if err != nil {
			if why = ended(ctx); why == "" {
				return send(event{err: err})
			}
			break
		}
		if chunk, ok := c.ready(); ok && !send(event{chunk: chunk}) {
			return false
		}
	}
	return send(event{chunk: c.end(why)})
}

// echo sends the echo of a streamed row first, once the model answers.
func echo(row *row, send func(event) bool) bool {
	return !row.stream || row.echo == "" || send(event{chunk: llm.Chunk{Row: row.index, Text: row.take()}})
}

// ended returns the reason why ctx ended, "" if it did not. A connection may hit the
// deadline a moment before ctx reports it.
func ended(ctx context.Context) llm.Finish {
	deadline, ok := ctx.Deadline()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), ctx.Err() == nil && ok && time.Until(deadline) <= 0:
		return llm.FinishDeadline
	case ctx.Err() != nil:
		return llm.FinishCancelled
	}
	return ""
}
