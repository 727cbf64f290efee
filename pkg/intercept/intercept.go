// Package intercept puts interceptors before models. Each interceptor sees every call of
// every capability of a model as one sequence, whatever the capability. The package knows
// the capabilities of pkg/llm and refuses to know the purpose of interceptors: the
// packages above count and limit calls, fall back to other models and repeat answers.
//
// The table in capabilities.go has one row for each capability. A wrapped model has the
// capabilities that both the model and the table have: a capability without a row cannot
// be reached, so nobody can serve it uncounted.
package intercept

import (
	"context"
	"iter"

	"glossa/pkg/llm"
)

// An Interceptor intercepts the calls of a model.
type Interceptor interface {
	// Intercept returns the answer to call. It calls the model, or the next interceptor,
	// with next; it may change the call, repeat it or not make it at all. The sequence
	// keeps the rules of [llm.Backend]: nothing runs before it is ranged over, and an
	// error comes with a zero Piece and ends it.
	Intercept(ctx context.Context, call *Call, next Next) iter.Seq2[Piece, error]
}

// A Next answers a call below an interceptor.
type Next func(ctx context.Context, call *Call) iter.Seq2[Piece, error]

// A Call is one call of a capability.
type Call struct {
	*Method
	Model *llm.ModelInfo // the model that was opened
	// Request is the argument of the method after its context: *[llm.Request] of Generate,
	// *[Invocation] of Invoke, and the request type in the table for any other method. It
	// belongs to the caller: an interceptor copies it before it changes anything.
	Request any
}

// An Invocation is the request of [llm.Invoker].
type Invocation struct {
	Body   map[string]any
	Stream bool
}

// With returns a copy of call with another request.
func (c *Call) With(request any) *Call {
	other := *c
	other.Request = request
	return &other
}

// Streams reports whether the caller wants the answer in pieces as they come.
func (c *Call) Streams() bool {
	switch req := c.Request.(type) {
	case *llm.Request:
		return req.Stream
	case *Invocation:
		return req.Stream
	}
	return false
}

// A Piece is a part of the answer to a call. Generate and Invoke have many, and all other
// methods have one.
type Piece struct {
	Chunk llm.Chunk      // of Generate
	Keys  map[string]any // of Invoke
	Value any            // the whole answer of any other method
	// Usage is the usage of the call so far. It is nil if the model does not report it;
	// the last one of a call counts.
	Usage *llm.Usage
}

// Answers reports whether p contains a part of the answer, or of the reasoning before it.
func (p *Piece) Answers() bool {
	text, _ := p.Keys["generated_text"].(string)
	return p.Chunk.Reasoning != "" || p.Chunk.Text != "" || len(p.Chunk.Tokens) > 0 || len(p.Chunk.Calls) > 0 || text != "" || p.Keys["tool_calls"] != nil
}

// Wrap returns m with i before its backend and its other interceptors.
func Wrap(m *llm.Model, i Interceptor) *llm.Model {
	w := &wrapped{model: m.Backend, table: table}
	if inner, ok := m.Backend.(*wrapped); ok {
		*w = *inner
	}
	w.info = &m.ModelInfo
	w.chain = append([]Interceptor{i}, w.chain...)
	return &llm.Model{ModelInfo: m.ModelInfo, Backend: w}
}

// Broken returns a model that could not be opened because of err. Its capabilities are
// unknown, so it has all of the table, and each call returns err. It is not an
// [llm.Invoker], so dialects call Generate, which every model has.
func Broken(info llm.ModelInfo, err error) *llm.Model {
	return &llm.Model{ModelInfo: info, Backend: &wrapped{model: broken{err}, info: &info, table: table}}
}

// Ask makes a call to another model, through that model's interceptors. For a model
// without the capability the error is [llm.Unsupported].
func Ask(ctx context.Context, m *llm.Model, call *Call) iter.Seq2[Piece, error] {
	return call.run(ctx, m.Backend, call.Request)
}

// wrapped is a backend behind interceptors.
type wrapped struct {
	model llm.Backend
	info  *llm.ModelInfo
	chain []Interceptor // outermost first
	table []row
}

// Generate implements [llm.Backend].
func (w *wrapped) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for p, err := range w.ask(ctx, generate, req) {
			if !yield(p.Chunk, err) {
				return
			}
		}
	}
}

// Capability lets [llm.As] see the capabilities that both the model and the table have.
func (w *wrapped) Capability(has func(any) bool) any {
	for _, r := range w.table {
		if has(r.zero) {
			return r.of(w)
		}
	}
	return nil
}

func (w *wrapped) ask(ctx context.Context, m *Method, request any) iter.Seq2[Piece, error] {
	return w.below(0)(ctx, &Call{Method: m, Model: w.info, Request: request})
}

// below returns the interceptors from i on, and the model, as a Next.
func (w *wrapped) below(i int) Next {
	return func(ctx context.Context, call *Call) iter.Seq2[Piece, error] {
		if i < len(w.chain) {
			return w.chain[i].Intercept(ctx, call, w.below(i+1))
		}
		if b, ok := w.model.(broken); ok {
			return fail(b.err)
		}
		return call.run(ctx, w.model, call.Request)
	}
}

// fail returns a sequence of one error.
func fail(err error) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) { yield(Piece{}, err) }
}

// broken is the backend of [Broken].
type broken struct{ err error }

// Generate implements [llm.Backend].
func (b broken) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, b.err) }
}
