// Package chat turns the messages of a chat into the text that a model was
// trained on. It refuses to know tokenizers and wire formats: special tokens are
// marked as such in the parts it returns, and message contents never are.
//
// Sources: seed 002 for [Concat], Meta's prompt formats of Llama 3 and 3.1 for
// [Llama3], OpenAI's chatml.md of 2023 for [ChatML].
package chat

import (
	"fmt"

	"glossa/pkg/llm"
)

// A Template names a way of writing messages as one text. The zero value is
// [Concat].
type Template string

const (
	// Concat joins the contents of all messages with line feeds, whatever their
	// roles: the form of base models (seed 002, "Message handling").
	Concat Template = "concat"

	// Llama3 writes <|begin_of_text|>, then each message as
	//
	//	<|start_header_id|>ROLE<|end_header_id|>\n\nCONTENT<|eot_id|>
	//
	// with the content trimmed, and the header of the assistant's answer. The role
	// tool is spelt ipython, Llama's word for it. There is no system message with
	// today's date, which templates published with some weights put in: Meta's own
	// code does not, and an answer should not depend on the day.
	Llama3 Template = "llama3"

	// ChatML writes each message as
	//
	//	<|im_start|>ROLE\nCONTENT<|im_end|>\n
	//
	// with the content as it is, and the header of the assistant's answer. No
	// system message is made up where there is none.
	ChatML Template = "chatml"
)

// Check returns an error unless t is a template that Render knows.
func (t Template) Check() error {
	switch t {
	case "", Concat, Llama3, ChatML:
		return nil
	}
	return fmt.Errorf("unknown chat template %q (known: %s, %s, %s)", string(t), Concat, Llama3, ChatML)
}

// Ends returns the special tokens, as they are spelt, that end an answer in this
// form, besides those that end any text of the model.
func (t Template) Ends() []string {
	if f, ok := t.form(); ok {
		return []string{f.close}
	}
	return nil
}

// Marks returns the special tokens, as they are spelt, that Render writes. A tokenizer
// without one of them would read it as text, which contents can spell too.
func (t Template) Marks() (marks []string) {
	if f, ok := t.form(); ok {
		for _, mark := range []string{f.begin, f.open, f.role, f.close} {
			if mark != "" {
				marks = append(marks, mark)
			}
		}
	}
	return marks
}

// Render returns the prompt that messages make. Its errors name the message.
func (t Template) Render(messages []llm.Message) ([]llm.Part, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	for i, m := range messages {
		if len(m.Calls) > 0 {
			return nil, refused(i, "no template writes an assistant's calls of tools")
		}
	}
	if f, ok := t.form(); ok {
		return f.render(messages)
	}
	return concat(messages), nil
}

// refused is the error of message i.
func refused(i int, format string, args ...any) error {
	return &llm.Error{Code: llm.Unsupported, Param: fmt.Sprintf("messages[%d]", i), Message: fmt.Sprintf(format, args...)}
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
