package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A kind is the kind of a step in a path.
type kind int

const (
	member  kind = iota // .name ['name'] .0: of an object
	element             // [2] [-1]: of a list
	members             // .*: all members of an object
	slice               // [1:3] [*]: of a list; any other value is a list of itself
	descend             // ..: the value and everything in it
)

// A step is one part of a path.
type step struct {
	kind     kind
	name     string // of a member
	index    int    // of an element
	from, to *int   // of a slice; nil: its ends
	stride   int    // of a slice, at least 1
}

// A path leads from a document to values in it.
type path []step

const (
	maxPath  = 1000    // bytes
	maxSteps = 64      // of a path
	maxIndex = 1 << 24 // beyond any document
)

// parsePath parses a path like jsonpath-ng 1.8, which upstream uses, and RFC 9535
// where they agree: $, names, ["quoted"] and ['quoted'] ones, indices, slices, * and
// .. The $ is optional, and a dot may precede a bracket: $.[0].x
func parsePath(text string) (path, error) {
	switch {
	case len(text) > maxPath:
		return nil, fmt.Errorf("longer than %d bytes", maxPath)
	case !utf8.ValidString(text):
		return nil, errors.New("not UTF-8")
	}
	p := &pathParser{text: text}
	p.space()
	first := true
	if p.take("$") {
		first = false
	} else if p.done() {
		return nil, errors.New("an empty path; $ is the whole document")
	}
	var steps path
	for p.space(); !p.done(); p.space() {
		s, err := p.step(first)
		if err != nil {
			return nil, fmt.Errorf("%w at %q", err, p.rest())
		}
		steps, first = append(steps, s...), false
		if len(steps) > maxSteps {
			return nil, fmt.Errorf("more than %d steps", maxSteps)
		}
	}
	return steps, nil
}

type pathParser struct {
	text string
	at   int
}

func (p *pathParser) done() bool { return p.at == len(p.text) }

func (p *pathParser) take(s string) bool {
	ok := strings.HasPrefix(p.text[p.at:], s)
	if ok {
		p.at += len(s)
	}
	return ok
}

func (p *pathParser) space() {
	for p.take(" ") || p.take("\t") {
	}
}

// rest returns the unparsed rest for an error message.
func (p *pathParser) rest() string {
	s := p.text[p.at:]
	if len(s) > 20 {
		s = strings.ToValidUTF8(s[:20], "") + "…"
	}
	return s
}

// step parses the next step; first is set at the start of a path.
func (p *pathParser) step(first bool) ([]step, error) {
	var steps []step
	switch {
	case !first && p.take(".."):
		steps = append(steps, step{kind: descend})
	case p.take("."):
		if first {
			return nil, errors.New("a name must precede the dot")
		}
	case first || p.text[p.at] == '[':
	default:
		return nil, p.refuse("a dot or a bracket must follow")
	}
	p.space()
	if p.take("[") {
		s, err := p.bracket()
		return append(steps, s), err
	}
	if p.take("*") {
		return append(steps, step{kind: members}), nil
	}
	name, ok, err := p.name()
	if err == nil && !ok {
		err = p.refuse("a name must follow")
	}
	return append(steps, step{kind: member, name: name}), err
}

// bracket parses the contents of brackets and the closing one.
func (p *pathParser) bracket() (step, error) {
	p.space()
	s := step{kind: slice, stride: 1}
	if p.take("*") {
		return s, p.close()
	}
	number, isNumber, err := p.number()
	p.space()
	switch {
	case err != nil:
		return s, err
	case !isNumber && !strings.HasPrefix(p.text[p.at:], ":"):
		name, ok, err := p.name()
		if err == nil && !ok {
			err = p.refuse("the bracket must contain a name, an index, a slice or *")
		}
		if err != nil {
			return s, err
		}
		return step{kind: member, name: name}, p.close()
	case isNumber && !strings.HasPrefix(p.text[p.at:], ":"):
		return step{kind: element, index: number}, p.close()
	}
	if isNumber {
		s.from = &number
	}
	return p.bounds(s)
}

