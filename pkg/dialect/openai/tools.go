package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

type tools []tool

type tool struct {
	Type     string          `json:"type"`
	Function function        `json:"function"`
	Custom   json.RawMessage `json:"custom"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// tool returns the function as it was sent.
func (f *function) tool() llm.Tool {
	return llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters}
}

// toolChoice is a tool_choice that is an object.
type toolChoice struct {
	Type         string        `json:"type"`
	Function     *functionName `json:"function"`
	AllowedTools *allowedTools `json:"allowed_tools"`
}

type functionName struct {
	Name string `json:"name"`
}

type allowedTools struct {
	Mode  string        `json:"mode"`
	Tools []allowedTool `json:"tools"`
}

type allowedTool struct {
	Type     string       `json:"type"`
	Function functionName `json:"function"`
}

// structure puts the keys that give an answer its structure into params. It returns all
// tools if the answer may not call some of them.
func (c *chatRequest) structure(params *llm.Params) (declared []llm.Tool, err error) {
	schema, err := c.ResponseFormat.schema()
	if err != nil {
		return nil, err
	}
	list, err := c.Tools.translate()
	if err != nil {
		return nil, err
	}
	offered, must, err := c.offered()
	if err != nil {
		return nil, err
	}
	if len(offered) < len(list) {
		declared = list
	}
	params.Schema = schema
	for _, i := range offered {
		params.Tools = append(params.Tools, list[i])
	}
	if must {
		params.MustCall = new(true)
	}
	if len(offered) > 0 && c.ParallelToolCalls != nil && !*c.ParallelToolCalls {
		params.OneCall = new(true)
	}
	return declared, nil
}

// schema returns the JSON Schema of the format, nil for plain text.
func (f *responseFormat) schema() (json.RawMessage, error) {
	const path = "response_format.json_schema"
	switch {
	case f == nil:
		return nil, nil
	case f.JSONSchema != nil && f.Type != "json_schema":
		return nil, wire.Invalid(path, "is only accepted with type json_schema")
	case f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return json.RawMessage(openaiapi.AnyObject), nil
	case f.JSONSchema == nil:
		return nil, wire.Invalid(path, "is required")
	}
	return openaiapi.Object(path+".schema", f.JSONSchema.Schema)
}

// translate translates all tools, those that are not offered too.
func (list tools) translate() ([]llm.Tool, error) {
	out, seen := make([]llm.Tool, len(list)), map[string]bool{}
	for i := range list {
		path := fmt.Sprintf("tools[%d].function", i)
		var err error
		if out[i], err = openaiapi.Tool(path, list[i].Function.tool()); err != nil {
			return nil, err
		}
		name := out[i].Name
		if seen[name] {
			return nil, wire.Invalid(path+".name", "another tool is named %q", name)
		}
		seen[name] = true
	}
	return out, nil
}

// offered returns the indices of the tools that may be called, and whether one must be.
func (c *chatRequest) offered() (list []int, must bool, err error) {
	const path = "tool_choice"
	raw, word := c.ToolChoice, "auto"
	if len(raw) > 0 && raw[0] == '{' {
		return c.chosen()
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
		return nil, false, wire.Invalid(path, "must be none, auto, required or an object, not %.40q", word)
	case word == "required" && len(c.Tools) == 0:
		return nil, false, wire.Invalid(path, "there are no tools to call")
	}
	for i := range c.Tools {
		list = append(list, i)
	}
	return list, word == "required", nil
}

// chosen is [chatRequest.offered] of a choice that is an object.
func (c *chatRequest) chosen() (list []int, must bool, err error) {
	const path = "tool_choice"
	var choice toolChoice
	if err := toolChoiceTable.DecodeAt(path, c.ToolChoice, &choice); err != nil {
		return nil, false, err
	}
	function, allowed := choice.Function, choice.AllowedTools
	switch isFunction := choice.Type == "function"; {
	case isFunction && function == nil:
		return nil, false, wire.Invalid(path+".function", "is required")
	case isFunction:
		i, err := c.Tools.index(path, *function)
		return []int{i}, true, err
	case allowed == nil:
		return nil, false, wire.Invalid(path+".allowed_tools", "is required")
	}
	for i, t := range allowed.Tools {
		at, err := c.Tools.index(fmt.Sprintf("%s.allowed_tools.tools[%d]", path, i), t.Function)
		if err != nil {
			return nil, false, err
		}
		list = append(list, at)
	}
	slices.Sort(list)
	return slices.Compact(list), allowed.Mode == "required", nil
}

// index finds the tool with the name that a choice at path has.
func (list tools) index(path string, f functionName) (int, error) {
	i := slices.IndexFunc(list, func(t tool) bool { return t.Function.Name == f.Name })
	if i < 0 {
		return 0, wire.Invalid(path+".function.name", "%.80q is not one of the tools", f.Name)
	}
	return i, nil
}
