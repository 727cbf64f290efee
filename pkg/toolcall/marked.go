package toolcall

import (
	"encoding/json"
	"strings"
)

// A markedReader is a place in a value of the style [Marked].
type markedReader struct {
	open []byte // the brackets that are open
	key  bool   // a key may follow
	text bool   // within a string
	word string // letters outside of strings
}

// marked reads a value of the style [Marked] up to what follows it.
func (r *Reader) marked() bool {
	v := &r.args.marked
	for r.held != "" {
		if !v.text && len(v.open) == 0 && (r.held[0] == r.syntax.Arguments.Between[0] || r.held[0] == r.syntax.End[0]) {
			r.emit(v.flush())
			r.args.phase = beforeArgument
			return true
		}
		out, n := v.read(r.held, &r.syntax.Arguments)
		if n == 0 {
			return false // more may come
		}
		r.emit(out)
		r.held = r.held[n:]
	}
	return false
}

// read returns what the beginning of a text adds to the JSON, and its length.
func (v *markedReader) read(text string, a *Arguments) (out string, n int) {
	if v.text {
		return v.inString(text, a.Quote)
	}
	switch quote := a.Quote; {
	case strings.HasPrefix(text, quote):
		v.text, v.key = true, false
		return v.flush() + `"`, len(quote)
	case strings.HasPrefix(quote, text):
		return "", 0
	}
	if v.key && text[0] != '}' {
		name, _, found := strings.Cut(text, a.Middle)
		if !found {
			return "", 0
		}
		v.key = false
		raw, _ := json.Marshal(name) // strings always marshal
		return string(raw) + ":", len(name) + len(a.Middle)
	}
	return v.outside(text[0]), 1
}

// inString returns what the beginning of a text within a string adds to the JSON.
func (v *markedReader) inString(text, quote string) (out string, n int) {
	if content, _, ended := strings.Cut(text, quote); ended {
		v.text = false
		return escape(content) + `"`, len(content) + len(quote)
	}
	n = len(text) - max(ends(text, quote), cutRune(text))
	return escape(text[:n]), n
}

// outside returns what a byte outside of strings and keys adds to the JSON.
func (v *markedReader) outside(c byte) string {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		v.word += string(rune(c))
		return ""
	}
	before := v.flush()
	switch last := len(v.open) - 1; c {
	case '{', '[':
		v.open, v.key = append(v.open, c), c == '{'
	case '}', ']':
		v.open, v.key = v.open[:max(0, last)], false
	case ',':
		v.key = last >= 0 && v.open[last] == '{'
	}
	return before + string([]byte{c})
}

// flush returns a word in JSON. Templates write null as Python does.
func (v *markedReader) flush() string {
	word := v.word
	v.word = ""
	if word == "None" {
		return "null"
	}
	return word
}

// marked writes a value in the style [Marked].
func (w *writer) marked(raw json.RawMessage) {
	var open []byte // the brackets that are open
	key := false    // a string is a key
	for token := range jsonTokens(raw) {
		switch c := token[0]; c {
		case '"':
			var text string
			_ = json.Unmarshal(token, &text) // a string in JSON
			if key {
				w.text(text)
				continue
			}
			w.own(w.syntax.Quote)
			w.text(text)
			w.own(w.syntax.Quote)
			continue
		case '{', '[':
			open = append(open, c)
		case '}', ']':
			open = open[:len(open)-1]
		}
		key = (token[0] == '{' || token[0] == ',') && len(open) > 0 && open[len(open)-1] == '{'
		w.text(string(token))
	}
}
