// Package gbnf reads grammars in GBNF, the notation of llama.cpp (its "GBNF Guide";
// TextSynth's parameter grammar takes the same), and compiles them to programs. Rules
// that do not recurse become finite automata, the others rules that call each other. It
// refuses to know tokens: a grammar is about characters.
package gbnf

import (
	"context"
	"errors"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// What a grammar may ask for. A position is a byte or a call of a rule in an
// expression whose repetitions are written out.
const (
	maxSource  = 256 << 10 // bytes
	maxRules   = 4096
	maxNesting = 200     // parentheses in each other
	maxStacked = 8       // repetitions of repetitions, without parentheses
	maxCount   = 10_000  // in {n,m}
	maxDepth   = 1000    // nesting, with the rules that are written out
	maxText    = 50_000  // positions of one automaton
	maxInline  = 100     // positions of a rule that is written out in rules that recurse
	maxBody    = 4000    // positions of a counted repetition before its body is a rule of its own
	maxEmpty   = 64      // repetitions of what may be empty before it is a rule of its own
	maxTotal   = 200_000 // positions of a program
	maxStates  = 100_000 // of a program
	maxLeast   = 1 << 24 // bytes of the shortest text
	maxRetries = 4       // automata that turned out too large and were cut in pieces
)

// Compile returns the program of the grammar source; its start is the rule root. An
// error is a [*fault.Error] whose Pointer is "line 3".
//
// Two things that llama.cpp lets pass are errors: a rule that is defined twice, of which
// it takes the last, and a class without characters. Its limits differ: {n,m} means what
// it says up to 10000.
func Compile(source string) (*pushdown.Program, error) {
	return CompileWithin(automaton.NewBudget(context.Background()), source)
}

// CompileWithin is [Compile] within a budget, which may have been used before.
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
	g.sort() // rules that recurred only at their ends do no more
	for _, r := range g.order {
		r.measure()
	}
	c := &compiler{budget: budget, ids: map[*node]pushdown.ID{}, shared: map[string]*automaton.DFA{}}
	return c.program(g.root)
}

// failure returns the error of a rule: what the automaton could not hold is said in the
// words of a grammar.
func (r *rule) failure(err error) error {
	if err == automaton.ErrTooLarge || errors.Unwrap(err) == automaton.ErrTooLarge { // and no budget, which says more
		return r.errorf("rule %s is too large", r.name)
	}
	return r.errorf("rule %s: %v", r.name, err)
}

func (r *rule) errorf(format string, args ...any) error { return errorAt(r.line, format, args...) }
