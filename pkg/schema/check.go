package schema

import (
	"fmt"
	"slices"
	"strings"
)

// A check converts a document to a schema and collects its mistakes.
type check struct {
	doc      *document
	at       string // the pointer of the schema in the document
	schema   *Schema
	mistakes []error
}

func (c *check) wrong(pointer, format string, args ...any) {
	c.mistakes = append(c.mistakes, Mistake{c.at + pointer, fmt.Sprintf(format, args...)})
}

func (c *check) warn(pointer, format string, args ...any) {
	c.schema.warnings = append(c.schema.warnings, Mistake{c.at + pointer, fmt.Sprintf(format, args...)})
}

// all checks the document.
func (c *check) all() {
	for _, pointer := range c.doc.twice {
		c.wrong(pointer, "this name appears twice in its object")
	}
	top, ok := c.object("", c.doc.root, "api", "request", "response", "response-with-stream", "chat_template", "alternative")
	if !ok {
		return
	}
	c.bodies(top)
	if v, ok := top["chat_template"]; ok {
		if c.schema.ChatTemplate, ok = v.(string); !ok || v == "" {
			c.wrong("/chat_template", "it is %s, not the name of a template", kindOf(v))
		}
	}
	if v, ok := top["alternative"]; ok {
		other := &check{doc: c.doc, at: "/alternative", schema: &Schema{}}
		if m, ok := other.object("", v, "api", "request", "response", "response-with-stream"); ok {
			other.bodies(m)
		}
		c.mistakes, c.schema.Alternative = append(c.mistakes, other.mistakes...), other.schema
		c.schema.warnings = append(c.schema.warnings, other.schema.warnings...)
	}
}

// bodies checks how requests and answers are written.
func (c *check) bodies(top map[string]any) {
	for _, name := range []string{"request", "response"} {
		if _, ok := top[name]; !ok {
			c.wrong("/"+name, "it is missing")
		}
	}
	if v, ok := top["request"]; ok {
		c.request(v)
	}
	if v, ok := top["response"]; ok {
		c.schema.Response = c.response("/response", v)
	}
	if v, ok := top["response-with-stream"]; ok {
		c.schema.Stream = c.response("/response-with-stream", v)
	}
	if v, ok := top["api"]; ok {
		name, _ := v.(string)
		if c.schema.API = API(name); !slices.Contains(apis(), c.schema.API) {
			c.wrong("/api", "it must be converse, chat/completions, completions, embeddings or rerank; omit it for the operation that takes any body")
		}
	}
}

// apis lists the operations that a record names.
func apis() []API { return []API{Converse, ChatCompletions, Completions, Embeddings, Rerank} }

// object returns v if it is an object, and reports names outside allowed.
func (c *check) object(pointer string, v any, allowed ...string) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		c.wrong(pointer, "it is %s, not an object", kindOf(v))
		return nil, false
	}
	for _, name := range c.doc.names(m) {
		if !slices.Contains(allowed, name) {
			c.wrong(pointer+"/"+escape(name), "unknown name; known are %s", strings.Join(allowed, ", "))
		}
	}
	return m, true
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// request checks {defaults, mapping, omit_null}.
func (c *check) request(v any) {
	m, ok := c.object("/request", v, "defaults", "mapping", "omit_null", "chat", "reasoning", "inputs")
	if !ok {
		return
	}
	omit, ok := m["omit_null"].(bool)
	if v, stands := m["omit_null"]; stands && !ok {
		c.wrong("/request/omit_null", "it is %s, not true or false", kindOf(v))
	}
	defaults, ok := m["defaults"].(map[string]any)
	if !ok {
		c.wrong("/request/defaults", "it is %s, not an object", absent(m, "defaults"))
	}
	c.schema.defaults = defaults
	c.schema.base, _ = plain(defaults).(map[string]any)
	if omit {
		prune(c.schema.base)
	}
	taken := map[any]bool{} // of the defaults, by member
	c.mapping("/request/mapping", m, false, func(name string, p path) error {
		s := slot{name: name, path: p, create: omit && p.definite()}
		places, ok := p.places(defaults, maxDefaults)
		if !ok {
			return errTooMany
		}
		for _, at := range places {
			taken[at.key()] = true
		}
		if omit && !s.create {
			places, _ = p.places(c.schema.base, maxDefaults)
		}
		s.exists = slices.ContainsFunc(places, func(at place) bool { return at.in != nil })
		s.create = s.create && s.exists
		s.silent = s.exists && !slices.ContainsFunc(places, func(at place) bool { return at.value != nil })
		if !s.exists {
			c.warn("/request/mapping/"+escape(name), "the path %s matches nothing in the defaults: the key is not sent", p)
		}
		c.schema.slots = append(c.schema.slots, s)
		return nil
	})
	c.schema.sample, c.schema.turn, c.schema.chats = c.schema.message()
	if v, ok := m["chat"]; ok {
		c.schema.form = c.form("/request/chat", v)
		if c.schema.chats = c.schema.Takes("messages"); !c.schema.chats {
			c.wrong("/request/chat", "the mapping lacks messages")
		}
		if f := c.schema.form; f != nil && f.choice != nil && !c.schema.Takes("tool_choice") {
			c.wrong("/request/chat/choice", "the mapping lacks tool_choice")
		}
	}
	if v, ok := m["reasoning"]; ok {
		c.reasoners("/request/reasoning", v)
	}
	if v, ok := m["inputs"]; ok {
		c.schema.in = c.inputs("/request/inputs", v)
	}
	u := &unmappedDefaults{check: c, taken: taken, params: paramNames()}
	u.look("/request/defaults", defaults)
}

