package toolcall

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// A Part is a part of written calls. Own says that it is the text of the syntax, and not that of
// a call: a special token counts only there.
type Part struct {
	Text string
	Own  bool
}

// Write returns calls in the syntax. Arguments that are not an object in JSON are written as
// they are, in any style.
func (s *Syntax) Write(calls []Call) []Part {
	if len(calls) == 0 {
		return nil
	}
	w := writer{syntax: &s.Arguments}
	w.own(s.Open)
	for i, c := range calls {
		if i > 0 {
			w.own(s.Between)
		}
		w.own(s.Call)
		w.text(s.name(c.Name))
		w.own(s.Middle)
		w.arguments(c.Arguments)
		w.own(s.End)
	}
	w.own(s.Close)
	w.end()
	return w.parts
}

// A writer collects the parts of calls.
type writer struct {
	syntax *Arguments
	parts  []Part
	last   strings.Builder // the text of the next part
	isOwn  bool            // the next part is of the syntax
}

func (w *writer) own(text string)  { w.add(text, true) }
func (w *writer) text(text string) { w.add(text, false) }

func (w *writer) add(text string, own bool) {
	if text != "" && own != w.isOwn {
		w.end()
		w.isOwn = own
	}
	w.last.WriteString(text)
}

// end ends a part.
func (w *writer) end() {
	if w.last.Len() > 0 {
		w.parts = append(w.parts, Part{w.last.String(), w.isOwn})
		w.last.Reset()
	}
}

// name returns a name as it stands in the syntax: between quotes it keeps within them.
func (s *Syntax) name(name string) string {
	if !strings.HasSuffix(s.Call, `"`) {
		return name
	}
	quoted := marshal(name)
	return quoted[1 : len(quoted)-1]
}

// arguments writes arguments, which are in JSON, in the style.
func (w *writer) arguments(object string) {
	a := w.syntax
	names, values, ok := members(object)
	if a.Style == JSON || !ok {
		w.text(object)
		return
	}
	for i, name := range names {
		if i > 0 {
			w.own(a.Between)
		}
		w.own(a.Open)
		w.text(name)
		if a.Typed != "" && values[i][0] != '"' {
			w.own(a.Typed)
		} else {
			w.own(a.Middle)
		}
		w.value(values[i])
		w.own(a.Close)
	}
}

// members returns the members of an object in order.
func members(object string) (names []string, values []json.RawMessage, ok bool) {
	d := json.NewDecoder(strings.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isText := t.(string)
		var value json.RawMessage
		if err != nil || !isText || d.Decode(&value) != nil {
			return nil, nil, false
		}
		names, values = append(names, name), append(values, value)
	}
	_, err := d.Token()
	return names, values, err == nil
}

// value writes a value in JSON in the style.
func (w *writer) value(raw json.RawMessage) {
	var text string
	isText := raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	switch a := w.syntax; {
	case a.Style == Marked:
		w.marked(raw)
	case isText && a.Style == Tagged:
		w.text(text)
	case isText:
		w.text(marshal(text))
	case a.Style == Python:
		w.literal(raw)
	default:
		w.text(string(raw))
	}
}

// literal writes a value in JSON as a literal of Python.
func (w *writer) literal(raw json.RawMessage) {
	for token := range jsonTokens(raw) {
		switch text := string(token); text {
		case "true":
			w.text("True")
		case "false":
			w.text("False")
		case "null":
			w.text("None")
		case ",", ":":
			w.text(text + " ")
		default:
			w.text(text)
		}
	}
}

// jsonTokens yields the tokens of valid JSON: brackets, commas, colons, strings, and other scalars.
func jsonTokens(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for at := 0; at < len(raw); {
			n := 1
			switch c := raw[at]; {
			case bytes.IndexByte([]byte(" \t\r\n"), c) >= 0:
				at++
				continue
			case c == '"':
				n = stringLen(raw[at:])
			case bytes.IndexByte([]byte("{}[],:"), c) < 0:
				if n = bytes.IndexAny(raw[at:], ",]} \t\r\n"); n < 0 {
					n = len(raw) - at
				}
			}
			if !yield(raw[at : at+n]) {
				return
			}
			at += n
		}
	}
}

// stringLen returns the length of the string that valid JSON begins with.
func stringLen(raw []byte) int {
	n := 1
	for ; raw[n] != '"'; n++ {
		if raw[n] == '\\' {
			n++
		}
	}
	return n + 1
}

// marshal returns a text in JSON, without escaping < and >.
func marshal(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // texts always encode
	return strings.TrimSuffix(b.String(), "\n")
}
