package openai

import (
	"fmt"

	"glossa/pkg/openaiapi"
)

// Errors gives errors the shape that OpenAI's clients read.
var Errors = openaiapi.Errors

// renameTool puts the client's path into an error about a tool: the index in a model's error
// is among the tools that were offered.
func (c *chatRequest) renameTool(err error) error {
	offered, _, _ := c.offered() // it succeeded before
	paths := make([]string, len(offered))
	for i, at := range offered {
		paths[i] = fmt.Sprintf("tools[%d].function", at)
	}
	return openaiapi.RenameTool(err, paths)
}
