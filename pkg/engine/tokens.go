package engine

import (
	"context"
	"encoding/json"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

var (
	_ llm.Renderer      = (*Engine)(nil)
	_ llm.TokenizerFile = (*core)(nil)
)

// Render implements [llm.Renderer]. A chat template itself writes the tokens that begin a
// text.
func (e *Engine) Render(ctx context.Context, p llm.Prompt, params *llm.Params, open bool) (parts []llm.Part, start bool, err error) {
	variables, err := e.templateVariables(params)
	if err != nil {
		return nil, false, err
	}
	worker, err := e.queue.acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	defer worker.release()
	need := int64(len(p.Messages)) * messageBytes
	if err := e.affords(need, "a chat of fewer messages"); err != nil {
		return nil, false, err
	}
	if err := worker.claim(ctx, need); err != nil {
		return nil, false, err
	}
	parts, err = e.template.Render(ctx, &chat.Chat{Messages: p.Messages, Tools: params.Tools, Settings: variables, Open: open, Continue: open && or(params.Continue, false)})
	return parts, e.template.Raw(), err
}

// messageBytes is the memory of a message while a template writes it.
const messageBytes = 2 << 10

// TokenizerJSON implements [llm.TokenizerFile]. It waits for a worker, since it may read
// and check a file of megabytes.
func (c *core) TokenizerJSON(ctx context.Context) ([]byte, error) {
	worker, err := c.queue.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer worker.release()
	if t, ok := c.tokenizer.(tokenizer.Exporter); ok {
		raw, err := t.Export()
		if err != nil {
			return nil, &llm.Error{Code: llm.Unsupported, Message: err.Error()}
		}
		return raw, nil
	}
	if c.tokenizerJSON != nil {
		return c.tokenizerJSON()
	}
	return nil, llm.Errorf(llm.Unsupported, "the tokenizer of this model is not a tokenizer.json")
}

// templateVariables returns the variables of the chat template that parameters set: the
// client's own, and those for reasoning that the template reads.
func (e *Engine) templateVariables(p *llm.Params) (json.RawMessage, error) {
	variables := map[string]any{}
	thinking := p.Thinking
	if thinking == nil && p.Effort != nil {
		thinking = new(true)
	}
	if thinking != nil {
		variables["enable_thinking"], variables["thinking"] = *thinking, *thinking
	}
	if p.Effort != nil {
		variables["reasoning_effort"] = *p.Effort
	}
	for name := range variables {
		if !e.template.Reads(name, len(p.Tools) > 0) {
			delete(variables, name)
		}
	}
	if len(p.TemplateArgs) > 0 {
		var own map[string]json.RawMessage
		if err := json.Unmarshal(p.TemplateArgs, &own); err != nil || own == nil {
			return nil, invalid("chat_template_kwargs", "must be an object")
		}
		for name, value := range own {
			variables[name] = value
		}
	}
	if len(variables) == 0 {
		return nil, nil
	}
	return json.Marshal(variables)
}
