package remote

import (
	"encoding/json"

	"glossa/pkg/llm"
)

// calls numbers the calls of a row in the order of their beginnings. Providers number all
// blocks of an answer, texts too, or nothing.
type calls struct {
	at    map[int]int // the number of the last call of a provider's index
	begun []opening
}

// An opening is what began a call.
type opening struct {
	id, name string
	empty    bool // it has no arguments so far
}

const maxCalls = 256 // of a row

// add decodes calls, or pieces of calls, in OpenAI's format; arguments may also be an
// object. A piece with a name begins a call, unless it continues the call of its index. Some
// providers number all calls 0: another id, or without ids another name, begins a call there.
func (c *calls) add(v any) ([]llm.Call, error) {
	list, _ := v.([]any)
	if len(list) == 0 {
		return nil, nil
	}
	var read []piece
	b, err := json.Marshal(list)
	if err == nil {
		err = json.Unmarshal(b, &read)
	}
	if err != nil {
		return nil, badCalls("calls of an unknown form")
	}
	out := make([]llm.Call, len(read))
	for i, p := range read {
		n, begun := c.number(p)
		switch {
		case n < 0:
			return nil, badCalls("a part of a call that has not begun")
		case n >= maxCalls:
			return nil, badCalls("too many calls")
		}
		out[i] = llm.Call{Index: n, Arguments: p.arguments()}
		if begun {
			out[i].ID, out[i].Name = p.ID, p.Function.Name
		}
		c.begun[n].empty = c.begun[n].empty && out[i].Arguments == ""
	}
	return out, nil
}

func badCalls(what string) error {
	return &llm.Error{Code: llm.Upstream, Param: "tool_calls", Message: "the model's answer has " + what}
}

// number returns the number of the call that a piece belongs to, and whether it begins
// it; -1 if there is no such call.
func (c *calls) number(p piece) (n int, begun bool) {
	if p.Index != nil {
		if n, ok := c.at[*p.Index]; ok && p.continues(c.begun[n]) {
			return n, false
		}
	}
	n = len(c.begun)
	if p.Function.Name == "" {
		if p.Index != nil {
			return -1, false
		}
		return n - 1, false
	}
	c.begun = append(c.begun, opening{p.ID, p.Function.Name, true})
	if p.Index != nil {
		if c.at == nil {
			c.at = map[int]int{}
		}
		c.at[*p.Index] = n
	}
	return n, true
}

// end returns the rest of calls without arguments: some providers write nothing where
// others write an empty object.
func (c *calls) end() (rest []llm.Call) {
	for n, call := range c.begun {
		if call.empty {
			rest = append(rest, llm.Call{Index: n, Arguments: "{}"})
		}
	}
	return rest
}

// A piece is a call, or a part of one.
type piece struct {
	Index    *int
	ID       string
	Function struct {
		Name      string
		Arguments json.RawMessage
	}
}

// continues reports whether a piece with the index of a call is a part of it. Some
// providers give each piece a new id, but only the first a name.
func (p *piece) continues(call opening) bool {
	switch {
	case p.Function.Name == "":
		return true
	case p.ID != "" && call.id != "":
		return p.ID == call.id
	}
	return p.Function.Name == call.name
}

// arguments returns the text of the arguments, which may be an object or null.
func (p *piece) arguments() string {
	var text *string
	if raw := p.Function.Arguments; json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	if text == nil {
		return ""
	}
	return *text
}
