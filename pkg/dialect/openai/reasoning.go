package openai

import (
	"encoding/json"
	"errors"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// reasoningKeys has the keys for reasoning: OpenAI's own, and those that clients of other
// servers send for the same.
type reasoningKeys struct {
	ReasoningEffort    *string           `json:"reasoning_effort"`
	Reasoning          *reasoningOptions `json:"reasoning"`            // OpenRouter's
	Thinking           *thinkingOptions  `json:"thinking"`             // DeepSeek's and Z.ai's, as Anthropic's
	EnableThinking     *bool             `json:"enable_thinking"`      // Alibaba's
	ThinkingBudget     *int              `json:"thinking_budget"`      // Alibaba's
	IncludeReasoning   *bool             `json:"include_reasoning"`    // vLLM's and OpenRouter's
	ChatTemplateKwargs json.RawMessage   `json:"chat_template_kwargs"` // vLLM's
	ChatTemplate       json.RawMessage   `json:"chat_template"`        // vLLM's
}

type reasoningOptions struct {
	Effort    *string `json:"effort"`
	MaxTokens *int    `json:"max_tokens"`
	Enabled   *bool   `json:"enabled"`
	Exclude   *bool   `json:"exclude"`
}

type thinkingOptions struct {
	Type         string `json:"type"`
	BudgetTokens *int   `json:"budget_tokens"`
}

// pastReasoning has the keys of a message with the reasoning before its content.
type pastReasoning struct {
	ReasoningContent *string `json:"reasoning_content"`
	Reasoning        *string `json:"reasoning"`
	Thinking         *string `json:"thinking"`
}

// efforts are the words for how much a model reasons.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

// A setting is a value that was sent, and its key.
type setting[T comparable] struct {
	key   string
	value *T
}

// agreed returns the value that was sent under one of its keys, and that key. Different values
// are an error.
func agreed[T comparable](settings ...setting[T]) (first setting[T], err error) {
	for _, s := range settings {
		switch {
		case s.value == nil:
		case first.value == nil:
			first = s
		case *first.value != *s.value:
			return first, wire.Invalid(s.key, "contradicts %s: send only one of them", first.key)
		}
	}
	return first, nil
}

// A reasoningRequest is what the keys ask for.
type reasoningRequest struct {
	thinking  setting[bool]
	effort    setting[string]
	budget    setting[int]
	variables json.RawMessage // of the chat template, without those for thinking
}

// read returns what the keys ask for.
func (k *reasoningKeys) read() (r reasoningRequest, err error) {
	options, thinking := k.Reasoning, k.Thinking
	if options == nil {
		options = new(reasoningOptions)
	}
	if thinking == nil {
		thinking = new(thinkingOptions)
	}
	if r.effort, err = agreed(setting[string]{"reasoning_effort", k.ReasoningEffort}, setting[string]{"reasoning.effort", options.Effort}); err != nil {
		return r, err
	}
	if r.budget, err = agreed(setting[int]{"thinking_budget", k.ThinkingBudget}, setting[int]{"thinking.budget_tokens", thinking.BudgetTokens}, setting[int]{"reasoning.max_tokens", options.MaxTokens}); err != nil {
		return r, err
	}
	switches := []setting[bool]{{"enable_thinking", k.EnableThinking}, {"reasoning.enabled", options.Enabled}}
	if thinking.Type == "enabled" || thinking.Type == "disabled" {
		switches = append(switches, setting[bool]{"thinking", new(thinking.Type == "enabled")})
	}
	if r.effort.value != nil && *r.effort.value == "none" {
		switches, r.effort.value = append(switches, setting[bool]{r.effort.key, new(false)}), nil
	}
	variables, rest, err := readVariables(k.ChatTemplateKwargs)
	if err != nil {
		return r, err
	}
	r.variables = rest
	r.thinking, err = agreed(append(switches, variables...)...)
	return r, err
}

// readVariables returns the variables of a chat template that turn reasoning on or off, and the
// others.
func readVariables(kwargs json.RawMessage) (switches []setting[bool], rest json.RawMessage, err error) {
	const key = "chat_template_kwargs"
	if len(kwargs) == 0 || string(kwargs) == "null" {
		return nil, nil, nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(kwargs, &all) != nil {
		return nil, nil, wire.Invalid(key, "must be an object")
	}
	for _, name := range []string{"enable_thinking", "thinking"} {
		raw, ok := all[name]
		var on *bool
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, &on); err != nil {
			return nil, nil, wire.Invalid(key+"."+name, "must be true or false")
		}
		switches = append(switches, setting[bool]{key + "." + name, on})
		delete(all, name)
	}
	if len(all) == 0 {
		return switches, nil, nil
	}
	rest, err = json.Marshal(all)
	return switches, rest, err
}

// reason sets the parameters for reasoning.
func (k *reasoningKeys) reason(p *llm.Params) error {
	r, err := k.read()
	if err != nil {
		return err
	}
	p.Thinking, p.Effort, p.MaxThinking, p.TemplateArgs = r.thinking.value, r.effort.value, r.budget.value, r.variables
	return nil
}

// hidden reports whether the answer is wanted without its reasoning.
func (k *reasoningKeys) hidden() bool {
	return k.IncludeReasoning != nil && !*k.IncludeReasoning || k.Reasoning != nil && k.Reasoning.Exclude != nil && *k.Reasoning.Exclude
}

// renameThinking puts the client's key into an error of a model about reasoning.
func (k *reasoningKeys) renameThinking(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	r, fault := k.read()
	if fault != nil {
		return err
	}
	key := map[string]string{"thinking": r.thinking.key, "reasoning_effort": r.effort.key, "max_thinking_tokens": r.budget.key}[e.Param]
	if key == "" || key == e.Param {
		return err
	}
	renamed := *e
	renamed.Param = key
	return &renamed
}

// text returns the reasoning of the message at path, which has a role.
func (p *pastReasoning) text(path, role string) (string, error) {
	var list []setting[string]
	for _, s := range []setting[string]{{path + ".reasoning_content", p.ReasoningContent}, {path + ".reasoning", p.Reasoning}, {path + ".thinking", p.Thinking}} {
		if s.value != nil && *s.value != "" {
			list = append(list, s)
		}
	}
	sent, err := agreed(list...)
	if err != nil || sent.value == nil {
		return "", err
	}
	if role != assistant {
		return "", wire.Invalid(sent.key, "is only allowed in a message of the role assistant")
	}
	return *sent.value, nil
}
