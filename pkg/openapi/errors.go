package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// codes lists the codes of a route's errors.
func codes(route *httpx.Route) []llm.Code {
	doc := route.Doc
	list := append([]llm.Code{llm.Invalid, llm.Forbidden, llm.Internal}, doc.Codes...) // Forbidden: pages of other origins
	if route.Permission != httpx.Public {
		list = append(list, llm.Unauthenticated)
	}
	if route.Permission == httpx.Inference || route.Permission == httpx.Listing {
		list = append(list, llm.Unavailable)
	}
	if route.Permission == httpx.Inference {
		list = append(list, llm.NotFound, llm.TooLong, llm.Unsupported, llm.Overloaded, llm.Upstream, llm.Timeout)
	}
	if doc.HasBody() {
		list = append(list, wire.UnknownParam, httpx.TooLarge, llm.Overloaded)
	}
	if doc.Query != nil {
		list = append(list, wire.UnknownParam)
	}
	if len(doc.Path) > 0 {
		list = append(list, llm.NotFound)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// examples holds a typical error of each code.
var examples = map[llm.Code]llm.Error{
	llm.Invalid:         {Param: "temperature", Message: "must be between 0 and 2"},
	wire.UnknownParam:   {Param: "temprature", Message: "unknown parameter"},
	llm.TooLong:         {Param: "prompt", Message: "the prompt has 2000 tokens, the context of this model 1024"},
	llm.Unsupported:     {Message: "this model has no embedder"},
	llm.Unauthenticated: {Message: "missing or invalid key: send it as Authorization: Bearer KEY"},
	llm.Forbidden:       {Message: "a key with the role monitor may not do this"},
	llm.NotFound:        {Param: "model", Message: "the model 'gpt-7' does not exist"},
	llm.Overloaded:      {Message: "too many generations at once: try again later", RetryAfter: 1e9},
	llm.Upstream:        {Message: "the remote model failed"},
	llm.Unavailable:     {Message: "the records of the models cannot be read now: try again later", RetryAfter: 1e9},
	llm.Timeout:         {Message: "the deadline passed"},
	llm.Full:            {Message: "the disk is full"},
	llm.Internal:        {Message: "internal error"},
	httpx.TooLarge:      {Message: "the body is larger than 10485760 bytes"},
}

// errors describes the failed answers of a route: its error shape is called for each code.
func (d *document) errors(op *operation, route *httpx.Route) error {
	list := route.Doc.Errors
	for _, code := range codes(route) {
		e, ok := examples[code]
		if !ok {
			return fmt.Errorf("no example of the error %q", code)
		}
		e.Code = code
		list = append(list, e)
	}
	for _, e := range list {
		status, sent := route.ErrorBody(&e)
		res := op.response(status, cmp.Or(http.StatusText(status), "Overloaded")) // Anthropic's 529 has no registered text
		if e.Code == llm.Overloaded || e.Code == llm.Unavailable {
			res.Headers["Retry-After"] = header{"seconds after which to try again", wire.Types("integer")}
		}
		res.add("application/json", d.schemaOf(sent), false)
		m := res.Content["application/json"]
		value, err := json.Marshal(sent)
		if err != nil {
			return err
		}
		if m.Examples == nil {
			m.Examples = map[string]example{}
		}
		name := string(e.Code)
		if route.Doc.ID != op.ID {
			name = route.Doc.ID + "_" + name
		}
		m.Examples[name] = example{Value: json.RawMessage(value)}
		res.Content["application/json"] = m
	}
	return nil
}

// schemaOf returns the schema of a value's type, nil if there is none. A pointer is never sent as null.
func (d *document) schemaOf(v any) *wire.Schema {
	if v == nil {
		return nil
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return d.schemas.Of(t)
}

// either returns a schema that accepts the values of a or b. a may be nil.
func either(a, b *wire.Schema) *wire.Schema {
	switch {
	case a == nil || same(a, b):
		return b
	case len(a.AnyOf) > 0 && a.Type.Values == nil:
		if slices.ContainsFunc(a.AnyOf, func(way *wire.Schema) bool { return same(way, b) }) {
			return a
		}
		return wire.AnyOf(append(slices.Clone(a.AnyOf), b)...)
	}
	return wire.AnyOf(a, b)
}

// same reports whether two schemas have equal JSON.
func same(a, b *wire.Schema) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return cmp.Or(errX, errY) == nil && string(x) == string(y)
}
