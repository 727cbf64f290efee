package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// A suiteCase is a chat that Python rendered.
type suiteCase struct {
	ID       string
	Template string
	Ctx      map[string]json.RawMessage
	Want     *string
}

// chat converts the variables of a case to what clients send. Its second result is why that
// cannot be done.
func (c *suiteCase) chat() (out Chat, tokens map[string]string, why string) {
	settings := map[string]json.RawMessage{}
	tokens = map[string]string{}
	for name, raw := range c.Ctx {
		var err error
		switch {
		case name == "messages":
			out.Messages, why = messagesOf(raw)
		case name == "tools":
			out.Tools, why = toolsOf(raw)
		case name == "add_generation_prompt":
			err = json.Unmarshal(raw, &out.Open)
		case strings.HasSuffix(name, "_token"):
			var text string
			err = json.Unmarshal(raw, &text)
			tokens[name] = text
		case name == "documents" && string(raw) == "null":
		case name == "strftime_now", name == "documents":
			why = name
		default:
			settings[name] = raw
		}
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			return out, tokens, why
		}
	}
	if _, ok := c.Ctx["add_generation_prompt"]; !ok {
		why = "no add_generation_prompt" // some templates have another default than transformers
	}
	if len(settings) > 0 {
		out.Settings, _ = json.Marshal(settings)
	}
	return out, tokens, why
}

// withDate returns the settings with the date of the suite, if the template reads a date.
func withDate(t *Template, c *Chat) json.RawMessage {
	if !t.program(len(c.Tools) > 0).Names().Variable(dateSetting) {
		return c.Settings
	}
	settings := map[string]json.RawMessage{}
	_ = json.Unmarshal(c.Settings, &settings)
	settings[dateSetting] = json.RawMessage(`"2026-07-05T12:00:00Z"`)
	raw, _ := json.Marshal(settings)
	return raw
}

func messagesOf(raw []byte) (list []llm.Message, why string) {
	var messages []map[string]json.RawMessage
	if json.Unmarshal(raw, &messages) != nil {
		return nil, "messages"
	}
	for _, m := range messages {
		var out llm.Message
		for key, raw := range m {
			var text string
			isText := string(raw) != "null" && json.Unmarshal(raw, &text) == nil
			switch {
			case key == "role" && isText && strings.Contains("system user assistant tool", text):
				out.Role = text
			case key == "content" && isText:
				if text != "" {
					out.Parts = []llm.Part{{Text: text}}
				}
			case key == "content" && string(raw) == "null": // that of calls
			case key == "reasoning_content" && isText:
				out.Reasoning = text
			case key == "tool_call_id" && isText:
				out.CallID = text
			case key == "name" && isText: // that of the call
			case key == "tool_calls":
				var calls []struct {
					ID       string
					Function struct {
						Name      string
						Arguments json.RawMessage
					}
				}
				if json.Unmarshal(raw, &calls) != nil {
					return nil, "tool_calls"
				}
				for _, c := range calls {
					if !strings.HasPrefix(string(c.Function.Arguments), "{") {
						return nil, "arguments"
					}
					out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Arguments: string(c.Function.Arguments)})
				}
			default:
				return nil, "a message with " + key
			}
		}
		list = append(list, out)
	}
	return list, ""
}

func toolsOf(raw []byte) (list []llm.Tool, why string) {
	var tools []struct {
		Type     string
		Function map[string]json.RawMessage
	}
	if json.Unmarshal(raw, &tools) != nil {
		return nil, "tools"
	}
	for _, tool := range tools {
		var out llm.Tool
		for key, raw := range tool.Function {
			switch key {
			case "name":
				_ = json.Unmarshal(raw, &out.Name)
			case "description":
				_ = json.Unmarshal(raw, &out.Description)
			case "parameters":
				out.Parameters = raw
			default:
				return nil, "a tool with " + key
			}
		}
		if tool.Type != "function" || out.Name == "" {
			return nil, "a tool of another type"
		}
		list = append(list, out)
	}
	return list, ""
}

// Chats as clients send them become the prompts that Python renders, for every template that
// can write them.
func TestCases(t *testing.T) {
	cases, texts := suite(t)
	equal, skipped := 0, map[string]int{}
	for _, c := range cases {
		c := &c
		chat, tokens, why := c.chat()
		if c.Want == nil {
			why = "Python fails"
		}
		if why != "" {
			skipped[why]++
			continue
		}
		template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: texts[c.Template]}, Tokens: tokens})
		if err != nil && len(chat.Tools) > 0 {
			template, err = Compile(Source{Templates: map[string]string{DefaultTemplate: plainTemplate, ToolsTemplate: texts[c.Template]}, Tokens: tokens})
		}
		if err != nil {
			skipped["not compiled"]++
			t.Logf("%s: %v", c.ID, err)
			continue
		}
		chat.Settings = withDate(template, &chat)
		if len(chat.Tools) > 0 && !template.nature.tools {
			skipped["its tools and calls are listed by us"]++
			continue
		}
		if !template.nature.calls && slices.ContainsFunc(chat.Messages, func(m llm.Message) bool { return len(m.Calls) > 0 }) {
			skipped["the template drops calls"]++
			continue
		}
		parts, err := template.Render(t.Context(), &chat)
		got, _ := llm.Prompt{Parts: parts}.Text()
		if template.calls.Family == "functionary" && chat.Open { // see openAnswer
			ends := map[bool]string{true: "", false: template.calls.Text}
			*c.Want = strings.TrimSuffix(*c.Want, template.calls.Trigger) + ends[len(chat.Tools) > 0]
		}
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.ID, err)
		case got != *c.Want:
			at := 0
			for at < len(got) && at < len(*c.Want) && got[at] == (*c.Want)[at] {
				at++
			}
			t.Errorf("%s: %+v\n at %d:\n%q\nwant\n%q", c.ID, template.nature, at, got[max(0, at-30):min(len(got), at+150)], (*c.Want)[max(0, at-30):min(len(*c.Want), at+150)])
		default:
			equal++
		}
	}
	if equal < 200 {
		t.Errorf("only %d were compared", equal)
	}
	t.Logf("%d equal of %d; skipped %v", equal, len(cases), skipped)
}
