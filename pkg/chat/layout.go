package chat

import (
	"strings"
	"unicode"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// A layout describes how a template with roles writes a chat. begin, open, role and close
// are special tokens; the others are text.
type layout struct {
	begin string // before the first message; "": nothing

	open, role string // around a message's role; role may be ""
	lead       string // between role and content
	trim       bool   // trim white space around contents

	close string // after the content
	after string // between close and the next message

	tool        string // role of the results of functions
	result, end string // around a result
	merged      bool   // adjacent results are one message, separated by line feeds

	listFirst bool // the list of functions precedes the system message's content instead of following it
	calls     toolcall.Syntax
}

// layout returns the layout of a template with roles.
func (t Template) layout() (f layout, ok bool) {
	switch t {
	case Llama3:
		return layout{
			begin: "<|begin_of_text|>", open: "<|start_header_id|>", role: "<|end_header_id|>", lead: "\n\n", trim: true,
			close: "<|eot_id|>", tool: "ipython", listFirst: true, calls: t.Calls(),
		}, true
	case ChatML:
		return layout{
			open: "<|im_start|>", lead: "\n", close: "<|im_end|>", after: "\n",
			tool: "user", result: "<tool_response>\n", end: "\n</tool_response>", merged: true, calls: t.Calls(),
		}, true
	}
	return layout{}, false
}

// A turn is a message in the template's format.
type turn struct{ role, content string }

// render writes the messages and, if the chat is open, the beginning of the assistant's
// answer.
func (f *layout) render(messages []llm.Message, list string, open bool) ([]llm.Part, error) {
	turns, err := f.turns(messages)
	if err != nil {
		return nil, err
	}
	parts := special(nil, f.begin)
	for _, t := range f.withList(turns, list) {
		parts = special(f.message(parts, t), f.close)
		parts = plain(parts, f.after)
	}
	if !open {
		return parts, nil
	}
	return f.message(parts, turn{role: "assistant"}), nil
}

// turns converts messages to turns.
func (f *layout) turns(messages []llm.Message) ([]turn, error) {
	var turns []turn
	var results []string // of the last turn, if several are one turn
	flush := func() {
		if len(results) > 1 {
			turns[len(turns)-1].content = strings.Join(results, "\n")
		}
		results = nil
	}
	for i, m := range messages {
		content, ok := f.content(m)
		if !ok {
			return nil, rejected(i, "token ids could spell the marks between messages: send text")
		}
		t := turn{m.Role, join(content, "\n", write(&f.calls, m.Calls))}
		switch m.Role {
		case "system", "user", "assistant":
		case "tool":
			t = turn{f.tool, f.result + content + f.end}
			if f.merged && i > 0 && messages[i-1].Role == "tool" {
				results = append(results, t.content)
				continue
			}
		default:
			return nil, rejected(i, "the role must be system, user, assistant or tool, not %.40q", m.Role)
		}
		flush()
		turns, results = append(turns, t), append(results, t.content)
	}
	flush()
	return turns, nil
}

// withList adds the list of functions to the system message at the beginning of a chat.
func (f *layout) withList(turns []turn, list string) []turn {
	if list == "" {
		return turns
	}
	if len(turns) == 0 || turns[0].role != "system" {
		return append([]turn{{"system", list}}, turns...)
	}
	if content := turns[0].content; f.listFirst {
		turns[0].content = join(list, "\n\n", content)
	} else {
		turns[0].content = join(content, "\n\n", list)
	}
	return turns
}

// message writes a turn up to its end. The text before the content and the content are
// one part, since they are tokenised together.
func (f *layout) message(parts []llm.Part, t turn) []llm.Part {
	parts = special(parts, f.open)
	if f.role == "" {
		return plain(parts, t.role+f.lead+t.content)
	}
	return plain(special(plain(parts, t.role), f.role), f.lead+t.content)
}

// content returns the text of a message; ok is false if it has token ids.
func (f *layout) content(m llm.Message) (text string, ok bool) {
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

// isSpace reports whether r is white space in Python's str.strip, which the published
// templates and Meta's own code use for trimming.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// join joins two texts, with between if neither is empty.
func join(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}

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
