package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenData
	tokenPrintBegin // {{
	tokenPrintEnd
	tokenBlockBegin // {%
	tokenBlockEnd
	tokenName
	tokenString
	tokenInt
	tokenFloat
	tokenOperator
)

type token struct {
	kind tokenKind
	text string // of a string literal: its value
	at   int
}

// A lexer splits a source into tokens as jinja2.lexer does with trim_blocks and lstrip_blocks.
type lexer struct {
	src       string
	pos       int
	lineStart bool // the last match ended with a line feed
	tokens    []token
}

// normalise replaces all line ends by \n and drops one at the end of the source.
func normalise(source string) string {
	if strings.Contains(source, "\r") {
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimSuffix(source, "\n")
}

func (l *lexer) fail(at int, message string) {
	panic(failure{fault: Syntax, at: at, message: message})
}

func (l *lexer) add(kind tokenKind, text string, at int) {
	l.tokens = append(l.tokens, token{kind, text, at})
}

// run tokenises the source.
func (l *lexer) run() {
	l.lineStart = true
	for l.pos < len(l.src) {
		start := l.pos
		open := nextTag(l.src, start)
		if open < 0 {
			l.add(tokenData, l.src[start:], start)
			break
		}
		kind, after := l.src[open+1], open+2
		data := l.src[start:open]
		switch {
		case strings.HasPrefix(l.src[after:], "-"):
			data = strings.TrimRightFunc(data, isSpace)
			after++
		case strings.HasPrefix(l.src[after:], "+"):
			after++
		case kind != '{':
			data = l.stripLine(data)
		}
		if data != "" {
			l.add(tokenData, data, start)
		}
		l.pos = after
		switch kind {
		case '#':
			l.comment(open)
		case '{':
			l.add(tokenPrintBegin, "{{", open)
			l.inside(open, "}}", tokenPrintEnd)
		default:
			if !l.raw(open) {
				l.add(tokenBlockBegin, "{%", open)
				l.inside(open, "%}", tokenBlockEnd)
			}
		}
	}
	l.add(tokenEnd, "", len(l.src))
}

// nextTag returns the offset of the next "{{", "{%" or "{#", or -1.
func nextTag(src string, from int) int {
	for {
		i := strings.IndexByte(src[from:], '{')
		if i < 0 || from+i+1 >= len(src) {
			return -1
		}
		from += i
		if c := src[from+1]; c == '{' || c == '%' || c == '#' {
			return from
		}
		from++
	}
}

// stripLine removes the white space between the start of the line and a block: lstrip_blocks.
func (l *lexer) stripLine(data string) string {
	line := strings.LastIndexByte(data, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(data[line:], isSpace) == "" {
		return data[:line]
	}
	return data
}

// closing matches the end of a tag at pos: with "-" it takes the white space that follows, otherwise one line feed if trim.
func (l *lexer) closing(end string, trim bool) bool {
	rest := l.src[l.pos:]
	var n int
	switch {
	case strings.HasPrefix(rest, "-"+end):
		n = 1 + len(end)
		n = len(rest) - len(strings.TrimLeftFunc(rest[n:], isSpace))
	case trim && strings.HasPrefix(rest, "+"+end):
		n = 1 + len(end)
	case strings.HasPrefix(rest, end):
		n = len(end)
		if trim && strings.HasPrefix(rest[n:], "\n") {
			n++
		}
	default:
		return false
	}
	l.lineStart = rest[n-1] == '\n'
	l.pos += n
	return true
}

func (l *lexer) comment(open int) {
	n := strings.Index(l.src[l.pos:], "#}")
	if n < 0 {
		l.fail(open, "the comment has no end; close it with #}")
	}
	end := l.pos + n
	l.pos = end
	// A sign belongs to the end unless it is the opening's.
	if before := l.src[end-1]; (before == '-' || before == '+') && end-1 >= l.opening(open) {
		l.pos = end - 1
	}
	l.closing("#}", true)
}

// opening returns the offset behind a tag's opening and its sign.
func (l *lexer) opening(open int) int {
	if open+2 < len(l.src) && (l.src[open+2] == '-' || l.src[open+2] == '+') {
		return open + 3
	}
	return open + 2
}

// raw handles {% raw %}: it reports whether the tag is one.
func (l *lexer) raw(open int) bool {
	begin := l.pos
	if !l.word("raw") || !l.closing("%}", false) {
		l.pos = begin
		return false
	}
	start := l.pos
	for i := start; ; i += 2 {
		n := strings.Index(l.src[i:], "{%")
		if n < 0 {
			l.fail(open, "the block raw has no end; close it with {% endraw %}")
		}
		i += n
		l.pos = l.opening(i)
		sign := l.src[i+2 : l.pos]
		lineStart := l.lineStart
		if l.word("endraw") && l.closing("%}", true) {
			data := l.src[start:i]
			switch sign {
			case "-":
				data = strings.TrimRightFunc(data, isSpace)
			case "":
				after := l.lineStart
				l.lineStart = lineStart
				data = l.stripLine(data)
				l.lineStart = after
			}
			if data != "" {
				l.add(tokenData, data, start)
			}
			return true
		}
	}
}

// word skips a word between white space and reports whether it is there.
func (l *lexer) word(word string) bool {
	rest := strings.TrimLeftFunc(l.src[l.pos:], isSpace)
	if !strings.HasPrefix(rest, word) {
		return false
	}
	l.pos = len(l.src) - len(strings.TrimLeftFunc(rest[len(word):], isSpace))
	return true
}

// inside tokenises a tag up to its end, which counts only outside of brackets.
func (l *lexer) inside(open int, end string, kind tokenKind) {
	var brackets []byte
	for {
		l.pos = len(l.src) - len(strings.TrimLeftFunc(l.src[l.pos:], isSpace))
		if l.pos >= len(l.src) {
			l.fail(open, "the tag "+l.src[open:open+2]+" has no end; close it with "+end)
		}
		at := l.pos
		if len(brackets) == 0 && l.closing(end, kind == tokenBlockEnd) {
			l.add(kind, end, at)
			return
		}
		if l.literal() {
			continue
		}
		op := operator(l.src[at:])
		if op == "" {
			r, _ := utf8.DecodeRuneInString(l.src[at:])
			l.fail(at, "unexpected character "+quote(string(r)))
		}
		switch op {
		case "(":
			brackets = append(brackets, ')')
		case "[":
			brackets = append(brackets, ']')
		case "{":
			brackets = append(brackets, '}')
		case ")", "]", "}":
			if len(brackets) == 0 {
				l.fail(at, "unexpected "+quote(op)+": no bracket is open")
			}
			if last := brackets[len(brackets)-1]; last != op[0] {
				l.fail(at, "unexpected "+quote(op)+", want "+quote(string(last)))
			}
			brackets = brackets[:len(brackets)-1]
		}
		l.add(tokenOperator, op, at)
		l.pos += len(op)
	}
}

// operator returns the longest operator that s begins with.
func operator(s string) string {
	if len(s) >= 2 {
		switch s[:2] {
		case "//", "**", "==", "!=", ">=", "<=":
			return s[:2]
		}
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,;", s[0]) >= 0 {
		return s[:1]
	}
	return ""
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// literal tokenises a name, a number or a string.
func (l *lexer) literal() bool {
	at, rest := l.pos, l.src[l.pos:]
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		l.quoted(c)
		return true
	case c >= '0' && c <= '9':
		kind, n := number(rest, at > 0 && l.src[at-1] == '.')
		l.add(kind, strings.ReplaceAll(rest[:n], "_", ""), at)
		l.pos += n
		return true
	}
	n := len(rest) - len(strings.TrimLeftFunc(rest, isWord))
	if n == 0 {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(rest); unicode.IsDigit(r) {
		return false
	}
	l.add(tokenName, rest[:n], at)
	l.pos += n
	return true
}

// digits returns the length of the digits, each with an optional underscore before it after the first, that s begins with.
func digits(s string, ok func(byte) bool) int {
	n := 0
	for n < len(s) {
		switch {
		case ok(s[n]):
			n++
		case n > 0 && s[n] == '_' && n+1 < len(s) && ok(s[n+1]):
			n += 2
		default:
			return n
		}
	}
	return n
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }

// number returns the kind and the length of the number that s begins with.
func number(s string, afterDot bool) (tokenKind, int) {
	whole := digits(s, isDecimal)
	if n := whole; !afterDot {
		if n+1 < len(s) && s[n] == '.' && isDecimal(s[n+1]) {
			n += 1 + digits(s[n+1:], isDecimal)
		}
		float := n > whole
		if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
			m := n + 1
			if m < len(s) && (s[m] == '+' || s[m] == '-') {
				m++
			}
			if m < len(s) && isDecimal(s[m]) {
				n, float = m+digits(s[m:], isDecimal), true
			}
		}
		if float {
			return tokenFloat, n
		}
	}
	if s[0] == '0' && len(s) > 2 {
		var ok func(byte) bool
		switch s[1] {
		case 'b', 'B':
			ok = func(c byte) bool { return c == '0' || c == '1' }
		case 'o', 'O':
			ok = func(c byte) bool { return c >= '0' && c <= '7' }
		case 'x', 'X':
			ok = func(c byte) bool { return isDecimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
		}
		if ok != nil {
			skip := 2
			if s[2] == '_' {
				skip = 3
			}
			if n := digits(s[skip:], ok); n > 0 {
				return tokenInt, skip + n
			}
		}
	}
	if s[0] == '0' {
		return tokenInt, digits(s, func(c byte) bool { return c == '0' })
	}
	return tokenInt, whole
}

// quoted tokenises a string literal.
func (l *lexer) quoted(quote byte) {
	at := l.pos
	for i := at + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case quote:
			value, err := unescape(l.src[at+1 : i])
			if err != "" {
				l.fail(at, err)
			}
			l.add(tokenString, value, at)
			l.pos = i + 1
			return
		}
	}
	l.fail(at, "the string has no end")
}

// unescape decodes Python's escapes.
func unescape(s string) (value, fault string) {
	if !strings.Contains(s, `\`) {
		return s, ""
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if j := strings.IndexByte(`abfnrtv\'"`, s[i]); j >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v\\'\""[j])
			continue
		}
		size := 0
		switch c := s[i]; {
		case c == '\n':
			continue
		case c == 'x':
			size = 2
		case c == 'u':
			size = 4
		case c == 'U':
			size = 8
		case c == 'N':
			return "", `the escape \N is not supported; use \u`
		case c >= '0' && c <= '7':
			n := 1
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			r, _ := parseDigits(s[i:i+n], 8)
			b.WriteRune(r)
			i += n - 1
			continue
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
			continue
		}
		if i+size >= len(s) {
			return "", "an escape of the string is cut off"
		}
		r, ok := parseDigits(s[i+1:i+1+size], 16)
		if !ok {
			return "", "an escape of the string is malformed"
		}
		i += size
		// Two escapes can form a surrogate pair in JSON, not in Python: each half becomes U+FFFD.
		b.WriteRune(r)
	}
	return b.String(), ""
}

func parseDigits(s string, base rune) (rune, bool) {
	var r rune
	for _, c := range []byte(s) {
		d := rune(c)
		switch {
		case isDecimal(c):
			d -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = rune(c|0x20) - 'a' + 10
		default:
			return 0, false
		}
		if r = r*base + d; r > unicode.MaxRune {
			return 0, false
		}
	}
	return r, true
}
