package automaton

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pattern returns the automaton of the JSON strings in canonical form, with quotes, of
// which some part matches a regular expression of ECMA-262 in Unicode mode, as JSON
// Schema has it. What that mode refuses and the other takes (Annex B.1.2: braces and
// brackets alone, "\-", ranges of classes) is taken, but for escapes of letters and
// digits that mean nothing. Look-aheads are supported where nothing repeats them without
// end and no ^ follows; look-behind, back-references and word boundaries are not.
//
// Where Python's re reads a class or an anchor otherwise than ECMA-262, Pattern has the
// strings that match in both readings, and [LoosePattern] those that match in either.
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

// maxDepth bounds groups in groups.
const maxDepth = 200

// A parser reads a regular expression; ECMA-262 2025, section 22.2.1 names the parts.
type parser struct {
	budget  *Budget
	src     []rune
	at      int
	depth   int
	err     error
	loose   bool // either reading will do; else both have to match
	looked  bool // a look-ahead was read
	classes map[string]Expr
	named   map[string][]rune // properties, and classes of which Python's re has many
}

func parse(budget *Budget, regexp string, loose bool) (Expr, error) {
	if !utf8.ValidString(regexp) {
		return Expr{}, errors.New("the pattern is not UTF-8")
	}
	p := &parser{budget: budget, src: []rune(regexp), loose: loose, classes: map[string]Expr{}, named: map[string][]rune{}}
	e := p.disjunction()
	if p.more() {
		p.fail("a ) without its (")
	}
	return e, p.err
}

// lookAhead reads (?= or (?! and its ).
func (p *parser) lookAhead() Expr {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d groups in groups", maxDepth)
	}
	not := p.peek("(?!")
	p.at += len("(?=")
	p.looked = true
	p.loose = p.loose != not // what is excluded is read the other way
	e := p.disjunction()
	p.loose = p.loose != not
	p.depth--
	if !p.take(")") {
		p.fail("a ( without its )")
	}
	if p.quantified() {
		p.fail("nothing to repeat")
	}
	return Expr{&node{op: opLook, of: []Expr{e}, not: not}}
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

func (p *parser) term() Expr {
	switch {
	case p.take("^"):
		if p.looked {
			p.fail("a ^ after a look-ahead is not supported")
		}
		return Expr{&node{op: opBegin}}
	case p.peek("(?="), p.peek("(?!"):
		return p.lookAhead()
	case p.take("$"):
		end := Expr{&node{op: opEnd}}
		if p.loose { // Python's re lets a line feed follow
			return Alternate(end, Concat(p.of([]rune("\n\n")), end))
		}
		return end
	}
	if p.quantified() {
		p.fail("nothing to repeat")
		return Expr{}
	}
	return p.repeated(p.atom())
}

func (p *parser) atom() Expr {
	switch {
	case p.take("("):
		return p.group()
	case p.take("["):
		return p.of(p.class())
	case p.take("."):
		if p.loose {
			return p.of(negate([]rune("\n\n")))
		}
		return p.of(negate([]rune("\n\n\r\r\u2028\u2029")))
	case p.take(`\`):
		if set, ok := p.classEscape(); ok {
			return p.of(set)
		}
		c := p.escape(false)
		return p.of([]rune{c, c})
	}
	c := p.next()
	return p.of([]rune{c, c})
}

func (p *parser) group() Expr {
	switch {
	case p.take("?:"):
	case p.peek("?<="), p.peek("?<!"):
		p.fail("look-behind is not supported")
	case p.take("?<"):
		first := p.at
		for p.more() && isName(p.src[p.at], p.at == first) {
			p.at++
		}
		if p.at == first || !p.take(">") {
			p.fail("the name of a group wants letters, digits, _ and $, and >")
		}
	case p.peek("?"):
		p.fail("a group can begin with (?: or (?<name> but not as this does")
	}
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d groups in groups", maxDepth)
	}
	e := p.disjunction()
	p.depth--
	if !p.take(")") {
		p.fail("a ( without its )")
	}
	return e
}

func isName(c rune, first bool) bool {
	return c == '_' || c == '$' || 'a' <= c|0x20 && c|0x20 <= 'z' || c > 0x7F || !first && '0' <= c && c <= '9'
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
