package invoke

import (
	"encoding/json"
	"fmt"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// newPrompt reads the text or the chat to continue.
func newPrompt(body map[string]json.RawMessage) (llm.Prompt, error) {
	var given []string
	for _, key := range []string{"prompt", "inputs", "messages"} {
		if !isNull(body[key]) {
			given = append(given, key)
		}
	}
	switch {
	case len(given) == 0:
		return llm.Prompt{}, wire.Invalid("prompt", "is required unless messages is sent")
	case len(given) > 1:
		return llm.Prompt{}, wire.Invalid(given[1], "cannot be combined with %s", given[0])
	case given[0] == "messages":
		list, err := newMessages(body)
		return llm.Prompt{Messages: list}, err
	}
	text, err := newText(given[0], body)
	if err != nil || isNull(body["system"]) {
		return llm.Text(text), err
	}
	system, err := newText("system", body)
	return llm.Prompt{Messages: []llm.Message{textMessage("system", system), textMessage("user", text)}}, err
}

func newText(key string, body map[string]json.RawMessage) (text string, err error) {
	return text, wire.UnmarshalAt(key, body[key], &text)
}

func textMessage(role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// newMessages reads a chat. system becomes its first message.
func newMessages(body map[string]json.RawMessage) ([]llm.Message, error) {
	const key = "messages"
	var sent []message
	if err := wire.UnmarshalAt(key, body[key], &sent); err != nil {
		return nil, err
	}
	if len(sent) == 0 {
		return nil, wire.Invalid(key, "at least one is required")
	}
	var list []llm.Message
	if !isNull(body["system"]) {
		text, err := newText("system", body)
		if err != nil {
			return nil, err
		}
		list = append(list, textMessage("system", text))
	}
	for i := range sent {
		m, err := sent[i].translate(fmt.Sprintf("%s[%d]", key, i))
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// translate translates the message at path.
func (m *message) translate(path string) (llm.Message, error) {
	out := llm.Message{Role: m.Role, CallID: m.ToolCallID}
	switch {
	case !slices.Contains([]string{"system", "user", "assistant", "tool"}, m.Role):
		return out, wire.Invalid(path+".role", "must be system, user, assistant or tool, not %.40q", m.Role)
	case len(m.ToolCalls) > 0 && m.Role != "assistant":
		return out, wire.Invalid(path+".tool_calls", "is only allowed in a message of the role assistant")
	case (m.ToolCallID != "") != (m.Role == "tool"):
		return out, wire.Invalid(path+".tool_call_id", "is required in a message of the role tool and not allowed in others")
	}
	var err error
	for i, c := range m.ToolCalls {
		call := llm.Call{Index: i, ID: c.ID, Name: c.Function.Name}
		at := fmt.Sprintf("%s.tool_calls[%d].function", path, i)
		if call.Name == "" {
			return out, wire.Invalid(at+".name", "is required")
		}
		if call.Arguments, err = openaiapi.Arguments(at+".arguments", c.Function.Arguments); err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, call)
	}
	out.Parts, err = content(path+".content", m.Content)
	if err == nil && len(out.Parts) == 0 && len(out.Calls) == 0 {
		err = wire.Invalid(path+".content", "is required")
	}
	return out, err
}

// content reads a text, or a list of parts.
func content(path string, raw json.RawMessage) ([]llm.Part, error) {
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] != '[' {
		var text string
		err := wire.UnmarshalAt(path, raw, &text)
		return []llm.Part{{Text: text}}, err
	}
	var sent []part
	if err := wire.UnmarshalAt(path, raw, &sent); err != nil {
		return nil, err
	}
	var list []llm.Part
	for i, p := range sent {
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case p.Type != nil && *p.Type != "text":
			return nil, wire.Invalid(at+".type", "must be text, not %.40q", *p.Type)
		case p.Text == nil:
			return nil, wire.Invalid(at+".text", "is required")
		}
		list = openaiapi.AppendPart(list, llm.Part{Text: *p.Text})
	}
	return list, nil
}

// newTools reads functions in OpenAI's form.
func newTools(key string, raw json.RawMessage) ([]llm.Tool, error) {
	var sent []tool
	if err := wire.UnmarshalAt(key, raw, &sent); err != nil {
		return nil, err
	}
	if len(sent) > openaiapi.MaxTools {
		return nil, wire.Invalid(key, "at most %d tools", openaiapi.MaxTools)
	}
	list, seen := make([]llm.Tool, len(sent)), map[string]bool{}
	for i, t := range sent {
		f, path := t.Function, fmt.Sprintf("%s[%d]", key, i)
		if t.Type != "function" {
			return nil, wire.Invalid(path+".type", "must be function, not %.40q", t.Type)
		}
		made, err := openaiapi.Tool(path+".function", llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
		if err != nil {
			return nil, err
		}
		if seen[made.Name] {
			return nil, wire.Invalid(path+".function.name", "another tool is named %q", made.Name)
		}
		list[i], seen[made.Name] = made, true
	}
	return list, nil
}

// newCalls translates the calls of an answer, or their fragments in a line of a stream.
func newCalls(calls []llm.Call, stream bool) []toolCall {
	list := make([]toolCall, len(calls))
	for i, c := range calls {
		list[i] = toolCall{ID: c.ID, Function: called{c.Name, c.Arguments}}
		if c.Name != "" {
			list[i].Type = "function"
		}
		if stream {
			list[i].Index = &c.Index
		}
	}
	return list
}
