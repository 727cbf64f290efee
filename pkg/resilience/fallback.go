package resilience

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// ModelHeader names the model that answered, if the requested model has fallbacks.
const ModelHeader = "X-Glossa-Model"

// mayFallBack reports whether another model may succeed after err. A client must learn that
// its request is wrong, or exceeds this model's abilities: another model would answer
// another question. A panic is a bug and not an error.
func mayFallBack(err error) bool {
	switch llm.AsError(err).Code {
	case llm.Overloaded, llm.Unavailable, llm.Upstream, llm.Timeout, llm.Internal, llm.NotFound: // the provider no longer has it
		return true
	}
	return false
}

// share returns the time that a model, other than the last, may take until its first piece:
// half of the time left, so that a model that hangs leaves time for the next. An answer
// that is not streamed often comes in one piece, at its end: it gets three quarters.
// Without a deadline there is no limit. A model that ignores its context delays the next
// one.
func share(ctx context.Context, stream bool) (time.Duration, bool) {
	deadline, ok := ctx.Deadline()
	left := time.Until(deadline)
	if stream {
		return left / 2, ok
	}
	return left / 4 * 3, ok
}

// fallback calls the models in names, in their order, when the model fails before its
// answer has begun. Each is opened when its turn comes. A model that does not support the
// request is skipped: the first model has already judged the request. Each opened model has
// its own fallback, and so has each request.
type fallback struct {
	names []string
	open  func(ctx context.Context, name string) (*llm.Model, error)

	mu sync.Mutex
	// chosen is the position of the model that gave the first answer which is not a text,
	// counted from 1; 0: none yet. The vectors and scores of one request are compared with
	// each other, so they must come from one model.
	chosen int
}

// Intercept implements [intercept.Interceptor].
func (f *fallback) Intercept(ctx context.Context, call *intercept.Call, next intercept.Next) iter.Seq2[intercept.Piece, error] {
	if call.Free || hasTokens(call) { // it concerns this model only
		return next(ctx, call)
	}
	return func(yield func(intercept.Piece, error) bool) {
		s := &search{f, ctx, call, next, yield, map[string]bool{}}
		if err := s.run(); err != nil {
			yield(intercept.Piece{}, err)
		}
	}
}

// hasTokens reports whether call asks for vectors or scores of token ids, which mean
// other texts to another model.
func hasTokens(call *intercept.Call) bool {
	var prompts []llm.Prompt
	switch req := call.Request.(type) {
	case *llm.EmbedRequest:
		prompts = req.Prompts
	case *llm.ScoreRequest:
		prompts = []llm.Prompt{req.Prompt}
	}
	return slices.ContainsFunc(prompts, func(p llm.Prompt) bool {
		return slices.ContainsFunc(p.Parts, func(part llm.Part) bool { return part.Tokens != nil })
	})
}

// A search is one call in search of a model that answers it.
type search struct {
	*fallback
	ctx   context.Context
	call  *intercept.Call
	next  intercept.Next
	yield func(intercept.Piece, error) bool
	tried map[string]bool // by family/name; two names may belong to one model
}

