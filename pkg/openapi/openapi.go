// Package openapi makes the OpenAPI document of a route table: paths, parameters, bodies,
// answers and errors, with their schemas and examples. It reads the routes' documentation
// and knows no dialect and no model.
//
// Start with [Document].
//
// Source: OpenAPI Specification 3.1.1.
package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Info describes the whole API.
type Info struct {
	Title, Version, Description string
	Licence                     string // an SPDX identifier
	Tags                        []Tag  // in their order
	Open                        bool   // no key is needed but for uploads
}

// A Tag is a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Document returns the document of the routes that have documentation, as JSON.
func Document(info Info, routes []httpx.Route) ([]byte, error) {
	d := &document{paths: map[string]map[string]*operation{}}
	for _, route := range routes {
		if route.Doc == nil {
			continue
		}
		path := Path(route.Pattern)
		if d.paths[path] == nil {
			d.paths[path] = map[string]*operation{}
		}
		op, err := d.operation(&route)
		if err != nil {
			return nil, fmt.Errorf("openapi: %s %s: %w", route.Method, route.Pattern, err)
		}
		d.paths[path][strings.ToLower(route.Method)] = op
	}
	info.Tags = slices.DeleteFunc(slices.Clone(info.Tags), func(tag Tag) bool { return !d.tagged(tag.Name) })
	return json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": info.Title, "version": info.Version, "description": info.Description,
			"license": map[string]string{"name": info.Licence, "identifier": info.Licence},
		},
		"servers":  []any{map[string]string{"url": "/", "description": "the server that serves this document"}},
		"tags":     info.Tags,
		"security": security(info.Open),
		"paths":    d.paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{"key": map[string]string{
				"type": "http", "scheme": "bearer",
				"description": "A key whose role has the operation's x-permission. An open server requires a key only for uploads.",
			}},
			"schemas": d.schemas.Components,
		},
	})
}

// security returns a key, or no key as an alternative where the server is open.
func security(open bool) []any {
	key := map[string]any{"key": []string{}}
	if open {
		return []any{map[string]any{}, key}
	}
	return []any{key}
}

// Path converts a route's pattern to OpenAPI's form, which has no "..." for the rest of a
// path.
func Path(pattern string) string {
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "...}", "}"), "{$}", "")
}

// A document is an OpenAPI document under construction.
type document struct {
	paths   map[string]map[string]*operation
	schemas wire.Schemas
}

// tagged reports whether an operation has the tag.
func (d *document) tagged(tag string) bool {
	for _, methods := range d.paths {
		for _, op := range methods {
			if slices.Contains(op.Tags, tag) {
				return true
			}
		}
	}
	return false
}

// An operation is one method of a path.
type operation struct {
	ID          string               `json:"operationId"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitempty"`
	Tags        []string             `json:"tags"`
	Permission  string               `json:"x-permission"`
	Stream      string               `json:"x-stream,omitempty"`
	Security    []any                `json:"security,omitzero"` // empty: no key is needed
	Parameters  []parameter          `json:"parameters,omitempty"`
	Body        *body                `json:"requestBody,omitempty"`
	Responses   map[string]*response `json:"responses"`
}

// A parameter is a part of the request outside its body.
type parameter struct {
	Name        string       `json:"name"`
	In          string       `json:"in"` // path, query or header
	Required    bool         `json:"required,omitempty"`
	Description string       `json:"description,omitempty"`
	Schema      *wire.Schema `json:"schema"`
	Example     any          `json:"example,omitempty"`
}

type body struct {
	Required bool             `json:"required"`
	Content  map[string]media `json:"content"`
}

type media struct {
	Schema   *wire.Schema       `json:"schema"`
	Examples map[string]example `json:"examples,omitempty"`
}

type example struct {
	Summary string `json:"summary,omitempty"`
	Value   any    `json:"value"`
}

