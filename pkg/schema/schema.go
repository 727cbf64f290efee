// Package schema converts canonical keys to the request of a remote model and its
// answers to canonical keys, as the model's record defines: with defaults, and a JSON
// path for each key. A new model needs a record and no code. It refuses to know where
// records are kept, which models there are and how they are called.
//
// Start with [Parse], [Schema.Request] and [Response.Read].
//
// Sources: API layer, "schema"; jsonpath-ng 1.8 and Python's re define its paths and
// patterns, which this package translates for PaesslerAG/jsonpath and RE2.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// A Schema is the schema of a record. It is immutable and safe for concurrent use.
type Schema struct {
	Response     *Response // of a call without streaming
	Stream       *Response // of each event of a stream; nil: the model does not stream
	ChatTemplate string    // for a model that accepts prompts only
	API          API       // the provider's operation that takes the requests
	Alternative  *Schema   // of chats that this one cannot write: with tools or images, or any; nil: none

	text     []byte         // of the record, compact
	defaults map[string]any // of the record
	base     map[string]any // the request without any key
	slots    []slot         // of the request, in the record's order
	sample   any            // the first message of the defaults
	turn     path           // to the text of a message
	chats    bool           // the record maps chats
	form     *form          // of chats; nil: as the defaults write a message
	reasoner *reasoner      // of the key thinking; nil: its value is sent as it is
	others   []*reasoner    // of the models that they name
	in       inputs         // texts to embed or to rank
	warnings []Mistake
}

// An API is an operation of a provider, in its two forms: for one answer and for a stream.
type API string

// The operations.
const (
	Invoke   API = ""         // Bedrock's InvokeModel, SageMaker's InvokeEndpoint: any body
	Converse API = "converse" // Bedrock's Converse: one body for all its models

	// Of OpenAI's API, and paths under its base URL:
	ChatCompletions API = "chat/completions"
	Completions     API = "completions"
	Embeddings      API = "embeddings"
	Rerank          API = "rerank" // not OpenAI's, but served beside the others
)

// A slot is a key and its place in the request.
type slot struct {
	name   string
	path   path
	exists bool // in the defaults
	silent bool // null in the defaults
	create bool // a missing place is created from the defaults
}

// A Mistake is an error in a schema, at a JSON pointer.
type Mistake struct{ Pointer, Message string }

func (m Mistake) Error() string {
	if m.Pointer == "" {
		return m.Message
	}
	return m.Pointer + ": " + m.Message
}

// Mistakes returns the mistakes in an error of [Parse].
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

// Pointer joins names of members, the outermost first, to a JSON pointer.
func Pointer(names ...string) string {
	pointer := ""
	for _, name := range names {
		pointer += "/" + escape(name)
	}
	return pointer
}

// escape escapes a name in a JSON pointer (RFC 6901, 3).
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

const maxSchema = 1 << 20 // bytes; an item of DynamoDB has 400 KB at most

// Parse parses a schema: a JSON object, or, as upstream writes it, a JSON string that
// contains one. The error joins all [Mistake] values.
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

// Warnings lists probable mistakes: a key whose path leads nowhere, a key similar to a
// canonical one, a default that callers assume to be off and cannot change.
func (s *Schema) Warnings() []Mistake { return s.warnings }

// MarshalJSON returns the parsed document.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.text, nil }
