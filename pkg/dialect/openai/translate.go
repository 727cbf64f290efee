package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// request translates a chat; every error names the key at fault.
func (c *chatRequest) request() (*llm.Request, error) {
	if c.TopLogprobs != nil && !c.Logprobs {
		return nil, wire.Invalid("top_logprobs", "is only accepted with logprobs: true")
	}
	if err := c.sampling.check(); err != nil {
		return nil, err
	}
	length, err := c.length()
	if err != nil {
		return nil, err
	}
	params := c.params()
	params.MaxTokens, params.TopK = length, c.TopK
	if err := c.reason(&params); err != nil {
		return nil, err
	}
	declared, err := c.structure(&params)
	if err != nil {
		return nil, err
	}
	chat, err := c.Messages.prompt()
	if err != nil {
		return nil, err
	}
	predicted, err := c.Prediction.text()
	if err != nil {
		return nil, err
	}
	if c.Logprobs {
		params.Logprobs = new(0)
		if c.TopLogprobs != nil {
			params.Logprobs = c.TopLogprobs
		}
	}
	return &llm.Request{
		Prompts:    []llm.Prompt{chat},
		N:          c.choices(),
		Stream:     c.Stream,
		Params:     params,
		Declared:   declared,
		Prediction: predicted,
		Defaults:   llm.Params{Temperature: new(0.7)}, // Alpha's
	}, nil
}

// text returns the predicted text, "" of a nil prediction.
func (p *prediction) text() (string, error) {
	if p == nil {
		return "", nil
	}
	parts, err := (&message{Role: "assistant", Content: p.Content}).parts("prediction.content")
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
	}
	return text.String(), err
}

// alphaLimits applies the limits that Alpha's server has for its models. Other
// models generate to the end of their context, or to the client's limit, and draw among
// all tokens.
func alphaLimits(req *llm.Request) {
	req.Defaults.MaxTokens, req.Defaults.TopK = new(maxTokens), new(40)
	if req.MaxTokens != nil {
		req.MaxTokens = new(min(*req.MaxTokens, maxTokens))
	}
}

// cloud is the hosting that every model has.
const cloud = "cloud"

// hosted refuses a model that does not have the hosting that was sent.
func (c *chatRequest) hosted(info *llm.ModelInfo) error {
	if c.Hosting == nil || *c.Hosting == cloud || slices.Contains(info.Hostings, *c.Hosting) {
		return nil
	}
	return wire.Invalid("hosting", "the model %q is not hosted at %.40q: see /models_available", info.Name, *c.Hosting)
}

// check returns what is wrong with keys that depend on each other.
func (s *sampling) check() error {
	if s.StreamOptions != nil && !s.Stream {
		return wire.Invalid("stream_options", "is only accepted with stream: true")
	}
	return nil
}

// params translates the keys; MaxTokens is not among them.
func (s *sampling) params() llm.Params {
	return llm.Params{
		Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop.Values, Seed: s.Seed,
		PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty, LogitBias: wire.TokenBias(s.LogitBias),
	}
}

// choices is n.
func (s *sampling) choices() int {
	if s.N == nil {
		return 1
	}
	return *s.N
}

// withUsage reports whether a stream ends with the usage in a chunk of its own.
func (s *sampling) withUsage() bool { return s.StreamOptions != nil && s.StreamOptions.IncludeUsage }

// length returns the limit that was sent under one of its names, nil if none was.
func (c *chatRequest) length() (*int, error) {
	var first *int
	for _, sent := range []struct {
		name  string
		limit *int
	}{
		{"max_tokens", c.MaxTokens}, {"max_completion_tokens", c.MaxCompletionTokens}, {"maximum_tokens", c.MaximumTokens},
	} {
		switch {
		case sent.limit == nil:
		case first != nil && *first != *sent.limit:
			return nil, wire.Invalid(sent.name, "differs from another key for the same limit: send only one of them")
		default:
			first = sent.limit
		}
	}
	return first, nil
}

// prompt translates the messages.
func (list messages) prompt() (llm.Prompt, error) {
	var chat llm.Prompt
	called := map[string]bool{} // by id
	several := list.severalUsers()
	for i := range list {
		path := "messages[" + strconv.Itoa(i) + "]"
		turn, err := list[i].turn(path)
		if err != nil {
			return chat, err
		}
		if several {
			list[i].sign(&turn)
		}
		if turn.CallID != "" && !called[turn.CallID] {
			return chat, wire.Invalid(path+".tool_call_id", "%.80q is not the id of an earlier call", turn.CallID)
		}
		for _, call := range turn.Calls {
			called[call.ID] = true
		}
		chat.Messages = append(chat.Messages, turn)
	}
	return chat, nil
}

