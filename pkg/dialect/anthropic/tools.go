package anthropic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// custom is the type of a tool that runs at the client and has a schema.
const custom = "custom"

// toolName is the form of a tool's name.
const toolName = `^[a-zA-Z0-9_-]{1,128}$`

var isToolName = regexp.MustCompile(toolName)

// nameSchema describes the name of a tool.
func nameSchema() *wire.Schema {
	s := wire.Types("string")
	s.Pattern = toolName
	return s
}

// decodeTools decodes the tools of the client.
func (p *prompted) decodeTools() ([]llm.Tool, error) {
	out := make([]llm.Tool, len(p.Tools))
	for i, raw := range p.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		var peek struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &peek) == nil && peek.Type != "" && peek.Type != custom {
			return nil, unsupported(path+".type", "the tool %.40q does not run here: send tools with an input_schema", peek.Type)
		}
		var t tool
		if err := toolTable.DecodeAt(path, raw, &t); err != nil {
			return nil, err
		}
		if !isToolName.MatchString(t.Name) {
			return nil, wire.Invalid(path+".name", "must be 1 to 128 letters, digits, _ or -, not %.80q", t.Name)
		}
		if slices.ContainsFunc(out[:i], func(other llm.Tool) bool { return other.Name == t.Name }) {
			return nil, wire.Invalid(path+".name", "another tool is named %q", t.Name)
		}
		schema, err := openaiapi.Object(path+".input_schema", t.InputSchema)
		if err != nil {
			return nil, err
		}
		out[i] = llm.Tool{Name: t.Name, Description: t.Description, Parameters: schema}
	}
	return out, nil
}

// offered returns the indices of the tools that the answer may call, and whether it must call
// one.
func (p *prompted) offered(tools []llm.Tool) (indices []int, must bool, err error) {
	const path = "tool_choice"
	choice := toolChoice{Type: "auto"}
	if p.ToolChoice != nil {
		choice = *p.ToolChoice
	}
	named := choice.Type == "tool"
	switch {
	case named && choice.Name == "":
		return nil, false, wire.Invalid(path+".name", "is required with type tool")
	case !named && choice.Name != "":
		return nil, false, wire.Invalid(path+".name", "is not allowed with type %s", choice.Type)
	case choice.Type == "none":
		return nil, false, nil
	case choice.Type != "auto" && len(tools) == 0:
		return nil, false, wire.Invalid(path, "there are no tools to call")
	}
	for i, t := range tools {
		if !named || t.Name == choice.Name {
			indices = append(indices, i)
		}
	}
	if named && indices == nil {
		return nil, false, wire.Invalid(path+".name", "%.80q is not one of the tools", choice.Name)
	}
	return indices, choice.Type != "auto", nil
}
