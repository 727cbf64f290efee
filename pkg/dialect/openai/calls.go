package openai

import (
	"encoding/json"
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// toolCall is a call in a message that a client sends back.
type toolCall struct {
	Index    *int           `json:"index"`
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name            string          `json:"name"`
	Arguments       string          `json:"arguments"` // JSON
	ParsedArguments json.RawMessage `json:"parsed_arguments"`
}

// callMessage is a call in an answer; in a stream, a piece of one.
type callMessage struct {
	Index    *int         `json:"index,omitempty" doc:"in streams: the index of the call that this piece belongs to"`
	ID       string       `json:"id,omitempty" doc:"in streams: only in the first piece"`
	Type     string       `json:"type,omitempty" enum:"function" doc:"in streams: only in the first piece"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name,omitempty" doc:"in streams: only in the first piece"`
	Arguments string `json:"arguments" doc:"a JSON object; in streams a piece of it"`
}

// calls translates the calls of an assistant's message, which is at path.
func (m *message) calls(path string) ([]llm.Call, error) {
	if len(m.ToolCalls) > 0 && m.Role != assistant {
		return nil, wire.Invalid(path+".tool_calls", "is only allowed in a message of the role assistant")
	}
	var list []llm.Call
	seen := map[string]bool{}
	for i, c := range m.ToolCalls {
		path := fmt.Sprintf("%s.tool_calls[%d]", path, i)
		call := llm.Call{Index: i, ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
		if seen[call.ID] {
			return nil, wire.Invalid(path+".id", "another call of this message has the same id")
		}
		var err error
		if call.Arguments, err = openaiapi.Arguments(path+".function.arguments", call.Arguments); err != nil {
			return nil, err
		}
		seen[call.ID] = true
		list = append(list, call)
	}
	return list, nil
}

// newCalls translates the calls of an answer, or the pieces of a stream's event. Calls
// that a backend gave no id get one here.
func newCalls(calls []llm.Call, stream bool) (list []callMessage) {
	for _, c := range calls {
		out := callMessage{ID: c.ID, Function: functionCall{c.Name, c.Arguments}}
		if stream {
			out.Index = &c.Index
		}
		if c.Name != "" { // a first piece
			out.Type = "function"
			if out.ID == "" {
				out.ID = openaiapi.NewID("call_")
			}
		}
		list = append(list, out)
	}
	return list
}
