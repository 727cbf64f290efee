package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode decodes one JSON value, with the order of its members.
func decode(text []byte) (*document, error) { return read(text, true) }

// read is [decode] with an optional order.
func read(text []byte, ordered bool) (*document, error) {
	switch {
	case !utf8.Valid(text):
		return nil, errors.New("it is not UTF-8")
	case !json.Valid(text):
		return nil, fault(text)
	}
	r := &reader{text: string(text), doc: &document{}, at: make([]part, 0, 8)}
	if ordered {
		r.doc.order = map[uintptr][]string{}
	}
	var err error
	r.doc.root, err = r.value()
	return r.doc, err
}

// fault returns the error of an invalid text.
func fault(text []byte) error {
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil {
		return errors.New("unexpected data after the JSON value")
	}
	err := json.Unmarshal(text, &first)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset >= int64(len(text)) && strings.Contains(e.Error(), "unexpected end") {
		return errors.New("unexpected end of the JSON")
	}
	return err
}

// A reader decodes valid JSON. encoding/json would take five times as long, because
// only its token interface shows the order of members.
type reader struct {
	text string // names are substrings of it; values are copies, because they outlive it
	i    int    // offset of the next byte
	doc  *document
	at   []part // the path of the current value
}

// A part of a JSON pointer: a name, or the index of an element.
type part struct {
	name  string
	index int // of an element; -1: a name
}

// next advances to the next byte that is not a space.
func (r *reader) next() byte {
	for r.text[r.i] == ' ' || r.text[r.i] == '\n' || r.text[r.i] == '\t' || r.text[r.i] == '\r' {
		r.i++
	}
	return r.text[r.i]
}

func (r *reader) value() (any, error) {
	c := r.next()
	if (c == '{' || c == '[') && len(r.at) == maxDepth {
		return nil, fmt.Errorf("nests deeper than %d", maxDepth)
	}
	switch c {
	case '{':
		return r.object()
	case '[':
		return r.list()
	case '"':
		from := r.i
		s, err := r.string()
		if len(s) == r.i-from-len(`""`) { // a string without escapes is a substring
			s = strings.Clone(s)
		}
		return s, err
	case 't':
		r.i += len("true")
		return true, nil
	case 'f':
		r.i += len("false")
		return false, nil
	case 'n':
		r.i += len("null")
		return nil, nil
	}
	from := r.i
	for r.i < len(r.text) && strings.IndexByte("+-.eE0123456789", r.text[r.i]) >= 0 {
		r.i++
	}
	return json.Number(strings.Clone(r.text[from:r.i])), nil
}

func (r *reader) list() (any, error) {
	list := []any{}
	for r.i++; r.next() != ']'; {
		if r.text[r.i] == ',' {
			r.i++
		}
		v, err := r.inside(part{index: len(list)})
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	r.i++
	return list, nil
}

func (r *reader) inside(p part) (any, error) {
	r.at = append(r.at, p)
	v, err := r.value()
	r.at = r.at[:len(r.at)-1]
	return v, err
}

func (r *reader) object() (any, error) {
	m := map[string]any{}
	var names []string
	for r.i++; r.next() != '}'; {
		if r.text[r.i] == ',' {
			r.i++
			r.next()
		}
		name, err := r.string()
		if err != nil {
			return nil, err
		}
		r.next() // the colon
		r.i++
		v, err := r.inside(part{name, -1})
		if err != nil {
			return nil, err
		}
		if _, ok := m[name]; ok {
			r.doc.twice = append(r.doc.twice, r.pointer()+"/"+escape(name))
		} else if r.doc.order != nil {
			names = append(names, name)
		}
		m[name] = v
	}
	r.i++
	if r.doc.order != nil {
		r.doc.order[identity(m)] = names
	}
	return m, nil
}

// string decodes a string.
func (r *reader) string() (string, error) {
	from, escapes := r.i, false
	for r.i++; r.text[r.i] != '"'; r.i++ {
		if r.text[r.i] == '\\' {
			escapes = true
			r.i++
		}
	}
	r.i++
	if !escapes {
		return r.text[from+1 : r.i-1], nil
	}
	if s, ok := unescape(r.text[from+1 : r.i-1]); ok {
		return s, nil
	}
	var s string
	err := json.Unmarshal([]byte(r.text[from:r.i]), &s)
	return s, err
}

// unescape decodes a valid string without \u.
func unescape(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(b, s...)), true
		}
		b = append(b, s[:i]...)
		c := s[i+1]
		switch c {
		case 'u':
			return "", false
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		}
		b, s = append(b, c), s[i+2:]
	}
}

// pointer returns the JSON pointer of the current value.
func (r *reader) pointer() (text string) {
	for _, p := range r.at {
		if p.index >= 0 {
			p.name = strconv.Itoa(p.index)
		}
		text += "/" + escape(p.name)
	}
	return text
}
