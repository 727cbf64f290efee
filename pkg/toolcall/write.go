package toolcall

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Write returns calls in the syntax. Arguments that are not an object in JSON are written as
// they are, in any style.
func (s *Syntax) Write(calls []Call) string {
	if len(calls) == 0 {
		return ""
	}
	texts := make([]string, len(calls))
	for i, c := range calls {
		texts[i] = s.Call + s.name(c.Name) + s.Middle + s.Arguments.write(c.Arguments) + s.End
	}
	return s.Open + strings.Join(texts, s.Between) + s.Close
}

// name returns a name as it stands in the syntax: between quotes it keeps within them.
func (s *Syntax) name(name string) string {
	if !strings.HasSuffix(s.Call, `"`) {
		return name
	}
	quoted := marshal(name)
	return quoted[1 : len(quoted)-1]
}

// write returns arguments, which are in JSON, in the style.
func (a *Arguments) write(object string) string {
	if a.Style == JSON {
		return object
	}
	names, values, ok := members(object)
	if !ok {
		return object
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = a.Open + name + a.Middle + a.value(values[i]) + a.Close
	}
	return strings.Join(texts, a.Between)
}

// members returns the members of an object in order.
func members(object string) (names []string, values []json.RawMessage, ok bool) {
	d := json.NewDecoder(strings.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isText := t.(string)
		var value json.RawMessage
		if err != nil || !isText || d.Decode(&value) != nil {
			return nil, nil, false
		}
		names, values = append(names, name), append(values, value)
	}
	_, err := d.Token()
	return names, values, err == nil
}

// value returns a value in JSON as the style writes it.
func (a *Arguments) value(raw json.RawMessage) string {
	var text string
	isText := raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	switch {
	case isText && a.Style == Tagged:
		return text
	case isText:
		return marshal(text)
	case a.Style == Python:
		return literal(raw)
	}
	return string(raw)
}

// literal returns a value in JSON as a literal of Python.
func literal(raw json.RawMessage) string {
	switch string(raw) {
	case "true":
		return "True"
	case "false":
		return "False"
	case "null":
		return "None"
	}
	var list []json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		texts := make([]string, len(list))
		for i, item := range list {
			texts[i] = literal(item)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	if raw[0] != '{' {
		return string(raw)
	}
	names, values, ok := members(string(raw))
	if !ok {
		return string(raw)
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = marshal(name) + ": " + literal(values[i])
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// marshal returns a text in JSON, without escaping < and >.
func marshal(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // texts always encode
	return strings.TrimSuffix(b.String(), "\n")
}