// severalUsers reports whether messages of users have different names.
func (list messages) severalUsers() bool {
	names := map[string]bool{}
	for i := range list {
		if m := &list[i]; m.Role == "user" && m.Name != "" {
			names[m.Name] = true
		}
	}
	return len(names) > 1
}

// sign puts the name of a user before the text of its turn, unless the client did, as AutoGen does for
// models without names. Hardly a chat template writes names.
func (m *message) sign(turn *llm.Message) {
	said := m.Name + " said:\n"
	if m.Role == "user" && m.Name != "" && !strings.HasPrefix(turn.Parts[0].Text, said) {
		turn.Parts = slices.Insert(turn.Parts, 0, llm.Part{Text: said})
	}
}

// turn translates the message that is at path.
func (m *message) turn(path string) (llm.Message, error) {
	turn := llm.Message{Role: m.Role, CallID: m.ToolCallID}
	if m.Role == "developer" {
		turn.Role = "system" // its newer name
	}
	switch {
	case m.Role == "tool" && m.ToolCallID == "":
		return turn, wire.Invalid(path+".tool_call_id", "is required in a message of the role tool")
	case m.Role != "tool" && m.ToolCallID != "":
		return turn, wire.Invalid(path+".tool_call_id", "is only allowed in a message of the role tool")
	}
	var err error
	if turn.Reasoning, err = m.pastReasoning.text(path, m.Role); err != nil {
		return turn, err
	}
	if turn.Calls, err = m.calls(path); err != nil {
		return turn, err
	}
	if len(turn.Calls) > 0 && (len(m.Content) == 0 || string(m.Content) == "null") {
		return turn, nil
	}
	parts, err := m.parts(path + ".content")
	for _, p := range parts {
		turn.Parts = openaiapi.AppendPart(turn.Parts, p)
	}
	return turn, err
}

// parts reads content, which is at path: a string or parts.
func (m *message) parts(path string) ([]llm.Part, error) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return nil, wire.Invalid(path, "must be a string or an array of parts")
	}
	if m.Content[0] != '[' {
		var text string
		if err := wire.UnmarshalAt(path, m.Content, &text); err != nil {
			return nil, err
		}
		return []llm.Part{{Text: text}}, nil
	}
	if err := m.knownTypes(path); err != nil {
		return nil, err
	}
	var list []contentPart
	if err := wire.UnmarshalAt(path, m.Content, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, wire.Invalid(path, "at least one part is required")
	}
	parts := make([]llm.Part, len(list))
	for i := range list {
		var err error
		if parts[i], err = list[i].part(fmt.Sprintf("%s[%d]", path, i), m.Role); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// part translates the part at path of a message of a role.
func (p *contentPart) part(path, role string) (llm.Part, error) {
	if err := contentTable.Check(path, p); err != nil {
		return llm.Part{}, err
	}
	isText := p.Type == "text"
	for _, member := range []struct {
		name         string
		sent, wanted bool
	}{{"text", p.Text != nil, isText}, {"image_url", p.ImageURL != nil, !isText}} {
		switch {
		case member.wanted && !member.sent:
			return llm.Part{}, wire.Invalid(path+"."+member.name, "is required")
		case member.sent && !member.wanted:
			return llm.Part{}, wire.Invalid(path+"."+member.name, "is not allowed in a part of type %s", p.Type)
		}
	}
	if isText {
		return llm.Part{Text: *p.Text}, nil
	}
	if role == "assistant" {
		return llm.Part{}, wire.Invalid(path, "images are not allowed in texts of the assistant")
	}
	image, err := openaiapi.Image(path+".image_url.url", p.ImageURL.URL)
	return llm.Part{Image: image}, err
}

// knownTypes refuses content parts of other types, before their keys are checked.
func (m *message) knownTypes(path string) error {
	var types []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.Content, &types) != nil {
		return nil // UnmarshalAt returns a better error
	}
	for i, part := range types {
		if part.Type != "text" && part.Type != "image_url" {
			e := llm.Errorf(llm.Unsupported, "parts of type %.40q are not supported: send text or image_url", part.Type)
			e.Param = fmt.Sprintf("%s[%d]", path, i)
			return e
		}
	}
	return nil
}
