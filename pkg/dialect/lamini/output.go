package lamini

import (
	"bytes"
	"encoding/json"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// schemas holds the JSON Schemas of the types of Lamini's documentation.
var schemas = map[string]string{
	"str": `{"type":"string"}`, "int": `{"type":"integer"}`, "float": `{"type":"number"}`, "bool": `{"type":"boolean"}`,
}

// schema returns the JSON Schema of an output_type, nil if there is none: an object that
// requires all its keys in its order.
func schema(sent json.RawMessage) (json.RawMessage, error) {
	const path = "output_type"
	if len(sent) == 0 || string(sent) == "null" {
		return nil, nil
	}
	if sent[0] != '{' {
		return nil, wire.Invalid(path, "must be an object of keys and types")
	}
	dec := json.NewDecoder(bytes.NewReader(sent)) // the JSON is known to be valid
	_, _ = dec.Token()
	var properties, required []string
	seen := map[string]bool{}
	for dec.More() {
		token, _ := dec.Token()
		key, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, wire.Invalid(path+"."+key, "appears twice")
		}
		seen[key] = true
		kind, err := typeSchema(path+"."+key, value)
		if err != nil {
			return nil, err
		}
		name, _ := json.Marshal(key) // a string cannot fail
		properties = append(properties, string(name)+":"+kind)
		required = append(required, string(name))
	}
	if len(required) == 0 {
		return nil, wire.Invalid(path, "at least one key is required")
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") +
		`},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`), nil
}

// typeSchema returns the JSON Schema of the type at path: a type name, or a list of values
// to choose from.
func typeSchema(path string, sent json.RawMessage) (string, error) {
	switch sent[0] {
	case '"':
		var word string
		_ = json.Unmarshal(sent, &word)
		if schemas[word] == "" {
			return "", wire.Invalid(path, "must be str, int, float, bool or a list of values, not %.40q", word)
		}
		return schemas[word], nil
	case '[':
	default:
		return "", wire.Invalid(path, "must be str, int, float, bool or a list of values")
	}
	var values []json.RawMessage
	_ = json.Unmarshal(sent, &values)
	if len(values) == 0 {
		return "", wire.Invalid(path, "at least one value is required")
	}
	for _, v := range values {
		if v[0] != '"' && v[0] != '-' && (v[0] < '0' || v[0] > '9') {
			return "", wire.Invalid(path, "the values of a list must be strings or numbers")
		}
	}
	return `{"enum":` + string(sent) + `}`, nil
}

// typedOutput returns the text of a row as JSON. An output that is incomplete or does not match its
// type is an error, so that clients never receive invalid output.
func typedOutput(row llm.Chunk) (json.RawMessage, error) {
	switch {
	case row.Guarantee != llm.Unchecked:
		return json.RawMessage(row.Text), nil
	case row.Finish == llm.FinishDeadline:
		return nil, &llm.Error{Code: llm.Timeout, Param: "output_type", Message: "the deadline passed before the output was complete"}
	}
	return nil, &llm.Error{Code: llm.Upstream, Param: "output_type", Message: "the model's output does not match output_type"}
}
