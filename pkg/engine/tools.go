package engine

import (
	"fmt"
	"strings"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// toolGrammar returns the grammar of answers to a chat with tools, in the template's
// format of calls. A function that must be called is the only one of the tools. An answer that
// is text has the form that p demands.
func (e *Engine) toolGrammar(c *grammar.Compiler, p *llm.Params) (*grammar.Grammar, error) {
	list := make([]grammar.Tool, len(p.Tools))
	for i, tool := range p.Tools {
		list[i] = grammar.Tool{Name: tool.Name, Parameters: tool.Parameters}
	}
	param, _, compile := textForm(p)
	var text *grammar.Grammar
	if param != "" {
		var err error
		if text, err = compile(c); err != nil {
			return nil, constraintError(param, err)
		}
	}
	syntax := e.calls.of(p)
	form := grammar.CallForm{Must: true, One: or(p.OneCall, false) || len(e.ends) == 0} // nothing else would end a list of calls
	calls, err := c.Calls(&syntax, list, form, grammar.Generating())
	if err != nil || or(p.MustCall, false) {
		return calls, err
	}
	if _, err := e.constraints.bind(c, calls, "tools"); err != nil {
		return nil, err // the model could write text, but could never call
	}
	if text != nil {
		if _, err := e.constraints.bind(c, text, param); err != nil {
			return nil, err // the model could call, but could never write text
		}
	}
	form.Must, form.Text = false, text
	return c.Calls(&syntax, list, form, grammar.Generating())
}

// toolsKey returns the properties of tools that the grammar depends on.
func toolsKey(tools []llm.Tool) string {
	var b strings.Builder
	for _, tool := range tools {
		fmt.Fprintf(&b, "%q %d %s", tool.Name, len(tool.Parameters), tool.Parameters)
	}
	return b.String()
}