// bounds parses a slice after its first number.
func (p *pathParser) bounds(s step) (step, error) {
	for i := range 2 {
		if !p.take(":") {
			break
		}
		p.space()
		number, ok, err := p.number()
		switch {
		case err != nil:
			return s, err
		case ok && i == 0:
			s.to = &number
		case ok && number < 1:
			return s, errors.New("a slice's stride is less than 1")
		case ok:
			s.stride = number
		}
		p.space()
	}
	return s, p.close()
}

func (p *pathParser) close() error {
	p.space()
	if !p.take("]") {
		return p.refuse("the bracket is not closed")
	}
	return nil
}

func (p *pathParser) number() (int, bool, error) {
	end := p.at
	if end < len(p.text) && p.text[end] == '-' {
		end++
	}
	start := end
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if end == start {
		return 0, false, nil
	}
	n, err := strconv.Atoi(p.text[p.at:end])
	if err != nil || n > maxIndex || n < -maxIndex {
		return 0, false, fmt.Errorf("an index is beyond %d", maxIndex)
	}
	p.at = end
	return n, true, nil
}

// name parses a bare or quoted name, or a number, which is a name outside brackets.
func (p *pathParser) name() (string, bool, error) {
	if p.done() {
		return "", false, nil
	}
	if q := p.text[p.at]; q == '"' || q == '\'' {
		p.at++
		return p.quoted(q)
	}
	digit := p.text[p.at] >= '0' && p.text[p.at] <= '9'
	end := p.at
	for end < len(p.text) {
		c := p.text[end]
		isDigit := c >= '0' && c <= '9'
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '@' || c >= utf8.RuneSelf
		if !isDigit && (digit || !letter && (c != '-' || end == p.at)) {
			break
		}
		end++
	}
	name := p.text[p.at:end]
	if name == "where" || name == "wherenot" {
		return "", false, fmt.Errorf("%s is an operator; quote it to make it a name", name)
	}
	p.at = end
	return name, name != "", nil
}

// quoted parses up to the quote q; a backslash escapes a character.
func (p *pathParser) quoted(q byte) (string, bool, error) {
	var name strings.Builder
	for ; !p.done(); p.at++ {
		c := p.text[p.at]
		if c == q {
			p.at++
			return name.String(), true, nil
		}
		if c == '\\' {
			if p.at++; p.done() {
				break
			}
			c = p.text[p.at]
		}
		name.WriteByte(c)
	}
	return "", false, errors.New("a quote is not closed")
}

// refuse returns an error that names the unsupported syntax, if jsonpath-ng or RFC 9535 know it.
func (p *pathParser) refuse(otherwise string) error {
	for mark, what := range map[string]string{
		",": "a list of names or indices", "|": "a union", "&": "an intersection", "(": "a group",
		"?": "a filter", "`": "a named operator", "~": "the keys operator",
	} {
		if strings.HasPrefix(p.text[p.at:], mark) {
			return errors.New(what + " is not supported")
		}
	}
	return errors.New(otherwise)
}

// String returns the normal form of p.
func (p path) String() string {
	var b strings.Builder
	b.WriteByte('$')
	for i, s := range p {
		switch s.kind {
		case member:
			b.WriteString(`["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.name) + `"]`)
		case element:
			fmt.Fprintf(&b, "[%d]", s.index)
		case members:
			if i == 0 || p[i-1].kind != descend {
				b.WriteByte('.')
			}
			b.WriteByte('*')
		case descend:
			b.WriteString("..")
		case slice:
			b.WriteString(s.bounds())
		}
	}
	return b.String()
}

func (s step) bounds() string {
	if s.from == nil && s.to == nil && s.stride == 1 {
		return "[*]"
	}
	text := ":"
	if s.from != nil {
		text = strconv.Itoa(*s.from) + ":"
	}
	if s.to != nil {
		text += strconv.Itoa(*s.to)
	}
	return fmt.Sprintf("[%s:%d]", text, s.stride)
}
