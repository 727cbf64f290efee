package chat

import (
	"strings"
	"unicode"

	"glossa/pkg/llm"
)

// A form says how a template with roles writes a chat. begin, open, role and close
// are special tokens; the others are text.
type form struct {
	begin string // before the first message; "": nothing

	open, role string // around a message's role; role may be ""
	lead       string // between that and the content
	trim       bool   // no white space around contents

	close string // after the content
	after string // between close and the next message

	tool string // what the role tool is called
}

// form returns the form of a template with roles.
func (t Template) form() (f form, ok bool) {
	switch t {
	case Llama3:
		return form{
			begin: "<|begin_of_text|>", open: "<|start_header_id|>", role: "<|end_header_id|>", lead: "\n\n", trim: true,
			close: "<|eot_id|>", tool: "ipython",
		}, true
	case ChatML:
		return form{open: "<|im_start|>", lead: "\n", close: "<|im_end|>", after: "\n", tool: "tool"}, true
	}
	return form{}, false
}

// render writes the messages and the beginning of the assistant's answer.
func (f *form) render(messages []llm.Message) ([]llm.Part, error) {
	var parts []llm.Part
	parts = special(parts, f.begin)
	for i, m := range messages {
		role := m.Role
		switch role {
		case "system", "user", "assistant":
		case "tool":
			role = f.tool
		default:
			return nil, refused(i, "the role %.40q is none of system, user, assistant and tool", m.Role)
		}
		content, ok := f.content(m)
		if !ok {
			return nil, refused(i, "token ids could spell the marks between messages: send text")
		}
		parts = special(f.message(parts, role, content), f.close)
		parts = plain(parts, f.after)
	}
	return f.message(parts, "assistant", ""), nil
}

// message writes a message up to its end. The text before the content and the
// content are one part, as they are tokenised.
func (f *form) message(parts []llm.Part, role, content string) []llm.Part {
	parts = special(parts, f.open)
	if f.role == "" {
		return plain(parts, role+f.lead+content)
	}
	return plain(special(plain(parts, role), f.role), f.lead+content)
}

// content returns the text of a message; ok is false if it has token ids.
func (f *form) content(m llm.Message) (text string, ok bool) {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Tokens != nil {
			return "", false
		}
		b.WriteString(p.Text)
	}
	if f.trim {
		return strings.TrimFunc(b.String(), isSpace), true
	}
	return b.String(), true
}

// isSpace reports white space as Python's str.strip has it, which trims for the
// published templates and Meta's own code.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func special(parts []llm.Part, text string) []llm.Part {
	if text == "" {
		return parts
	}
	return append(parts, llm.Part{Text: text, Special: true})
}

func plain(parts []llm.Part, text string) []llm.Part {
	if text == "" {
		return parts
	}
	return append(parts, llm.Part{Text: text})
}
