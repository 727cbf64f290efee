package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// forms are the keys that hold an answer of a chat to a form.
type forms struct {
	ResponseFormat    *responseFormat `json:"response_format"`
	Tools             []tool          `json:"tools"`
	ToolChoice        json.RawMessage `json:"tool_choice"` // a word or a toolChoice
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
}

type responseFormat struct {
	Type       string      `json:"type"` // text, json_object or json_schema
	JSONSchema *jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

type tool struct {
	Type     string          `json:"type"` // function
	Function function        `json:"function"`
	Custom   json.RawMessage `json:"custom"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

type toolChoice struct {
	Type         string        `json:"type"` // function or allowed_tools
	Function     named         `json:"function"`
	AllowedTools *allowedTools `json:"allowed_tools"`
}

type named struct {
	Name string `json:"name"`
}

type allowedTools struct {
	Mode  string       `json:"mode"` // auto or required
	Tools []toolChoice `json:"tools"`
}

// Schemas of what is asked for without one.
const (
	anyObject   = `{"type":"object"}`
	noArguments = `{"type":"object","properties":{},"additionalProperties":false}`
)

// form puts the keys into params.
func (f *forms) form(params *llm.Params) error {
	schema, err := f.ResponseFormat.schema()
	if err != nil {
		return err
	}
	tools, err := f.tools()
	if err != nil {
		return err
	}
	offered, must, err := f.offered()
	if err != nil {
		return err
	}
	params.Schema = schema
	for _, i := range offered {
		params.Tools = append(params.Tools, tools[i])
	}
	if must {
		params.MustCall = new(true)
	}
	if len(offered) > 0 && f.ParallelToolCalls != nil && !*f.ParallelToolCalls {
		params.OneCall = new(true)
	}
	return nil
}

// schema returns the JSON Schema of the format, nil for free text.
func (f *responseFormat) schema() (json.RawMessage, error) {
	const path = "response_format"
	switch {
	case f == nil:
		return nil, nil
	case f.JSONSchema != nil && f.Type != "json_schema":
		return nil, invalid(path+".json_schema", "can be sent with type json_schema only")
	case f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return json.RawMessage(anyObject), nil
	case f.Type != "json_schema":
		return nil, invalid(path+".type", "must be text, json_object or json_schema, not %.40q", f.Type)
	case f.JSONSchema == nil:
		return nil, invalid(path+".json_schema", "must be given")
	}
	return object(path+".json_schema.schema", f.JSONSchema.Schema)
}

// object returns JSON that is at path and must be an object.
func object(path string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, invalid(path, "must be given")
	}
	if raw[0] != '{' {
		return nil, invalid(path, "must be an object")
	}
	return raw, nil
}

// tools translates all tools, those that are not offered too.
func (f *forms) tools() ([]llm.Tool, error) {
	if len(f.Tools) > maxTools {
		return nil, invalid("tools", "at most %d tools", maxTools)
	}
	list, seen := make([]llm.Tool, len(f.Tools)), map[string]bool{}
	for i := range f.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		var err error
		if list[i], err = f.Tools[i].translate(path); err != nil {
			return nil, err
		}
		name := list[i].Name
		if seen[name] {
			return nil, invalid(path+".function.name", "another tool is named %q", name)
		}
		seen[name] = true
	}
	return list, nil
}

// translate translates the tool that is at path.
func (t *tool) translate(path string) (llm.Tool, error) {
	out := llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters}
	if err := wire.Refuse(rows, t, "tools.", path+"."); err != nil {
		return out, err
	}
	if t.Type != "function" {
		return out, invalid(path+".type", "must be function, not %.40q", t.Type)
	}
	path += ".function"
	unfit := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	}
	if out.Name == "" || len(out.Name) > maxName || strings.ContainsFunc(out.Name, unfit) {
		return out, invalid(path+".name", "must be 1 to %d letters, digits, _ or -, not %.80q", maxName, out.Name)
	}
	if len(out.Parameters) == 0 || string(out.Parameters) == "null" {
		out.Parameters = json.RawMessage(noArguments)
	}
	_, err := object(path+".parameters", out.Parameters)
	return out, err
}

// offered returns the indices of the tools that may be called, and whether one must be.
func (f *forms) offered() (list []int, must bool, err error) {
	const path = "tool_choice"
	raw, word := f.ToolChoice, "auto"
	if len(raw) > 0 && raw[0] == '{' {
		return f.chosen()
	}
	if len(raw) > 0 && string(raw) != "null" {
		if err := wire.UnmarshalAt(path, raw, &word); err != nil {
			return nil, false, err
		}
	}
	switch {
	case word == "none":
		return nil, false, nil
	case word != "auto" && word != "required":
		return nil, false, invalid(path, "must be none, auto, required or an object, not %.40q", word)
	case word == "required" && len(f.Tools) == 0:
		return nil, false, invalid(path, "there are no tools to call")
	}
	for i := range f.Tools {
		list = append(list, i)
	}
	return list, word == "required", nil
}

// chosen is offered of a choice that is an object.
func (f *forms) chosen() (list []int, must bool, err error) {
	const path = "tool_choice"
	var choice toolChoice
	if err := wire.UnmarshalAt(path, f.ToolChoice, &choice); err != nil {
		return nil, false, err
	}
	allowed := choice.AllowedTools
	switch {
	case choice.Type == "function":
		i, err := f.named(path, choice)
		return []int{i}, true, err
	case choice.Type != "allowed_tools":
		return nil, false, invalid(path+".type", "must be function or allowed_tools, not %.40q", choice.Type)
	case allowed == nil || len(allowed.Tools) == 0:
		return nil, false, invalid(path+".allowed_tools.tools", "at least one tool is needed")
	case allowed.Mode != "auto" && allowed.Mode != "required":
		return nil, false, invalid(path+".allowed_tools.mode", "must be auto or required, not %.40q", allowed.Mode)
	}
	for i, t := range allowed.Tools {
		at, err := f.named(fmt.Sprintf("%s.allowed_tools.tools[%d]", path, i), t)
		if err != nil {
			return nil, false, err
		}
		list = append(list, at)
	}
	slices.Sort(list)
	return slices.Compact(list), allowed.Mode == "required", nil
}

// named finds the tool that a choice at path names.
func (f *forms) named(path string, choice toolChoice) (int, error) {
	if choice.Type != "function" {
		return 0, invalid(path+".type", "must be function, not %.40q", choice.Type)
	}
	i := slices.IndexFunc(f.Tools, func(t tool) bool { return t.Function.Name == choice.Function.Name })
	if i < 0 {
		return 0, invalid(path+".function.name", "%.80q is none of the tools", choice.Function.Name)
	}
	return i, nil
}