// run yields the answer of the first model that gives one, whole or in part, and returns
// nil. If all fail, it returns the error of the requested model, with the shortest wait
// of all errors.
func (s *search) run() error {
	if place := s.place(); place > 0 {
		return s.attempt(place-1, true)
	}
	first := s.attempt(0, len(s.names) == 0)
	if first == nil || s.ctx.Err() != nil || !mayFallBack(first) {
		return first
	}
	rec, e := httpx.RecordOf(s.ctx), llm.AsError(first)
	failed(rec, s.call.Model.Name, e)
	wait := e.RetryAfter
	for i, name := range s.names {
		err := s.attempt(i+1, i == len(s.names)-1)
		if err == nil {
			return nil
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		next := llm.AsError(err)
		failed(rec, name, next)
		if next.RetryAfter > 0 && (wait == 0 || next.RetryAfter < wait) {
			wait = next.RetryAfter
		}
	}
	if wait == e.RetryAfter {
		return first
	}
	sooner := *e
	sooner.RetryAfter = wait
	return &sooner
}

// failed records that a model failed, once for all calls of a request with the same error.
func failed(rec *httpx.Record, name string, e *llm.Error) {
	if line := name + ": " + string(e.Code); !slices.Contains(rec.Fallbacks, line) {
		rec.Fallbacks = append(rec.Fallbacks, line)
	}
}

// place returns the position of the model that must answer, counted from 1; 0: any may.
func (s *search) place() int {
	if s.texts() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chosen
}

// choose makes the model i give all further answers that are not texts.
func (s *search) choose(i int) {
	if s.texts() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chosen = i + 1
}

// texts reports whether the answer is a text: texts are not compared with each other.
func (s *search) texts() bool {
	switch s.call.Request.(type) {
	case *llm.Request, *intercept.Invocation, *llm.TranslateRequest:
		return true
	}
	return false
}

// start opens the model i, the requested one or the fallback i-1, and returns its
// answer.
func (s *search) start(ctx context.Context, i int) (*llm.ModelInfo, iter.Seq2[intercept.Piece, error], error) {
	if i == 0 {
		return s.call.Model, s.next(ctx, s.call), nil
	}
	model, err := s.open(ctx, s.names[i-1])
	if err != nil {
		return nil, nil, err
	}
	call, _ := s.without(&model.ModelInfo)
	return &model.ModelInfo, intercept.Ask(ctx, model, call), nil
}

// without returns the call that a model gets, and the key that it lacks; "": it is the whole call.
func (s *search) without(model *llm.ModelInfo) (call *intercept.Call, key string) {
	req, ok := s.call.Request.(*llm.Request)
	if !ok || !req.IgnoresEffort(model) {
		return s.call, ""
	}
	other := *req
	other.Effort = nil
	return s.call.With(&other), req.OptionalEffort
}

// attempt calls the model i. An error means that nothing was yielded.
func (s *search) attempt(i int, last bool) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	late := func() bool { return false } // may be called once
	if limit, ok := share(s.ctx, s.call.Streams()); ok && !last {
		timer := time.AfterFunc(limit, cancel)
		defer timer.Stop()
		late = func() bool { return !timer.Stop() }
	}
	model, seq, err := s.start(ctx, i)
	if err != nil {
		if late() {
			err = tooSlow()
		}
		return err
	}
	key := model.Family + "/" + model.Name
	if s.tried[key] {
		return llm.Errorf(llm.Internal, "the record names a model twice")
	}
	s.tried[key] = true
	if shown, err := s.forward(model, seq, late); !shown {
		return err
	}
	s.choose(i)
	return nil
}

// forward yields an answer. Before its first piece, but never after it, the model may turn
// out to have none. Events without keys do not begin an answer: they are yielded with the
// first piece that has some.
func (s *search) forward(model *llm.ModelInfo, seq iter.Seq2[intercept.Piece, error], late func() bool) (shown bool, err error) {
	var held []intercept.Piece
	_, keys := s.call.Request.(*intercept.Invocation)
	for p, err := range seq {
		if !shown {
			if keys && s.call.Streams() && err == nil && len(p.Keys) == 0 {
				held = append(held, p)
				continue
			}
			if late() {
				err = tooSlow()
			}
			if err != nil {
				s.charge(p)
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
		if !s.yield(p, err) {
			return true, nil
		}
	}
	switch {
	case shown:
		return true, nil
	case late():
		return false, tooSlow()
	}
	return false, llm.Errorf(llm.Upstream, "the model returned no answer")
}

// charge counts the tokens of a piece that is dropped: they must be paid for.
func (s *search) charge(p intercept.Piece) {
	if p.Usage != nil {
		httpx.RecordOf(s.ctx).Count(*p.Usage)
	}
}

// note records the model that answers, before the first byte of the answer.
func (s *search) note(model *llm.ModelInfo) {
	rec := httpx.RecordOf(s.ctx)
	rec.Model, rec.Family = model.Name, model.Family
	_, ignored := s.without(model)
	rec.SetHeader(func(h http.Header) {
		h.Set(ModelHeader, model.Name)
		if ignored != "" {
			httpx.Ignore(h, ignored)
		}
	})
}

func tooSlow() error {
	return llm.Errorf(llm.Timeout, "the model returned nothing in its share of the time")
}
