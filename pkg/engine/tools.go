package engine

import (
	"fmt"
	"strings"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// toolForm returns the form of answers to a chat that may call tools, in the template's
// way of writing calls. A function that must be called is the only one of the tools.
func (e *Engine) toolForm(c *grammar.Compiler, p *llm.Params) (*grammar.Grammar, error) {
	list := make([]grammar.Tool, len(p.Tools))
	for i, tool := range p.Tools {
		list[i] = grammar.Tool{Name: tool.Name, Parameters: tool.Parameters}
	}
	form := grammar.CallForm(e.template.Calls())
	one := or(p.OneCall, false) || len(e.ends) == 0 // nothing else would end a list of calls
	calls, err := c.Calls(form, list, true, one, grammar.Generating())
	if err != nil || or(p.MustCall, false) {
		return calls, err
	}
	if _, err := e.forms.binding(c, calls, "tools"); err != nil {
		return nil, err // it could talk, and would never call
	}
	return c.Calls(form, list, false, one, grammar.Generating())
}

// spellTools returns what a form depends on of tools.
func spellTools(tools []llm.Tool) string {
	var b strings.Builder
	for _, tool := range tools {
		fmt.Fprintf(&b, "%q %d %s", tool.Name, len(tool.Parameters), tool.Parameters)
	}
	return b.String()
}
