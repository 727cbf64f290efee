package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// A form says how a model writes chats with images and tools: templates for messages, for
// their parts, and for tools.
type form struct {
	messages map[string]*template // by role, and "failed" for the result of a failed call
	system   *template            // nil: the text
	text     *template            // of a part; nil: the text
	image    *template            // nil: the model reads no images
	call     *template            // nil: it makes no calls
	tool     *template            // nil: OpenAI's form
	choice   map[string]*template // by mode: auto, required, named, none
	oneCall  any                  // the value of one_call; nil: true
	merge    bool                 // adjacent messages of one role become one
	ids      ids
	marks    *marks
}

// marks are what a provider needs to cache the beginning of a request.
type marks struct {
	at      []string       // system, tools, messages
	members map[string]any // of the last element of their lists
	block   any            // or an element after it
}

// roles of the templates of messages, and modes of a choice.
var (
	roles = []string{"system", "user", "assistant", "tool", "failed"}
	modes = []string{"auto", "required", "named", "none"}
)

// form checks the form at pointer.
func (c *check) form(pointer string, v any) *form {
	m, ok := c.object(pointer, v, "messages", "system", "text", "image", "call", "tool", "choice", "one_call", "merge", "call_id", "cache")
	if !ok {
		return nil
	}
	f := &form{oneCall: m["one_call"]}
	for name, t := range map[string]**template{"system": &f.system, "text": &f.text, "image": &f.image, "call": &f.call, "tool": &f.tool} {
		if v, ok := m[name]; ok {
			*t = c.template(pointer+"/"+name, v, placesOf(name)...)
		}
	}
	f.messages = c.templates(pointer+"/messages", m["messages"], roles, "role", "text", "parts", "content", "calls", "id", "name")
	for _, role := range []string{"user", "assistant"} {
		if f.messages[role] == nil {
			c.wrong(pointer+"/messages/"+role, "it is missing")
		}
	}
	if f.call != nil && !f.messages["assistant"].has("calls") {
		c.wrong(pointer+"/messages/assistant", "it has no {calls}, so that calls are lost")
	}
	if v, ok := m["choice"]; ok {
		f.choice = c.templates(pointer+"/choice", v, modes, "name", "one_call")
	}
	if v, ok := m["merge"]; ok {
		if f.merge, ok = v.(bool); !ok {
			c.wrong(pointer+"/merge", "it is %s, not true or false", kindOf(v))
		}
	}
	f.ids = c.ids(pointer+"/call_id", m["call_id"])
	f.marks = c.marks(pointer+"/cache", m["cache"], f)
	return f
}

// images reports whether messages of a role may have images.
func (f *form) images(role string) bool {
	message := f.messages[role]
	return f.image != nil && (message.has("parts") || message.has("content"))
}

// placesOf returns the names of the places of a template.
func placesOf(template string) []string {
	switch template {
	case "image":
		return []string{"type", "format", "data"}
	case "call":
		return []string{"id", "name", "arguments", "arguments_json"}
	case "tool":
		return []string{"name", "description", "parameters"}
	}
	return []string{"text"}
}

// templates checks an object of templates, whose names are among known.
func (c *check) templates(pointer string, v any, known []string, places ...string) map[string]*template {
	m, ok := c.object(pointer, v, known...)
	if !ok {
		return nil
	}
	all := map[string]*template{}
	for name, v := range m {
		all[name] = c.template(pointer+"/"+escape(name), v, places...)
	}
	return all
}

// marks checks the marks at pointer.
func (c *check) marks(pointer string, v any, f *form) *marks {
	if v == nil {
		return nil
	}
	m, ok := c.object(pointer, v, "at", "members", "block")
	if !ok {
		return nil
	}
	out := &marks{block: m["block"]}
	out.members, ok = m["members"].(map[string]any)
	if v, sent := m["members"]; sent && !ok {
		c.wrong(pointer+"/members", "it is %s, not an object", kindOf(v))
	}
	if (out.block == nil) == (out.members == nil) {
		c.wrong(pointer, "it needs either members or a block")
	}
	at, _ := m["at"].([]any)
	for _, v := range at {
		place, _ := v.(string)
		if !slices.Contains([]string{"system", "tools", "messages"}, place) {
			c.wrong(pointer+"/at", "it lists places other than system, tools and messages")
		}
		out.at = append(out.at, place)
	}
	if len(at) == 0 {
		c.wrong(pointer+"/at", "it is %s, not a list of places", absent(m, "at"))
	}
	if slices.Contains(out.at, "system") && !f.system.isList() {
		c.wrong(pointer+"/at", "the template of system is not a list, so that it has no element to mark")
	}
	if user := f.messages["user"]; slices.Contains(out.at, "messages") && user != nil {
		if m, _ := user.root.(map[string]any); !(&template{root: m["content"]}).isList() {
			c.wrong(pointer+"/at", "the content of the user's messages is not a list, so that it has no element to mark")
		}
	}
	return out
}

