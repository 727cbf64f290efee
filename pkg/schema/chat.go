package schema

import (
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// Chat returns the canonical keys messages and system of a chat, in the model's
// format: by the templates of request.chat, or else each message is a copy of the first
// one in the defaults, with its role, and with its text where the path of prompt leads.
// System messages go to system if the record maps it, separated by blank lines; otherwise
// they are ordinary messages. What the record has no template for is [llm.Unsupported]:
// chats, calls, answers to calls, images.
func (s *Schema) Chat(messages []llm.Message) (map[string]any, error) {
	if !s.chats {
		return nil, &llm.Error{Code: llm.Unsupported, Param: "messages", Message: "this model does not support chats: its record maps none and has no chat_template"}
	}
	if s.form != nil {
		return s.form.chat(messages, s.Takes("system"))
	}
	var system []string
	list := make([]any, 0, len(messages))
	for i, m := range messages {
		content, err := contentOf(m, i)
		if err != nil {
			return nil, err
		}
		if m.Role == "system" && s.Takes("system") {
			system = append(system, content)
			continue
		}
		out := plain(s.sample)
		role.set(out, m.Role)
		s.turn.set(out, content)
		list = append(list, out)
	}
	body := map[string]any{"messages": list}
	if system != nil {
		body["system"] = strings.Join(system, "\n\n")
	}
	return body, nil
}

// Images reports whether chats that the model takes may have images: whether the messages of the user
// have a place for them in [Schema.Alternative], which takes such chats, or else in s. The provider
// knows whether the model reads them.
func (s *Schema) Images() bool {
	if s != nil && s.Alternative != nil {
		s = s.Alternative
	}
	return s != nil && s.form != nil && s.form.images("user")
}

var role = path{{kind: member, name: "role"}}

// message returns the first message of the defaults, and the path to its text.
func (s *Schema) message() (sample any, text path, ok bool) {
	all, prompt := s.slot("messages"), s.slot("prompt")
	if all == nil || prompt == nil || !all.exists || !prompt.exists || !prompt.path.definite() {
		return nil, nil, false
	}
	first := append(slices.Clone(all.path), step{kind: element})
	if len(prompt.path) <= len(first) || !slices.EqualFunc(prompt.path[:len(first)], first, sameOf) {
		return nil, nil, false
	}
	found, _ := first.places(s.defaults, maxDefaults)
	if len(found) != 1 {
		return nil, nil, false
	}
	return found[0].value, prompt.path[len(first):], true
}

// sameOf reports whether two steps, of which at least one is definite, are equal.
func sameOf(x, y step) bool { return x.kind == y.kind && x.name == y.name && x.index == y.index }

// contentOf returns the text of message i.
func contentOf(m llm.Message, i int) (string, error) {
	switch {
	case hasTokens(m):
		return "", errTokens
	case len(m.Calls) > 0 || m.CallID != "":
		return "", NoCalls(m, i)
	case !llm.Texts(m.Parts):
		return "", llm.NoImages("messages", i)
	}
	return joined(m.Parts), nil
}

var errTokens = &llm.Error{Code: llm.Unsupported, Param: "messages", Message: "this model accepts text, not token ids"}

func hasTokens(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Tokens != nil })
}

// NoCalls returns the error for a chat whose message i has calls or answers one.
func NoCalls(m llm.Message, i int) error {
	name := "tool_calls"
	if m.CallID != "" {
		name = "tool_call_id"
	}
	return &llm.Error{Code: llm.Unsupported, Param: fmt.Sprintf("messages[%d].%s", i, name), Message: "this model does not support chats with tool calls"}
}