func absent(m map[string]any, name string) string {
	if v, ok := m[name]; ok {
		return kindOf(v)
	}
	return "missing"
}

const maxKeys = 500 // of a mapping

const maxPaths = 8 // of one key

// several returns the elements of a list of paths, if lists are allowed, and else v.
func several(v any, lists bool) []any {
	list, ok := v.([]any)
	if lists && ok && len(list) > 0 && len(list) <= maxPaths {
		return list
	}
	return []any{v}
}

// mapping checks a mapping and calls each with its keys and paths, in their order. A key has one
// path or, with lists, several.
func (c *check) mapping(pointer string, holder map[string]any, lists bool, each func(name string, p path) error) {
	m, ok := holder["mapping"].(map[string]any)
	if !ok {
		c.wrong(pointer, "it is %s, not an object", absent(holder, "mapping"))
		return
	}
	if len(m) > maxKeys {
		c.wrong(pointer, "it has more than %d keys", maxKeys)
		return
	}
	for _, name := range c.doc.names(m) {
		at := pointer + "/" + escape(name)
		for _, v := range several(m[name], lists) {
			text, ok := v.(string)
			if !ok {
				c.wrong(at, "it is %s, not a path", kindOf(v))
				continue
			}
			p, err := parsePath(text)
			if err == nil {
				err = each(name, p)
			}
			if err != nil {
				c.wrong(at, "the path %q: %v", text, err)
			}
		}
		if near := nearKey(name); near != "" && m[near] == nil {
			c.warn(at, "%q is not a canonical key; did you mean %q?", name, near)
		}
	}
}

// response checks {regex_sub, mapping}.
func (c *check) response(pointer string, v any) *Response {
	m, ok := c.object(pointer, v, "regex_sub", "mapping", "calls")
	if !ok {
		return nil
	}
	r := &Response{}
	pattern, ok := m["regex_sub"].(string)
	if v := m["regex_sub"]; v != nil && !ok {
		c.wrong(pointer+"/regex_sub", "it is %s, not a string", kindOf(v))
	}
	if pattern != "" {
		var err error
		if r.sub, err = compilePython(pattern); err != nil {
			c.wrong(pointer+"/regex_sub", "the regular expression %q: %v", pattern, err)
		}
	}
	c.mapping(pointer+"/mapping", m, true, func(name string, p path) error {
		f, err := newFinder(p)
		r.keys = append(r.keys, key{name, f})
		r.fans = r.fans || slices.ContainsFunc(p, func(s step) bool { return s.kind == members || s.kind == descend })
		return err
	})
	if v, ok := m["calls"]; ok {
		r.calls, r.fans = c.calls(pointer+"/calls", v), true
		if slices.ContainsFunc(r.keys, func(k key) bool { return k.name == "tool_calls" }) {
			c.wrong(pointer+"/calls", "the mapping has tool_calls too")
		}
	}
	return r
}

// An unmappedDefaults finds defaults that contradict what callers assume to be off: a parameter
// without effect counts as sent though nothing carries it (see [llm.Params.Apply]).
type unmappedDefaults struct {
	*check
	taken  map[any]bool      // the members of mapped keys
	params map[string]string // parameters by their squeezed names
}

func (u *unmappedDefaults) look(pointer string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range u.doc.names(v) {
			at := pointer + "/" + escape(name)
			param := u.params[squeeze(name)]
			if param != "" && effective(param, v[name]) && !u.taken[place{in: v, name: name}.key()] {
				u.warn(at, "the default is always sent, even if a request turns %s off: no key leads here", param)
			}
			u.look(at, v[name])
		}
	case []any:
		for i, e := range v {
			u.look(fmt.Sprint(pointer, "/", i), e)
		}
	}
}

// key identifies members of objects.
func (p place) key() any {
	type member struct {
		in   uintptr
		name string
	}
	if m, ok := p.in.(map[string]any); ok {
		return member{identity(m), p.name}
	}
	return nil
}
