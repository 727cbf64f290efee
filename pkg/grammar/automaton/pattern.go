package automaton

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pattern returns the automaton of the JSON strings that contain a match of a regular
// expression, in canonical form with quotes. The syntax is that of ECMA-262 2025 in Unicode
// mode, as JSON Schema recommends, without back-references. \p{...} supports general categories,
// scripts by their full names, Any, ASCII, Assigned, Alphabetic, Lowercase, Uppercase and the
// properties of Unicode's PropList.txt by their full names. Two extensions are supported:
//
//   - From the other mode (Annex B.1.2): single braces and brackets, "\-" and ranges that
//     end in a class. Escapes of letters and digits without a meaning are errors.
//   - From Perl, Java and Go: (?i), (?m), (?s), (?-i) and combinations set flags for the
//     rest of the group. ECMA-262 has flags only for whole groups: (?i:...).
//
// Python's re differs from ECMA-262 in some classes, anchors, word boundaries and in which
// letters differ only in case. Pattern has the strings that match in both readings,
// [LoosePattern] those that match in either.
func Pattern(regexp string) (*DFA, error) { return (*Budget)(nil).Pattern(regexp) }

// Pattern is [Pattern] within a budget.
func (budget *Budget) Pattern(regexp string) (*DFA, error) { return budget.pattern(regexp, false) }

// LoosePattern returns the automaton of the strings that match a regular expression as
// ECMA-262 or as Python's re reads it. Other strings match in neither reading.
func LoosePattern(regexp string) (*DFA, error) { return (*Budget)(nil).LoosePattern(regexp) }

// LoosePattern is [LoosePattern] within a budget.
func (budget *Budget) LoosePattern(regexp string) (*DFA, error) { return budget.pattern(regexp, true) }

func (budget *Budget) pattern(regexp string, loose bool) (*DFA, error) {
	e, err := parse(budget, regexp, loose)
	if err != nil {
		return nil, err
	}
	return budget.Compile(search(e))
}

// A parser reads a regular expression. Its methods follow ECMA-262 2025, section 22.2.1.
type parser struct {
	budget  *Budget
	src     []rune
	at      int
	depth   int
	err     error
	loose   bool // one of the two readings must match, not both
	flags   modifiers
	looks   map[string]Expr // look-arounds by text, flags and reading
	classes map[string]Expr
	named   map[string][]rune // properties, and classes that are larger in Python's re
}

func parse(budget *Budget, regexp string, loose bool) (Expr, error) {
	if err := budget.Spend(40*len(regexp), 80*len(regexp)); err != nil {
		return Expr{}, err
	}
	if !utf8.ValidString(regexp) {
		return Expr{}, errors.New("the pattern is not UTF-8")
	}
	p := &parser{budget: budget, src: []rune(regexp), loose: loose, looks: map[string]Expr{}, classes: map[string]Expr{}, named: map[string][]rune{}}
	e := p.disjunction()
	if p.more() {
		p.fail("unmatched )")
	}
	return e, p.err
}

// fail ends the parse. It keeps the first error.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("character %d of the pattern: %s", p.at+1, fmt.Sprintf(format, args...))
	}
	p.at = len(p.src)
}

// spend takes steps and bytes from the budget.
func (p *parser) spend(steps, bytes int) {
	if err := p.budget.Spend(steps, bytes); err != nil && p.err == nil {
		p.err, p.at = err, len(p.src)
	}
}

func (p *parser) more() bool { return p.at < len(p.src) }

// peek reports whether s comes next.
func (p *parser) peek(s string) bool {
	at := p.at
	for _, c := range s {
		if at >= len(p.src) || p.src[at] != c {
			return false
		}
		at++
	}
	return true
}

// take reads s if it comes next.
func (p *parser) take(s string) bool {
	if p.peek(s) {
		p.at += utf8.RuneCountInString(s)
		return true
	}
	return false
}

func (p *parser) next() rune {
	if !p.more() {
		p.fail("unexpected end of the pattern")
		return 0
	}
	p.at++
	return p.src[p.at-1]
}

// of returns the expression of one character of a set.
func (p *parser) of(set []rune) Expr {
	p.spend(2*len(set), 2*len(set))
	e, ok := p.classes[string(set)]
	if !ok {
		p.spend(20*len(set), 100*len(set))
		e = Class(set, JSON)
		p.classes[string(set)] = e
	}
	return e
}

func (p *parser) disjunction() Expr {
	alternatives := []Expr{p.alternative()}
	for p.take("|") {
		alternatives = append(alternatives, p.alternative())
	}
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return Alternate(alternatives...)
}

func (p *parser) alternative() Expr {
	var terms []Expr
	for p.more() && !p.peek("|") && !p.peek(")") {
		terms = append(terms, p.term())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return Concat(terms...)
}

// quantified reports whether a quantifier comes next.
func (p *parser) quantified() bool {
	at := p.at
	_, _, ok := p.quantifier()
	p.at = at
	return ok
}

// repeated applies the quantifier that follows e, if any.
func (p *parser) repeated(e Expr) Expr {
	min, max, ok := p.quantifier()
	if !ok {
		return e
	}
	p.take("?") // lazy quantifiers match the same texts
	if max >= 0 && max < min {
		p.fail("a quantifier of at least %d and at most %d", min, max)
	}
	if p.quantified() {
		p.fail("nothing to repeat")
	}
	return Repeat(e, min, max)
}

// quantifier reads a quantifier if one follows. Other braces are characters.
func (p *parser) quantifier() (min, max int, ok bool) {
	switch {
	case p.take("*"):
		return 0, -1, true
	case p.take("+"):
		return 1, -1, true
	case p.take("?"):
		return 0, 1, true
	}
	at := p.at
	if p.take("{") {
		min, ok = p.decimal()
		if max = min; ok && p.take(",") {
			if max, ok = p.decimal(); !ok {
				max, ok = -1, true
			}
		}
		if ok && p.take("}") {
			return min, max, true
		}
	}
	p.at = at
	return 0, 0, false
}

// decimal reads a number. It cuts numbers that are too large in any case.
func (p *parser) decimal() (n int, ok bool) {
	for ; p.more() && strings.ContainsRune("0123456789", p.src[p.at]); p.at++ {
		n, ok = min(10*n+int(p.src[p.at]-'0'), maxPlaces+1), true
	}
	return n, ok
}
