package schema

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"glossa/pkg/llm"
)

// chat writes a chat in the model's form; system messages go to the key system if the
// record maps it.
func (f *form) chat(messages []llm.Message, separate bool) (map[string]any, error) {
	var system []string
	t := &turns{form: f, named: f.ids.named(messages), names: map[string]string{}}
	for i, m := range messages {
		if hasTokens(m) {
			return nil, errTokens
		}
		if m.Role == "system" && separate {
			if !llm.Texts(m.Parts) {
				return nil, f.noImages(m.Role, i)
			}
			system = append(system, joined(m.Parts))
			continue
		}
		if err := t.add(m, i); err != nil {
			return nil, err
		}
	}
	if n := len(t.list); n > 0 {
		if m, ok := t.list[n-1].(map[string]any); ok && f.marks != nil {
			m["content"] = f.marks.mark("messages", m["content"])
		}
	}
	body := map[string]any{"messages": t.list}
	if system != nil {
		body["system"] = strings.Join(system, "\n\n")
	}
	return body, nil
}

// noImages returns the error of message i, whose role has no place for images.
func (f *form) noImages(role string, i int) error {
	err := llm.NoImages("messages", i)
	if f.images("user") {
		err.Message = "this model reads no images in messages of the role " + role
	}
	return err
}

// turns collects the messages of a chat.
type turns struct {
	*form
	list  []any
	named map[string]string // ids of calls, as the model takes them
	names map[string]string // of the functions that were called, by id
}

// add adds message i.
func (t *turns) add(m llm.Message, i int) error {
	kind := m.Role
	if m.CallID != "" {
		if kind = "tool"; m.Failed && t.messages["failed"] != nil {
			kind = "failed"
		}
	}
	form := t.messages[kind]
	switch {
	case (len(m.Calls) > 0 || m.CallID != "") && (t.call == nil || form == nil):
		return NoCalls(m, i)
	case form == nil:
		return &llm.Error{Code: llm.Unsupported, Param: fmt.Sprintf("messages[%d].role", i), Message: fmt.Sprintf("this model has no messages of the role %.20s", m.Role)}
	case !llm.Texts(m.Parts) && !t.images(kind):
		return t.noImages(m.Role, i)
	}
	parts := t.parts(m)
	values := map[string]any{"role": m.Role, "text": joined(m.Parts), "content": joined(m.Parts), "parts": parts}
	if !llm.Texts(m.Parts) {
		values["content"] = parts
	}
	if m.CallID != "" {
		values["id"], values["name"] = t.named[m.CallID], t.names[m.CallID]
	}
	if len(m.Calls) > 0 {
		calls, err := t.calls(m, i)
		if err != nil {
			return err
		}
		values["calls"] = calls
	}
	t.append(form.fill(values))
	return nil
}

// append adds a message to the list, or its content to the message before.
func (t *turns) append(v any) {
	next, _ := v.(map[string]any)
	if len(t.list) > 0 && t.merge {
		last, _ := t.list[len(t.list)-1].(map[string]any)
		before, _ := last["content"].([]any)
		after, _ := next["content"].([]any)
		if before != nil && after != nil && equalExceptContent(last, next) {
			last["content"] = append(before, after...)
			return
		}
	}
	t.list = append(t.list, v)
}

func equalExceptContent(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, "content")
	delete(b, "content")
	return reflect.DeepEqual(a, b)
}

// parts returns the texts and images of a message. Providers refuse an empty text among
// other contents.
func (t *turns) parts(m llm.Message) []any {
	list := make([]any, 0, len(m.Parts))
	for _, p := range m.Parts {
		switch {
		case p.Image != nil:
			list = append(list, t.image.fill(map[string]any{
				"type": p.Image.Type, "format": strings.TrimPrefix(p.Image.Type, "image/"),
				"data": base64.StdEncoding.EncodeToString(p.Image.Data),
			}))
		case p.Text == "" && (len(m.Parts) > 1 || len(m.Calls) > 0):
		case t.text == nil:
			list = append(list, p.Text)
		default:
			list = append(list, t.text.fill(map[string]any{"text": p.Text}))
		}
	}
	return list
}

// calls returns the calls of message i.
func (t *turns) calls(m llm.Message, i int) ([]any, error) {
	list := make([]any, len(m.Calls))
	for n, c := range m.Calls {
		arguments, ok := verbatim(c.Arguments)
		if !ok {
			return nil, &llm.Error{Code: llm.Invalid, Param: fmt.Sprintf("messages[%d].tool_calls", i), Message: "the arguments of a call are not JSON"}
		}
		t.names[c.ID] = c.Name
		list[n] = t.call.fill(map[string]any{
			"id": t.named[c.ID], "name": c.Name, "arguments": arguments, "arguments_json": c.Arguments,
		})
	}
	return list, nil
}
