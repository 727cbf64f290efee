// Package gbnf reads grammars in GBNF, the notation of llama.cpp (its "GBNF Guide";
// TextSynth's parameter grammar uses the same), and compiles them to programs. Rules without
// recursion become finite automata, the others become rules that call each other. The
// package does not know tokens: a grammar describes characters.
package gbnf

import (
	"context"
	"errors"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// Limits of a grammar. A position is a byte or a call of a rule in an expression whose
// repetitions are expanded.
const (
	maxSource  = 256 << 10 // bytes
	maxRules   = 4096
	maxNesting = 200     // nested parentheses
	maxStacked = 8       // repetitions of repetitions, without parentheses
	maxCount   = 10_000  // in {n,m}
	maxDepth   = 1000    // nesting, including inlined rules
	maxText    = 50_000  // positions of one automaton
	maxInline  = 100     // positions of a rule that is inlined in recursive rules
	maxBody    = 4000    // positions of a counted repetition before its body becomes a separate rule
	maxEmpty   = 64      // repetitions of a nullable body before it becomes a separate rule
	maxTotal   = 200_000 // positions of a program
	maxStates  = 100_000 // of a program
	maxLeast   = 1 << 24 // bytes of the shortest text
	maxRetries = 4       // automata that are split because they are too large
)

// Compile returns the program of the grammar source; its start is the rule root. Errors are
// of type [*fault.Error] with a Pointer such as "line 3".
//
// Compile refuses some things that llama.cpp accepts: a second definition of a rule, of which
// llama.cpp uses the last; classes without characters and reversed ranges; rules that never
// end, also where another alternative does; surrogates and code points above U+10FFFF; and
// references to tokens. The limits differ too: {n,m} is supported up to 10000, without
// parentheses at most 8 repetitions follow each other.
func Compile(source string) (*pushdown.Program, error) {
	return CompileWithin(automaton.NewBudget(context.Background()), source)
}

// CompileWithin is [Compile] within a budget that may be partly spent.
func CompileWithin(budget *automaton.Budget, source string) (*pushdown.Program, error) {
	g, err := parse(source)
	if err != nil {
		return nil, err
	}
	if err := budget.Spend(40*len(source), 100*len(source)); err != nil {
		return nil, errorAt(1, "%v", err)
	}
	if err := g.check(budget, len(source)); err != nil {
		return nil, err
	}
	for _, r := range g.order {
		r.unwind()
	}
	g.sort() // tail recursion is gone
	for _, r := range g.order {
		r.measure()
	}
	c := &compiler{budget: budget, ids: map[*node]pushdown.ID{}, shared: map[string]*automaton.DFA{}}
	return c.program(g.root)
}

// failure returns the error of a rule. It expresses automaton.ErrTooLarge in terms of the
// grammar.
func (r *rule) failure(err error) error {
	if err == automaton.ErrTooLarge || errors.Unwrap(err) == automaton.ErrTooLarge { // not the error of a budget, which has more detail
		return r.errorf("rule %s is too large", r.name)
	}
	return r.errorf("rule %s: %v", r.name, err)
}

func (r *rule) errorf(format string, args ...any) error { return errorAt(r.line, format, args...) }
