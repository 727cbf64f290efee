package automaton

import (
	"strings"
	"unicode"
)

// The parts of the classes of ECMA-262, section 22.2.2.9, that Python's re shares.
const (
	digits = "09"
	words  = "09AZ__az"
	folded = words + "\u017F\u017F\u212A\u212A" // \w if case is ignored
	spaces = "\t\r  \u00A0\u00A0\u1680\u1680\u2000\u200A\u2028\u2029\u202F\u202F\u205F\u205F\u3000\u3000"
)

// looseSpaces holds \s of ECMA-262 and of Python's re.
const looseSpaces = spaces + "\x1C\x1F\u0085\u0085\uFEFF\uFEFF"

// classOf returns the set of \d, \w or \s.
func (p *parser) classOf(c rune, loose bool) []rune {
	switch {
	case !loose && c == 'w' && p.flags.ignoreCase:
		return []rune(folded)
	case !loose:
		return classOf(c, false)
	}
	name := "}" + string(c) // no property has this name
	set := p.named[name]
	if set == nil {
		set = classOf(c, true)
		p.spend(16*len(set), 24*len(set))
		p.named[name] = set
	}
	return set
}

func classOf(c rune, loose bool) []rune {
	switch {
	case c == 'd' && loose:
		return normal(append([]rune(digits), tableSet(unicode.Nd)...))
	case c == 'd':
		return []rune(digits)
	case c == 'w' && loose:
		return normal(append([]rune(words), tableSet(unicode.L, unicode.N)...))
	case c == 'w':
		return []rune(words)
	case loose:
		return normal([]rune(looseSpaces))
	}
	return []rune(spaces)
}

// classEscape reads the rest of an escape that stands for a set. It folds the set if the
// pattern ignores case.
func (p *parser) classEscape() ([]rune, bool) {
	if !p.more() {
		return nil, false
	}
	c := p.src[p.at]
	var set []rune
	switch c | 0x20 {
	case 'd', 'w', 's':
		set = p.classOf(c|0x20, p.loose != (c < 'a')) // under a negation the other reading counts
	case 'p':
		p.at++
		set = p.property()
		p.at--
	default:
		return nil, false
	}
	p.at++
	if c < 'a' {
		set = negate(set)
	}
	if c|0x20 == 'p' {
		set = p.fold(set)
	}
	return set, true
}

// escape reads the rest of an escape that stands for a character.
func (p *parser) escape(inClass bool) rune {
	switch c := p.next(); {
	case strings.ContainsRune("tnvfr", c):
		return rune("\t\n\v\f\r"[strings.IndexRune("tnvfr", c)])
	case c == 'b' && inClass:
		return '\b'
	case c == '0' && (!p.more() || p.src[p.at] < '0' || p.src[p.at] > '9'):
		return 0
	case c == 'c' && p.more() && 'a' <= p.src[p.at]|0x20 && p.src[p.at]|0x20 <= 'z':
		return p.next() & 31
	case c == 'x':
		return p.hexadecimal(2)
	case c == 'u':
		return p.codePoint()
	case '0' <= c && c <= '9' || c == 'k':
		p.fail("back-references are not supported")
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		p.fail(`\%c means nothing in ECMA-262`, c)
	default:
		return c
	}
	return 0
}

// codePoint reads what follows \u: four digits, twice for a surrogate pair, or braces.
func (p *parser) codePoint() rune {
	if !p.take("{") {
		c := p.hexadecimal(4)
		at := p.at
		if 0xD800 <= c && c < 0xDC00 && p.take(`\u`) && !p.peek("{") {
			if low := p.hexadecimal(4); 0xDC00 <= low && low < 0xE000 {
				return 0x10000 + (c-0xD800)<<10 + low - 0xDC00
			}
		}
		if p.err == nil {
			p.at = at
		}
		return c
	}
	c, first := rune(0), p.at
	for p.more() && isHex(p.src[p.at]) && c <= unicode.MaxRune {
		c = c<<4 + p.hexadecimal(1)
	}
	if p.at == first || c > unicode.MaxRune || !p.take("}") {
		p.fail(`\u{ needs a code point and }`)
	}
	return c
}

