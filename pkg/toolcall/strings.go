package toolcall

import "encoding/json"

// Strings returns the parameters, by name, whose values a [Tagged] syntax writes as they are:
// those that a tool's schema declares as strings in so many words. schema is the JSON Schema
// of the arguments.
func Strings(schema []byte) map[string]bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	names := map[string]bool{}
	if json.Unmarshal(schema, &s) != nil {
		return names
	}
	for name, raw := range s.Properties {
		if isString(raw) {
			names[name] = true
		}
	}
	return names
}

// isString reports whether a schema has the type string, or lists only strings.
func isString(schema []byte) bool {
	var s struct {
		Type  json.RawMessage `json:"type"`
		Enum  []any           `json:"enum"`
		Const any             `json:"const"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false // true, false
	}
	if len(s.Type) > 0 {
		var list []string
		if json.Unmarshal(s.Type, &list) == nil {
			return len(list) == 1 && list[0] == "string"
		}
		return string(s.Type) == `"string"`
	}
	if _, ok := s.Const.(string); ok {
		return true
	}
	for _, v := range s.Enum {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return len(s.Enum) > 0
}
