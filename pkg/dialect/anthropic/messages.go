package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// The types of blocks.
const (
	typeText     = "text"
	typeImage    = "image"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeUse      = "tool_use"
	typeResult   = "tool_result"
)

func blockTypes() []string {
	return []string{typeText, typeImage, typeThinking, typeRedacted, typeUse, typeResult}
}

// blockKeys lists the keys of each type of block besides type and cache_control, required
// ones first.
func blockKeys() map[string]struct{ required, optional []string } {
	return map[string]struct{ required, optional []string }{
		typeText:     {[]string{"text"}, []string{"citations"}},
		typeImage:    {[]string{"source"}, nil},
		typeThinking: {[]string{"thinking"}, []string{"signature"}},
		typeRedacted: {[]string{"data"}, nil},
		typeUse:      {[]string{"id", "name", "input"}, []string{"caller", "toolset_name"}},
		typeResult:   {[]string{"tool_use_id"}, []string{"content", "is_error", "toolset_name"}},
	}
}

// unsupported returns an error about a key whose value is a thing that is not supported.
func unsupported(path, format string, args ...any) error {
	e := llm.Errorf(llm.Unsupported, format, args...)
	e.Param = path
	return e
}

// blocks decodes content at path, a text or blocks of some types. A text is a block.
func blocks(path string, raw json.RawMessage, types ...string) ([]inputBlock, error) {
	if len(raw) == 0 || raw[0] != '[' {
		var text string
		if err := wire.UnmarshalAt(path, raw, &text); err != nil {
			return nil, err
		}
		return []inputBlock{{Type: typeText, Text: &text}}, nil
	}
	var list []json.RawMessage
	if err := wire.UnmarshalAt(path, raw, &list); err != nil {
		return nil, err
	}
	out := make([]inputBlock, len(list))
	for i, raw := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		var peek struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &peek) == nil && peek.Type != "" && !slices.Contains(types, peek.Type) {
			return nil, unsupported(path+".type", "blocks of type %.40q are not supported here: send %s", peek.Type, strings.Join(types, " or "))
		}
		if err := blockTable.DecodeAt(path, raw, &out[i]); err != nil {
			return nil, err
		}
		keys := blockKeys()[out[i].Type]
		if err := wire.CheckKeys(path, raw, "a block of type "+out[i].Type, keys.required, append([]string{"type", "cache_control"}, keys.optional...)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A conversation collects the messages of a chat.
type conversation struct {
	messages []llm.Message
	asked    map[string]bool // ids of the calls that have no result yet
	seen     map[string]bool // ids of all calls
}

// chat translates system and messages. continues reports whether the answer continues the last
// message.
func (p *prompted) chat() (messages []llm.Message, continues bool, err error) {
	talk := conversation{asked: map[string]bool{}, seen: map[string]bool{}}
	if len(p.System) > 0 && string(p.System) != "null" {
		if err := talk.text("system", "system", p.System); err != nil {
			return nil, false, err
		}
	}
	system := len(talk.messages)
	for i, m := range p.Messages {
		if err := talk.add(fmt.Sprintf("messages[%d].content", i), &m); err != nil {
			return nil, false, err
		}
	}
	if len(talk.messages) == system {
		return nil, false, wire.Invalid("messages", "at least one message with a text is required")
	}
	continues = talk.last("assistant")
	if continues {
		err = talk.prefill(fmt.Sprintf("messages[%d]", len(p.Messages)-1))
	}
	return talk.messages, continues, err
}

// last reports whether the last message has a role.
func (t *conversation) last(role string) bool {
	return len(t.messages) > 0 && t.messages[len(t.messages)-1].Role == role
}

// add adds a message, whose content is at path.
func (t *conversation) add(path string, m *message) error {
	switch m.Role {
	case "user":
		return t.user(path, m.Content)
	case "assistant":
		return t.assistant(path, m.Content)
	}
	return t.text(path, m.Role, m.Content)
}

// text adds a message that has only text; an empty one is left out.
func (t *conversation) text(path, role string, raw json.RawMessage) error {
	list, err := blocks(path, raw, typeText)
	if err != nil {
		return err
	}
	for i := range list {
		t.append(role, llm.Part{Text: *list[i].Text})
	}
	return nil
}

// append adds a part to the last message, if it has the role, or to a new one. Texts that follow
// each other are separated by a line feed.
func (t *conversation) append(role string, part llm.Part) {
	if part.Image == nil && part.Text == "" {
		return
	}
	if !t.last(role) || len(t.messages[len(t.messages)-1].Calls) > 0 {
		t.messages = append(t.messages, llm.Message{Role: role})
	}
	m := &t.messages[len(t.messages)-1]
	m.Parts = openaiapi.AppendPart(m.Parts, part)
}

// user adds a message of the user: the results of calls, and then texts and images.
func (t *conversation) user(path string, raw json.RawMessage) error {
	list, err := blocks(path, raw, typeText, typeImage, typeResult)
	if err != nil {
		return err
	}
	said := false
	for i := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		b := &list[i]
		switch {
		case b.Type != typeResult:
			said = true
			part, err := b.part(path)
			if err != nil {
				return err
			}
			t.append("user", part)
		case said:
			return wire.Invalid(path, "tool_result blocks come before the other blocks of a message")
		default:
			if err := t.result(path, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// part translates the text or the image of the block at path.
func (b *inputBlock) part(path string) (llm.Part, error) {
	if b.Type == typeText {
		return llm.Part{Text: *b.Text}, nil
	}
	image, err := openaiapi.Image(path+".source.data", "data:"+b.Source.MediaType+";base64,"+b.Source.Data)
	return llm.Part{Image: image}, err
}

// result adds the result of a call.
func (t *conversation) result(path string, b *inputBlock) error {
	if !t.asked[*b.ToolUseID] {
		return wire.Invalid(path+".tool_use_id", "%.80q is not the id of an earlier call without a result", *b.ToolUseID)
	}
	delete(t.asked, *b.ToolUseID)
	m := llm.Message{Role: "tool", CallID: *b.ToolUseID, Failed: b.IsError != nil && *b.IsError}
	if len(b.Content) > 0 && string(b.Content) != "null" {
		list, err := blocks(path+".content", b.Content, typeText, typeImage)
		if err != nil {
			return err
		}
		for i := range list {
			part, err := list[i].part(fmt.Sprintf("%s.content[%d]", path, i))
			if err != nil {
				return err
			}
			m.Parts = openaiapi.AppendPart(m.Parts, part)
		}
	}
	if m.Parts == nil {
		m.Parts = []llm.Part{{Text: ""}}
	}
	t.messages = append(t.messages, m)
	return nil
}

// assistant adds a message of the assistant: thinking, texts and calls.
func (t *conversation) assistant(path string, raw json.RawMessage) error {
	list, err := blocks(path, raw, typeText, typeThinking, typeRedacted, typeUse)
	if err != nil {
		return err
	}
	for i := range list {
		switch b := &list[i]; b.Type {
		case typeThinking:
			t.thought(*b.Thinking)
		case typeRedacted: // only its provider can read it
		case typeUse:
			err = t.call(fmt.Sprintf("%s[%d]", path, i), b)
		default:
			t.append("assistant", llm.Part{Text: *b.Text})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// thought adds reasoning, which begins a message.
func (t *conversation) thought(text string) {
	if text != "" { // it may have been omitted
		t.messages = append(t.messages, llm.Message{Role: "assistant", Reasoning: text})
	}
}

// call adds the call of the block at path.
func (t *conversation) call(path string, b *inputBlock) error {
	switch {
	case *b.ID == "":
		return wire.Invalid(path+".id", "must not be empty")
	case *b.Name == "":
		return wire.Invalid(path+".name", "must not be empty")
	case t.seen[*b.ID]:
		return wire.Invalid(path+".id", "another call has the same id")
	case b.Input[0] != '{':
		return wire.Invalid(path+".input", "must be an object")
	}
	t.seen[*b.ID], t.asked[*b.ID] = true, true
	if !t.last("assistant") {
		t.messages = append(t.messages, llm.Message{Role: "assistant"})
	}
	m := &t.messages[len(t.messages)-1]
	m.Calls = append(m.Calls, llm.Call{Index: len(m.Calls), ID: *b.ID, Name: *b.Name, Arguments: string(b.Input)})
	return nil
}

// prefill checks the last message, at path, which the answer continues.
func (t *conversation) prefill(path string) error {
	m := &t.messages[len(t.messages)-1]
	text, _ := llm.Prompt{Parts: m.Parts}.Text()
	switch {
	case len(m.Calls) > 0:
		return wire.Invalid(path, "the calls of the last message have no results")
	case m.Reasoning != "":
		return wire.Invalid(path, "an answer cannot continue a message with thinking")
	case text == "":
		return wire.Invalid(path, "must not be empty")
	case strings.TrimRightFunc(text, unicode.IsSpace) != text:
		return wire.Invalid(path, "final assistant content cannot end with trailing whitespace")
	}
	return nil
}
