// Package schema turns canonical keys into the request of a remote model and its
// answers into canonical keys, as the model's record says: defaults, and a JSON path
// for each key. A new model needs a record and no code. It refuses to know where
// records are kept, which models there are and how they are called.
//
// Sources: seed 003, "schema"; jsonpath-ng 1.8 and Python's re for what its paths and
// patterns mean, whose spellings are put into those of PaesslerAG/jsonpath and RE2.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// A Schema is the schema of a record. It does not change once it is parsed and may be
// used by many at once.
type Schema struct {
	Response     *Response // of a call that is not streamed
	Stream       *Response // of each event of a stream; nil: the model does not stream
	ChatTemplate string    // the form of chats for a model that takes prompts alone

	text     []byte         // the record's own, compact
	defaults map[string]any // the record's
	base     map[string]any // the request without any key
	slots    []slot         // of the request, in the order of the record
	sample   any            // the first message of the defaults
	turn     path           // to the text of a message
	chats    bool           // the record maps chats
	warnings []Mistake
}

// A slot is a key and its place in the request.
type slot struct {
	name   string
	path   path
	exists bool // in the defaults
	silent bool // it is null there
	create bool // where the request lacks the place, it comes from the defaults
}

// A Mistake is something wrong with a schema, at a JSON pointer.
type Mistake struct{ Pointer, Message string }

func (m Mistake) Error() string {
	if m.Pointer == "" {
		return m.Message
	}
	return m.Pointer + ": " + m.Message
}

// Mistakes lists what is wrong with a schema, of an error of [Parse].
func Mistakes(err error) []Mistake {
	if m, ok := err.(Mistake); ok {
		return []Mistake{m}
	}
	var list []Mistake
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			list = append(list, Mistakes(err)...)
		}
	}
	return list
}

// Pointer spells names of members, the outermost first, as a JSON pointer.
func Pointer(names ...string) string {
	pointer := ""
	for _, name := range names {
		pointer += "/" + escape(name)
	}
	return pointer
}

// escape spells a name as a part of a JSON pointer (RFC 6901, 3).
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

const maxSchema = 1 << 20 // bytes; an item of DynamoDB has 400 KB at most

// Parse reads a schema: a JSON object, or a JSON string that holds one, which is how
// upstream writes them. The error joins a [Mistake] for each thing wrong.
func Parse(raw []byte) (*Schema, error) {
	if len(raw) > maxSchema {
		return nil, Mistake{Message: "larger than a megabyte"}
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, Mistake{Message: err.Error()}
	}
	if inner, ok := doc.root.(string); ok {
		raw = []byte(inner)
		if doc, err = decode(raw); err != nil {
			return nil, Mistake{Message: "in the string: " + err.Error()}
		}
	}
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil {
		return nil, Mistake{Message: err.Error()}
	}
	c := &check{doc: doc, schema: &Schema{text: text.Bytes()}}
	c.all()
	if len(c.mistakes) > 0 {
		return nil, errors.Join(c.mistakes...)
	}
	return c.schema, nil
}

// Warnings lists what is allowed and probably not meant: a key whose path leads
// nowhere, a key that is nearly a canonical one, a default that callers believe to be
// off and cannot change.
func (s *Schema) Warnings() []Mistake { return s.warnings }

// MarshalJSON returns the document that was parsed.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.text, nil }