type response struct {
	Description string            `json:"description"`
	Headers     map[string]header `json:"headers,omitempty"`
	Content     map[string]media  `json:"content,omitempty"`

	event *wire.Schema // of the data of server-sent events, as JSON
	end   string       // the data of the last event, if it is not JSON
}

type header struct {
	Description string       `json:"description"`
	Schema      *wire.Schema `json:"schema"`
}

// operation describes a route. It merges the descriptions of routes that share a path.
func (d *document) operation(route *httpx.Route) (*operation, error) {
	op := &operation{
		ID: route.Doc.ID, Summary: route.Doc.Summary, Description: route.Doc.Description,
		Permission: string(route.Permission), Responses: map[string]*response{},
	}
	switch route.Permission {
	case httpx.Public:
		op.Security = []any{}
	case httpx.Upload:
		op.Security = security(false)
	}
	shares := route.Shares
	if len(shares) == 0 {
		shares = []httpx.Route{*route}
	}
	for i := range shares {
		share := &shares[i]
		if share.Doc == nil {
			return nil, fmt.Errorf("one of the routes that share it has no documentation")
		}
		d.schemas.Prefix = strings.ReplaceAll(share.Doc.Tag, " ", "")
		if !slices.Contains(op.Tags, share.Doc.Tag) {
			op.Tags = append(op.Tags, share.Doc.Tag)
		}
		if i > 0 {
			op.Summary += "; or: " + strings.ToLower(share.Doc.Summary[:1]) + share.Doc.Summary[1:]
			op.Description = strings.TrimSpace(op.Description + " " + share.Doc.Description)
		}
		op.request(share.Doc)
		d.answers(op, share)
		if err := d.errors(op, share); err != nil {
			return nil, err
		}
	}
	return op, pathParameters(op, route.Pattern)
}

// pathParameters checks that each wildcard of the pattern is described.
func pathParameters(op *operation, pattern string) error {
	for rest := Path(pattern); strings.Contains(rest, "{"); {
		var name string
		_, rest, _ = strings.Cut(rest, "{")
		name, rest, _ = strings.Cut(rest, "}")
		if !slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.In == "path" && p.Name == name }) {
			return fmt.Errorf("the wildcard %q is not described", name)
		}
	}
	return nil
}

// request describes the parameters and the body.
func (op *operation) request(doc *httpx.Operation) {
	for _, p := range doc.Path {
		described := parameter{Name: p.Name, In: "path", Required: true, Description: p.Description, Schema: wire.Types("string")}
		if p.Example != "" {
			described.Example = p.Example
		}
		op.add(described)
	}
	if doc.Query != nil {
		schema := doc.Query.Schema()
		for _, property := range schema.Properties {
			own := *property.Schema
			own.Description = ""
			op.add(parameter{
				Name: property.Name, In: "query", Required: slices.Contains(schema.Required, property.Name),
				Description: property.Schema.Description, Schema: own.WithoutNull(),
			})
		}
	}
	for _, p := range doc.Headers {
		schema := p.Schema
		if schema == nil {
			schema = wire.Types("string")
		}
		op.add(parameter{Name: p.Name, In: "header", Required: p.Required, Description: p.Text(), Schema: schema})
	}
	if !doc.HasBody() {
		return
	}
	if op.Body == nil {
		op.Body = &body{Required: true, Content: map[string]media{}}
	}
	if doc.Body != nil {
		op.Body.add("application/json", doc.Body.Schema())
		sent := op.Body.Content["application/json"]
		if sent.Examples == nil {
			sent.Examples = map[string]example{}
		}
		sent.Examples[doc.ID] = example{Value: json.RawMessage(doc.Example)}
		op.Body.Content["application/json"] = sent
	}
	for _, kind := range doc.Media {
		op.Body.add(kind, &wire.Schema{Description: "bytes"})
	}
	if len(doc.Form) > 0 {
		op.Body.add("multipart/form-data", form(doc.Form))
	}
}

