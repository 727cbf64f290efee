// Package chat turns the messages of a chat, and the functions that it may call, into a
// model's prompt format, and describes how the model writes calls. It does not know
// tokenizers, grammars or wire formats. It marks special tokens in the parts that it
// returns; client input (contents, names, descriptions, schemas, arguments) is never
// marked.
//
// Start with [Template.Render].
//
// Sources: seed 002 for [Concat]; Meta's prompt formats of Llama 3 and 3.1, and the chat
// template of Llama-3.1-8B-Instruct for functions, for [Llama3]; OpenAI's chatml.md of
// 2023, and the chat templates of Qwen2.5 and Qwen3 (after Nous Research's Hermes 2 Pro)
// for functions, for [ChatML].
package chat

import (
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// A Template names a way of writing messages as one text. The zero value is
// [Concat].
type Template string

const (
	// Concat joins the contents of all messages with line feeds, ignoring their roles:
	// the format for base models (seed 002, "Message handling"). A list of the functions
	// comes before them, and calls are lines of JSON.
	Concat Template = "concat"

	// Llama3 writes <|begin_of_text|>, then each message as
	//
	//	<|start_header_id|>ROLE<|end_header_id|>\n\nCONTENT<|eot_id|>
	//
	// with trimmed content, and the header of the assistant's answer. The role tool is
	// written as ipython, Llama's name for it. Unlike templates published with some
	// weights, and like Meta's own code, it adds no system message with today's date: an
	// answer should not depend on the day.
	//
	// Functions are Llama 3.1's JSON based calls, listed in the system message (the
	// published template has them there or in the first user message, by a switch).
	// There is no line "Environment: ipython": it promises Llama's built-in tools.
	Llama3 Template = "llama3"

	// ChatML writes each message as
	//
	//	<|im_start|>ROLE\nCONTENT<|im_end|>\n
	//
	// with unchanged content, and the header of the assistant's answer. It adds no system
	// message, unless to list functions. Results of functions are messages of the user,
	// adjacent ones joined in one message.
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

// Ends returns the special tokens, as text, that end an answer of this template, in
// addition to those that end any text of the model.
func (t Template) Ends() []string {
	if f, ok := t.layout(); ok {
		return []string{f.close}
	}
	return nil
}

// Marks returns the special tokens, as text, that Render writes. A tokenizer without one
// of them would read it as plain text, which contents can spell too.
func (t Template) Marks() (marks []string) {
	if f, ok := t.layout(); ok {
		for _, mark := range []string{f.begin, f.open, f.role, f.close} {
			if mark != "" {
				marks = append(marks, mark)
			}
		}
	}
	return marks
}

// Render returns the prompt of messages, with the functions that the answer may call. Its
// errors name the message or the tool.
func (t Template) Render(messages []llm.Message, tools []llm.Tool) ([]llm.Part, error) {
	return t.render(messages, tools, true)
}

// Transcript is Render without the beginning of the answer, for a chat that has ended.
func (t Template) Transcript(messages []llm.Message, tools []llm.Tool) ([]llm.Part, error) {
	return t.render(messages, tools, false)
}

// render returns the text of messages; if open, the beginning of the answer follows.
func (t Template) render(messages []llm.Message, tools []llm.Tool, open bool) ([]llm.Part, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	for i, m := range messages {
		if len(m.Calls) > 0 && m.Role != "assistant" {
			return nil, rejected(i, "only an assistant may call functions")
		}
	}
	list, err := t.list(tools)
	if err != nil {
		return nil, err
	}
	messages = inOrder(messages)
	if f, ok := t.layout(); ok {
		return f.render(messages, list, open)
	}
	return concat(messages, list, open), nil
}

// rejected returns an error for message i.
func rejected(i int, format string, args ...any) error {
	return &llm.Error{Code: llm.Unsupported, Param: fmt.Sprintf("messages[%d]", i), Message: fmt.Sprintf(format, args...)}
}

// concat writes the list of functions, if there are any, then the messages. An answer
// that may be a call begins on a new line.
func concat(messages []llm.Message, list string, open bool) []llm.Part {
	var parts []llm.Part
	lines := toolcall.Lines()
	if list != "" {
		parts = plain(parts, list+"\n\n")
	}
	for i, m := range messages {
		if i > 0 {
			parts = plain(parts, "\n")
		}
		empty := true
		for _, p := range m.Parts {
			p.Special = false // contents never contain special tokens
			parts = append(parts, p)
			empty = empty && p.Text == "" && len(p.Tokens) == 0
		}
		if len(m.Calls) > 0 && !empty {
			parts = plain(parts, "\n")
		}
		parts = plain(parts, write(&lines, m.Calls))
	}
	if list != "" && open {
		parts = plain(parts, "\n")
	}
	return parts
}
