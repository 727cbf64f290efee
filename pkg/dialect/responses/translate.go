package responses

import (
	"encoding/json"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// generation is a request as the model takes it, and what the answer needs to know of it.
type generation struct {
	*llm.Request
	offer
	paths    []string // of the tools that the answer may call, in the client's request
	logprobs bool     // the answer has them
	summary  bool     // the reasoning is sent as its summary
}

// request translates a request; every error names the key at fault.
func (c *createRequest) request() (*generation, error) {
	g := &generation{Request: &llm.Request{N: 1, Stream: c.Stream}}
	g.Params = llm.Params{MaxTokens: c.MaxOutputTokens, Temperature: c.Temperature, TopP: c.TopP}
	g.Defaults = llm.Params{Temperature: new(1.0)}
	if c.Truncation == "auto" {
		g.Truncate = new(0)
	}
	if g.logprobs = c.TopLogprobs != nil || slices.Contains(c.Include.Values, includeLogprobs); g.logprobs {
		g.Logprobs = new(or(c.TopLogprobs, 0))
	}
	if err := c.reason(g); err != nil {
		return nil, err
	}
	if err := c.structure(g); err != nil {
		return nil, err
	}
	messages, err := c.messages()
	g.Prompts = []llm.Prompt{{Messages: messages}}
	return g, err
}

// or returns the value of p, or another if p is nil.
func or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// reason sets the parameters for reasoning.
func (c *createRequest) reason(g *generation) error {
	r := c.Reasoning
	if r == nil {
		return nil
	}
	if r.Summary != nil && r.GenerateSummary != nil && *r.Summary != *r.GenerateSummary {
		return wire.Invalid("reasoning.generate_summary", "contradicts reasoning.summary: send only one of them")
	}
	g.summary = r.Summary != nil || r.GenerateSummary != nil
	switch {
	case r.Effort == nil:
	case *r.Effort == "none":
		g.Thinking = new(false)
	default:
		g.Effort = r.Effort
	}
	return nil
}

// structure sets the parameters that give an answer its structure.
func (c *createRequest) structure(g *generation) error {
	var err error
	if g.Schema, err = c.Text.schema(); err != nil {
		return err
	}
	box, err := c.decodeTools()
	if err != nil {
		return err
	}
	if g.offer, err = c.offered(box); err != nil {
		return err
	}
	if len(g.hosted) > 0 && (g.must || len(c.ToolChoice) > 0 && c.ToolChoice[0] == '{') {
		return g.hosted[0].err // the client chose among tools that are not all here
	}
	if len(g.indices) < len(g.tools) {
		g.Declared = g.tools
	}
	for _, i := range g.indices {
		g.Tools, g.paths = append(g.Tools, g.tools[i]), append(g.paths, g.declared[i].path)
	}
	if g.must {
		g.MustCall = new(true)
	}
	if len(g.indices) > 0 && !or(c.ParallelToolCalls, true) {
		g.OneCall = new(true)
	}
	return nil
}

// schema returns the JSON Schema of the format, nil for plain text.
func (t *textOptions) schema() (json.RawMessage, error) {
	const path = "text.format.schema"
	if t == nil || t.Format == nil {
		return nil, nil
	}
	sent := len(t.Format.Schema) > 0 && string(t.Format.Schema) != "null"
	switch kind := t.Format.Type; {
	case kind != "json_schema" && sent:
		return nil, wire.Invalid(path, "is only accepted with type json_schema")
	case kind == "text":
		return nil, nil
	case kind == "json_object":
		return json.RawMessage(openaiapi.AnyObject), nil
	case !sent:
		return nil, wire.Invalid(path, "is required with type json_schema")
	}
	return openaiapi.Object(path, t.Format.Schema)
}
