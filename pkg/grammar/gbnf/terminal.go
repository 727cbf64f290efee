package gbnf

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// repetitions reads the operators that repeat n: any number of * + ? {n} {n,} {n,m}.
func (p *parser) repetitions(n *node, nested bool) (*node, error) {
	for times := 0; ; times++ {
		least, most := 0, -1
		switch p.peek() {
		case '*':
			p.pos++
		case '+':
			p.pos++
			least = 1
		case '?':
			p.pos++
			most = 1
		case '{':
			var err error
			if least, most, err = p.counts(nested); err != nil {
				return nil, err
			}
		default:
			return n, nil
		}
		if times == maxStacked {
			return nil, p.errorf("more than %d nested repetitions", maxStacked)
		}
		n = &node{op: repetition, of: []*node{n}, min: least, max: most}
		p.space(nested)
	}
}

// counts reads {n}, {n,} or {n,m}; most is -1 for {n,}.
func (p *parser) counts(nested bool) (least, most int, err error) {
	p.pos++
	p.space(nested)
	if p.peek() == ',' {
		return 0, 0, p.errorf("the least number of repetitions is missing: write {0,")
	}
	if least, err = p.count(); err != nil {
		return 0, 0, err
	}
	most = least
	if p.space(nested); p.peek() == ',' {
		p.pos++
		p.space(nested)
		if most = -1; p.peek() != '}' {
			if most, err = p.count(); err != nil {
				return 0, 0, err
			}
			p.space(nested)
		}
	}
	if p.peek() != '}' {
		return 0, 0, p.unexpected("}")
	}
	if most >= 0 && most < least {
		return 0, 0, p.errorf("{%d,%d}: the second number is smaller than the first", least, most)
	}
	p.pos++
	return least, most, nil
}

func (p *parser) count() (int, error) {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	if start == p.pos {
		return 0, p.unexpected("a number of repetitions")
	}
	n, err := strconv.Atoi(p.source[start:p.pos])
	if err != nil || n > maxCount {
		return 0, p.errorf("at most %d repetitions are supported", maxCount)
	}
	return n, nil
}

// literal reads "...".
func (p *parser) literal() (*node, error) {
	line := p.here()
	var text strings.Builder
	for p.pos++; p.peek() != '"'; {
		if p.pos >= len(p.source) {
			return nil, errorAt(line, "the quotation mark is not closed")
		}
		r, err := p.character()
		if err != nil {
			return nil, err
		}
		text.WriteRune(r)
	}
	p.pos++
	return &node{op: literal, text: text.String()}, nil
}

// class reads [...]. A dash at either end is literal.
func (p *parser) class() (*node, error) {
	line := p.here()
	p.pos++
	not := p.peek() == '^'
	if not {
		p.pos++
	}
	var set []rune
	for p.peek() != ']' {
		if p.pos >= len(p.source) {
			return nil, errorAt(line, "the bracket is not closed")
		}
		lo, err := p.character()
		if err != nil {
			return nil, err
		}
		hi := lo
		if rest := p.source[p.pos:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.pos++
			if hi, err = p.character(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, p.errorf("the ends of the range %q-%q are in the wrong order", lo, hi)
		}
		set = append(set, lo, hi)
	}
	p.pos++
	if n := len(set); n > 0 && not {
		set = gaps(append(set, excluded()...))
	} else if n > 0 {
		set = gaps(gaps(set))
	}
	if len(set) == 0 {
		return nil, errorAt(line, "the class has no characters")
	}
	return &node{op: class, set: set}, nil
}

// character reads a character or an escape, of a literal or a class.
func (p *parser) character() (rune, error) {
	r, size := utf8.DecodeRuneInString(p.source[p.pos:])
	if r != '\\' {
		p.pos += size
		return r, nil
	}
	rest := p.source[p.pos+1:]
	if rest == "" {
		return 0, p.errorf("the grammar ends in an escape")
	}
	digits := 0
	switch c := rest[0]; c {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '\\', '"', '[', ']', '-':
		p.pos += 2
		return rune(c), nil
	default:
		i := strings.IndexByte("ntr", c)
		if i < 0 {
			r, _ := utf8.DecodeRuneInString(rest)
			return 0, p.errorf(`unknown escape \%c`, r)
		}
		p.pos += 2
		return rune("\n\t\r"[i]), nil
	}
	if len(rest) <= digits {
		return 0, p.errorf(`\%c needs %d hexadecimal digits`, rest[0], digits)
	}
	n, err := strconv.ParseUint(rest[1:1+digits], 16, 32)
	if err != nil {
		return 0, p.errorf(`\%c needs %d hexadecimal digits`, rest[0], digits)
	}
	if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, p.errorf(`\%s is not a Unicode character`, rest[:1+digits])
	}
	p.pos += 2 + digits
	return rune(n), nil
}

// excluded returns the code points that negated classes and "." exclude: surrogates, which are
// not characters, and U+0000, which ends texts in llama.cpp and is never generated there.
func excluded() []rune { return []rune{0, 0, 0xD800, 0xDFFF} }

// gaps returns the ranges between those of set, ascending. set may be in any order.
func gaps(set []rune) (between []rune) {
	var pairs [][2]rune
	for i := 0; i < len(set); i += 2 {
		pairs = append(pairs, [2]rune{set[i], set[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	next := rune(0)
	for _, pair := range pairs {
		if next < pair[0] {
			between = append(between, next, pair[0]-1)
		}
		next = max(next, pair[1]+1)
	}
	if next <= utf8.MaxRune {
		between = append(between, next, utf8.MaxRune)
	}
	return between
}
