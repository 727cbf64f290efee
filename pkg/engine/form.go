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

// maxForms and maxFormBytes bound the forms that an engine keeps ready.
const (
	maxForms     = 128
	maxFormBytes = 512 << 20
)

// form returns what the texts of a request are held to, nil if to nothing.
func (e *Engine) form(ctx context.Context, p *llm.Params) (*grammar.Constraint, error) {
	param, source := "", ""
	var compile func(c *grammar.Compiler) (*grammar.Grammar, error)
	switch {
	case len(p.Schema) > 0 && p.Grammar != nil:
		return nil, invalid("grammar", "there is a schema too: a text has one form")
	case len(p.Tools) > 0 && (len(p.Schema) > 0 || p.Grammar != nil):
		return nil, invalid("tools", "there is a schema or a grammar too: an answer has one form")
	case len(p.Tools) > 0:
		param, source = "tools", fmt.Sprintf("%t %t %s", or(p.MustCall, false), or(p.OneCall, false), spellTools(p.Tools))
		compile = func(c *grammar.Compiler) (*grammar.Grammar, error) { return e.toolForm(c, p) }
	case len(p.Schema) > 0:
		param, source = "schema", string(p.Schema)
		compile = func(c *grammar.Compiler) (*grammar.Grammar, error) { return c.Schema(p.Schema, grammar.Generating()) }
	case p.Grammar != nil:
		param, source = "grammar", *p.Grammar
		compile = func(c *grammar.Compiler) (*grammar.Grammar, error) { return c.GBNF(*p.Grammar) }
	default:
		return nil, nil
	}
	if len(p.Stop) > 0 {
		return nil, invalid("stop", "it would cut a text that is held to a form")
	}
	return e.forms.bind(ctx, param, source, compile)
}

// forms are what an engine's texts are held to: its vocabulary as bytes, and the forms
// that were asked for last, ready for use. It is safe for concurrent use.
type forms struct {
	vocabulary func() (*grammar.Vocabulary, error) // made when it is first needed
	turns      *grammar.Turns

	mu   sync.Mutex
	kept []*ready // least recently used first
}

// A ready is a form that was asked for. A form that is refused is kept too; what ended
// for a reason that is not the form's own is not.
type ready struct {
	key   [sha256.Size]byte
	done  chan struct{} // closed when the next three are set
	form  *grammar.Constraint
	err   error
	again bool // neither is set: a request that waited makes the form

	bytes int // of the form; 0 while it is made
}

// bind returns the form that compile makes of source, which param gave. Requests for the
// same form at once wait for one of them.
func (f *forms) bind(ctx context.Context, param, source string, compile func(*grammar.Compiler) (*grammar.Grammar, error)) (*grammar.Constraint, error) {
	key := sha256.Sum256([]byte(param + "\x00" + source))
	for {
		r, mine := f.find(key)
		if mine {
			return f.make(ctx, r, param, compile)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !r.again {
			return r.form, r.err
		}
	}
}

// make makes a form ready when it is the sender's turn.
func (f *forms) make(ctx context.Context, r *ready, param string, compile func(*grammar.Compiler) (*grammar.Grammar, error)) (*grammar.Constraint, error) {
	bytes := 0
	r.again = true // unless it comes to an end below
	defer func() { f.settle(r, bytes) }()
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
	var form *grammar.Constraint
	if err == nil {
		form, err = f.binding(c, g, param)
	} else {
		err = formError(param, err)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.form, r.err, r.again = form, err, false
	bytes = c.Bytes()
	return form, err
}

// binding binds a form, which param gave, to the vocabulary.
func (f *forms) binding(c *grammar.Compiler, g *grammar.Grammar, param string) (*grammar.Constraint, error) {
	v, err := f.vocabulary()
	if err != nil {
		return nil, &llm.Error{Code: llm.Unsupported, Param: param, Message: err.Error()}
	}
	form, err := c.Bind(g, v)
	if fault, ok := errors.AsType[*grammar.Error](err); ok {
		return nil, &llm.Error{Code: llm.Unsupported, Param: param, Message: "this model cannot write such texts: " + fault.Error()}
	}
	return form, err
}

// formError is what is wrong with the form that param gave.
func formError(param string, err error) error {
	if fault, ok := errors.AsType[*grammar.Error](err); ok {
		return invalid(param, fault.Error())
	}
	return err
}

// find returns what is kept by a key; mine tells that it is new, and to be made.
func (f *forms) find(key [sha256.Size]byte) (r *ready, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.kept, func(r *ready) bool { return r.key == key }); i >= 0 {
		r = f.kept[i]
		f.kept = append(slices.Delete(f.kept, i, i+1), r)
		return r, false
	}
	if len(f.kept) >= maxForms {
		f.kept = slices.Delete(f.kept, 0, 1)
	}
	r = &ready{key: key, done: make(chan struct{})}
	f.kept = append(f.kept, r)
	return r, true
}

// settle lets the requests go on that wait for a form. It forgets the form if there is
// none, or else the least recently used of those that are too large together.
func (f *forms) settle(r *ready, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(r.done)
	if r.again {
		f.kept = slices.DeleteFunc(f.kept, func(other *ready) bool { return other == r })
		return
	}
	if r.err != nil {
		bytes = 0 // the error alone is kept
	}
	r.bytes = bytes
	for total, i := 0, len(f.kept)-1; i >= 0; i-- {
		if total += f.kept[i].bytes; total > maxFormBytes && i < len(f.kept)-1 {
			f.kept = slices.Delete(f.kept, 0, i+1)
			break
		}
	}
}

// A spelled decodes tokens as a vocabulary spells them: where a text is held to a form,
// nothing else is its text.
type spelled struct{ *grammar.Vocabulary }

// Next implements [tokenizer.Decoder].
func (s spelled) Next(id int) string { return s.Token(id) }

// Flush implements [tokenizer.Decoder].
func (spelled) Flush() string { return "" }
