// Package grammar constrains generated text to a JSON Schema, a regular expression or a
// grammar in GBNF. It compiles them to an automaton over bytes and binds the automaton to the
// vocabulary of a model. The result is a mask of the tokens that may come next. Every choice of
// allowed tokens completes a valid text within the token limit. The package knows neither
// logits nor models nor wire formats.
//
// # Where to start
//
// The package works with any engine that lets its caller change logits:
//
//  1. [NewVocabulary] takes the bytes of each token, once for a model. TokenBytes in package
//     tokenizer returns them.
//  2. [Schema], [Regexp] or [GBNF] compiles a [Grammar], and [Grammar.Bind] binds it to the
//     vocabulary. The result is a [Constraint], which can be kept and shared.
//  3. [pushdown.Constraint.Start] returns a [Matcher] for each text. Before each token,
//     [pushdown.Matcher.Mask] returns those that are allowed, see [pushdown.Mask.Allows];
//     [pushdown.Matcher.Take] then reads the chosen one.
//  4. No mask has the token that ends the text. It is allowed where [pushdown.Matcher.Accepts]
//     reports true, and nothing else is where [pushdown.Matcher.Complete] does.
//
// Compilations have budgets of time and memory, so the input may come from strangers. A
// [Compiler] also ends with a context, and [Turns] shares the processor between senders.
package grammar

import (
	"context"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/calls"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

type (
	// An Error describes an invalid or unsupported part of a schema or a grammar. See
	// [fault.Error] for its fields.
	Error = fault.Error
	// Limits bound texts that would otherwise be unbounded. The zero value bounds nothing.
	Limits = automaton.Limits
	// A CallSyntax is the syntax of a function call.
	CallSyntax = calls.Syntax
	// A Tool is a function that can be called.
	Tool = calls.Tool
	// A Vocabulary holds the bytes of a model's tokens. See [pushdown.Vocabulary] for its methods.
	Vocabulary = pushdown.Vocabulary
	// A Constraint is a grammar bound to a vocabulary. See [pushdown.Constraint] for its methods.
	Constraint = pushdown.Constraint
	// A Matcher follows one text through a constraint. See [pushdown.Matcher] for its methods.
	Matcher = pushdown.Matcher
	// A Mask is the set of tokens that may come next. See [pushdown.Mask] for its fields.
	Mask = pushdown.Mask
)

// Marks are bytes that no text has: WithMarks of a [Vocabulary] gives them to tokens, and the texts
// of a [CallSyntax] may contain them.
const (
	FirstMark = pushdown.FirstMark // the first of these bytes
	MaxMarks  = pushdown.MaxMarks  // how many there are
)

// Generating returns the limits for text that models generate.
func Generating() Limits { return automaton.Generating() }

// NewVocabulary returns the vocabulary of tokens: for each id the bytes that it adds in the
// middle of a text. An id without bytes is never allowed.
func NewVocabulary(tokens []string) *Vocabulary { return pushdown.NewVocabulary(tokens) }

// ReadVocabulary returns the vocabulary that [pushdown.Vocabulary.AppendBinary] wrote.
func ReadVocabulary(b []byte) (*Vocabulary, error) { return pushdown.ReadVocabulary(b) }

// A Grammar is a compiled set of texts, made by a [Compiler]. It is safe for concurrent use.
type Grammar struct {
	program *pushdown.Program
	machine *pushdown.Machine
}

// Schema compiles a JSON Schema as [Compiler.Schema] does.
func Schema(raw []byte, l Limits) (*Grammar, error) {
	return NewCompiler(context.Background()).Schema(raw, l)
}

// GBNF compiles a grammar as [Compiler.GBNF] does.
func GBNF(source string) (*Grammar, error) { return NewCompiler(context.Background()).GBNF(source) }

// Regexp compiles a regular expression as [Compiler.Regexp] does.
func Regexp(source string) (*Grammar, error) {
	return NewCompiler(context.Background()).Regexp(source)
}

// maxQuoted bounds the quotations of a schema or a grammar in errors, such as names and
// references, in bytes.
const maxQuoted = 300

// clip shortens s to maxQuoted bytes.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "..."
}

// Bind returns the masks of g over a vocabulary as [Compiler.Bind] does.
func (g *Grammar) Bind(v *Vocabulary) (*Constraint, error) {
	return NewCompiler(context.Background()).Bind(g, v)
}

// Match reports whether a text is in the grammar.
func (g *Grammar) Match(text string) bool { return g.machine.Match(text) }

// begins reports whether a text in the grammar may begin with prefix.
func (g *Grammar) begins(prefix string) bool {
	r := g.machine.Begin()
	for i := range len(prefix) {
		if !r.Read(prefix[i]) {
			return false
		}
	}
	return true
}
