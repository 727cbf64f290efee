package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// tool is a tool of the client.
type tool struct {
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Parameters     json.RawMessage `json:"parameters"`
	Strict         *bool           `json:"strict"`
	Format         *toolFormat     `json:"format"`
	DeferLoading   json.RawMessage `json:"defer_loading"`
	OutputSchema   json.RawMessage `json:"output_schema"`
	AllowedCallers json.RawMessage `json:"allowed_callers"`
}

type toolFormat struct {
	Type       string  `json:"type"`
	Syntax     *string `json:"syntax"`
	Definition *string `json:"definition"`
}

// toolChoice is a tool_choice that is an object.
type toolChoice struct {
	Type  string        `json:"type"`
	Name  *string       `json:"name"`
	Mode  *string       `json:"mode"`
	Tools []allowedTool `json:"tools"`
}

type allowedTool struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

const (
	function = "function"
	custom   = "custom"
)

// toolTypes are the tools that run at the client.
var toolTypes = []string{function, custom}

// customSchema is the schema of a custom tool's arguments: models call it as a function with
// one text.
const customSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// schema returns the schema of the arguments of a custom tool, whose format is at path.
func (f *toolFormat) schema(path string) (json.RawMessage, error) {
	grammar := f != nil && f.Type == "grammar"
	switch {
	case f != nil && !grammar && f.Syntax != nil:
		return nil, wire.Invalid(path+".syntax", "is only allowed with type grammar")
	case f != nil && !grammar && f.Definition != nil:
		return nil, wire.Invalid(path+".definition", "is only allowed with type grammar")
	case !grammar:
		return json.RawMessage(customSchema), nil
	case f.Syntax == nil:
		return nil, wire.Invalid(path+".syntax", "is required with type grammar")
	case *f.Syntax == "lark":
		return nil, unsupported(path+".syntax", "grammars of Lark are not supported: send a regex")
	case f.Definition == nil || *f.Definition == "":
		return nil, wire.Invalid(path+".definition", "is required with type grammar")
	}
	pattern, err := encoded("^(?:" + *f.Definition + ")$")
	return json.RawMessage(strings.Replace(customSchema, `"string"`, `"string","pattern":`+string(pattern), 1)), err
}

// customArguments returns the arguments of a custom tool's call with an input.
func customArguments(input string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Input string `json:"input"`
	}{input}) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// customInput returns the input of a custom tool's call with arguments. A remote model may
// write others than the schema asks for: then they are the input.
func customInput(arguments string) string {
	var in struct {
		Input *string `json:"input"`
	}
	if err := json.Unmarshal([]byte(arguments), &in); err != nil || in.Input == nil {
		return arguments
	}
	return *in.Input
}

// hosted refuses a type of tool that runs at OpenAI; path is that of the tool.
func hosted(path string, raw json.RawMessage) error {
	var peek struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &peek) == nil && peek.Type != "" && !slices.Contains(toolTypes, peek.Type) && peek.Type != "allowed_tools" {
		return unsupported(path+".type", "the tool %.40q does not run here: send tools of type function or custom", peek.Type)
	}
	return nil
}

// A hostedTool is a tool that is left out if the model's record says so; else it is an error.
type hostedTool struct {
	path string
	err  error
}

// decodeTools decodes the tools of the client. Hosted ones stay empty in the lists.
func (c *createRequest) decodeTools() (sent []tool, out []llm.Tool, left []hostedTool, err error) {
	sent, out = make([]tool, len(c.Tools)), make([]llm.Tool, len(c.Tools))
	seen := map[string]bool{}
	for i, raw := range c.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		if err := hosted(path, raw); err != nil {
			left = append(left, hostedTool{path, err})
			continue
		}
		t := &sent[i]
		err := toolTable.DecodeAt(path, raw, t)
		switch isCustom := t.Type == custom; {
		case err != nil:
			return nil, nil, nil, err
		case isCustom && len(t.Parameters) > 0:
			return nil, nil, nil, wire.Invalid(path+".parameters", "is not allowed in a custom tool")
		case !isCustom && t.Format != nil:
			return nil, nil, nil, wire.Invalid(path+".format", "is only allowed in a custom tool")
		case isCustom:
			if t.Parameters, err = t.Format.schema(path + ".format"); err != nil {
				return nil, nil, nil, err
			}
		}
		if out[i], err = openaiapi.Tool(path, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}); err != nil {
			return nil, nil, nil, err
		}
		if seen[t.Name] {
			return nil, nil, nil, wire.Invalid(path+".name", "another tool is named %q", t.Name)
		}
		seen[t.Name] = true
	}
	return sent, out, left, nil
}

