package schema

import (
	"encoding/json"
	"strconv"
)

// A callReader reads calls from answers, and pieces of calls from events.
type callReader struct {
	each                       finder // to the calls
	index, id, name, arguments finder // within a call; nil: none
}

// calls checks {each, index, id, name, arguments}.
func (c *check) calls(pointer string, v any) *callReader {
	m, ok := c.object(pointer, v, "each", "index", "id", "name", "arguments")
	if !ok {
		return nil
	}
	r := &callReader{}
	for name, f := range map[string]*finder{"each": &r.each, "index": &r.index, "id": &r.id, "name": &r.name, "arguments": &r.arguments} {
		v, sent := m[name]
		if !sent {
			if name == "name" || name == "arguments" {
				c.wrong(pointer+"/"+name, "it is missing")
			}
			continue
		}
		text, ok := v.(string)
		if !ok {
			c.wrong(pointer+"/"+name, "it is %s, not a path", kindOf(v))
			continue
		}
		p, err := parsePath(text)
		if err == nil {
			*f, err = newFinder(p)
		}
		if err != nil {
			c.wrong(pointer+"/"+name, "the path %q: %v", text, err)
		}
	}
	return r
}

// read returns the calls of an answer, or the pieces of an event, in OpenAI's form: those
// that have a name or arguments.
func (r *callReader) read(w *walk) (list []any, err error) {
	r.each.walk(w, place{value: w.doc.root}, func(at place) bool {
		var call map[string]any
		if call, err = r.one(w, at.value); call != nil {
			list = append(list, call)
		}
		return err == nil
	})
	if err == nil && w.budget < 0 {
		err = errTooMany
	}
	return list, err
}

func (r *callReader) one(w *walk, in any) (map[string]any, error) {
	function, call := map[string]any{}, map[string]any{}
	name, _, err := r.name.firstIn(w, in)
	if err != nil {
		return nil, err
	}
	if name, ok := name.(string); ok && name != "" {
		function["name"], call["type"] = name, "function"
	}
	arguments, ok, err := r.arguments.firstIn(w, in)
	if err != nil {
		return nil, err
	}
	if ok && arguments != nil {
		function["arguments"] = w.doc.text(arguments)
	}
	if len(function) == 0 {
		return nil, nil
	}
	call["function"] = function
	for name, f := range map[string]finder{"index": r.index, "id": r.id} {
		if f == nil {
			continue
		}
		v, ok, err := f.firstIn(w, in)
		if err != nil {
			return nil, err
		}
		if ok && v != nil {
			call[name] = v
		}
	}
	return call, nil
}

// text returns a text as it is, and any other value as JSON, with its members in the order
// of the document.
func (d *document) text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(d.appendJSON(nil, v))
}

func (d *document) appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '{')
		for i, name := range d.names(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(d.appendJSON(b, name), ':')
			b = d.appendJSON(b, v[name])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = d.appendJSON(b, e)
		}
		return append(b, ']')
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	}
	text, _ := json.Marshal(v) // a string
	return append(b, text...)
}
