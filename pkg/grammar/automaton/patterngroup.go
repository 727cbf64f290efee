package automaton

import (
	"fmt"
	"strings"
	"unicode"
)

// maxDepth is the most groups that can be nested.
const maxDepth = 200

// modifiers are the flags that a pattern can set.
type modifiers struct {
	ignoreCase, multiline, dotAll bool
}

// lineEnds holds the line terminators of ECMA-262, section 12.3. Python's re has only the
// first.
const lineEnds = "\n\n\r\r\u2028\u2029"

func (p *parser) term() Expr {
	switch {
	case p.take("^"):
		begin := Expr{&node{op: opBegin}}
		if p.flags.multiline {
			return Alternate(begin, behindOf(p.lineEnd(), false))
		}
		return begin
	case p.take("$"):
		end := Expr{&node{op: opEnd}}
		switch {
		case p.flags.multiline:
			return Alternate(end, aheadOf(p.lineEnd(), false))
		case p.loose: // Python's re lets a line feed follow
			return Alternate(end, Concat(p.of([]rune("\n\n")), end))
		}
		return end
	case p.take(`\b`):
		return p.boundary(p.loose)
	case p.take(`\B`):
		return p.noBoundary()
	case p.peek("(?="), p.peek("(?!"), p.peek("(?<="), p.peek("(?<!"):
		return p.lookAround()
	}
	if p.quantified() {
		p.fail("nothing to repeat")
		return Expr{}
	}
	if p.modified() {
		return Expr{}
	}
	return p.repeated(p.atom())
}

// lookAround reads a look-ahead or a look-behind with its ). Equal ones share a node.
func (p *parser) lookAround() Expr {
	first := p.at
	behind := p.take("(?<")
	if !behind {
		p.take("(?")
	}
	not := p.next() == '!'
	p.loose = p.loose != not // under a negation the other reading counts
	key := fmt.Sprint(p.loose, p.flags)
	e := p.grouped()
	p.loose = p.loose != not
	if p.quantified() {
		p.fail("nothing to repeat")
	}
	if p.err != nil {
		return Expr{}
	}
	key += string(p.src[first:p.at])
	if _, ok := p.looks[key]; !ok {
		p.looks[key] = Expr{&node{op: opLook, of: []Expr{e}, behind: behind, not: not}}
	}
	return p.looks[key]
}

// aheadOf returns a look-ahead.
func aheadOf(e Expr, not bool) Expr { return Expr{&node{op: opLook, of: []Expr{e}, not: not}} }

// behindOf returns a look-behind.
func behindOf(e Expr, not bool) Expr {
	return Expr{&node{op: opLook, of: []Expr{e}, behind: true, not: not}}
}

// lineEnd returns the expression of a line terminator.
func (p *parser) lineEnd() Expr {
	if p.loose {
		return p.of([]rune(lineEnds))
	}
	return p.of([]rune(lineEnds)[:2])
}

// boundary returns the expression of a word boundary (ECMA-262, section 22.2.2.4) that
// both readings see, or that either sees. In Python's re more characters form words.
func (p *parser) boundary(loose bool) Expr {
	key := fmt.Sprint("boundary", loose, p.flags.ignoreCase)
	if e, ok := p.looks[key]; ok {
		return e
	}
	few, many := p.of(p.classOf('w', false)), p.of(p.classOf('w', true))
	side := func(inside, outside Expr) Expr {
		return Alternate(Concat(behindOf(inside, false), aheadOf(outside, true)), Concat(behindOf(outside, true), aheadOf(inside, false)))
	}
	e := side(few, many)
	if loose {
		e = Alternate(side(few, few), side(many, many))
	}
	p.looks[key] = e
	return e
}

// noBoundary returns the expression of \B. In Python's re before 3.14 it does not match the
// empty text.
func (p *parser) noBoundary() Expr {
	key := fmt.Sprint("no boundary", p.loose, p.flags.ignoreCase)
	if e, ok := p.looks[key]; ok {
		return e
	}
	e := p.boundary(!p.loose)
	if !p.loose {
		e = Alternate(e, Concat(Expr{&node{op: opBegin}}, Expr{&node{op: opEnd}}))
	}
	e = aheadOf(e, true)
	p.looks[key] = e
	return e
}

func (p *parser) atom() Expr {
	switch {
	case p.take("("):
		return p.group()
	case p.take("["):
		return p.of(p.class())
	case p.take("."):
		switch {
		case p.flags.dotAll:
			return p.of([]rune{0, unicode.MaxRune})
		case p.loose:
			return p.of(negate([]rune(lineEnds)[:2]))
		}
		return p.of(negate([]rune(lineEnds)))
	case p.take(`\`):
		if set, ok := p.classEscape(); ok {
			return p.of(set)
		}
		c := p.escape(false)
		return p.of(p.fold([]rune{c, c}))
	}
	c := p.next()
	return p.of(p.fold([]rune{c, c}))
}

func (p *parser) group() Expr {
	switch {
	case p.take("?<"):
		first := p.at
		for p.more() && isName(p.src[p.at], p.at == first) {
			p.at++
		}
		if p.at == first || !p.take(">") {
			p.fail("the name of a group needs letters, digits, _ or $, then >")
		}
	case p.take("?"):
		before := p.flags
		defer func() { p.flags = before }()
		if p.setFlags(); !p.take(":") {
			p.fail("unknown kind of group; known are (?:, (?<name>, look-arounds and the flags i, m and s")
		}
	}
	return p.grouped()
}

// grouped reads the rest of a group.
func (p *parser) grouped() Expr {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d nested groups", maxDepth)
	}
	before := p.flags
	e := p.disjunction()
	p.flags = before
	p.depth--
	if !p.take(")") {
		p.fail("unmatched (")
	}
	return e
}

// modified reads flags for the rest of a group, an extension of Perl's.
func (p *parser) modified() bool {
	first, before := p.at, p.flags
	if p.take("(?") && p.peek(")") { // no flags
		p.at = first
		return false
	}
	if p.at > first && p.setFlags() && p.take(")") {
		if p.quantified() {
			p.fail("nothing to repeat")
		}
		return true
	}
	if p.err == nil {
		p.at, p.flags = first, before
	}
	return false
}

// setFlags reads flags to set and, after a hyphen, flags to clear (ECMA-262 2025, section
// 22.2.1.1). Each may occur once. It reports whether it read any.
func (p *parser) setFlags() bool {
	first, on := p.at, true
	seen := ""
	for ; p.more(); p.at++ {
		c := p.src[p.at]
		if c == '-' && on {
			on = false
			continue
		}
		if !strings.ContainsRune("ims", c) {
			break
		}
		if strings.ContainsRune(seen, c) {
			p.fail("duplicate flag %c", c)
			return false
		}
		seen += string(c)
		switch c {
		case 'i':
			p.flags.ignoreCase = on
		case 'm':
			p.flags.multiline = on
		case 's':
			p.flags.dotAll = on
		}
	}
	if !on && seen == "" {
		p.fail("a hyphen without a flag")
	}
	return p.at > first
}

func isName(c rune, first bool) bool {
	return c == '_' || c == '$' || 'a' <= c|0x20 && c|0x20 <= 'z' || c > 0x7F || !first && '0' <= c && c <= '9'
}
