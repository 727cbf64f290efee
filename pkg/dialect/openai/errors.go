package openai

import "glossa/pkg/openaiapi"

// Errors gives errors the shape that OpenAI's clients read.
var Errors = openaiapi.Errors

// renameTool puts the client's index into an error about a tool: that of a model's error
// is among the tools that were offered.
func (c *chatRequest) renameTool(err error) error {
	offered, _, _ := c.offered() // it succeeded before
	return openaiapi.RenameTool(err, offered, ".function")
}
