package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// class translates a class in brackets. It writes all characters as escapes, so that
// syntax that only Go has, such as [:alpha:], keeps Python's meaning.
func (p *python) class() error {
	p.at++
	p.out.WriteByte('[')
	if p.take("^") {
		p.out.WriteByte('^')
	}
	for first := true; ; first = false {
		if p.at == len(p.in) {
			return errors.New("a class is not closed")
		}
		if !first && p.take("]") {
			p.out.WriteByte(']')
			return nil
		}
		low, set, err := p.item()
		if err != nil {
			return err
		}
		rest := p.in[p.at:]
		ranged := len(rest) > 1 && rest[0] == '-' && rest[1] != ']'
		switch {
		case set != "" && ranged:
			return errors.New("a range of a class begins with a set of characters")
		case set != "":
			p.out.WriteString(set)
			continue
		}
		p.out.WriteString(literal(low))
		if !ranged {
			continue
		}
		p.at++
		high, set, err := p.item()
		if err == nil && set != "" {
			err = errors.New("a range of a class ends with a set of characters")
		}
		if err != nil {
			return err
		}
		p.out.WriteString("-" + literal(high))
	}
}

// item parses one character of a class or, as set, a class within it.
func (p *python) item() (r rune, set string, err error) {
	if p.in[p.at] != '\\' {
		r, n := utf8.DecodeRuneInString(p.in[p.at:])
		p.at += n
		return r, "", nil
	}
	if p.at+1 == len(p.in) {
		return 0, "", errors.New("a class is not closed")
	}
	c := p.in[p.at+1]
	switch {
	case strings.IndexByte("dws", c) >= 0:
		p.at += 2
		return 0, p.now().sets(c), nil
	case strings.IndexByte("DWS", c) >= 0:
		p.at += 2
		set, err = complement(p.now().sets(c | 0x20))
		return 0, set, err
	}
	r, err = p.character()
	return r, "", err
}

// complement lists the characters that are not in set: Go cannot nest a negated class.
func complement(set string) (string, error) {
	re, err := syntax.Parse("[^"+set+"]", syntax.Perl)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := 0; i+1 < len(re.Rune); i += 2 {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, re.Rune[i], re.Rune[i+1])
	}
	return b.String(), nil
}
