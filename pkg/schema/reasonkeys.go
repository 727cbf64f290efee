package schema

import (
	"encoding/json"
	"maps"

	"glossa/pkg/llm"
)

// ReasonKeys is [Schema.Reason] for the canonical keys of a request. Unless the key
// thinking is true or false, its value is in the model's own form and stays as it is.
func (s *Schema) ReasonKeys(body map[string]any) (map[string]any, error) {
	if s.reasoner == nil {
		return body, nil
	}
	p := llm.Params{
		Thinking: valueOf[bool](body, "thinking"), Effort: valueOf[string](body, "reasoning_effort"), MaxThinking: valueOf[int](body, "max_thinking_tokens"),
		MaxTokens: valueOf[int](body, "max_new_tokens"), Temperature: valueOf[float64](body, "temperature"),
		TopP: valueOf[float64](body, "top_p"), TopK: valueOf[int](body, "top_k"),
	}
	if body["thinking"] != nil && p.Thinking == nil {
		return body, s.unsaid(body)
	}
	if args, ok := body["chat_template_kwargs"]; ok {
		p.TemplateArgs, _ = json.Marshal(args) // it was decoded from JSON
	}
	if c, ok := choiceOf(body["tool_choice"]); ok && (c.mode == "required" || c.mode == "named") {
		p.MustCall = new(true)
	}
	value, rest, err := s.Reason(p, nil)
	if err != nil {
		return nil, err
	}
	body = maps.Clone(body)
	delete(body, "thinking")
	if value != nil {
		body["thinking"] = value
	}
	if rest.TemplateArgs == nil {
		delete(body, "chat_template_kwargs")
	}
	exchange(body, "reasoning_effort", p.Effort, rest.Effort)
	exchange(body, "max_thinking_tokens", p.MaxThinking, rest.MaxThinking)
	exchange(body, "max_new_tokens", p.MaxTokens, rest.MaxTokens)
	return body, s.unsaid(body)
}

// unsaid returns an error if body has a key that only the value of thinking could say.
func (s *Schema) unsaid(body map[string]any) error {
	for _, name := range []string{"reasoning_effort", "max_thinking_tokens"} {
		if body[name] != nil && s.slot(name) == nil && s.reasoner.says(name) {
			return &llm.Error{Code: llm.Invalid, Param: name, Message: "must be a word or a number of tokens, with thinking true or left out"}
		}
	}
	return nil
}

// valueOf returns the value of a key, nil if it has another type.
func valueOf[T any](body map[string]any, name string) *T {
	raw, err := json.Marshal(body[name])
	var v *T
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// exchange replaces the value of a key, if it changed.
func exchange[T any](body map[string]any, name string, from, to *T) {
	switch {
	case from == to:
	case to == nil:
		delete(body, name)
	default:
		body[name] = *to
	}
}
