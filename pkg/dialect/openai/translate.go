package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// request translates a chat; every error names the key at fault.
func (c *chatRequest) request() (*llm.Request, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	length, err := c.length()
	if err != nil {
		return nil, err
	}
	bias, err := c.bias()
	if err != nil {
		return nil, err
	}
	chat, err := c.chat()
	if err != nil {
		return nil, err
	}
	req := &llm.Request{
		Prompts: []llm.Prompt{chat},
		N:       1,
		Stream:  c.Stream,
		Params: llm.Params{
			MaxTokens: length, Temperature: c.Temperature, TopP: c.TopP, Stop: c.Stop.Values, Seed: c.Seed,
			PresencePenalty: c.PresencePenalty, FrequencyPenalty: c.FrequencyPenalty, LogitBias: bias,
		},
		Defaults: llm.Params{MaxTokens: new(maxTokens), Temperature: new(0.7), TopK: new(40)}, // seed 002
	}
	if c.N != nil {
		req.N = *c.N
	}
	if c.Logprobs {
		req.Logprobs = new(0)
		if c.TopLogprobs != nil {
			req.Logprobs = c.TopLogprobs
		}
	}
	return req, nil
}

// check returns what is wrong with the keys that need no translation.
func (c *chatRequest) check() error {
	if err := refuse(c.refused, "", ""); err != nil {
		return err
	}
	switch {
	case len(c.Stop.Values) > maxStops:
		return invalid("stop", "at most %d strings", maxStops)
	case c.TopP != nil && (*c.TopP <= 0 || *c.TopP > 1):
		return invalid("top_p", "must be above 0 and at most 1")
	case c.TopLogprobs != nil && !c.Logprobs:
		return invalid("top_logprobs", "can be sent with logprobs: true only")
	case c.StreamOptions != nil && !c.Stream:
		return invalid("stream_options", "can be sent with stream: true only")
	}
	for _, s := range c.Stop.Values {
		if s == "" {
			return invalid("stop", "a stop sequence must not be empty")
		}
	}
	if c.StreamOptions != nil {
		if err := refuse(*c.StreamOptions, "stream_options.", "stream_options."); err != nil {
			return err
		}
	}
	return cmp.Or(
		within("temperature", c.Temperature, 0, 2),
		within("presence_penalty", c.PresencePenalty, -2, 2),
		within("frequency_penalty", c.FrequencyPenalty, -2, 2),
		within("n", c.N, 1, maxChoices),
		within("top_logprobs", c.TopLogprobs, 0, maxTopLogprobs),
	)
}

// within refuses a value that was sent and is out of range.
func within[T int | float64](name string, v *T, low, high T) error {
	if v != nil && (*v < low || *v > high) {
		return invalid(name, "must be between %v and %v", low, high)
	}
	return nil
}

func invalid(param, format string, args ...any) error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// A limit is max_tokens under one of its names.
type limit struct {
	name string
	v    *int
}

func (c *chatRequest) limits() [3]limit {
	return [3]limit{{"max_tokens", c.MaxTokens}, {"max_completion_tokens", c.MaxCompletionTokens}, {"maximum_tokens", c.MaximumTokens}}
}

// length is the limit that was sent, cut to the largest one.
func (c *chatRequest) length() (*int, error) {
	var first *int
	for _, sent := range c.limits() {
		switch {
		case sent.v == nil:
		case *sent.v < 1:
			return nil, invalid(sent.name, "must be at least 1")
		case first != nil && *first != *sent.v:
			return nil, invalid(sent.name, "differs from another name of the same limit: send one")
		default:
			first = sent.v
		}
	}
	if first == nil {
		return nil, nil
	}
	return new(min(*first, maxTokens)), nil
}

// bias reads the token ids that JSON can have as strings only.
func (c *chatRequest) bias() (map[int]float64, error) {
	if c.LogitBias == nil {
		return nil, nil
	}
	bias := make(map[int]float64, len(c.LogitBias))
	for key, v := range c.LogitBias {
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 || strconv.Itoa(id) != key {
			return nil, invalid("logit_bias", "%.40q is no token id", key)
		}
		if v < -100 || v > 100 {
			return nil, invalid("logit_bias", "the bias of token %d must be between -100 and 100", id)
		}
		bias[id] = v
	}
	return bias, nil
}

// chat translates the messages.
func (c *chatRequest) chat() (llm.Prompt, error) {
	var chat llm.Prompt
	if len(c.Messages) == 0 {
		return chat, invalid("messages", "at least one message is needed")
	}
	for i := range c.Messages {
		turn, err := c.Messages[i].turn(fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return chat, err
		}
		chat.Messages = append(chat.Messages, turn)
	}
	return chat, nil
}

// turn translates the message that is at path.
func (m *message) turn(path string) (llm.Message, error) {
	turn := llm.Message{Role: m.Role, CallID: m.ToolCallID}
	if err := refuse(*m, "messages.", path+"."); err != nil {
		return turn, err
	}
	switch m.Role {
	case "system", "user", "assistant", "tool":
	case "developer":
		turn.Role = "system" // its newer name
	default:
		return turn, invalid(path+".role", "must be system, developer, user, assistant or tool, not %.40q", m.Role)
	}
	switch {
	case m.Role == "tool" && m.ToolCallID == "":
		return turn, invalid(path+".tool_call_id", "a message of the role tool needs it")
	case m.Role != "tool" && m.ToolCallID != "":
		return turn, invalid(path+".tool_call_id", "only a message of the role tool has one")
	}
	var err error
	turn.Parts, err = m.parts(path + ".content")
	return turn, err
}

// parts reads content, which is at path: a string or parts of type text.
func (m *message) parts(path string) ([]llm.Part, error) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return nil, invalid(path, "must be a string or an array of parts")
	}
	if m.Content[0] != '[' {
		var text string
		if err := httpx.UnmarshalAt(path, m.Content, &text); err != nil {
			return nil, err
		}
		return []llm.Part{{Text: text}}, nil
	}
	if err := m.kinds(path); err != nil {
		return nil, err
	}
	var list []contentPart
	if err := httpx.UnmarshalAt(path, m.Content, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, invalid(path, "at least one part is needed")
	}
	parts := make([]llm.Part, len(list))
	for i, p := range list {
		if p.Text == nil {
			return nil, invalid(fmt.Sprintf("%s[%d].text", path, i), "must be given")
		}
		parts[i].Text = *p.Text
	}
	return parts, nil
}

// kinds refuses content parts that are no text, before their keys are looked at.
func (m *message) kinds(path string) error {
	var kinds []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.Content, &kinds) != nil {
		return nil // said better by the decoding proper
	}
	for i, kind := range kinds {
		if kind.Type != "text" {
			e := llm.Errorf(llm.Unsupported, "a part of type %.40q is not served, only text is", kind.Type)
			e.Param = fmt.Sprintf("%s[%d]", path, i)
			return e
		}
	}
	return nil
}