// An offer is what an answer may call.
type offer struct {
	indices []int           // of the client's tools
	hosted  []hostedTool    // that are left out, if the model's record says so
	must    bool            // one of them must be called
	custom  map[string]bool // the names of all custom tools
}

// offered returns what the answer may call.
func (c *createRequest) offered(list []tool) (offer, error) {
	const path = "tool_choice"
	o := offer{custom: map[string]bool{}}
	for _, t := range list {
		if t.Type == custom {
			o.custom[t.Name] = true
		}
	}
	raw, word := c.ToolChoice, "auto"
	if len(raw) > 0 && raw[0] == '{' {
		return o, c.chosen(&o, list)
	}
	if len(raw) > 0 && string(raw) != "null" {
		if err := wire.UnmarshalAt(path, raw, &word); err != nil {
			return o, err
		}
	}
	switch {
	case word == "none":
		return o, nil
	case word != "auto" && word != "required":
		return o, wire.Invalid(path, "must be none, auto, required or an object, not %.40q", word)
	case word == "required" && len(list) == 0:
		return o, wire.Invalid(path, "there are no tools to call")
	}
	for i, t := range list {
		if t.Type != "" {
			o.indices = append(o.indices, i)
		}
	}
	o.must = word == "required"
	return o, nil
}

// chosen is [createRequest.offered] of a choice that is an object.
func (c *createRequest) chosen(o *offer, list []tool) error {
	const path = "tool_choice"
	if err := hosted(path, c.ToolChoice); err != nil {
		return err
	}
	var choice toolChoice
	if err := choiceTable.DecodeAt(path, c.ToolChoice, &choice); err != nil {
		return err
	}
	several := choice.Type == "allowed_tools"
	for _, member := range []struct {
		key          string
		sent, wanted bool
	}{{"name", choice.Name != nil, !several}, {"mode", choice.Mode != nil, several}, {"tools", len(choice.Tools) > 0, several}} {
		switch {
		case member.wanted && !member.sent:
			return wire.Invalid(path+"."+member.key, "is required with type %s", choice.Type)
		case member.sent && !member.wanted:
			return wire.Invalid(path+"."+member.key, "is not allowed with type %s", choice.Type)
		}
	}
	if !several {
		i, err := index(path, list, allowedTool{choice.Type, *choice.Name})
		o.indices, o.must = []int{i}, true
		return err
	}
	for i, t := range choice.Tools {
		at, err := index(fmt.Sprintf("%s.tools[%d]", path, i), list, t)
		if err != nil {
			return err
		}
		o.indices = append(o.indices, at)
	}
	slices.Sort(o.indices)
	o.indices, o.must = slices.Compact(o.indices), *choice.Mode == "required"
	return nil
}

// leaveOut fails if the request has hosted tools, unless the model's record says that they are left
// out, which a header tells.
func (o *offer) leaveOut(w http.ResponseWriter, model *llm.Model) error {
	var paths []string
	for _, t := range o.hosted {
		if !model.Drops {
			return t.err
		}
		paths = append(paths, t.path)
	}
	httpx.Ignore(w.Header(), paths...)
	return nil
}

// index finds the tool that a choice at path names.
func index(path string, list []tool, named allowedTool) (int, error) {
	i := slices.IndexFunc(list, func(t tool) bool { return t.Name == named.Name && t.Type == named.Type })
	if i < 0 {
		return 0, wire.Invalid(path+".name", "%.80q is not one of the tools of type %s", named.Name, named.Type)
	}
	return i, nil
}
