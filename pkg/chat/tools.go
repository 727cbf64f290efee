package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// Calls returns the syntax of calls. Its spacing is that of Python's json.dumps, with which
// models were trained.
func (t Template) Calls() toolcall.Syntax {
	switch t {
	case Llama3:
		return toolcall.Llama3()
	case ChatML:
		return toolcall.Hermes()
	}
	return toolcall.Lines()
}

// write returns calls in the model's syntax, whose arguments are JSON. They are unchanged from
// the client's input: the result then equals the model's own output, which may be cached.
func write(s *toolcall.Syntax, calls []llm.Call) string {
	texts := make([]string, len(calls))
	for i, c := range calls {
		name, _ := marshal(c.Name) // strings always marshal
		texts[i] = s.Call + string(name[1:len(name)-1]) + s.Middle + cmp.Or(c.Arguments, "{}") + s.End
	}
	return strings.Join(texts, s.Between)
}

// inOrder returns messages with the results of functions in the order of the calls they
// answer: no template writes the ids of calls.
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

// A listing describes how functions are listed, each as the JSON object of OpenAI's
// "tools".
type listing struct {
	head, between, tail string
	indented            bool // with line feeds and four spaces, otherwise on one line
}

func (t Template) listing() listing {
	switch t {
	case Llama3:
		return listing{
			head: "You have access to the following functions. To call a function, please respond with JSON for a function call. " +
				`Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}. ` +
				"Do not use variables.\n\n",
			between: "\n\n", indented: true,
		}
	case ChatML:
		return listing{
			head: "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
				"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n",
			between: "\n",
			tail: "\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
				"<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>",
		}
	}
	return listing{
		head:    "Functions that can be called, as JSON:\n",
		between: "\n",
		tail:    "\nA call is a line of JSON: {\"name\": <function name>, \"arguments\": <object>}",
	}
}

// list returns the text that lists the functions and explains how to call them.
func (t Template) list(tools []llm.Tool) (string, error) {
	if len(tools) == 0 {
		return "", nil
	}
	how, texts := t.listing(), make([]string, len(tools))
	for i, tool := range tools {
		raw, err := describe(tool)
		if err != nil {
			return "", &llm.Error{Code: llm.Invalid, Param: "tools", Message: fmt.Sprintf("the parameters of %.64q are not valid JSON", tool.Name), Err: err}
		}
		texts[i] = spaceJSON(raw, how.indented)
	}
	return how.head + strings.Join(texts, how.between) + how.tail, nil
}

// describe returns a tool as the compact object of OpenAI's "tools".
func describe(tool llm.Tool) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	return marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{tool.Name, tool.Description, tool.Parameters}})
}

// marshal returns the compact JSON of v, without escaping < and >.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// spaceJSON spaces compact JSON like Python's json.dumps, which produced the training
// data of models: with indent=4, or on one line.
func spaceJSON(compact []byte, indented bool) string {
	var b bytes.Buffer
	if indented {
		json.Indent(&b, compact, "", "    ")
		return b.String()
	}
	quoted := false
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		b.WriteByte(c)
		switch {
		case quoted && c == '\\':
			i++
			b.WriteByte(compact[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
