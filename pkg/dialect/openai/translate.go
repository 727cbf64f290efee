package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
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
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	params.MaxTokens, params.TopK = length, c.TopK
	if err := c.form(&params); err != nil {
		return nil, err
	}
	chat, err := c.chat()
	if err != nil {
		return nil, err
	}
	req := &llm.Request{
		Prompts:  []llm.Prompt{chat},
		N:        c.choices(),
		Stream:   c.Stream,
		Params:   params,
		Defaults: llm.Params{Temperature: new(0.7)}, // seed 002
	}
	if c.Logprobs {
		req.Logprobs = new(0)
		if c.TopLogprobs != nil {
			req.Logprobs = c.TopLogprobs
		}
	}
	return req, nil
}

// alphaLimits puts in what seed 002 has for the models of its server: others go on to the
// end of their context, or as far as the client says, and choose among all tokens.
func alphaLimits(req *llm.Request) {
	req.Defaults.MaxTokens, req.Defaults.TopK = new(maxTokens), new(40)
	if req.MaxTokens != nil {
		req.MaxTokens = new(min(*req.MaxTokens, maxTokens))
	}
}

// hosted refuses a model that is not hosted where the client wants it.
func (c *chatRequest) hosted(info *llm.ModelInfo) error {
	if c.Hosting == nil || *c.Hosting == cloud || slices.Contains(info.Hostings, *c.Hosting) {
		return nil
	}
	return invalid("hosting", "the model %q is not hosted at %.40q, see /models_available", info.Name, *c.Hosting)
}

// check returns what is wrong with the keys that need no translation.
func (c *chatRequest) check() error {
	if err := wire.Refuse(rows, &c.refused, "", ""); err != nil {
		return err
	}
	if c.TopK != nil && *c.TopK < 0 {
		return invalid("top_k", "must not be negative")
	}
	if c.TopLogprobs != nil && !c.Logprobs {
		return invalid("top_logprobs", "can be sent with logprobs: true only")
	}
	return cmp.Or(c.sampling.check(maxStops), within("top_logprobs", c.TopLogprobs, 0, maxTopLogprobs))
}

func (s *sampling) check(maxStops int) error {
	switch {
	case len(s.Stop.Values) > maxStops:
		return invalid("stop", "at most %d strings", maxStops)
	case slices.Contains(s.Stop.Values, ""):
		return invalid("stop", "a stop sequence must not be empty")
	case s.TopP != nil && (*s.TopP <= 0 || *s.TopP > 1):
		return invalid("top_p", "must be above 0 and at most 1")
	case s.StreamOptions != nil && !s.Stream:
		return invalid("stream_options", "can be sent with stream: true only")
	case s.StreamOptions != nil:
		if err := wire.Refuse(rows, s.StreamOptions, "stream_options.", "stream_options."); err != nil {
			return err
		}
	}
	return cmp.Or(
		within("temperature", s.Temperature, 0, 2),
		within("presence_penalty", s.PresencePenalty, -2, 2),
		within("frequency_penalty", s.FrequencyPenalty, -2, 2),
		within("n", s.N, 1, maxChoices),
	)
}

// params translates the keys; MaxTokens is not among them.
func (s *sampling) params() (llm.Params, error) {
	bias, err := s.bias()
	return llm.Params{
		Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop.Values, Seed: s.Seed,
		PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty, LogitBias: bias,
	}, err
}

// choices is n.
func (s *sampling) choices() int {
	if s.N == nil {
		return 1
	}
	return *s.N
}

// withUsage tells whether a stream ends with the usage in a chunk of its own.
func (s *sampling) withUsage() bool { return s.StreamOptions != nil && s.StreamOptions.IncludeUsage }

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

// cloud is the hosting that every model has.
const cloud = "cloud"

// length is the limit that was sent, nil if none was.
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
	return first, nil
}

// bias reads the token ids that JSON can have as strings only.
func (s *sampling) bias() (map[int]float64, error) {
	if s.LogitBias == nil {
		return nil, nil
	}
	bias := make(map[int]float64, len(s.LogitBias))
	for key, v := range s.LogitBias {
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
	called := map[string]bool{} // by id
	for i := range c.Messages {
		path := "messages[" + strconv.Itoa(i) + "]"
		turn, err := c.Messages[i].turn(path)
		if err != nil {
			return chat, err
		}
		if turn.CallID != "" && !called[turn.CallID] {
			return chat, invalid(path+".tool_call_id", "%.80q is the id of no call before it", turn.CallID)
		}
		for _, call := range turn.Calls {
			called[call.ID] = true
		}
		chat.Messages = append(chat.Messages, turn)
	}
	return chat, nil
}

// turn translates the message that is at path.
func (m *message) turn(path string) (llm.Message, error) {
	turn := llm.Message{Role: m.Role, CallID: m.ToolCallID}
	if err := wire.Refuse(rows, m, "messages.", path+"."); err != nil {
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
	if turn.Calls, err = m.calls(path); err != nil {
		return turn, err
	}
	if len(turn.Calls) > 0 && (len(m.Content) == 0 || string(m.Content) == "null") {
		return turn, nil
	}
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
		if err := wire.UnmarshalAt(path, m.Content, &text); err != nil {
			return nil, err
		}
		return []llm.Part{{Text: text}}, nil
	}
	if err := m.kinds(path); err != nil {
		return nil, err
	}
	var list []contentPart
	if err := wire.UnmarshalAt(path, m.Content, &list); err != nil {
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