func isHex(c rune) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func (p *parser) hexadecimal(n int) rune {
	v := rune(0)
	for range n {
		c := p.next()
		if !isHex(c) {
			p.fail(`\x needs two hexadecimal digits, \u four`)
			return 0
		}
		if c > '9' {
			c += 9
		}
		v = v<<4 | c&15
	}
	return v
}

// class reads the set of a class after its bracket.
func (p *parser) class() []rune {
	negative := p.take("^")
	if negative { // under a negation the other reading counts
		p.loose = !p.loose
		defer func() { p.loose = !p.loose }()
	}
	var sets, chars []rune // those of escapes, and characters with ranges
	for p.more() && !p.peek("]") {
		lo, single := p.member(&sets)
		if single {
			chars = append(chars, lo, lo)
		}
		if !p.peek("-") || p.peek("-]") {
			continue
		}
		p.at++
		hi, also := p.member(&sets)
		switch {
		case !single || !also: // Annex B: a hyphen next to a class is a character
			chars = append(chars, '-', '-')
			if also {
				chars = append(chars, hi, hi)
			}
		case lo > hi:
			p.fail("a range from %c down to %c", lo, hi)
		default:
			chars = append(chars, lo, hi)
		}
	}
	if !p.take("]") {
		p.fail("unmatched [")
	}
	set := append(sets, p.fold(normal(chars))...)
	p.spend(8*len(set), 16*len(set))
	if set = normal(set); negative {
		set = negate(set)
	}
	return set
}

// member reads a member of a class. It returns a single character, and adds an escape that
// stands for several to set.
func (p *parser) member(set *[]rune) (c rune, single bool) {
	c = p.next()
	if c == '\\' {
		if more, ok := p.classEscape(); ok {
			p.spend(4*len(more), 16*len(more))
			*set = append(*set, more...)
			return 0, false
		}
		c = p.escape(true)
	}
	return c, true
}

// property reads what follows \p: a general category, a script or a binary property.
func (p *parser) property() []rune {
	var name []rune
	if p.take("{") {
		for p.more() && !p.peek("}") {
			name = append(name, p.next())
		}
		p.take("}")
	}
	if set := p.named[string(name)]; set != nil {
		return set
	}
	kind, value, both := strings.Cut(string(name), "=")
	if !both {
		kind, value = "", kind
	}
	if set := propertySet(kind, value); set != nil {
		p.spend(16*len(set), 24*len(set))
		p.named[string(name)] = set
		return set
	}
	if kind == "scx" || kind == "Script_Extensions" {
		p.fail(`\p{%s}: Script_Extensions is not supported, only Script`, string(name))
	}
	p.fail(`\p{%s} is not a supported category, script or property`, string(name))
	return nil
}

// propertySet returns the characters of a property, and nil if the tables of package unicode
// lack it, as they do Script_Extensions and the properties of emoji.
func propertySet(kind, value string) []rune {
	if kind == "" || kind == "gc" || kind == "General_Category" {
		name := value
		if short, ok := unicode.CategoryAliases[value]; ok {
			name = short
		}
		if t := unicode.Categories[name]; t != nil {
			return tableSet(t)
		}
	}
	if kind == "" || kind == "sc" || kind == "Script" {
		if t := unicode.Scripts[value]; t != nil {
			return tableSet(t)
		}
	}
	if kind != "" {
		return nil
	}
	switch value {
	case "Any":
		return []rune{0, unicode.MaxRune}
	case "ASCII":
		return []rune{0, 0x7F}
	case "Assigned":
		return negate(tableSet(unicode.Cn))
	case "Alphabetic", "Alpha": // Unicode 15, DerivedCoreProperties.txt, as the next two
		return tableSet(unicode.L, unicode.Nl, unicode.Other_Alphabetic)
	case "Uppercase", "Upper":
		return tableSet(unicode.Lu, unicode.Other_Uppercase)
	case "Lowercase", "Lower":
		return tableSet(unicode.Ll, unicode.Other_Lowercase)
	}
	if t := unicode.Properties[value]; t != nil && !strings.HasPrefix(value, "Other_") {
		return tableSet(t)
	}
	return nil
}

func tableSet(tables ...*unicode.RangeTable) []rune {
	var set []rune
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			set = append(set, lo, hi)
			return
		}
		for c := lo; c <= hi; c += stride {
			set = append(set, c, c)
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return normal(set)
}
