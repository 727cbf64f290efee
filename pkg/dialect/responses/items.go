package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// The types of items and parts.
const (
	typeMessage        = "message"
	typeReasoning      = "reasoning"
	typeFunctionCall   = "function_call"
	typeFunctionOutput = "function_call_output"
	typeCustomCall     = "custom_tool_call"
	typeCustomOutput   = "custom_tool_call_output"
	typeReference      = "item_reference"

	outputText    = "output_text"
	reasoningText = "reasoning_text"
	summaryText   = "summary_text"
)

// inputItem is an item of the input.
type inputItem struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	Status           string          `json:"status"`
	Role             string          `json:"role"`
	Phase            string          `json:"phase"`
	Content          json.RawMessage `json:"content"` // a string or parts
	CallID           *string         `json:"call_id"`
	Name             *string         `json:"name"`
	Namespace        string          `json:"namespace"`
	Caller           json.RawMessage `json:"caller"`
	Arguments        *string         `json:"arguments"` // JSON
	ParsedArguments  json.RawMessage `json:"parsed_arguments"`
	Input            *string         `json:"input"`
	Output           json.RawMessage `json:"output"`  // a string or parts
	Summary          json.RawMessage `json:"summary"` // parts
	EncryptedContent json.RawMessage `json:"encrypted_content"`
	CreatedBy        string          `json:"created_by"`
}

// inputPart is a part of an item.
type inputPart struct {
	Type        string          `json:"type"`
	Text        *string         `json:"text"`
	Refusal     *string         `json:"refusal"`
	ImageURL    *string         `json:"image_url"`
	Detail      string          `json:"detail"`
	FileID      json.RawMessage `json:"file_id"`
	Annotations json.RawMessage `json:"annotations"`
	Logprobs    json.RawMessage `json:"logprobs"`
	Parsed      json.RawMessage `json:"parsed"`

	PromptCacheBreakpoint json.RawMessage `json:"prompt_cache_breakpoint"`
}

// partTypes are the types of parts.
var partTypes = []string{"input_text", "input_image", outputText, "refusal", reasoningText, summaryText}

// itemKeys lists the keys of each type of item besides type, id, status and created_by,
// required ones first.
func itemKeys() map[string]struct{ required, optional []string } {
	return map[string]struct{ required, optional []string }{
		typeMessage:        {[]string{"role", "content"}, []string{"phase"}},
		typeReasoning:      {nil, []string{"summary", "content", "encrypted_content"}},
		typeFunctionCall:   {[]string{"call_id", "name", "arguments"}, []string{"namespace", "caller", "parsed_arguments"}},
		typeFunctionOutput: {[]string{"output"}, []string{"call_id", "name", "namespace", "caller"}},
		typeCustomCall:     {[]string{"call_id", "name", "input"}, []string{"namespace", "caller"}},
		typeCustomOutput:   {[]string{"call_id", "output"}, []string{"caller"}},
		typeReference:      {[]string{"id"}, nil},
	}
}

func itemTypes() []string {
	return []string{typeMessage, typeReasoning, typeFunctionCall, typeFunctionOutput, typeCustomCall, typeCustomOutput, typeReference}
}

// decodeItem decodes the item at path.
func decodeItem(path string, raw json.RawMessage) (*inputItem, error) {
	var peek struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &peek) == nil && peek.Type != "" && !slices.Contains(itemTypes(), peek.Type) {
		return nil, unsupported(path, "items of type %.40q are not supported: send one of %s", peek.Type, strings.Join(itemTypes(), ", "))
	}
	it := new(inputItem)
	if err := itemTable.DecodeAt(path, raw, it); err != nil {
		return nil, err
	}
	if it.Type == "" {
		it.Type = typeMessage
	}
	keys := itemKeys()[it.Type]
	if err := wire.CheckKeys(path, raw, "an item of type "+it.Type, keys.required, append([]string{"type", "id", "status", "created_by"}, keys.optional...)); err != nil {
		return nil, err
	}
	return it, nil
}

// unsupported returns an error about a key whose value is a thing that is not supported.
func unsupported(path, format string, args ...any) error {
	e := llm.Errorf(llm.Unsupported, format, args...)
	e.Param = path
	return e
}

// A conversation collects the messages of items. Reasoning, a text and calls that follow
// each other are one message of the assistant, as chat templates have it.
type conversation struct {
	messages []llm.Message
	open     bool                // the last message is the assistant's, and calls may be added
	kinds    map[string]string   // of the earlier calls, by id: function_call or custom_tool_call
	answered map[string]struct{} // ids of calls that have an output
}

