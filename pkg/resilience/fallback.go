package resilience

import (
	"context"
	"iter"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// ModelHeader names the model that answered, of one that has fallbacks.
const ModelHeader = "X-Glossa-Model"

// another tells whether another model may do what failed with err. What is wrong with
// the request, or more than this model can do, is for its client to know: a model
// that is not the one asked for would answer another question. A panic is a fault of
// the program and is no error.
func another(err error) bool {
	switch llm.AsError(err).Code {
	case llm.Overloaded, llm.Unavailable, llm.Upstream, llm.Timeout, llm.Internal, llm.NotFound: // the provider no longer has it
		return true
	}
	return false
}

// share is how long a model that is not the last one may take until its first chunk:
// half of the time that is left, so that one that hangs leaves time for another. An
// answer that is not streamed often comes as one chunk, at its end: three quarters.
// Without a deadline there is no bound. A model that is deaf to its context is waited
// for.
func share(ctx context.Context, stream bool) (time.Duration, bool) {
	deadline, ok := ctx.Deadline()
	left := time.Until(deadline)
	if stream {
		return left / 2, ok
	}
	return left / 4 * 3, ok
}

// fallback asks the models of names, in their order, when primary fails with nothing
// to show. They are opened when it is their turn. One that cannot do what was asked is
// passed over, as the primary was the one to judge the request.
type fallback struct {
	primary *llm.Model
	names   []string
	open    func(ctx context.Context, name string) (*llm.Model, error)
}

// newFallback returns a backend that is an [llm.Invoker] if primary is one.
func newFallback(primary *llm.Model, names []string, open func(context.Context, string) (*llm.Model, error)) llm.Backend {
	f := &fallback{primary, names, open}
	if _, err := llm.As[llm.Invoker](primary); err != nil {
		return f
	}
	return invokingFallback{f}
}

// Unwrap lets [llm.As] see the capabilities of the primary.
func (f *fallback) Unwrap() llm.Backend { return f.primary }

// Generate implements [llm.Backend].
func (f *fallback) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return firstOf(ctx, f, req.Stream, func(ctx context.Context, b llm.Backend) (iter.Seq2[llm.Chunk, error], error) {
		return b.Generate(ctx, req), nil
	})
}

type invokingFallback struct{ *fallback }

// Invoke implements [llm.Invoker]. A fallback that is none is passed over.
func (f invokingFallback) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return firstOf(ctx, f.fallback, stream, func(ctx context.Context, b llm.Backend) (iter.Seq2[map[string]any, error], error) {
		invoker, err := llm.As[llm.Invoker](b)
		if err != nil {
			return nil, err
		}
		return invoker.Invoke(ctx, body, stream), nil
	})
}

// A search is one request on its way to the model that answers it.
type search[T any] struct {
	*fallback
	ctx    context.Context
	stream bool
	ask    func(context.Context, llm.Backend) (iter.Seq2[T, error], error)
	yield  func(T, error) bool
	tried  map[string]bool // by family/name; two names may be of one model
}

// firstOf returns the answer of the first model that gives one. If all fail, the error
// is that of the primary, which was asked for, with the shortest wait that any of them
// told.
func firstOf[T any](ctx context.Context, f *fallback, stream bool, ask func(context.Context, llm.Backend) (iter.Seq2[T, error], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s := &search[T]{f, ctx, stream, ask, yield, map[string]bool{}}
		if err := s.run(); err != nil {
			var none T
			yield(none, err)
		}
	}
}

// run returns nil if an answer was given out, whole or in part.
func (s *search[T]) run() error {
	rec := httpx.RecordOf(s.ctx)
	first := s.turn(s.primary.Name, func(context.Context) (*llm.Model, error) { return s.primary, nil }, len(s.names) == 0)
	if first == nil || s.ctx.Err() != nil || !another(first) {
		return first
	}
	e := llm.AsError(first)
	rec.Fallbacks = append(rec.Fallbacks, s.primary.Name+": "+string(e.Code))
	wait := e.RetryAfter
	for i, name := range s.names {
		open := func(ctx context.Context) (*llm.Model, error) { return s.open(ctx, name) }
		err := s.turn(name, open, i == len(s.names)-1)
		if err == nil {
			return nil
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		next := llm.AsError(err)
		rec.Fallbacks = append(rec.Fallbacks, name+": "+string(next.Code))
		if next.RetryAfter > 0 && (wait == 0 || next.RetryAfter < wait) {
			wait = next.RetryAfter
		}
	}
	if wait == e.RetryAfter {
		return first
	}
	told := *e
	told.RetryAfter = wait
	return &told
}

// turn asks one model. An error means that nothing was given out.
func (s *search[T]) turn(name string, open func(context.Context) (*llm.Model, error), last bool) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	late := func() bool { return false } // may be asked once
	if limit, ok := share(s.ctx, s.stream); ok && !last {
		timer := time.AfterFunc(limit, cancel)
		defer timer.Stop()
		late = func() bool { return !timer.Stop() }
	}
	model, seq, err := s.start(ctx, open)
	if err == nil {
		var shown bool
		if shown, err = s.give(model, seq, late); shown {
			return nil
		}
	} else if late() {
		err = tooSlow()
	}
	return err
}

// start opens a model and has it begin.
func (s *search[T]) start(ctx context.Context, open func(context.Context) (*llm.Model, error)) (*llm.Model, iter.Seq2[T, error], error) {
	model, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	key := model.Family + "/" + model.Name
	if s.tried[key] {
		return nil, nil, llm.Errorf(llm.Internal, "the record names a model twice")
	}
	s.tried[key] = true
	seq, err := s.ask(ctx, model)
	return model, seq, err
}

// give passes an answer on. Before its first chunk, and never after it, it may turn out
// to be none. Events without keys are no beginning: they come with the first that has some.
func (s *search[T]) give(model *llm.Model, seq iter.Seq2[T, error], late func() bool) (shown bool, err error) {
	var held []T
	for v, err := range seq {
		if !shown {
			if keys, ok := any(v).(map[string]any); ok && s.stream && err == nil && len(keys) == 0 {
				held = append(held, v)
				continue
			}
			switch {
			case late():
				s.charge(v)
				return false, tooSlow()
			case err != nil:
				return false, err
			}
			shown = true
			s.note(model)
			for _, before := range held {
				if !s.yield(before, nil) {
					return true, nil
				}
			}
		}
		if !s.yield(v, err) {
			return true, nil
		}
	}
	switch {
	case shown:
		return true, nil
	case late():
		return false, tooSlow()
	}
	return false, llm.Errorf(llm.Upstream, "the model gave no answer")
}

// charge counts what a chunk that is not given out tells of tokens: they are paid for.
func (s *search[T]) charge(v T) {
	if c, ok := any(v).(llm.Chunk); ok && c.Usage != nil {
		httpx.RecordOf(s.ctx).Count(*c.Usage)
	}
}

// note tells who answers, before the first byte does.
func (s *search[T]) note(model *llm.Model) {
	rec := httpx.RecordOf(s.ctx)
	rec.Model, rec.Family = model.Name, model.Family
	rec.Header.Set(ModelHeader, model.Name)
}

func tooSlow() error {
	return llm.Errorf(llm.Timeout, "the model gave nothing in its share of the time")
}