// form returns the schema of a form. Source: OpenAPI Specification 3.1, "Special Considerations for multipart Content".
func form(fields []httpx.FormField) *wire.Schema {
	schema := wire.Types("object")
	for _, f := range fields {
		field := wire.Types("string")
		field.Description = f.Description
		if f.File {
			field.ContentMediaType = "application/octet-stream"
		}
		for _, value := range f.OneOf {
			field.Enum = append(field.Enum, value)
		}
		schema.Properties = append(schema.Properties, wire.Property{Name: f.Name, Schema: field})
		schema.Required = append(schema.Required, f.Name)
	}
	return schema
}

// add adds a parameter unless it exists.
func (op *operation) add(p parameter) {
	if !slices.ContainsFunc(op.Parameters, func(q parameter) bool { return q.Name == p.Name && q.In == p.In }) {
		op.Parameters = append(op.Parameters, p)
	}
}

// add adds a schema of bodies of a media type, as an alternative if there is one already.
func (b *body) add(kind string, schema *wire.Schema) {
	m := b.Content[kind]
	m.Schema = either(m.Schema, schema)
	b.Content[kind] = m
}

// answers describes the successful answers of a route.
func (d *document) answers(op *operation, route *httpx.Route) {
	for _, a := range route.Doc.Answers {
		status := a.Status
		if status == 0 {
			status = http.StatusOK
		}
		res := op.response(status, a.Description)
		for _, h := range a.Headers {
			schema := wire.Types("string")
			for _, word := range h.Enum {
				schema.Enum = append(schema.Enum, word)
			}
			res.Headers[h.Name] = header{h.Description, schema}
		}
		kind := a.Media
		if kind == "" {
			kind = "application/json"
		}
		if a.Of == nil && kind == "application/json" {
			continue // no body
		}
		if kind == eventStream {
			_, failed := route.ErrorBody(&llm.Error{Code: llm.Internal})
			res.addEvent(d.schemaOf(a.Of), a.End)
			res.addEvent(d.schemaOf(failed), "")
			continue
		}
		res.add(kind, d.schemaOf(a.Of), kind == "application/x-ndjson")
	}
}

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// response returns the response of a status, which it adds if it is missing.
func (op *operation) response(status int, description string) *response {
	key := fmt.Sprint(status)
	res := op.Responses[key]
	if res == nil {
		res = &response{Headers: map[string]header{
			"X-Request-Id": {"the id of the request, as in the log", wire.Types("string")},
		}, Content: map[string]media{}}
		op.Responses[key] = res
	}
	switch {
	case res.Description == "":
		res.Description = description
	case description != "" && !strings.Contains(res.Description, description):
		res.Description += "; " + description
	}
	if res.Description == "" {
		res.Description = http.StatusText(status)
	}
	return res
}

// addEvent adds a schema of the data of server-sent events, and the data of the last event.
// The schema of a stream describes each of its events, as tools interpret it; OpenAPI 3.2
// calls it itemSchema.
func (r *response) addEvent(schema *wire.Schema, end string) {
	r.event, r.end = either(r.event, schema), cmp.Or(r.end, end)
	data := wire.Types("string")
	data.ContentMediaType, data.ContentSchema = "application/json", r.event
	if r.end != "" {
		last := wire.Types("string")
		last.Const = r.end
		data = wire.AnyOf(data, last)
	}
	event := wire.Types("object")
	event.Description = "a server-sent event"
	event.Properties, event.Required = wire.Properties{{Name: "data", Schema: data}}, []string{"data"}
	r.Content[eventStream] = media{Schema: event}
}

// add adds a schema of a media type. A stream of lines is a string to OpenAPI 3.1.
func (r *response) add(kind string, schema *wire.Schema, stream bool) {
	m := r.Content[kind]
	switch {
	case schema == nil:
		m.Schema = wire.Types("string")
	case stream:
		lines := wire.Types("string")
		lines.ContentMediaType, lines.ContentSchema = "application/json", schema
		m.Schema = lines
	default:
		m.Schema = either(m.Schema, schema)
	}
	r.Content[kind] = m
}
