package grammar

import (
	"context"
	"errors"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/calls"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/gbnf"
	"glossa/pkg/grammar/jsonschema"
	"glossa/pkg/grammar/pushdown"
)

// A Compiler makes one form ready for use. Whatever is asked for, it takes less than a
// second of a processor and 256 MB in all: what would take more is refused. It is not
// safe for concurrent use.
type Compiler struct {
	ctx    context.Context
	budget *automaton.Budget
}

// NewCompiler returns a compiler of one form. Its methods return the error of ctx once
// that is done.
func NewCompiler(ctx context.Context) *Compiler {
	return &Compiler{ctx, automaton.NewBudget(ctx)}
}

// Schema compiles a JSON Schema. Its errors are of type [*Error], or that of the context.
func (c *Compiler) Schema(raw []byte, l Limits) (*Grammar, error) {
	return c.made(jsonschema.CompileWithin(c.budget, raw, l))
}

// GBNF compiles a grammar in llama.cpp's notation. Its errors are of type [*Error], or
// that of the context.
func (c *Compiler) GBNF(source string) (*Grammar, error) {
	return c.made(gbnf.CompileWithin(c.budget, source))
}

// Calls compiles the form of answers that may call tools: text, or calls; with must set
// no text, with one set one call at most. Its errors are of type [*Error], or that of
// the context.
func (c *Compiler) Calls(form CallForm, tools []Tool, must, one bool, l Limits) (*Grammar, error) {
	return c.made(calls.CompileWithin(c.budget, form, tools, must, one, l))
}

// Bind returns the masks of g over a vocabulary. An error is an [*Error] if its tokens
// cannot spell what g needs, or that of the context.
func (c *Compiler) Bind(g *Grammar, v *Vocabulary) (*Constraint, error) {
	bound, err := pushdown.BindWithin(c.budget, g.machine, v)
	if err != nil {
		return nil, c.failed(g.program, err)
	}
	return bound, nil
}

// Bytes returns how much memory the compiler has taken so far: no less than what it has
// made keeps.
func (c *Compiler) Bytes() int {
	_, bytes := c.budget.Spent()
	return bytes
}

// made makes a program ready to run.
func (c *Compiler) made(p *pushdown.Program, err error) (*Grammar, error) {
	var machine *pushdown.Machine
	if err == nil {
		machine, err = pushdown.NewWithin(c.budget, p)
	}
	if err != nil {
		return nil, c.failed(p, err)
	}
	return &Grammar{program: p, machine: machine}, nil
}

// failed returns what callers see of an error about a program.
func (c *Compiler) failed(p *pushdown.Program, err error) error {
	if done := c.ctx.Err(); done != nil && c.budget.Err() == done {
		return done
	}
	if e, ok := err.(*Error); ok {
		return &Error{Pointer: clip(e.Pointer), Keyword: e.Keyword, Message: clip(e.Message)}
	}
	if e, ok := errors.AsType[*pushdown.RuleError](err); ok && int(e.Rule) < len(p.Places) {
		at := p.Places[e.Rule]
		return fault.New(clip(at.Pointer), at.Keyword, "%v", err)
	}
	return fault.New("", "", "%v", err)
}
