package gbnf

import (
	"strings"
	"unicode/utf8"
)

// parser reads a source from pos on.
type parser struct {
	*grammar
	source  string
	pos     int
	line    int // of counted
	counted int // bytes of source whose lines are counted
	nesting int
}

func parse(source string) (*grammar, error) {
	p := &parser{grammar: &grammar{rules: map[string]*rule{}}, source: source, line: 1}
	if len(source) > maxSource {
		return nil, errorAt(1, "the grammar has %d bytes, but at most %d are allowed", len(source), maxSource)
	}
	for i, r := range source {
		if _, size := utf8.DecodeRuneInString(source[i:]); r == utf8.RuneError && size == 1 {
			p.pos = i
			return nil, p.errorf("the grammar is not valid UTF-8")
		}
	}
	for p.space(true); p.pos < len(source); p.space(true) {
		if err := p.definition(); err != nil {
			return nil, err
		}
	}
	p.root = p.rules["root"]
	return p.grammar, nil
}

// errorf returns an error at the line of pos.
func (p *parser) errorf(format string, args ...any) error {
	return errorAt(p.here(), format, args...)
}

// here returns the line of pos. It continues from the last count, because pos only grows.
func (p *parser) here() int {
	p.line += strings.Count(p.source[p.counted:p.pos], "\n")
	p.counted = p.pos
	return p.line
}

// peek returns the byte at pos, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.source) {
		return p.source[p.pos]
	}
	return 0
}

// unexpected returns the error of an unexpected token at pos.
func (p *parser) unexpected(wanted string) error {
	if p.pos >= len(p.source) {
		return p.errorf("the grammar ends where %s should follow", wanted)
	}
	r, _ := utf8.DecodeRuneInString(p.source[p.pos:])
	if r == '\n' || r == '\r' {
		return p.errorf("the line ends where %s should follow: a rule continues on the next line only in parentheses, after ::= and after |", wanted)
	}
	return p.errorf("%q where %s should follow", r, wanted)
}

// space skips white space and comments, ends of lines only if newlines is set.
func (p *parser) space(newlines bool) {
	for p.pos < len(p.source) {
		switch c := p.source[p.pos]; {
		case c == ' ' || c == '\t' || newlines && (c == '\n' || c == '\r'):
			p.pos++
		case c == '#':
			end := strings.IndexAny(p.source[p.pos:], "\r\n")
			if end < 0 {
				end = len(p.source) - p.pos
			}
			p.pos += end
		default:
			return
		}
	}
}

// name reads a name: letters, digits, dashes, underscores; "" if there is none.
func (p *parser) name() string {
	start := p.pos
	for c := p.peek(); c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'; c = p.peek() {
		p.pos++
	}
	return p.source[start:p.pos]
}

// lookup returns the rule of a name, which may not be defined yet.
func (p *parser) lookup(name string) (*rule, error) {
	r := p.rules[name]
	if r == nil {
		if len(p.rules) == maxRules {
			return nil, p.errorf("more than %d rules", maxRules)
		}
		r = &rule{name: name, line: p.here(), least: unbounded}
		p.rules[name] = r
	}
	return r, nil
}

// definition = name "::=" alternatives end-of-line
func (p *parser) definition() error {
	line, name := p.here(), p.name()
	if name == "" {
		return p.unexpected("the name of a rule")
	}
	r, err := p.lookup(name)
	switch {
	case err != nil:
		return err
	case r.body != nil:
		return p.errorf("rule %s is already defined in line %d", name, r.line)
	}
	r.line = line
	if p.space(false); !strings.HasPrefix(p.source[p.pos:], "::=") {
		return p.unexpected("::=")
	}
	p.pos += len("::=")
	p.space(true)
	if r.body, err = p.alternatives(false); err != nil {
		return err
	}
	if c := p.peek(); p.pos < len(p.source) && c != '\n' && c != '\r' {
		return p.unexpected("the end of the line")
	}
	return nil
}

// alternatives = sequence ("|" sequence)*; nested: in parentheses
func (p *parser) alternatives(nested bool) (*node, error) {
	var all []*node
	for {
		n, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		if all = append(all, n); p.peek() != '|' {
			return either(all...), nil
		}
		p.pos++
		p.space(true)
	}
}

// sequence = (item repetition*)*
func (p *parser) sequence(nested bool) (*node, error) {
	var all []*node
	for {
		n, err := p.item()
		if err != nil {
			return nil, err
		}
		if n == nil {
			if c := p.peek(); c == '*' || c == '+' || c == '?' || c == '{' {
				return nil, p.errorf("nothing before %c to repeat", c)
			}
			return concat(all...), nil
		}
		p.space(nested)
		if n, err = p.repetitions(n, nested); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

// item = literal | class | "." | name | "(" alternatives ")"; nil if none follows
func (p *parser) item() (*node, error) {
	switch c := p.peek(); c {
	case '"':
		return p.literal()
	case '[':
		return p.class()
	case '.':
		p.pos++
		return &node{op: class, set: gaps(excluded())}, nil
	case '(':
		return p.group()
	case '<', '!':
		return nil, p.errorf("references to tokens (%c...) are not supported: write the text instead", c)
	}
	name := p.name()
	if name == "" {
		return nil, nil
	}
	r, err := p.lookup(name)
	return &node{op: reference, rule: r}, err
}

func (p *parser) group() (*node, error) {
	if p.nesting++; p.nesting > maxNesting {
		return nil, p.errorf("more than %d nested parentheses", maxNesting)
	}
	line := p.here()
	p.pos++
	p.space(true)
	n, err := p.alternatives(true)
	switch {
	case err != nil:
		return nil, err
	case p.pos >= len(p.source):
		return nil, errorAt(line, "the parenthesis is not closed")
	case p.peek() != ')':
		return nil, p.unexpected(")")
	}
	p.pos++
	p.nesting--
	return n, nil
}
