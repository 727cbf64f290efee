package hf

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/pretoken"
)

// A pattern is a compiled regular expression. One that covers every text with its matches, as
// those of pre-tokenizers do, has no search: a match begins where the last one ended.
type pattern struct {
	covering *patternDFA // nil: find searches
	find     matcher
	far      *patternDFA // nil, unless find may read far beyond a match
}

// on returns a matcher for one text. It takes linear time, which find does not if it reads far.
func (p *pattern) on(text string) matcher {
	if p.far != nil && len(text) > maxNear {
		return (&farScan{patternDFA: p.far}).find
	}
	return p.find
}

// split returns the splitter of a covering pattern for one text.
func (p *pattern) split(text string) pretoken.Splitter {
	if p.far != nil && len(text) > maxNear {
		return (&farScan{patternDFA: p.far}).match
	}
	return p.covering.match
}

// compilePattern compiles a regular expression that means the same in Oniguruma, for which
// tokenizer.json is written, and in package regexp: alternatives, groups, classes and
// repetition. It rejects look-around other than (?!\S), anchors other than $, flags other than
// those of (?i:...), back references and parts that repeat the empty text.
//
// In Oniguruma $ is the end of the text or the place before any \n.
//
// A group (?i:...) ignores the case of ASCII letters. In both engines s also matches U+017F,
// and k also matches U+212A. The engines treat other letters, properties and the foldings of
// single characters (U+00DF is ss) differently, so such a group must not contain them.
func compilePattern(source string) (pattern, error) {
	p := patternParser{rest: source}
	empty, err := p.alternatives(0)
	switch {
	case err == nil && p.rest != "":
		err = errors.New("unmatched )")
	case err == nil && empty:
		err = errors.New("it matches the empty text")
	}
	var out pattern
	if err == nil {
		out, err = p.compile()
	}
	if err != nil {
		return pattern{}, fmt.Errorf("pattern %.200q is not supported: %w", source, err)
	}
	return out, nil
}

// compile compiles the pattern that has been read.
func (p *patternParser) compile() (pattern, error) {
	d, err := newPatternDFA(p.out.String())
	if err != nil {
		return pattern{}, err
	}
	out := pattern{find: d.find}
	if d.covers() {
		out.covering, out.find = d, matchSplitter(d.match)
	}
	if d.lag() > maxLag {
		if out.far = d; len(d.next)/(d.count+1) > maxFarStates {
			return pattern{}, errors.New("it is too large for a pattern that reads far beyond a match")
		}
	}
	return out, nil
}

// maxPatternDepth bounds the nesting of groups.
const maxPatternDepth = 50

// patternParser rewrites a pattern for package regexp.
type patternParser struct {
	rest string
	out  strings.Builder // with (?!\S) written as \b
	fold bool            // within (?i:...)
	last rune            // the character before, in lower case, if it is of a group (?i:...); 0 for none
}

// alternatives reads alternatives and reports whether they match the empty text.
func (p *patternParser) alternatives(depth int) (empty bool, err error) {
	if depth > maxPatternDepth {
		return false, errors.New("it is nested too deeply")
	}
	for {
		e, err := p.sequence(depth)
		if err != nil {
			return false, err
		}
		empty = empty || e
		if !p.take("|") {
			return empty, nil
		}
		p.out.WriteByte('|')
		p.last = 0
	}
}

func (p *patternParser) sequence(depth int) (empty bool, err error) {
	empty = true
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		e, err := p.atom(depth)
		if err != nil {
			return false, err
		}
		if e, err = p.repetition(e); err != nil {
			return false, err
		}
		empty = empty && e
	}
	return empty, nil
}

