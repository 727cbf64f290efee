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

// namespace is a tool of type namespace, which groups tools of the client.
type namespace struct {
	Type        string            `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Tools       []json.RawMessage `json:"tools"` // of [toolTypes]
}

// declared is a tool of the client in a list of all of them.
type declared struct {
	tool
	namespace string // "" outside of namespaces
	path      string // in the request
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
	function      = "function"
	custom        = "custom"
	typeNamespace = "namespace"
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

// A toolbox collects the tools of the client.
type toolbox struct {
	declared []declared
	tools    []llm.Tool   // as models know those of declared
	hosted   []hostedTool // which are not declared
	names    map[string]bool
}

// decodeTools decodes the tools of the client.
func (c *createRequest) decodeTools() (toolbox, error) {
	box := toolbox{names: map[string]bool{}}
	for i, raw := range c.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		var peek struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &peek) // errors are reported by the table
		add := box.add
		if peek.Type == typeNamespace {
			add = box.addNamespace
		}
		if err := add(path, raw, namespace{}); err != nil {
			return box, err
		}
	}
	return box, nil
}

// addNamespace adds the tools of the namespace at path.
func (b *toolbox) addNamespace(path string, raw json.RawMessage, of namespace) error {
	if err := namespaceTable.DecodeAt(path, raw, &of); err != nil {
		return err
	}
	for i, raw := range of.Tools {
		if err := b.add(fmt.Sprintf("%s.tools[%d]", path, i), raw, of); err != nil {
			return err
		}
		of.Description = "" // the first tool has it
	}
	return nil
}

// add adds the tool at path, which may belong to a namespace.
func (b *toolbox) add(path string, raw json.RawMessage, of namespace) error {
	if err := hosted(path, raw); err != nil {
		b.hosted = append(b.hosted, hostedTool{path, err})
		return nil
	}
	t := declared{namespace: of.Name, path: path}
	err := toolTable.DecodeAt(path, raw, &t.tool)
	switch isCustom := t.Type == custom; {
	case err != nil:
		return err
	case isCustom && len(t.Parameters) > 0:
		return wire.Invalid(path+".parameters", "is not allowed in a custom tool")
	case !isCustom && t.Format != nil:
		return wire.Invalid(path+".format", "is only allowed in a custom tool")
	case isCustom:
		if t.Parameters, err = t.Format.schema(path + ".format"); err != nil {
			return err
		}
	}
	if of.Description != "" {
		t.Description = strings.TrimSuffix(of.Description+"\n\n"+t.Description, "\n\n")
	}
	known, err := openaiapi.Tool(path, llm.Tool{Name: qualified(of.Name, t.Name), Description: t.Description, Parameters: t.Parameters})
	switch {
	case err != nil:
		return err
	case b.names[known.Name]:
		return wire.Invalid(path+".name", "another tool is named %q", known.Name)
	}
	b.names[known.Name] = true
	b.declared, b.tools = append(b.declared, t), append(b.tools, known)
	return nil
}

// qualified returns the name by which models know a tool of a namespace, which may be "".
func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

// An offer is what an answer may call.
type offer struct {
	toolbox
	indices []int // of the declared tools
	must    bool  // one of them must be called
}

// called returns the tool that models know by a name.
func (o *offer) called(name string) declared {
	for i, t := range o.tools {
		if t.Name == name {
			return o.declared[i]
		}
	}
	return declared{tool: tool{Type: function, Name: name}}
}

// offered returns what the answer may call of a toolbox.
func (c *createRequest) offered(box toolbox) (offer, error) {
	const path = "tool_choice"
	o := offer{toolbox: box}
	raw, word := c.ToolChoice, "auto"
	if len(raw) > 0 && raw[0] == '{' {
		return o, c.chosen(&o)
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
	case word == "required" && len(c.Tools) == 0:
		return o, wire.Invalid(path, "there are no tools to call")
	}
	for i := range o.declared {
		o.indices = append(o.indices, i)
	}
	o.must = word == "required"
	return o, nil
}

// chosen is [createRequest.offered] of a choice that is an object.
func (c *createRequest) chosen(o *offer) error {
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
		i, err := o.index(path, allowedTool{choice.Type, *choice.Name})
		o.indices, o.must = []int{i}, true
		return err
	}
	for i, t := range choice.Tools {
		at, err := o.index(fmt.Sprintf("%s.tools[%d]", path, i), t)
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
			e := *llm.AsError(t.err)
			e.Message += `, or have the model's record leave others out: "unsupported": "drop"`
			return &e
		}
		paths = append(paths, t.path)
	}
	httpx.Ignore(w.Header(), paths...)
	return nil
}

// index finds the tool that a choice at path names. Those of namespaces cannot be named.
func (b *toolbox) index(path string, named allowedTool) (int, error) {
	i := slices.IndexFunc(b.declared, func(t declared) bool { return t.namespace == "" && t.Name == named.Name && t.Type == named.Type })
	if i < 0 {
		return 0, wire.Invalid(path+".name", "%.80q is not one of the tools of type %s", named.Name, named.Type)
	}
	return i, nil
}
