package engine

import (
	"fmt"
	"strings"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// toolGrammar returns the grammar of answers to a chat with tools, in the template's
// format of calls. A function that must be called is the only one of the tools.
func (e *Engine) toolGrammar(c *grammar.Compiler, p *llm.Params) (*grammar.Grammar, error) {
	list := make([]grammar.Tool, len(p.Tools))
	for i, tool := range p.Tools {
		list[i] = grammar.Tool{Name: tool.Name, Parameters: tool.Parameters}
	}
	syntax := &e.calls.Syntax
	one := or(p.OneCall, false) || len(e.ends) == 0 // nothing else would end a list of calls
	calls, err := c.Calls(syntax, list, true, one, grammar.Generating())
	if err != nil || or(p.MustCall, false) {
		return calls, err
	}
	if _, err := e.constraints.bind(c, calls, "tools"); err != nil {
		return nil, err // the model could write text, but could never call
	}
	return c.Calls(syntax, list, false, one, grammar.Generating())
}

// toolsKey returns the properties of tools that the grammar depends on.
func toolsKey(tools []llm.Tool) string {
	var b strings.Builder
	for _, tool := range tools {
		fmt.Fprintf(&b, "%q %d %s", tool.Name, len(tool.Parameters), tool.Parameters)
	}
	return b.String()
}
