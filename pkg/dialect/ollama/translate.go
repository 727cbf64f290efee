package ollama

import (
	"encoding/json"
	"fmt"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// request translates a chat; every error names the key at fault.
func (c *chatRequest) request() (*llm.Request, error) {
	req, err := c.settings.request()
	if err != nil {
		return nil, err
	}
	for i, t := range c.Tools {
		f := t.Function
		made, err := openaiapi.Tool(fmt.Sprintf("tools[%d].function", i), llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(req.Tools, func(other llm.Tool) bool { return other.Name == made.Name }) {
			return nil, wire.Invalid(fmt.Sprintf("tools[%d].function.name", i), "another tool is named %q", made.Name)
		}
		req.Tools = append(req.Tools, made)
	}
	var talk conversation
	for i := range c.Messages {
		if err := talk.add(fmt.Sprintf("messages[%d]", i), &c.Messages[i]); err != nil {
			return nil, err
		}
	}
	req.Prompts = []llm.Prompt{{Messages: talk.messages}}
	return req, nil
}

// request translates a text; every error names the key at fault.
func (g *generateRequest) request() (*llm.Request, error) {
	req, err := g.settings.request()
	if err != nil {
		return nil, err
	}
	if g.Raw {
		switch {
		case g.System != "":
			return nil, wire.Invalid("system", "is not allowed with raw")
		case len(g.Images.Values) > 0:
			return nil, wire.Invalid("images", "is not allowed with raw")
		}
		req.Prompts = []llm.Prompt{llm.Text(g.Prompt)}
		return req, nil
	}
	var messages []llm.Message
	if g.System != "" {
		messages = append(messages, llm.Message{Role: "system", Parts: []llm.Part{{Text: g.System}}})
	}
	user := llm.Message{Role: "user", Parts: []llm.Part{{Text: g.Prompt}}}
	if user.Parts, err = images("images", g.Images.Values, user.Parts); err != nil {
		return nil, err
	}
	req.Prompts = []llm.Prompt{{Messages: append(messages, user)}}
	return req, nil
}

// request translates the settings.
func (s *settings) request() (*llm.Request, error) {
	o := &s.Options
	req := &llm.Request{N: 1, Stream: s.Stream == nil || *s.Stream}
	req.Params = llm.Params{
		Temperature: o.Temperature, TopK: o.TopK, TopP: wire.Mass(o.TopP), TypicalP: wire.Mass(o.TypicalP), RepetitionPenalty: o.RepeatPenalty,
		PresencePenalty: o.PresencePenalty, FrequencyPenalty: o.FrequencyPenalty, Seed: o.Seed, Stop: o.Stop.Values,
	}
	req.Defaults = llm.Params{Temperature: new(0.8), TopK: new(40), TopP: new(0.9)}
	if o.NumPredict != nil && *o.NumPredict >= 0 {
		req.MaxTokens = o.NumPredict
	}
	if s.TopLogprobs != nil && !s.Logprobs {
		return nil, wire.Invalid("top_logprobs", "is only accepted with logprobs: true")
	}
	if s.Logprobs {
		req.Logprobs = new(0)
		if s.TopLogprobs != nil {
			req.Logprobs = s.TopLogprobs
		}
	}
	if err := s.reason(&req.Params); err != nil {
		return nil, err
	}
	return req, s.structure(&req.Params)
}

// reason sets the parameters for thinking.
func (s *settings) reason(p *llm.Params) error {
	if len(s.Think) == 0 || string(s.Think) == "null" {
		return nil
	}
	if s.Think[0] != '"' {
		return wire.UnmarshalAt("think", s.Think, &p.Thinking)
	}
	var level string
	if err := wire.UnmarshalAt("think", s.Think, &level); err != nil {
		return err
	}
	if levels := []string{"low", "medium", "high"}; !slices.Contains(levels, level) {
		return wire.Invalid("think", "must be a boolean, low, medium or high, not %.40q", level)
	}
	p.Effort = &level
	return nil
}

// structure sets the format of the answer.
func (s *settings) structure(p *llm.Params) (err error) {
	if len(s.Format) == 0 || string(s.Format) == "null" {
		return nil
	}
	if s.Format[0] != '"' {
		p.Schema, err = openaiapi.Object("format", s.Format)
		return err
	}
	var word string
	if err := wire.UnmarshalAt("format", s.Format, &word); err != nil {
		return err
	}
	switch word {
	case "":
	case "json":
		p.Schema = json.RawMessage(openaiapi.AnyObject)
	default:
		return wire.Invalid("format", "must be json or a JSON Schema, not %.40q", word)
	}
	return nil
}

// A conversation collects the messages of a chat.
type conversation struct {
	messages []llm.Message
	asked    []llm.Call // calls that have no result yet
	calls    int
}

// add adds the message at path.
func (t *conversation) add(path string, m *message) (err error) {
	out := llm.Message{Role: m.Role, Reasoning: m.Thinking, Parts: []llm.Part{{Text: m.Content}}}
	if out.Parts, err = images(path+".images", m.Images.Values, out.Parts); err != nil {
		return err
	}
	if len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return wire.Invalid(path+".tool_calls", "only an assistant calls functions")
	}
	for i, call := range m.ToolCalls {
		arguments := "{}"
		if raw := call.Function.Arguments; len(raw) > 0 && string(raw) != "null" {
			object, err := openaiapi.Object(fmt.Sprintf("%s.tool_calls[%d].function.arguments", path, i), raw)
			if err != nil {
				return err
			}
			arguments = string(object)
		}
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d", t.calls)
		}
		t.calls++
		out.Calls = append(out.Calls, llm.Call{Index: i, ID: call.ID, Name: call.Function.Name, Arguments: arguments})
	}
	t.asked = append(t.asked, out.Calls...)
	if m.Role == "tool" {
		if out.CallID, err = t.answered(path, m); err != nil {
			return err
		}
	}
	if len(out.Calls) > 0 && m.Content == "" {
		out.Parts = nil
	}
	t.messages = append(t.messages, out)
	return nil
}

// answered returns the id of the call that a tool's message at path answers: by its id, else by
// the name of the function, else the first one.
func (t *conversation) answered(path string, m *message) (string, error) {
	at := -1
	switch {
	case m.ToolCallID != "":
		at = slices.IndexFunc(t.asked, func(c llm.Call) bool { return c.ID == m.ToolCallID })
	case m.ToolName != "":
		at = slices.IndexFunc(t.asked, func(c llm.Call) bool { return c.Name == m.ToolName })
	case len(t.asked) > 0:
		at = 0
	}
	if at < 0 {
		return "", wire.Invalid(path, "is the result of no earlier call")
	}
	id := t.asked[at].ID
	t.asked = slices.Delete(t.asked, at, at+1)
	return id, nil
}

// images adds images, which are at path, to parts.
func images(path string, list []string, parts []llm.Part) ([]llm.Part, error) {
	for i, data := range list {
		image, err := openaiapi.Base64(fmt.Sprintf("%s[%d]", path, i), data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, llm.Part{Image: image})
	}
	return parts, nil
}
