package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A template is a JSON value with places for values: a text that is {name} stands for
// the value itself, a text that contains {name} for a text. In a list, the elements of a
// value that is a list take its place. A member or an element without a value is
// omitted. A nil template does not exist.
type template struct {
	root  any
	names []string // of the places
	size  int      // bytes of its names and texts, and values
}

// Limits of templates: each message of a chat is a copy of one, and an image in it may have
// megabytes.
const (
	maxTemplate = 4000 // size
	maxPlaces   = 4    // of one name
)

// template checks the template at pointer, which may have places of the given names.
func (c *check) template(pointer string, v any, known ...string) *template {
	t := &template{root: v}
	c.places(pointer, v, t, known)
	if t.size > maxTemplate {
		c.wrong(pointer, "it is larger than %d bytes", maxTemplate)
	}
	for _, name := range known {
		if n := count(t.names, name); n > maxPlaces {
			c.wrong(pointer, "it has {%s} %d times, at most %d are allowed", name, n, maxPlaces)
		}
	}
	return t
}

func count(names []string, name string) (n int) {
	for _, other := range names {
		if other == name {
			n++
		}
	}
	return n
}

func (c *check) places(pointer string, v any, t *template, known []string) {
	t.size++
	switch v := v.(type) {
	case map[string]any:
		for _, name := range c.doc.names(v) {
			t.size += len(name)
			c.places(pointer+"/"+escape(name), v[name], t, known)
		}
	case []any:
		for i, e := range v {
			c.places(fmt.Sprint(pointer, "/", i), e, t, known)
		}
	case json.Number:
		t.size += len(v)
	case string:
		t.size += len(v)
		for piece, name := range pieces(v) {
			switch {
			case piece == "": // a text
			case !slices.Contains(known, name):
				c.wrong(pointer, "%s is not a place of this template; it has {%s}", piece, strings.Join(known, "}, {"))
			default:
				t.names = append(t.names, name)
			}
		}
	}
}

// pieces yields the places of a text with their names, and the texts between them with an
// empty piece.
func pieces(text string) func(yield func(piece, name string) bool) {
	return func(yield func(piece, name string) bool) {
		for text != "" {
			start := strings.IndexByte(text, '{')
			if start < 0 {
				start = len(text)
			}
			if start > 0 && !yield("", text[:start]) {
				return
			}
			if text = text[start:]; text == "" {
				return
			}
			n := strings.IndexByte(text, '}')
			if n < 0 { // a brace that is not closed is a place that does not exist
				yield(text, text)
				return
			}
			if !yield(text[:n+1], text[1:n]) {
				return
			}
			text = text[n+1:]
		}
	}
}

// has reports whether t has a place of a name.
func (t *template) has(name string) bool { return t != nil && slices.Contains(t.names, name) }

// fill returns the value of t. Places without a value in values are omitted.
func (t *template) fill(values map[string]any) any {
	v, _ := fill(t.root, values)
	return v
}

func fill(v any, values map[string]any) (out any, ok bool) {
	switch v := v.(type) {
	case string:
		return fillText(v, values)
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, e := range v {
			if e, ok := fill(e, values); ok {
				m[name] = e
			}
		}
		return m, true
	case []any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			filled, ok := fill(e, values)
			if some, isList := filled.([]any); ok && isList && isPlace(e) {
				list = append(list, some...)
			} else if ok {
				list = append(list, filled)
			}
		}
		return list, true
	}
	return v, true
}

// isPlace reports whether a template is a single place.
func isPlace(v any) bool {
	text, ok := v.(string)
	return ok && strings.HasPrefix(text, "{") && strings.IndexByte(text, '}') == len(text)-1
}

func fillText(text string, values map[string]any) (any, bool) {
	if isPlace(text) {
		v, ok := values[text[1:len(text)-1]]
		return v, ok
	}
	if !strings.Contains(text, "{") {
		return text, true
	}
	var b strings.Builder
	for piece, name := range pieces(text) {
		if piece == "" {
			b.WriteString(name)
		} else if s, ok := values[name].(string); ok {
			b.WriteString(s)
		}
	}
	return b.String(), true
}

// verbatim returns a JSON text as a value that is written unchanged, so that its members keep their order.
func verbatim(text string) (json.RawMessage, bool) {
	return json.RawMessage(text), json.Valid([]byte(text))
}
