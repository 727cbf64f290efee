package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// A turn is a message in the form that a template takes.
type turn struct {
	role, text string
	reasoning  string
	calls      []llm.Call
	id, name   string          // of a tool's message: the call that it answers, and the tool
	written    []toolcall.Part // calls that follow the text
	number     int             // of the message that it comes from
	pictures   []picture
}

// turns returns the messages of a chat in the form that the template can write.
func (t *Template) turns(c *Chat) ([]turn, error) {
	turns, err := t.readTurns(c.Messages)
	if err != nil {
		return nil, err
	}
	if !t.nature.calls {
		turns = t.callsAsText(turns)
	}
	if t.nature.oneCall {
		turns = oneCall(turns)
	}
	if t.nature.oneText {
		oneText(turns)
	}
	if list, err := t.list(c.Tools); err != nil {
		return nil, err
	} else if list != "" {
		if len(turns) == 0 || turns[0].role != "system" {
			turns = slices.Insert(turns, 0, turn{role: "system"})
		}
		turns[0].text = join(turns[0].text, "\n\n", list)
	}
	if !t.nature.system {
		turns = mergeSystem(turns)
	}
	return turns, nil
}

// readTurns converts messages, with the results of tools in the order of the calls that they
// answer: hardly a template writes the ids of calls.
func (t *Template) readTurns(messages []llm.Message) ([]turn, error) {
	turns := make([]turn, len(messages))
	names := map[string]string{}
	for i, m := range inOrder(messages) {
		if len(m.Calls) > 0 && m.Role != "assistant" {
			return nil, rejected(i, "only an assistant may call functions")
		}
		text, pictures, err := t.readParts(i, &m)
		if err != nil {
			return nil, err
		}
		for _, call := range m.Calls {
			names[call.ID] = call.Name
		}
		turns[i] = turn{role: m.Role, text: text, reasoning: m.Reasoning, calls: m.Calls, number: i, pictures: pictures}
		if m.Role == "tool" {
			turns[i].id, turns[i].name = m.CallID, names[m.CallID]
		}
	}
	return turns, nil
}

// rejected returns an error for message i.
func rejected(i int, format string, args ...any) error {
	return &llm.Error{Code: llm.Unsupported, Param: fmt.Sprintf("messages[%d]", i), Message: fmt.Sprintf(format, args...)}
}

// inOrder returns messages with the results of tools in the order of the calls they answer.
func inOrder(messages []llm.Message) []llm.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		calls := messages[i].Calls
		if len(calls) < 2 {
			continue
		}
		results := messages[i+1:]
		if n := slices.IndexFunc(results, func(m llm.Message) bool { return m.Role != "tool" }); n >= 0 {
			results = results[:n]
		}
		at := make(map[string]int, len(calls))
		for n, c := range slices.Backward(calls) { // of equal ids the first counts
			at[c.ID] = n
		}
		place := func(m llm.Message) int {
			if n, ok := at[m.CallID]; ok {
				return n
			}
			return len(calls)
		}
		slices.SortStableFunc(results, func(a, b llm.Message) int { return cmp.Compare(place(a), place(b)) })
	}
	return messages
}

// oneCall writes each call of a message, with its results, as a message of its own.
func oneCall(turns []turn) (out []turn) {
	for len(turns) > 0 {
		from := turns[0]
		turns = turns[1:]
		for len(from.calls) > 1 {
			first := from
			first.calls = from.calls[:1]
			out = append(out, first)
			for len(turns) > 0 && turns[0].role == "tool" && turns[0].id == first.calls[0].ID {
				out, turns = append(out, turns[0]), turns[1:]
			}
			from.text, from.reasoning, from.calls = "", "", from.calls[1:]
		}
		out = append(out, from)
	}
	return out
}

// oneText makes the text of a message that reasons and calls a part of the reasoning.
func oneText(turns []turn) {
	for i := range turns {
		if m := &turns[i]; len(m.calls) > 0 && m.reasoning != "" {
			m.reasoning, m.text = join(m.reasoning, "\n\n", m.text), ""
		}
	}
}

// nameIDs returns turns in which the ids of calls have the names of the tools, and numbers: the
// template of Kimi K2 writes an id where others write a name.
func nameIDs(turns []turn) []turn {
	turns = slices.Clone(turns)
	ids, number := map[string]string{}, 0
	for i := range turns {
		m := &turns[i]
		m.calls = slices.Clone(m.calls)
		for c := range m.calls {
			call := &m.calls[c]
			ids[call.ID] = fmt.Sprintf("functions.%s:%d", call.Name, number)
			call.ID = ids[call.ID]
			number++
		}
		m.id = cmp.Or(ids[m.id], m.id)
	}
	return turns
}

// callsAsText writes calls as the text of the assistant, and adjacent results of tools as one
// message of the user, for a template that drops or refuses them.
func (t *Template) callsAsText(turns []turn) []turn {
	var out []turn
	for len(turns) > 0 {
		from, n := turns[0], 1
		if from.role == "tool" && !t.nature.results {
			for n < len(turns) && turns[n].role == "tool" {
				n++
			}
			from = joinResults(turns[:n])
		}
		from.written, from.calls = written(&t.calls, from.calls), nil
		out, turns = append(out, from), turns[n:]
	}
	return out
}

// joinResults returns the message of the user that has the results of tools, each after a line feed.
func joinResults(results []turn) turn {
	m := results[0]
	var text strings.Builder
	var pictures []picture
	for i, from := range results {
		if i > 0 {
			text.WriteByte('\n')
		}
		pictures = append(pictures, shifted(from.pictures, text.Len())...)
		text.WriteString(from.text)
	}
	m.role, m.id, m.text, m.pictures = "user", cmp.Or(m.id, "result"), text.String(), pictures
	return m
}

// written returns calls in a syntax.
func written(s *toolcall.Syntax, calls []llm.Call) []toolcall.Part {
	list := make([]toolcall.Call, len(calls))
	for i, c := range calls {
		list[i] = toolcall.Call{Name: c.Name, Arguments: cmp.Or(c.Arguments, "{}")}
	}
	return s.Write(list)
}

// mergeSystem puts the text of the first message, if it is the system's, before the text of the
// first message of the user that follows it.
func mergeSystem(turns []turn) []turn {
	if len(turns) == 0 || turns[0].role != "system" {
		return turns
	}
	system := turns[0]
	turns = turns[1:]
	if len(turns) == 0 || turns[0].role != "user" {
		return slices.Insert(turns, 0, turn{role: "user", text: system.text, pictures: system.pictures})
	}
	user := &turns[0]
	own := len(user.text)
	user.text = join(system.text, "\n\n", user.text)
	user.pictures = append(system.pictures, shifted(user.pictures, len(user.text)-own)...)
	return turns
}

// join joins two texts, with between if neither is empty.
func join(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}
