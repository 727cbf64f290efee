package httpx

import (
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// An Operation is the documentation of a route. The OpenAPI document is made from it, from
// the route and from the shape of its errors.
type Operation struct {
	ID          string // operationId, in camelCase; unique
	Tag         string // the API that the route belongs to
	Summary     string // in the imperative, without a full stop
	Description string // further sentences; may be empty

	Body    *wire.Table // the JSON body; nil: none
	Example string      // a body that the route accepts; required with Body
	Media   []string    // other media types of the body
	Form    []FormField // the fields of a body that is multipart/form-data
	Query   *wire.Table // the query string; nil: none
	Path    []PathParameter
	Headers []wire.Parameter // of the request; strings unless their Schema says otherwise

	Answers []Answer
	Codes   []llm.Code  // of errors, besides those of every route of this kind
	Errors  []llm.Error // examples of errors specific to this API
}

// HasBody reports whether requests have a body.
func (o *Operation) HasBody() bool { return o.Body != nil || len(o.Media) > 0 || len(o.Form) > 0 }

// As returns the documentation of the same operation at another path: with its own id and
// summary.
func (o *Operation) As(id, summary string) *Operation {
	other := *o
	other.ID, other.Summary = id, summary
	return &other
}

// A FormField describes a field of a form, which is required.
type FormField struct {
	Name, Description string
	File              bool     // else it is a short text
	OneOf             []string // of a text; nil: any
}

// A PathParameter describes a wildcard of a route's pattern.
type PathParameter struct{ Name, Description, Example string }

// An Answer is a successful answer of a route. A route may have several with the same status.
type Answer struct {
	Status      int    // 0: 200
	Media       string // "": application/json
	Description string // "" if the summary is enough
	Of          any    // a value of the type of the JSON answer, or of the stream's events; nil: not JSON
	End         string // of server-sent events: the data of the last one, if it is not JSON
	Headers     []Header
}

// A Header is a header of an answer.
type Header struct {
	Name, Description string
	Enum              []string
}

// GuaranteeHeader documents what [Guarantee] writes.
var GuaranteeHeader = Header{
	Name:        "X-Glossa-Guarantee",
	Description: "Sent with an unstreamed answer that follows a schema or a grammar: enforced if the model could only generate valid text, validated if the text was checked afterwards.",
	Enum:        []string{string(llm.Enforced), string(llm.Validated)},
}
