package engine

import (
	"encoding/base64"
	"io"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// A callReader takes the calls out of the text of a row's chunks. A nil callReader takes
// none.
type callReader struct {
	reader *toolcall.Reader
	ids    io.Reader // random bytes for the ids of calls; reading never fails
}

// newCallReader returns a reader of calls of tools in a syntax.
func newCallReader(syntax toolcall.Syntax, tools []llm.Tool, ids io.Reader) *callReader {
	written := map[string]map[string]bool{}
	if syntax.Arguments.Style == toolcall.Tagged {
		for _, tool := range tools {
			written[tool.Name] = toolcall.Strings(tool.Parameters)
		}
	}
	is := func(tool, parameter string) bool { return written[tool][parameter] }
	return &callReader{toolcall.NewReader(&syntax, is), ids}
}

// push moves the calls out of the text of a row's next chunk.
func (r *callReader) push(c *llm.Chunk) {
	if r == nil {
		return
	}
	piece := r.reader.Push(c.Text, c.Finish != "")
	c.Text = strings.ToValidUTF8(piece.Text, "") // without the marks of a call that was cut off
	for _, call := range piece.Calls {
		next := llm.Call{Index: call.Index, Name: call.Name, Arguments: call.Arguments}
		if call.Name != "" {
			next.ID = newCallID(r.ids)
		}
		c.Calls = append(c.Calls, next)
	}
}

// newCallID returns nine random letters and digits, the form that Mistral's chat templates
// ask for.
func newCallID(random io.Reader) string {
	const chars = 9
	var id strings.Builder
	for id.Len() < chars {
		var b [chars]byte
		_, _ = io.ReadFull(random, b[:])
		for _, c := range base64.RawURLEncoding.EncodeToString(b[:]) {
			if c != '-' && c != '_' && id.Len() < chars {
				id.WriteRune(c)
			}
		}
	}
	return id.String()
}