func (p *patternParser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// atom reads an operand of repetition.
func (p *patternParser) atom(depth int) (empty bool, err error) {
	last := p.last
	if p.rest[0] != '(' {
		p.last = 0
	}
	switch p.rest[0] {
	case '(':
		if p.take(`(?!\S)`) {
			p.out.WriteString(`\b`)
			return true, nil
		}
		p.rest = p.rest[1:]
		return p.group(depth)
	case '[':
		p.rest = p.rest[1:]
		return false, p.class()
	case '.':
		p.rest = p.rest[1:]
		p.out.WriteString(`[^\n]`)
		return false, nil
	case '$':
		p.rest = p.rest[1:]
		p.out.WriteString(`(?m:$)`)
		return true, nil
	case '\\':
		set, _, err := p.escape()
		p.out.WriteString("[" + set + "]")
		return false, err
	case '^', '*', '+', '?', '{':
		return false, fmt.Errorf("%q", p.rest[0])
	}
	r, err := p.literal()
	if err == nil {
		err = p.join(last, r)
	}
	p.out.WriteString(regexp.QuoteMeta(string(r)))
	return false, err
}

// group reads a group after its (.
func (p *patternParser) group(depth int) (empty bool, err error) {
	outer := p.fold
	switch {
	case p.take("?i:"):
		p.fold = true
		p.out.WriteString("(?i:")
	case !p.take("?:") && strings.HasPrefix(p.rest, "?"):
		return false, fmt.Errorf("group (%.4s", p.rest)
	default:
		p.out.WriteString("(?:")
	}
	empty, err = p.alternatives(depth + 1)
	if err == nil && !p.take(")") {
		err = errors.New("missing )")
	}
	p.out.WriteByte(')')
	p.fold = outer
	return empty, err
}

// join rejects two letters of a group (?i:...) that are the folding of a single character
// (Unicode, CaseFolding.txt, status F): Oniguruma matches that character, package regexp does
// not. It also rejects some pairs that Oniguruma does not see because of groups between them.
func (p *patternParser) join(last, r rune) error {
	if p.fold {
		p.last = unicode.ToLower(r)
	}
	switch string([]rune{last, p.last}) {
	case "ff", "fi", "fl", "ss", "st":
		return fmt.Errorf("%c%c in a group (?i:...)", last, p.last)
	}
	return nil
}

func (p *patternParser) literal() (rune, error) {
	r, n := utf8.DecodeRuneInString(p.rest)
	if r == utf8.RuneError && n <= 1 {
		return 0, errors.New("broken UTF-8")
	}
	if p.fold && r >= utf8.RuneSelf && (unicode.In(r, unicode.L, unicode.M) || unicode.SimpleFold(r) != r) {
		return 0, fmt.Errorf("%q in a group (?i:...)", r)
	}
	p.rest = p.rest[n:]
	return r, nil
}

// repetition reads * + ? {n} {n,} {n,m}, and a following ?, which means as few as possible.
func (p *patternParser) repetition(empty bool) (bool, error) {
	if p.rest == "" || !strings.ContainsRune("*+?{", rune(p.rest[0])) {
		return empty, nil
	}
	if empty {
		return false, errors.New("repetition of what matches the empty text")
	}
	count, lazy := p.rest[:1], true
	if count == "{" {
		end := strings.IndexByte(p.rest, '}')
		if end < 0 {
			return false, errors.New("missing }")
		}
		count = p.rest[:end+1]
		least, most, ok := strings.Cut(count[1:end], ",")
		n, err := strconv.ParseUint(least, 10, 10)
		if err != nil || n > 1000 {
			return false, fmt.Errorf("repetition %.20s", count)
		}
		m := n
		if ok && most != "" {
			if m, err = strconv.ParseUint(most, 10, 10); err != nil || m < n || m > 1000 || m == 0 {
				return false, fmt.Errorf("repetition %.20s", count)
			}
		}
		empty, lazy = n == 0, ok // Oniguruma has another meaning for {n}?
	} else {
		empty = count != "+"
	}
	p.rest = p.rest[len(count):]
	p.out.WriteString(count)
	if lazy && p.take("?") {
		p.out.WriteByte('?')
	}
	if p.rest != "" && strings.ContainsRune("*+?{", rune(p.rest[0])) {
		return false, fmt.Errorf("repetition %s%c", count, p.rest[0])
	}
	return empty, nil
}

// class reads a class after its [.
func (p *patternParser) class() error {
	p.out.WriteByte('[')
	if p.take("^") {
		p.out.WriteByte('^')
	}
	for first := true; ; first = false {
		switch {
		case p.rest == "":
			return errors.New("missing ]")
		case p.rest[0] == ']' && !first:
			p.rest = p.rest[1:]
			p.out.WriteByte(']')
			return nil
		case p.rest[0] == '[' && !strings.HasPrefix(p.rest, "[:") && !strings.HasPrefix(p.rest, "[^"):
			if err := p.union(); err != nil {
				return err
			}
			continue
		case p.rest[0] == ']', p.rest[0] == '[', strings.HasPrefix(p.rest, "&&"):
			return fmt.Errorf("%.2q in a class", p.rest)
		case p.rest[0] == '-' && !first && !strings.HasPrefix(p.rest, "-]"):
			return errors.New("- in the middle of a class")
		}
		if err := p.member(); err != nil {
			return err
		}
	}
}

// union reads a class within a class, which adds its members.
func (p *patternParser) union() error {
	for p.rest = p.rest[1:]; ; {
		switch {
		case p.rest == "":
			return errors.New("missing ]")
		case p.take("]"):
			return nil
		case p.rest[0] == '[', p.rest[0] == '-', strings.HasPrefix(p.rest, "&&"):
			return fmt.Errorf("%.2q in a class", p.rest)
		}
		if err := p.member(); err != nil {
			return err
		}
	}
}

// member reads a character, a range or a set of a class.
func (p *patternParser) member() error {
	low, single, err := p.element()
	if err != nil {
		return err
	}
	p.out.WriteString(low)
	if len(p.rest) < 2 || p.rest[0] != '-' || p.rest[1] == ']' {
		return nil
	}
	p.rest = p.rest[1:]
	if p.fold && p.rest[0] >= utf8.RuneSelf {
		return errors.New("a range beyond ASCII in a group (?i:...)")
	}
	high, alone, err := p.element()
	if err != nil {
		return err
	}
	if !single || !alone {
		return errors.New("a range between sets")
	}
	p.out.WriteString("-" + high)
	return nil
}

// element reads a character or an escape; single reports whether it is one character.
func (p *patternParser) element() (set string, single bool, err error) {
	switch p.rest[0] {
	case '\\':
		return p.escape()
	case '[', ']':
		return "", false, fmt.Errorf("%q in a class", p.rest[0])
	}
	r, err := p.literal()
	return fmt.Sprintf(`\x{%x}`, r), true, err
}

// The white space of Unicode and what is not, as members of a class.
const (
	spaceSet    = `\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	notSpaceSet = `\x00-\x08\x0e-\x1f\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}`
)

// escape reads an escape and returns it as members of a class.
func (p *patternParser) escape() (set string, single bool, err error) {
	if len(p.rest) < 2 {
		return "", false, errors.New(`\ at the end`)
	}
	c := p.rest[1]
	name := p.rest[:2]
	p.rest = p.rest[2:]
	switch c {
	case 's':
		return spaceSet, false, nil
	case 'S':
		return notSpaceSet, false, nil
	case 'd':
		return `\p{Nd}`, false, nil
	case 'D':
		return `\P{Nd}`, false, nil
	case 'r', 'n', 't', 'f':
		return name, true, nil
	case 'p', 'P':
		property, rest, ok := strings.Cut(p.rest, "}")
		property, brace := strings.CutPrefix(property, "{")
		_, script := unicode.Scripts[property]
		_, category := unicode.Categories[property]
		if !ok || !brace || !script && (!category || property[0] == 'C') {
			return "", false, fmt.Errorf("%s%.20s", name, p.rest)
		}
		if p.fold {
			return "", false, fmt.Errorf("%s{%s} in a group (?i:...)", name, property)
		}
		p.rest = rest
		return name + "{" + property + "}", false, nil
	}
	if c < utf8.RuneSelf && unicode.In(rune(c), unicode.P, unicode.S) {
		return fmt.Sprintf(`\x%02x`, c), true, nil
	}
	return "", false, fmt.Errorf("escape %s", name)
}
