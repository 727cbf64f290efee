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

// A Compiler compiles one schema, grammar or set of tools. It uses less than a second of
// processor time and 256 MB in all, and refuses input that needs more. It is not safe for
// concurrent use.
type Compiler struct {
	ctx    context.Context
	budget *automaton.Budget
}

// NewCompiler returns a new compiler. Its methods return the error of ctx once ctx is done.
func NewCompiler(ctx context.Context) *Compiler {
	return &Compiler{ctx, automaton.NewBudget(ctx)}
}

// Schema compiles a JSON Schema. Its errors are of type [*Error], or that of the context.
func (c *Compiler) Schema(raw []byte, l Limits) (*Grammar, error) {
	return c.grammar(jsonschema.CompileWithin(c.budget, raw, l))
}

// GBNF compiles a grammar in llama.cpp's notation. Its errors are of type [*Error], or
// that of the context.
func (c *Compiler) GBNF(source string) (*Grammar, error) {
	return c.grammar(gbnf.CompileWithin(c.budget, source))
}

// Regexp compiles a regular expression that the whole text must match, in the syntax of
// JSON Schema's pattern: ECMA-262 without back-references, see [automaton.Pattern]. Its errors
// are of type [*Error], or that of the context.
func (c *Compiler) Regexp(source string) (*Grammar, error) {
	d, err := c.budget.Whole(source)
	if err != nil {
		return nil, c.failed(nil, err)
	}
	return c.grammar(&pushdown.Program{Rules: []pushdown.Rule{{Text: &pushdown.Text{DFA: d, Max: -1}}}}, nil)
}

// A CallForm says which answers there are, of those that a syntax of calls has.
type CallForm struct {
	Must bool // an answer is calls
	One  bool // an answer has at most one call

	// Text is the grammar of answers that are not calls; nil: any text. No calls follow it.
	Text *Grammar
}

// Calls compiles the grammar of answers that may call tools. An answer is text, calls
// or, if the syntax has it so, text and then calls, as far as form allows them. A grammar of text
// that could begin as calls do is refused. Errors are of type [*Error], or that of the context.
func (c *Compiler) Calls(syntax *CallSyntax, tools []Tool, form CallForm, l Limits) (*Grammar, error) {
	inner := calls.Form{Must: form.Must, One: form.One}
	if form.Text != nil {
		for _, head := range syntax.Heads() {
			if syntax.Text == "" && form.Text.begins(head.Call) {
				return nil, fault.New("", "", "a text that does not call could begin with %.70q, as calls do", head.Call)
			}
		}
		inner.Text = form.Text.program
	}
	return c.grammar(calls.CompileWithin(c.budget, syntax, tools, inner, l))
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

// Bytes returns the memory that the compiler has allocated so far, an upper bound of the
// memory that its results retain.
func (c *Compiler) Bytes() int {
	_, bytes := c.budget.Spent()
	return bytes
}

// grammar returns the grammar of a program.
func (c *Compiler) grammar(p *pushdown.Program, err error) (*Grammar, error) {
	var machine *pushdown.Machine
	if err == nil {
		machine, err = pushdown.NewWithin(c.budget, p)
	}
	if err != nil {
		return nil, c.failed(p, err)
	}
	return &Grammar{program: p, machine: machine}, nil
}

// failed converts an error about a program to the error that callers receive.
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
