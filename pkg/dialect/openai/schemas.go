package openai

import "glossa/pkg/wire"

// The schemas of keys that are decoded by hand.

// contentTable describes a part of the content of a message.
var contentTable = wire.For[contentPart](
	wire.Parameter{Name: "type", Required: true, OneOf: []string{"text", "image_url"}, Note: "the kind of part"},
	wire.Parameter{Name: "text", Note: "the text; required with type text, not allowed with others"},
	wire.Parameter{Name: "image_url", Remote: wire.ByRecord, Note: "an image, for models that read images; required with type image_url, not allowed with others"},
	wire.Parameter{Name: "image_url.url", Required: true, Note: "the image itself, as data:image/png;base64,... (or jpeg, gif, webp), of at most 3,750,000 bytes; the server fetches nothing"},
	wire.Parameter{Name: "image_url.detail", Disposition: wire.NoEffect, Note: "the models choose their resolution"},
	wire.Parameter{Name: "prompt_cache_breakpoint", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
	wire.Parameter{Name: "cache_control", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer + "; sent by OpenRouter's clients"},
	wire.Parameter{Name: "role", Disposition: wire.NoEffect, Note: ofMessage},
	wire.Parameter{Name: "refusal", Disposition: wire.Refused, Note: noRefusals, Neutral: []string{`""`}},
	wire.Parameter{Name: "annotations", Disposition: wire.Refused, Note: noAnnotations, Neutral: []string{`[]`}},
	wire.Parameter{Name: "reasoning_content", Disposition: wire.NoEffect, Note: ofMessage},
	wire.Parameter{Name: "reasoning", Disposition: wire.NoEffect, Note: ofMessage},
)

// contentSchema describes the content of a message.
func contentSchema() *wire.Schema {
	return wire.AnyOf(wire.Types("string"), some(contentTable.Schema(), 0))
}

// toolChoiceTable describes a tool_choice that is an object.
var toolChoiceTable = wire.For[toolChoice](
	wire.Parameter{Name: "type", Required: true, OneOf: []string{"function", "allowed_tools"}, Note: "the kind of choice"},
	wire.Parameter{Name: "function", Note: "the function that must be called; only with type function"},
	wire.Parameter{Name: "function.name", Required: true, Note: "the name of one of tools"},
	wire.Parameter{Name: "allowed_tools", Note: "the functions that may be called; only with type allowed_tools"},
	wire.Parameter{Name: "allowed_tools.mode", Required: true, OneOf: []string{"auto", "required"}, Note: "whether one of them must be called"},
	wire.Parameter{Name: "allowed_tools.tools", Required: true, Count: wire.AtLeast(1), Noun: "tool", Note: "some of tools"},
	wire.Parameter{Name: "allowed_tools.tools.type", Required: true, OneOf: []string{"function"}, Note: "the kind of tool"},
	wire.Parameter{Name: "allowed_tools.tools.function", Required: true, Note: "the function"},
	wire.Parameter{Name: "allowed_tools.tools.function.name", Required: true, Note: "the name of one of tools"},
)

// toolChoiceSchema describes the key tool_choice.
func toolChoiceSchema() *wire.Schema {
	word := wire.Types("string")
	word.Enum = []any{"none", "auto", "required"}
	return wire.AnyOf(word, toolChoiceTable.Schema())
}

// promptSchema describes a text or token ids, or a list of either; most limits the
// elements of the list, if it is not 0.
func promptSchema(most int) *wire.Schema {
	id := wire.Types("integer")
	id.Minimum = new(0.0)
	ids := some(id, 0)
	return wire.AnyOf(wire.Types("string"), some(wire.Types("string"), most), ids, some(ids, most))
}

// some describes a list that has an element; most limits the elements, if it is not 0.
func some(element *wire.Schema, most int) *wire.Schema {
	s := wire.ListOf(element)
	s.MinItems = new(1)
	if most > 0 {
		s.MaxItems = &most
	}
	return s
}
