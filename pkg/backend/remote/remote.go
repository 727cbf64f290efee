// Package remote is the common part of the backends of remote models: it builds
// requests by the model's record, retries calls, turns answers into chunks, and runs
// rows in parallel. It refuses to know how a provider is called, which is the job of
// its [Endpoint], and where models and records come from.
//
// Its errors contain nothing of requests and answers: they have codes, names and
// sizes, and those of the provider's messages that repeat nothing.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// An API is an operation of a provider, as a record names it.
type API = schema.API

// Converse is Bedrock's operation of one body for all models.
const Converse = schema.Converse

// An Endpoint calls one model by the operations of its provider. Its errors are of type
// [Fault] or [llm.Error].
type Endpoint interface {
	// Call returns the answer to the request body.
	Call(ctx context.Context, api API, body []byte) (Payload, error)
	// Stream returns the events of the answer once the provider has begun it. The sequence
	// is ranged over once; leaving it ends the call.
	Stream(ctx context.Context, api API, body []byte) (iter.Seq2[Payload, error], error)
}

// A Payload is an answer, or an event of one, in the model's format.
type Payload struct {
	Body  []byte
	Usage llm.Usage // the provider's counts outside of the body; 0: unknown
	// Filtered reports whether the provider's guardrail replaced the text.
	Filtered bool
}

// A Model is a model as its record describes it. Retry and Rows are optional.
type Model struct {
	Schema *schema.Schema
	Retry  Retry
	Rows   int // rows of one request that run in parallel; 0 means 4
	// OnUsage, if set, is called with the tokens that the provider counts for an Invoke but
	// that the keys of its answers lack.
	OnUsage func(ctx context.Context, used llm.Usage)
	// OnDrop, if set, is called before an answer with the names of parameters that the model
	// lacks, which are left out. nil: requests that have any are rejected.
	OnDrop func(ctx context.Context, names []string)
}

// A Backend is a remote model. It implements [llm.Backend] and [llm.Invoker], and by its record
// [llm.Embedder] or [llm.Reranker].
//
// Generate sends the request's Params that the record maps; it never sends Defaults.
// Each row is one call. Row i of a prompt gets the seed plus i, because rows with the
// same seed would be equal. Backend itself makes the echo of a text, and rows of no
// tokens. It removes a stop sequence that the model leaves at the end of its text. Usage
// comes from the answers or the provider. It counts the prompt of each call, as providers
// bill it, and is Partial if incomplete.
type Backend struct {
	endpoint Endpoint
	model    Model
	template func() (*chat.Template, error) // of the record's chat_template
}

// New returns the backend of a model.
func New(e Endpoint, m Model) *Backend {
	if m.Rows <= 0 {
		m.Rows = 4
	}
	return &Backend{e, m, sync.OnceValues(func() (*chat.Template, error) { return chat.Parse(m.Schema.ChatTemplate, nil) })}
}

// Generate implements [llm.Backend].
func (b *Backend) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		rows, err := b.rows(ctx, req)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		r := &run{backend: b, rows: rows}
		r.do(ctx, yield)
	}
}

// Invoke implements [llm.Invoker]. Keys that the record does not map are rejected by
// name, unless they are null, false or empty. Lines of a stream that are not events
// are skipped.
func (b *Backend) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		c, err := b.raw(body, stream)
		if err != nil {
			yield(nil, err)
			return
		}
		var used tally
		if b.model.OnUsage != nil {
			defer func() { b.model.OnUsage(ctx, used.unmapped()) }()
		}
		for a, err := range b.answers(ctx, c) {
			if err != nil {
				yield(nil, err)
				return
			}
			used.add(a)
			if stream && a.keys == nil {
				continue
			}
			if !yield(a.keys, nil) {
				return
			}
		}
	}
}

