package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/llm"
)

// A run is one request on its way: workers take rows and send chunks, do gives them
// out. The workers end before do does. A single row needs no worker.
type run struct {
	backend *Backend
	rows    []row
	next    atomic.Int64 // row that no worker has taken
	open    int          // rows that have not ended
	out     chan event
	left    chan struct{} // closed when nobody takes from out any more

	input  []int // tokens of each prompt
	output int   // tokens of all rows
	less   bool  // than all of them was told
	shown  bool  // something was given out
}

// An event is a chunk, an error or a panic of a worker.
type event struct {
	chunk llm.Chunk
	err   error
	panic any
}

// do runs the rows. A row's last chunk comes with its usage, the last of all goes out
// with that of the request.
func (r *run) do(ctx context.Context, yield func(llm.Chunk, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.open = len(r.rows); r.open == 1 {
		r.complete(ctx, &r.rows[0], func(e event) bool { return r.give(e, yield) })
		return
	}
	r.out, r.left = make(chan event), make(chan struct{})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(r.left)
	defer cancel()
	for range min(r.backend.model.Rows, len(r.rows)) {
		workers.Go(func() { r.work(ctx) })
	}
	for r.open > 0 {
		e := <-r.out
		if e.panic != nil {
			panic(e.panic) // where it can be recovered from
		}
		if !r.give(e, yield) {
			return
		}
	}
}

// give gives out what a row has sent. It returns false if nothing more is wanted.
func (r *run) give(e event, yield func(llm.Chunk, error) bool) bool {
	if e.chunk.Finish != "" {
		r.open--
		r.count(&e.chunk, r.open == 0)
	}
	if e.chunk.Finish == llm.FinishDeadline && e.chunk.Text == "" && e.chunk.Calls == nil && !r.shown {
		e = event{err: outOfTime()}
	}
	if e.err != nil {
		yield(llm.Chunk{}, e.err)
		return false
	}
	r.shown = true
	return yield(e.chunk, nil)
}

func outOfTime() error {
	return &llm.Error{Code: llm.Timeout, Message: "the deadline passed before the model answered", Err: context.DeadlineExceeded}
}

// count adds the usage of a row.
func (r *run) count(c *llm.Chunk, last bool) {
	prompt := r.rows[c.Row].prompt
	r.input[prompt] = max(r.input[prompt], c.Usage.Input)
	r.output += c.Usage.Output
	r.less = r.less || c.Usage.Partial
	c.Usage = nil
	if last {
		c.Usage = &llm.Usage{Output: r.output, Partial: r.less}
		for _, n := range r.input {
			c.Usage.Input += n
		}
	}
}

// work runs rows until there are none.
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
	case <-r.left:
		return false
	}
}

// complete runs one row, whose chunks go to send. It returns false if nothing more is
// wanted.
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
	for a, err := range r.backend.answers(ctx, row.call) {
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

// echo begins a row that is streamed with its echo, once the model answers.
func echo(row *row, send func(event) bool) bool {
	return !row.stream || row.echo == "" || send(event{chunk: llm.Chunk{Row: row.index, Text: row.take()}})
}

// ended is why ctx ended, "" if it did not. A connection can be closed for its deadline
// a moment before ctx says so.
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