// messages translates instructions and input.
func (c *createRequest) messages() ([]llm.Message, error) {
	const path = "input"
	talk := conversation{kinds: map[string]string{}, answered: map[string]struct{}{}}
	if c.Instructions != nil && *c.Instructions != "" {
		talk.messages = []llm.Message{{Role: "system", Parts: []llm.Part{{Text: *c.Instructions}}}}
	}
	for _, raw := range c.earlier {
		if err := talk.read("previous_response_id", raw, nil); err != nil {
			return nil, err
		}
	}
	list, err := c.turn()
	if err != nil {
		return nil, err
	}
	for i, raw := range list {
		if err := talk.read(path+"["+strconv.Itoa(i)+"]", raw, c.referenced); err != nil {
			return nil, err
		}
	}
	return talk.messages, nil
}

// turn returns the items of the input, of which a text is one.
func (c *createRequest) turn() (list []json.RawMessage, err error) {
	const path = "input"
	if c.Input[0] != '[' {
		var text string
		if err := wire.UnmarshalAt(path, c.Input, &text); err != nil {
			return nil, err
		}
		item, err := encoded(map[string]any{"role": "user", "content": text})
		return []json.RawMessage{item}, err
	}
	if err := wire.UnmarshalAt(path, c.Input, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, wire.Invalid(path, "at least one item is required")
	}
	return list, nil
}

// read adds the item at path, or the stored one that it refers to.
func (t *conversation) read(path string, raw json.RawMessage, stored map[string]json.RawMessage) error {
	it, err := decodeItem(path, raw)
	if err != nil {
		return err
	}
	if it.Type == typeReference {
		raw = stored[it.ID]
		if raw == nil {
			return missing(path, it.ID)
		}
		if it, err = decodeItem(path, raw); err != nil {
			return err
		}
	}
	return t.add(path, it)
}

// add adds the item at path.
func (t *conversation) add(path string, it *inputItem) error {
	switch it.Type {
	case typeMessage:
		return t.message(path, it)
	case typeReasoning:
		return t.reasoning(path, it)
	case typeFunctionCall:
		arguments, err := openaiapi.Arguments(path+".arguments", *it.Arguments)
		if err != nil {
			return err
		}
		return t.call(path, it, arguments)
	case typeCustomCall:
		return t.call(path, it, customArguments(*it.Input))
	}
	return t.output(path, it)
}

// assistant returns the assistant's message to which a text or reasoning is added: a new
// one, if fresh reports that the last one already has later content.
func (t *conversation) assistant(fresh func(*llm.Message) bool) *llm.Message {
	if !t.open || fresh(&t.messages[len(t.messages)-1]) {
		t.messages = append(t.messages, llm.Message{Role: "assistant"})
		t.open = true
	}
	return &t.messages[len(t.messages)-1]
}

func (t *conversation) message(path string, it *inputItem) error {
	parts, err := decodeParts(path+".content", it.Content, it.Role)
	if err != nil {
		return err
	}
	switch it.Role {
	case "assistant":
		m := t.assistant(func(m *llm.Message) bool { return len(m.Parts) > 0 || len(m.Calls) > 0 })
		m.Parts = parts
		return nil
	case "developer":
		it.Role = "system" // its newer name
	}
	t.open = false
	t.messages = append(t.messages, llm.Message{Role: it.Role, Parts: parts})
	return nil
}

func (t *conversation) reasoning(path string, it *inputItem) error {
	var text strings.Builder
	for _, from := range []struct {
		key, kind string
		raw       json.RawMessage
	}{{"content", reasoningText, it.Content}, {"summary", summaryText, it.Summary}} {
		if len(from.raw) == 0 || string(from.raw) == "null" {
			continue
		}
		var list []inputPart
		if err := wire.UnmarshalAt(path+"."+from.key, from.raw, &list); err != nil {
			return err
		}
		content := text.Len() > 0
		for i, p := range list {
			path := fmt.Sprintf("%s.%s[%d]", path, from.key, i)
			if p.Type != from.kind || p.Text == nil {
				return wire.Invalid(path, "must be a part of type %s with a text", from.kind)
			}
			if err := partTable.Check(path, &p); err != nil {
				return err
			}
			if !content {
				text.WriteString(*p.Text)
			}
		}
	}
	m := t.assistant(func(m *llm.Message) bool { return m.Reasoning != "" || len(m.Parts) > 0 || len(m.Calls) > 0 })
	m.Reasoning = text.String()
	return nil
}

