package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// maxConstraints and maxConstraintBytes bound the compiled constraints that an engine
// caches.
const (
	maxConstraints     = 128
	maxConstraintBytes = 512 << 20
)

// constraint returns the constraint of a request's texts, nil if there is none.
func (e *Engine) constraint(ctx context.Context, p *llm.Params) (*grammar.Constraint, error) {
	param, source, compile := textForm(p)
	switch {
	case len(p.Schema) > 0 && p.Grammar != nil:
		return nil, invalid("grammar", "cannot be combined with a schema")
	case len(p.Stop) > 0 && param != "":
		return nil, invalid("stop", "cannot be combined with a schema or a grammar: it could truncate the text")
	case len(p.Tools) > 0:
		source = fmt.Sprintf("%t %t %s %s %s", or(p.MustCall, false), or(p.OneCall, false), toolsKey(p.Tools), param, source)
		param, compile = "tools", func(c *grammar.Compiler) (*grammar.Grammar, error) { return e.toolGrammar(c, p) }
	case param == "":
		return nil, nil
	}
	return e.constraints.get(ctx, param, source, compile)
}

// textForm returns the form that p demands of a text: its parameter, "" if there is none, its
// value, and how to compile it.
func textForm(p *llm.Params) (param, source string, compile func(*grammar.Compiler) (*grammar.Grammar, error)) {
	switch {
	case len(p.Schema) > 0:
		return "schema", string(p.Schema), func(c *grammar.Compiler) (*grammar.Grammar, error) {
			return c.Schema(p.Schema, grammar.Generating())
		}
	case p.Grammar != nil:
		return "grammar", *p.Grammar, func(c *grammar.Compiler) (*grammar.Grammar, error) { return c.GBNF(*p.Grammar) }
	}
	return "", "", nil
}

// A constraintCache holds the vocabulary of an engine and the constraints that requests
// have used last, compiled. It is safe for concurrent use.
type constraintCache struct {
	vocabulary func() (*grammar.Vocabulary, error) // computed on first use
	turns      *grammar.Turns

	mu      sync.Mutex
	entries []*cachedConstraint // least recently used first
}

// A cachedConstraint is the result of compiling a constraint. An error is cached too, if
// the constraint is its cause.
type cachedConstraint struct {
	key        [sha256.Size]byte
	done       chan struct{} // closed when the next three are set
	constraint *grammar.Constraint
	err        error
	retry      bool // neither is set: a waiting request compiles the constraint

	bytes int // of the constraint; 0 while it is compiled
}

// get returns the constraint that compile makes of source, the value of param. Concurrent
// requests for the same constraint wait for one of them.
func (f *constraintCache) get(ctx context.Context, param, source string, compile func(*grammar.Compiler) (*grammar.Grammar, error)) (*grammar.Constraint, error) {
	key := sha256.Sum256([]byte(param + "\x00" + source))
	for {
		r, added := f.find(key)
		if added {
			return f.compile(ctx, r, param, compile)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !r.retry {
			return r.constraint, r.err
		}
	}
}

// compile compiles a constraint when it is the sender's turn.
func (f *constraintCache) compile(ctx context.Context, r *cachedConstraint, param string, compile func(*grammar.Compiler) (*grammar.Grammar, error)) (*grammar.Constraint, error) {
	bytes := 0
	r.retry = true // unless compiling ends below
	defer func() { f.finish(r, bytes) }()
	done, err := f.turns.Take(ctx, llm.SenderOf(ctx))
	if errors.Is(err, grammar.ErrBusy) {
		return nil, &llm.Error{Code: llm.Overloaded, Param: param, Message: err.Error(), RetryAfter: time.Second}
	}
	if err != nil {
		return nil, err
	}
	defer done()
	c := grammar.NewCompiler(ctx)
	g, err := compile(c)
	var constraint *grammar.Constraint
	if err == nil {
		constraint, err = f.bind(c, g, param)
	} else {
		err = constraintError(param, err)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.constraint, r.err, r.retry = constraint, err, false
	bytes = c.Bytes()
	return constraint, err
}

// bind binds the grammar, the value of param, to the vocabulary.
func (f *constraintCache) bind(c *grammar.Compiler, g *grammar.Grammar, param string) (*grammar.Constraint, error) {
	v, err := f.vocabulary()
	if err != nil {
		return nil, &llm.Error{Code: llm.Unsupported, Param: param, Message: err.Error()}
	}
	constraint, err := c.Bind(g, v)
	if fault, ok := errors.AsType[*grammar.Error](err); ok {
		return nil, &llm.Error{Code: llm.Unsupported, Param: param, Message: "this model cannot generate such text: " + fault.Error()}
	}
	return constraint, err
}

// constraintError returns err as an error of param for the client.
func constraintError(param string, err error) error {
	if fault, ok := errors.AsType[*grammar.Error](err); ok {
		return invalid(param, fault.Error())
	}
	return err
}

// find returns the entry for key. added reports whether it is new; the caller then
// compiles it.
func (f *constraintCache) find(key [sha256.Size]byte) (r *cachedConstraint, added bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.entries, func(r *cachedConstraint) bool { return r.key == key }); i >= 0 {
		r = f.entries[i]
		f.entries = append(slices.Delete(f.entries, i, i+1), r)
		return r, false
	}
	if len(f.entries) >= maxConstraints {
		f.entries = slices.Delete(f.entries, 0, 1)
	}
	r = &cachedConstraint{key: key, done: make(chan struct{})}
	f.entries = append(f.entries, r)
	return r, true
}

// finish wakes the requests that wait for an entry. It removes the entry if it has no
// result. Otherwise it evicts the least recently used entries beyond maxConstraintBytes.
func (f *constraintCache) finish(r *cachedConstraint, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(r.done)
	if r.retry {
		f.entries = slices.DeleteFunc(f.entries, func(other *cachedConstraint) bool { return other == r })
		return
	}
	if r.err != nil {
		bytes = 0 // only the error is kept
	}
	r.bytes = bytes
	for total, i := 0, len(f.entries)-1; i >= 0; i-- {
		if total += f.entries[i].bytes; total > maxConstraintBytes && i < len(f.entries)-1 {
			f.entries = slices.Delete(f.entries, 0, i+1)
			break
		}
	}
}

// A vocabularyDecoder decodes tokens as the grammar's vocabulary spells them, which is
// all the text of a constrained row.
type vocabularyDecoder struct{ *grammar.Vocabulary }

// Next implements [tokenizer.Decoder].
func (s vocabularyDecoder) Next(id int) string { return s.Token(id) }

// Flush implements [tokenizer.Decoder].
func (vocabularyDecoder) Flush() string { return "" }
