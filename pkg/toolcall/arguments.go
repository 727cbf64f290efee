package toolcall

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// An argumentReader converts the arguments of one call to JSON.
type argumentReader struct {
	phase argumentPhase
	count int  // arguments begun, in styles other than JSON
	text  bool // the value is a string as it is
	value valueReader

	marked markedReader // in place of value, in the style [Marked]
}

type argumentPhase uint8

const (
	beforeArgument argumentPhase = iota
	inKey
	inValue
)

// arguments reads what it can of a call's arguments and reports whether there is more to do.
func (r *Reader) arguments() bool {
	switch {
	case r.syntax.Arguments.Style == JSON:
		return r.object()
	case r.args.phase == beforeArgument:
		return r.beforeArgument()
	case r.args.phase == inKey:
		return r.key()
	case r.syntax.Arguments.Style == Python:
		return r.literal()
	case r.syntax.Arguments.Style == Marked:
		return r.marked()
	}
	return r.tag()
}

// object reads an object in JSON.
func (r *Reader) object() bool {
	if v := &r.args.value; v.depth == 0 && r.held != "" && r.held[0] != '{' {
		return r.giveUp()
	}
	n := 0
	for done := false; n < len(r.held) && !done; n++ {
		_, done = r.args.value.read(r.held[n])
	}
	r.emit(r.held[:n])
	r.held = r.held[n:]
	if n == 0 || r.args.value.depth > 0 {
		return false
	}
	return r.endArguments()
}

// endArguments goes on behind the arguments.
func (r *Reader) endArguments() bool {
	r.stage = ending
	if r.syntax.End == "" {
		r.stage = afterCall
	}
	return true
}

// beforeArgument reads the beginning of another argument, or sees that none follows.
func (r *Reader) beforeArgument() bool {
	a, end := &r.syntax.Arguments, r.syntax.End
	open := a.Open
	if r.args.count > 0 {
		open = a.Between + open
	}
	switch {
	case end != "" && strings.HasPrefix(r.held, end):
		r.emit([]string{"{}", "}"}[min(r.args.count, 1)])
		return r.endArguments()
	case r.held == "" || r.held != end && strings.HasPrefix(end, r.held) || len(r.held) < len(open) && strings.HasPrefix(open, r.held):
		return false
	case strings.HasPrefix(r.held, open):
		r.held, r.args.phase = r.held[len(open):], inKey
		return true
	}
	return r.giveUp()
}

// key reads the name of a parameter and what separates it from the value.
func (r *Reader) key() bool {
	a := &r.syntax.Arguments
	name, rest, found := strings.Cut(r.held, a.Middle)
	typed := false
	if a.Typed != "" {
		if before, after, ok := strings.Cut(r.held, a.Typed); ok && (!found || len(before) < len(name)) {
			name, rest, found, typed = before, after, true, true
		}
	}
	if !found {
		return false
	}
	raw, _ := json.Marshal(name) // strings always marshal
	r.emit([]string{"{", ","}[min(r.args.count, 1)] + string(raw) + ":")
	r.args.count++
	r.args.phase, r.args.value, r.args.marked = inValue, valueReader{python: a.Style == Python}, markedReader{}
	r.args.text = a.Style == Tagged && !typed && (a.Typed != "" || r.tagged(r.name, name))
	if r.args.text {
		r.emit(`"`)
	}
	r.held = rest
	return true
}

// tag reads a value up to its closing tag.
func (r *Reader) tag() bool {
	end := r.syntax.Arguments.Close
	value, rest, found := strings.Cut(r.held, end)
	if !found {
		keep := max(ends(r.held, end), cutRune(r.held))
		value, rest = r.held[:len(r.held)-keep], r.held[len(r.held)-keep:]
	}
	if r.args.text {
		value = escape(value)
	}
	r.emit(value)
	r.held = rest
	if !found {
		return false
	}
	if r.args.text {
		r.emit(`"`)
	}
	r.args.phase = beforeArgument
	return true
}

// cutRune returns the bytes of an incomplete character at the end of a text.
func cutRune(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// escape returns the content of a JSON string.
func escape(text string) string {
	if text == "" || plain(text) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings always marshal
	return b.String()[1 : b.Len()-2]
}

// plain reports whether a JSON string may hold a text as it is.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// literal reads a literal of Python up to what follows it.
func (r *Reader) literal() bool {
	var out strings.Builder
	v, n, done := &r.args.value, 0, false
	for ; n < len(r.held) && !done; n++ {
		c := r.held[n]
		if v.depth == 0 && v.quote == 0 && (c == r.syntax.Arguments.Between[0] || c == r.syntax.End[0]) {
			done = true
			break
		}
		text, _ := v.read(c)
		out.WriteString(text)
	}
	if done {
		out.WriteString(v.flush())
		r.args.phase = beforeArgument
	}
	r.emit(out.String())
	r.held = r.held[n:]
	return done
}

// A valueReader follows the brackets and quotes of a value in JSON or, converting it to JSON,
// in Python.
type valueReader struct {
	python  bool
	depth   int    // open brackets
	quote   byte   // that the string began with; 0 outside strings
	escaped bool   // after a backslash
	word    string // of letters, in Python
}

// read returns what a byte adds to the JSON, and whether it closes the outermost bracket.
func (v *valueReader) read(c byte) (out string, closed bool) {
	out = string([]byte{c})
	switch {
	case v.quote != 0:
		return v.inString(c, out), false
	case v.python && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
		v.word += out
		return "", false
	}
	before := v.flush()
	switch c {
	case '"':
		v.quote = c
	case '\'':
		if v.python {
			v.quote, out = c, `"`
		}
	case '{', '[':
		v.depth++
	case '}', ']':
		v.depth--
		closed = v.depth <= 0
	}
	return before + out, closed
}

// inString returns what a byte of a string adds to the JSON.
func (v *valueReader) inString(c byte, out string) string {
	switch {
	case v.escaped:
		v.escaped = false
		if c == '\'' && v.python {
			return "'"
		}
		return `\` + out
	case c == '\\':
		v.escaped = true
		return ""
	case c == v.quote:
		v.quote = 0
		return `"`
	case c == '"': // in single quotes
		return `\"`
	}
	return out
}

// flush returns a word in JSON.
func (v *valueReader) flush() string {
	word := v.word
	v.word = ""
	switch word {
	case "True", "False":
		return strings.ToLower(word)
	case "None":
		return "null"
	}
	return word
}