// call adds a call with its arguments as JSON.
func (t *conversation) call(path string, it *inputItem, arguments string) error {
	switch {
	case *it.CallID == "":
		return wire.Invalid(path+".call_id", "must not be empty")
	case *it.Name == "":
		return wire.Invalid(path+".name", "must not be empty")
	case t.kinds[*it.CallID] != "":
		return wire.Invalid(path+".call_id", "another call has the same id")
	}
	t.kinds[*it.CallID] = it.Type
	m := t.assistant(func(*llm.Message) bool { return false })
	m.Calls = append(m.Calls, llm.Call{Index: len(m.Calls), ID: *it.CallID, Name: qualified(it.Namespace, *it.Name), Arguments: arguments})
	return nil
}

// uncalled adds a call before an output that has none, since chat templates write outputs
// after calls.
func (t *conversation) uncalled(path string, it *inputItem) error {
	if it.Name == nil {
		return wire.Invalid(path+".call_id", "is required in an item of type %s without a name", it.Type)
	}
	it.CallID = new("uncalled_" + strconv.Itoa(len(t.messages)))
	call := *it
	call.Type = typeFunctionCall
	return t.call(path, &call, "{}")
}

// output adds the output of an earlier call, or of none.
func (t *conversation) output(path string, it *inputItem) error {
	if it.CallID == nil {
		if err := t.uncalled(path, it); err != nil {
			return err
		}
	}
	kind := t.kinds[*it.CallID]
	_, twice := t.answered[*it.CallID]
	switch {
	case kind == "":
		return wire.Invalid(path+".call_id", "%.80q is not the id of an earlier call", *it.CallID)
	case kind+"_output" != it.Type:
		return wire.Invalid(path+".type", "the call is a %s: its output is a %s_output", kind, kind)
	case twice:
		return wire.Invalid(path+".call_id", "the call already has an output")
	}
	parts, err := decodeParts(path+".output", it.Output, "tool")
	if err != nil {
		return err
	}
	t.answered[*it.CallID] = struct{}{}
	t.open = false
	t.messages = append(t.messages, llm.Message{Role: "tool", CallID: *it.CallID, Parts: parts})
	return nil
}

// decodeParts reads what is at path in an item of a role: a string or parts.
func decodeParts(path string, raw json.RawMessage, role string) ([]llm.Part, error) {
	if raw[0] != '[' {
		var text string
		if err := wire.UnmarshalAt(path, raw, &text); err != nil {
			return nil, err
		}
		return []llm.Part{{Text: text}}, nil
	}
	var peek []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &peek) == nil {
		for i, p := range peek {
			if p.Type != "" && !slices.Contains(partTypes, p.Type) {
				return nil, unsupported(fmt.Sprintf("%s[%d]", path, i), "parts of type %.40q are not supported: send text or input_image", p.Type)
			}
		}
	}
	var list []inputPart
	if err := wire.UnmarshalAt(path, raw, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, wire.Invalid(path, "at least one part is required")
	}
	var parts []llm.Part
	for i := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		if err := partTable.Check(path, &list[i]); err != nil {
			return nil, err
		}
		part, err := list[i].part(path, role)
		if err != nil {
			return nil, err
		}
		parts = openaiapi.AppendPart(parts, part)
	}
	return parts, nil
}

// part translates the part at path of an item of a role.
func (p *inputPart) part(path, role string) (llm.Part, error) {
	allowed := []string{"input_text", "input_image"}
	if role == "assistant" {
		allowed = []string{outputText, "refusal", "input_text"}
	}
	if !slices.Contains(allowed, p.Type) {
		return llm.Part{}, wire.Invalid(path+".type", "must be %s here, not %s", strings.Join(allowed, " or "), p.Type)
	}
	key := map[string]string{"input_image": "image_url", "refusal": "refusal"}[p.Type]
	if key == "" {
		key = "text"
	}
	var value *string
	for _, member := range []struct {
		key  string
		sent *string
	}{{"text", p.Text}, {"refusal", p.Refusal}, {"image_url", p.ImageURL}} {
		switch {
		case member.key == key && member.sent == nil:
			return llm.Part{}, wire.Invalid(path+"."+key, "is required in a part of type %s", p.Type)
		case member.key == key:
			value = member.sent
		case member.sent != nil:
			return llm.Part{}, wire.Invalid(path+"."+member.key, "is not allowed in a part of type %s", p.Type)
		}
	}
	if key != "image_url" {
		return llm.Part{Text: *value}, nil
	}
	image, err := openaiapi.Image(path+".image_url", *value)
	return llm.Part{Image: image}, err
}