func (t *template) isList() bool {
	if t == nil {
		return false
	}
	_, ok := t.root.([]any)
	return ok
}

// mark marks the last element of v, a list at a place.
func (m *marks) mark(place string, v any) any {
	list, _ := v.([]any)
	if m == nil || len(list) == 0 || !slices.Contains(m.at, place) {
		return v
	}
	if m.block != nil {
		return append(list, plain(m.block))
	}
	if last, ok := list[len(list)-1].(map[string]any); ok {
		for name, v := range m.members {
			last[name] = plain(v)
		}
	}
	return v
}

// put returns the value of a key in the model's form.
func (f *form) put(name string, v any) any {
	switch name {
	case "system":
		if text, ok := v.(string); ok && f.system != nil {
			return f.marks.mark(name, f.system.fill(map[string]any{"text": text}))
		}
	case "tools":
		if list, ok := toolsOf(v); ok && f.tool != nil {
			return f.marks.mark(name, f.tools(list))
		}
	case "tool_choice":
		if c, ok := choiceOf(v); ok {
			if v, ok := f.choose(c); ok {
				return v
			}
		}
	case "one_call":
		if v == true && f.oneCall != nil {
			return f.oneCall
		}
	}
	return v
}

func (f *form) tools(list []llm.Tool) []any {
	out := make([]any, len(list))
	for i, t := range list {
		values := map[string]any{"name": t.Name}
		if t.Description != "" {
			values["description"] = t.Description
		}
		if len(t.Parameters) > 0 {
			values["parameters"] = t.Parameters
		}
		out[i] = f.tool.fill(values)
	}
	return out
}

// toolsOf returns tools in OpenAI's form. Others are the model's own.
func toolsOf(v any) ([]llm.Tool, bool) {
	switch v := v.(type) {
	case []llm.Tool:
		return v, true
	case []any:
		out := make([]llm.Tool, len(v))
		for i, e := range v {
			m, _ := e.(map[string]any)
			f, ok := m["function"].(map[string]any)
			name, isName := f["name"].(string)
			if !ok || !isName || m["type"] != "function" {
				return nil, false
			}
			out[i].Name = name
			out[i].Description, _ = f["description"].(string)
			if p, ok := f["parameters"]; ok {
				out[i].Parameters, _ = json.Marshal(p) // it was decoded from JSON
			}
		}
		return out, true
	}
	return nil, false
}

// A choice says which tools the answer calls.
type choice struct {
	mode string // one of modes
	name string // of the tool, with mode named
	one  bool   // at most one call
}

// choiceOf returns a choice, which may be in OpenAI's form.
func choiceOf(v any) (choice, bool) {
	switch v := v.(type) {
	case choice:
		return v, true
	case string:
		return choice{mode: v}, slices.Contains([]string{"auto", "required", "none"}, v)
	case map[string]any:
		f, _ := v["function"].(map[string]any)
		name, ok := f["name"].(string)
		return choice{mode: "named", name: name}, ok && v["type"] == "function"
	}
	return choice{}, false
}

// choose returns a choice in the model's form; ok is false if it has none.
func (f *form) choose(c choice) (v any, ok bool) {
	t := f.choice[c.mode]
	if t == nil {
		return nil, false
	}
	values := map[string]any{"name": c.name}
	if c.one {
		values["one_call"] = true
	}
	return t.fill(values), true
}

// Choice separates from p which tools the answer calls: choice is the value of the key
// tool_choice, nil if the model does not need it, and rest has what it does not say.
// Declared are all tools of the request, if p offers fewer. Without tools in p, the chat
// has calls of them, which models do not read without a list of tools.
func (s *Schema) Choice(p llm.Params, declared []llm.Tool) (value any, rest llm.Params, err error) {
	if s.form == nil || len(p.Tools)+len(declared) == 0 {
		return nil, p, nil
	}
	f, c := s.form, choice{mode: "auto", one: p.OneCall != nil && *p.OneCall}
	must := p.MustCall != nil && *p.MustCall
	switch {
	case len(p.Tools) == 0:
		if f.choice["none"] == nil {
			return nil, p, &llm.Error{Code: llm.Unsupported, Param: "must_call", Message: "this model cannot be told to make no calls in a chat that has calls"}
		}
		p.Tools, c.mode = declared, "none"
	case must && len(p.Tools) == 1 && f.choice["named"] != nil:
		c.mode, c.name = "named", p.Tools[0].Name
		if declared != nil {
			p.Tools = declared
		}
	case must:
		c.mode = "required"
	}
	t := f.choice[c.mode]
	if t == nil { // auto needs no word; others remain in p, which is refused
		return nil, p, nil
	}
	p.MustCall = nil
	if t.has("one_call") {
		p.OneCall = nil
	} else {
		c.one = false
	}
	if c.mode == "auto" && !c.one {
		return nil, p, nil
	}
	return c, p, nil
}

// joined returns the text of parts, which have no tokens.
func joined(parts []llm.Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
