package automaton

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pattern returns the automaton of the JSON strings in canonical form, with quotes, of
// which some part matches a regular expression of ECMA-262 2025 in Unicode mode, as JSON
// Schema has it: all of it but back-references. It also has
//
//   - what only the other mode takes (Annex B.1.2): braces and brackets alone, "\-",
//     ranges of classes; but not escapes of letters and digits that mean nothing
//   - (?i), (?m), (?s), (?-i) and the like, as Perl, Java and Go have them: flags for the
//     rest of the group, or of the pattern. ECMA-262 has groups with flags, (?i:...), only.
//
// Where Python's re reads a class, an anchor, a word boundary or a letter without its case
// otherwise than ECMA-262, Pattern has the strings that match in both readings, and
// [LoosePattern] those that match in either.
func Pattern(regexp string) (*DFA, error) { return (*Budget)(nil).Pattern(regexp) }

// Pattern is [Pattern] within a budget.
func (budget *Budget) Pattern(regexp string) (*DFA, error) { return budget.pattern(regexp, false) }

// LoosePattern returns the automaton of the strings that match a regular expression as
// ECMA-262 or as Python's re reads it: what is not in it matches in neither reading.
func LoosePattern(regexp string) (*DFA, error) { return (*Budget)(nil).LoosePattern(regexp) }

// LoosePattern is [LoosePattern] within a budget.
func (budget *Budget) LoosePattern(regexp string) (*DFA, error) { return budget.pattern(regexp, true) }

func (budget *Budget) pattern(regexp string, loose bool) (*DFA, error) {
	if err := budget.Spend(40*len(regexp), 80*len(regexp)); err != nil {
		return nil, err
	}
	e, err := parse(budget, regexp, loose)
	if err != nil {
		return nil, err
	}
	return budget.Compile(search(e))
}

// A parser reads a regular expression; ECMA-262 2025, section 22.2.1 names the parts.
type parser struct {
	budget  *Budget
	src     []rune
	at      int
	depth   int
	err     error
	loose   bool // either reading will do; else both have to match
	flags   modifiers
	looks   map[string]Expr // by their text, flags and reading
	classes map[string]Expr
	named   map[string][]rune // properties, and classes of which Python's re has many
}

func parse(budget *Budget, regexp string, loose bool) (Expr, error) {
	if !utf8.ValidString(regexp) {
		return Expr{}, errors.New("the pattern is not UTF-8")
	}
	p := &parser{budget: budget, src: []rune(regexp), loose: loose, looks: map[string]Expr{}, classes: map[string]Expr{}, named: map[string][]rune{}}
	e := p.disjunction()
	if p.more() {
		p.fail("a ) without its (")
	}
	return e, p.err
}

// fail ends the parse; the first failure stays.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("character %d of the pattern: %s", p.at+1, fmt.Sprintf(format, args...))
	}
	p.at = len(p.src)
}

// spend takes what a set costs.
func (p *parser) spend(steps, bytes int) {
	if err := p.budget.Spend(steps, bytes); err != nil && p.err == nil {
		p.err, p.at = err, len(p.src)
	}
}

func (p *parser) more() bool { return p.at < len(p.src) }

// peek reports whether what comes next is s.
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
		p.fail("the pattern ends too early")
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

// repeated returns e as often as the quantifier after it says.
func (p *parser) repeated(e Expr) Expr {
	min, max, ok := p.quantifier()
	if !ok {
		return e
	}
	p.take("?") // as few as will do: the same texts
	if max >= 0 && max < min {
		p.fail("a quantifier of at least %d and at most %d", min, max)
	}
	if p.quantified() {
		p.fail("nothing to repeat")
	}
	return Repeat(e, min, max)
}

// quantifier reads one if it is there. A brace that begins none is a character.
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

// decimal reads digits. What is too large anyway is not told apart.
func (p *parser) decimal() (n int, ok bool) {
	for ; p.more() && strings.ContainsRune("0123456789", p.src[p.at]); p.at++ {
		n, ok = min(10*n+int(p.src[p.at]-'0'), maxPlaces+1), true
	}
	return n, ok
}
