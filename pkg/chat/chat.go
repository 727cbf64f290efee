// Package chat turns the messages of a chat into the text that a model was
// trained on. It refuses to know tokenizers and wire formats: special tokens are
// marked as such in the parts it returns, and message contents never are.
package chat

import (
	"fmt"

	"glossa/pkg/llm"
)

// A Template names a way of writing messages as one text. The zero value is
// [Concat].
type Template string

// Concat joins the contents of all messages with line feeds, whatever their roles:
// the form of base models (seed 002, "Message handling").
const Concat Template = "concat"

// Check returns an error unless t is a template that Render knows.
func (t Template) Check() error {
	if t == "" || t == Concat {
		return nil
	}
	return fmt.Errorf("unknown chat template %q (known: %s)", string(t), Concat)
}

// Render returns the prompt that messages make.
func (t Template) Render(messages []llm.Message) ([]llm.Part, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	return concat(messages), nil
}

func concat(messages []llm.Message) []llm.Part {
	var parts []llm.Part
	for i, m := range messages {
		if i > 0 {
			parts = append(parts, llm.Part{Text: "\n"})
		}
		for _, p := range m.Parts {
			p.Special = false // contents never spell special tokens
			parts = append(parts, p)
		}
	}
	return parts
}
