package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// generation is a request as the model takes it, and what the answer needs to know of it.
type generation struct {
	*llm.Request
	paths   []string // of the tools that the answer may call, in the client's request
	omitted bool     // thinking is returned without its text
}

// request translates a request; every error names the key at fault.
func (q *messageRequest) request() (*generation, error) {
	g, err := q.prompted.request()
	if err != nil {
		return nil, err
	}
	for _, s := range q.StopSequences.Values {
		if strings.TrimSpace(s) == "" {
			return nil, wire.Invalid("stop_sequences", "each must have a character that is not white space")
		}
	}
	if t := q.Thinking; t != nil && t.BudgetTokens != nil && *t.BudgetTokens >= *q.MaxTokens {
		return nil, wire.Invalid("thinking.budget_tokens", "must be less than max_tokens")
	}
	g.Stream = q.Stream
	g.MaxTokens, g.Stop = q.MaxTokens, q.StopSequences.Values
	g.Temperature, g.TopP, g.TopK = q.Temperature, wire.Mass(q.TopP), q.TopK
	g.Defaults = llm.Params{Temperature: new(1.0)}
	return g, nil
}

// request translates what the prompt depends on.
func (p *prompted) request() (*generation, error) {
	g := &generation{Request: &llm.Request{N: 1}}
	if err := p.reason(g); err != nil {
		return nil, err
	}
	if err := p.structure(g); err != nil {
		return nil, err
	}
	messages, continues, err := p.chat()
	if continues {
		g.Continue = new(true)
	}
	g.Prompts = []llm.Prompt{{Messages: messages}}
	return g, err
}

// reason sets the parameters for thinking.
func (p *prompted) reason(g *generation) error {
	if p.OutputConfig != nil {
		g.Effort, g.OptionalEffort = p.OutputConfig.Effort, "output_config.effort" // as Claude Code sends it
	}
	t := p.Thinking
	if t == nil {
		return nil
	}
	const path = "thinking.budget_tokens"
	switch enabled := t.Type == "enabled"; {
	case enabled && t.BudgetTokens == nil:
		return wire.Invalid(path, "is required with type enabled")
	case !enabled && t.BudgetTokens != nil:
		return wire.Invalid(path, "is not allowed with type %s", t.Type)
	case t.Type != "adaptive":
		g.Thinking, g.MaxThinking = &enabled, t.BudgetTokens
	}
	g.omitted = t.Display != nil && *t.Display == "omitted"
	return nil
}

// structure sets the parameters that give an answer its structure.
func (p *prompted) structure(g *generation) error {
	var err error
	if g.Schema, err = p.schema(); err != nil {
		return err
	}
	all, err := p.decodeTools()
	if err != nil {
		return err
	}
	offered, must, err := p.offered(all)
	if err != nil {
		return err
	}
	if len(offered) < len(all) {
		g.Declared = all
	}
	for _, i := range offered {
		g.Tools, g.paths = append(g.Tools, all[i]), append(g.paths, fmt.Sprintf("tools[%d]", i))
	}
	if must {
		g.MustCall = new(true)
	}
	if len(offered) > 0 && p.ToolChoice != nil && p.ToolChoice.DisableParallelToolUse {
		g.OneCall = new(true)
	}
	return nil
}

// schema returns the JSON Schema of the format, nil for plain text.
func (p *prompted) schema() (json.RawMessage, error) {
	format, path := p.OutputFormat, "output_format"
	if c := p.OutputConfig; c != nil && c.Format != nil {
		if format != nil {
			return nil, wire.Invalid(path, "is the older name of output_config.format: send only one of them")
		}
		format, path = c.Format, "output_config.format"
	}
	if format == nil {
		return nil, nil
	}
	return openaiapi.Object(path+".schema", format.Schema)
}
