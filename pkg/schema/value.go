package schema

import (
	"encoding/json"
	"reflect"

	"glossa/pkg/llm"
)

// maxDepth is the deepest nesting of JSON in records and answers.
const maxDepth = 128

// A document is a JSON value whose numbers are json.Number.
type document struct {
	root  any
	order map[uintptr][]string // of the members of each object, by [identity]; nil: unknown
	twice []string             // pointers of duplicate members
}

// identity distinguishes maps; Go has no other way to attach data to a map.
func identity(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

// plain returns a copy of v in JSON's types, so that paths lead into it and nothing is
// shared with its owner. Numbers keep their type; the lists and maps of [llm.Params]
// become []any and map[string]any. Verbatim JSON stays verbatim.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string, json.Number, json.RawMessage, int, int64, float64:
		return v
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, value := range v {
			m[name] = plain(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = plain(value)
		}
		return list
	case []llm.Tool:
		return tools(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // the caller's own encoding reports the error
	}
	doc, err := decode(b)
	if err != nil {
		return v
	}
	return doc.root
}

// tools converts tools to OpenAI's format, which most models with tools use.
func tools(list []llm.Tool) any {
	out := make([]any, len(list))
	for i, t := range list {
		f := map[string]any{"name": t.Name}
		if t.Description != "" {
			f["description"] = t.Description
		}
		if t.Parameters != nil {
			f["parameters"] = t.Parameters
		}
		out[i] = map[string]any{"type": "function", "function": f}
	}
	return out
}