// raw returns the call for canonical keys.
func (b *Backend) raw(body map[string]any, stream bool) (*call, error) {
	s := b.schemaOfKeys(body)
	for _, name := range s.Unmapped(body) {
		if name != "stream" && !empty(body[name]) {
			return nil, &llm.Error{Code: llm.Unsupported, Param: name, Message: "this model does not support it"}
		}
	}
	if stream && s.Stream == nil {
		return nil, llm.Errorf(llm.Unsupported, "this model does not stream")
	}
	body, err := s.ReasonKeys(body)
	if err != nil {
		return nil, err
	}
	if _, sent := body["stream"]; sent || stream {
		body = maps.Clone(body)
		if body == nil {
			body = map[string]any{}
		}
		body["stream"] = stream
	}
	return newCall(s, s.Request(body), textsOf(nil, body), stream)
}

// schemaOfKeys returns the schema for canonical keys: the alternative, if it alone maps all
// of them. Both make a stream without the key stream.
func (b *Backend) schemaOfKeys(body map[string]any) *schema.Schema {
	s := b.model.Schema
	lacks := func(s *schema.Schema) bool {
		return slices.ContainsFunc(s.Unmapped(body), func(name string) bool { return name != "stream" })
	}
	if s.Alternative != nil && lacks(s) && !lacks(s.Alternative) {
		return s.Alternative
	}
	return s
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// A call is one request to the provider.
type call struct {
	schema *schema.Schema
	body   []byte
	texts  []string // of the caller, never repeated by an error
	stream bool
}

func newCall(s *schema.Schema, body map[string]any, texts []string, stream bool) (*call, error) {
	room := 512 // for the names
	for _, text := range texts {
		room += len(text) + len(text)/16
	}
	b, err := appendJSON(make([]byte, 0, room), body)
	if err != nil {
		return nil, &llm.Error{Code: llm.Invalid, Message: "the request cannot be written as JSON"} // a number is NaN or infinite
	}
	return &call{s, b, texts, stream}, nil
}

// An answer is an answer or an event of one, in canonical keys.
type answer struct {
	keys     map[string]any
	usage    llm.Usage
	filtered bool
}

// answers makes the call. Without streaming, the sequence has one element.
func (b *Backend) answers(ctx context.Context, c *call) iter.Seq2[answer, error] {
	return func(yield func(answer, error) bool) {
		if !c.stream {
			p, err := try(ctx, b.model.Retry, func() (Payload, error) { return b.endpoint.Call(ctx, c.schema.API, c.body) })
			if err != nil {
				yield(answer{}, problem(ctx, err, c.texts))
				return
			}
			yield(read(c.schema.Response, p))
			return
		}
		events, err := try(ctx, b.model.Retry, func() (iter.Seq2[Payload, error], error) { return b.endpoint.Stream(ctx, c.schema.API, c.body) })
		if err != nil {
			yield(answer{}, problem(ctx, err, c.texts))
			return
		}
		for p, err := range events {
			var a answer
			if err != nil {
				err = problem(ctx, err, nil)
			} else {
				a, err = read(c.schema.Stream, p)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// read decodes a payload. A container that fails in the middle of an answer sends an
// event with an error and without any key that the record maps.
func read(r *schema.Response, p Payload) (answer, error) {
	keys, err := r.Read(p.Body)
	if err != nil {
		return answer{}, err
	}
	if len(keys) == 0 && reports(p.Body) {
		return answer{}, llm.Errorf(llm.Upstream, "the model reports an error")
	}
	return answer{keys, p.Usage, p.Filtered}, nil
}

func reports(payload []byte) bool {
	start := bytes.IndexByte(payload, '{')
	if start < 0 || !bytes.Contains(payload, []byte(`"error"`)) {
		return false
	}
	var event struct {
		Error json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(payload[start:], &event)
	return err == nil && len(event.Error) > 0 && string(event.Error) != "null"
}

// Unmapped lists the keys of body that the model's record does not map.
func (b *Backend) Unmapped(body map[string]any) []string { return b.schemaOfKeys(body).Unmapped(body) }
