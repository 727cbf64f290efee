package engine

import (
	"context"

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
	parts, err = e.template.Render(ctx, &chat.Chat{Messages: p.Messages, Tools: params.Tools, Open: open})
	return parts, e.template.Raw(), err
}

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
