// Package grammar holds generated text to a form: JSON Schema or a grammar in GBNF
// becomes an automaton over bytes, and that, with the bytes of a vocabulary, masks of the
// tokens that may come next. Whatever is taken from the masks ends in a text of the form
// within the tokens that there are. It refuses to know logits, models and wire formats.
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
	// An Error is what is wrong with a schema or a grammar, or not supported of it.
	Error = fault.Error
	// Limits bound what is generated and would have no end. The zero value bounds nothing.
	Limits = automaton.Limits
	// A CallForm says how a call of a function is written.
	CallForm = calls.Form
	// A Tool is a function that can be called.
	Tool = calls.Tool
	// A Vocabulary is the bytes of a model's tokens.
	Vocabulary = pushdown.Vocabulary
	// A Constraint is a form bound to a vocabulary.
	Constraint = pushdown.Constraint
	// A Matcher follows one text through a constraint.
	Matcher = pushdown.Matcher
	// A Mask tells which tokens may come next.
	Mask = pushdown.Mask
)

// Generating returns the limits of what models write.
func Generating() Limits { return automaton.Generating() }

// NewVocabulary returns the vocabulary of tokens: the bytes that each id adds in the
// middle of a text. An id without any is never allowed.
func NewVocabulary(tokens []string) *Vocabulary { return pushdown.NewVocabulary(tokens) }

// ReadVocabulary returns the vocabulary that [Vocabulary.AppendBinary] wrote.
func ReadVocabulary(b []byte) (*Vocabulary, error) { return pushdown.ReadVocabulary(b) }

// A Grammar is a form of texts. It is safe for concurrent use.
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

// maxQuoted bounds what errors repeat of a schema or a grammar: names, references.
const maxQuoted = 300

// clip returns the beginning of what is too long to be shown.
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

// Match reports whether a text is of the form.
func (g *Grammar) Match(text string) bool { return g.machine.Match(text) }
