package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxPattern = 4000 // bytes

// compilePython compiles a regular expression that is written for Python's re, which
// upstream uses, to Go's, which takes linear time whatever the text. Syntax that
// differs is translated; features that Go lacks are rejected by name. There is one
// deviation: $ also matches a line feed before the end of the text, which means
// nothing to JSON.
//
// Source: Python 3.14 library, re, "Regular Expression Syntax".
func compilePython(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("longer than %d bytes", maxPattern)
	}
	p := &python{in: pattern, flags: []flags{{}}}
	if err := p.translate(); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(p.out.String())
	if err != nil {
		return nil, fmt.Errorf("it does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// flags that change the translation.
type flags struct{ ascii, multiline bool }

type python struct {
	in    string
	at    int
	out   strings.Builder
	flags []flags // of the group and the groups around it
}

func (p *python) now() flags { return p.flags[len(p.flags)-1] }

func (p *python) take(s string) bool {
	ok := strings.HasPrefix(p.in[p.at:], s)
	if ok {
		p.at += len(s)
	}
	return ok
}

func (p *python) translate() error {
	for p.at < len(p.in) {
		var err error
		switch c := p.in[p.at]; c {
		case '\\':
			err = p.escape()
		case '[':
			err = p.class()
		case '(':
			err = p.group()
		case ')':
			if len(p.flags) > 1 {
				p.flags = p.flags[:len(p.flags)-1]
			}
			p.copy(1)
		case '$':
			p.at++
			if p.now().multiline {
				p.out.WriteByte('$')
			} else {
				p.out.WriteString(`(?:\n?\z)`)
			}
		case '*', '+', '?', '{':
			err = p.repeat()
		default:
			p.literal()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *python) copy(n int) {
	p.out.WriteString(p.in[p.at : p.at+n])
	p.at += n
}

// literal copies one character; . ^ and | are the same in both.
func (p *python) literal() {
	_, n := utf8.DecodeRuneInString(p.in[p.at:])
	p.copy(n)
}

// repeat translates a repetition and its suffix.
func (p *python) repeat() error {
	if p.in[p.at] == '{' {
		end := strings.IndexByte(p.in[p.at:], '}')
		low, high, comma := strings.Cut(p.in[p.at+1:p.at+max(end, 1)], ",")
		if end < 0 || !digits(low) || !digits(high) || low+high == "" && !comma {
			p.out.WriteString(`\{`) // not a repetition, so a literal brace
			p.at++
			return nil
		}
		if comma {
			high = "," + high
		}
		if low == "" {
			low = "0" // {,3}, which Go does not support
		}
		p.out.WriteString("{" + low + high + "}")
		p.at += end + 1
	} else {
		p.copy(1)
	}
	switch {
	case p.take("?"):
		p.out.WriteByte('?')
	case p.take("+"):
		if p.at < len(p.in) { // at the end it would never backtrack
			return errors.New("a possessive repetition is not supported, but at the end")
		}
	}
	return nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// group translates the start of a group.
func (p *python) group() error {
	if !strings.HasPrefix(p.in[p.at:], "(?") {
		p.flags = append(p.flags, p.now())
		p.copy(1)
		return nil
	}
	for mark, what := range map[string]string{
		"(?=": "look-ahead", "(?!": "negative look-ahead", "(?<=": "look-behind", "(?<!": "negative look-behind",
		"(?(": "a conditional", "(?>": "an atomic group", "(?P=": "a back-reference", "(?P>": "a recursion",
	} {
		if strings.HasPrefix(p.in[p.at:], mark) {
			return fmt.Errorf("%s, %s…), is not supported", what, mark)
		}
	}
	switch {
	case p.take("(?#"):
		end := strings.IndexByte(p.in[p.at:], ')')
		if end < 0 {
			return errors.New("a comment is not closed")
		}
		p.at += end + 1
		return nil
	case p.take("(?P<"):
		if c := p.in[p.at:]; c == "" || c[0] >= '0' && c[0] <= '9' {
			return errors.New("a group's name begins with a letter")
		}
		p.out.WriteString("(?P<")
	case p.take("(?:"):
		p.out.WriteString("(?:")
	default:
		return p.inlineFlags()
	}
	p.flags = append(p.flags, p.now())
	return nil
}

// inlineFlags translates (?im), for the whole expression, and (?i-s:…), for a group.
func (p *python) inlineFlags() error {
	start := p.at
	p.at += len("(?")
	f, on, keep := p.now(), true, ""
	for ; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; c {
		case 'i', 's', 'm':
			keep += string(c)
			if c == 'm' {
				f.multiline = on
			}
		case 'a':
			f.ascii = true
		case 'u':
			f.ascii = false
		case '-':
			on, keep = false, keep+"-"
		case ':', ')':
			p.at++
			keep = strings.TrimSuffix(keep, "-")
			if c == ':' {
				p.flags = append(p.flags, f)
				p.out.WriteString("(?" + keep + ":")
				return nil
			}
			if start > 0 || !on {
				return errors.New("flags for the whole expression must be at its start")
			}
			p.flags[0] = f
			if keep != "" {
				p.out.WriteString("(?" + keep + ")")
			}
			return nil
		case 'x':
			return errors.New("the flag x, verbose, is not supported")
		default:
			return fmt.Errorf("(?%c…) is not supported", c)
		}
	}
	return errors.New("a group is not closed")
}

// Python's character classes, in Unicode unless the flag a is set.
const (
	wordSet  = `\p{L}\p{N}_`                      // str.isalnum and _
	spaceSet = `\t\n\v\f\r\x{1c}-\x{20}\x{85}\pZ` // str.isspace
	asciiSet = `\t\n\v\f\r `                      // \s with the flag a
)

// sets returns the class of \d, \w or \s, for use within brackets.
func (f flags) sets(c byte) string {
	switch {
	case c == 'd' && f.ascii:
		return "0-9"
	case c == 'd':
		return `\p{Nd}`
	case c == 'w' && f.ascii:
		return "0-9A-Za-z_"
	case c == 'w':
		return wordSet
	case f.ascii:
		return asciiSet
	}
	return spaceSet
}

// escape translates a backslash and its operand, outside a class.
func (p *python) escape() error {
	if p.at+1 == len(p.in) {
		return errors.New("it ends with a backslash")
	}
	switch c := p.in[p.at+1]; {
	case strings.IndexByte("dws", c) >= 0:
		p.out.WriteString("[" + p.now().sets(c) + "]")
	case strings.IndexByte("DWS", c) >= 0:
		p.out.WriteString("[^" + p.now().sets(c|0x20) + "]")
	case c == 'A':
		p.out.WriteString(`\A`)
	case c == 'Z' || c == 'z':
		p.out.WriteString(`\z`)
	case c == 'b' || c == 'B':
		if !p.now().ascii {
			return fmt.Errorf(`\%c for Unicode is not supported: begin with (?a) for ASCII`, c)
		}
		p.out.WriteString(`\` + string(c))
	case c >= '1' && c <= '9' && !p.octal():
		return fmt.Errorf(`\%c is a back-reference, which is not supported`, c)
	default:
		r, err := p.character()
		if err == nil {
			p.out.WriteString(literal(r))
		}
		return err
	}
	p.at += 2
	return nil
}

// octal reports whether three octal digits follow the backslash.
func (p *python) octal() bool {
	s := p.in[p.at+1:]
	return len(s) >= 3 && strings.Trim(s[:3], "01234567") == "" && s[0] <= '3'
}

// literal writes a character that matches itself, also within a class.
func literal(r rune) string {
	if r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
		return string(r)
	}
	return fmt.Sprintf(`\x{%x}`, r)
}

// character parses an escaped character.
func (p *python) character() (rune, error) {
	p.at++
	r, n := utf8.DecodeRuneInString(p.in[p.at:])
	p.at += n
	if r >= '0' && r <= '9' {
		return p.digits(p.at-1, 8, "01234567", 3)
	}
	if i := strings.IndexRune("abfnrtv", r); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i]), nil
	}
	switch width := map[rune]int{'x': 2, 'u': 4, 'U': 8}[r]; {
	case width > 0:
		start := p.at
		v, err := p.digits(start, 16, "0123456789abcdefABCDEF", width)
		if err == nil && (p.at-start != width || !utf8.ValidRune(v)) {
			err = fmt.Errorf(`\%c must precede the %d digits of a character`, r, width)
		}
		return v, err
	case r == 'N':
		return 0, errors.New(`\N{…} is not supported`)
	case r|0x20 >= 'a' && r|0x20 <= 'z':
		return 0, fmt.Errorf(`\%c is not an escape in Python`, r)
	}
	return r, nil
}

// digits parses at most n digits of a base.
func (p *python) digits(start, base int, set string, n int) (rune, error) {
	for p.at = start; p.at < len(p.in) && p.at < start+n && strings.IndexByte(set, p.in[p.at]) >= 0; {
		p.at++
	}
	v, err := strconv.ParseUint(p.in[start:p.at], base, 32)
	if err != nil {
		return 0, errors.New("an escape has no digits")
	}
	return rune(v), nil
}
