package httpx

import (
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// An Operation is the documentation of a route. The OpenAPI document is made from it, from
// the route and from the shape of its errors.
type Operation struct {
	ID          string // operationId, in camelCase; no two alike
	Tag         string // the API that the route belongs to
	Summary     string // in the imperative, without a full stop
	Description string // more sentences; may be empty

	Body    *wire.Table // the JSON body; nil: none
	Example string      // a body that the route answers; required with Body
	Media   []string    // other media types that the body may have
	Query   *wire.Table // the query string; nil: none
	Path    []PathParameter
	Headers []wire.Parameter // of the request, all of them strings unless their Schema says otherwise

	Answers []Answer
	Codes   []llm.Code  // of errors, besides those that every such route gives
	Errors  []llm.Error // examples of errors that only this API has
}

// A PathParameter describes a wildcard of a route's pattern.
type PathParameter struct{ Name, Description, Example string }

// An Answer is what a route sends when it succeeds. A route may have several of one status.
type Answer struct {
	Status      int    // 0: 200
	Media       string // "": application/json
	Description string // "" if it is clear from the summary
	Of          any    // a value of the type of the JSON answer, or of the event of a stream; nil: not JSON
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
	Description: "Sent with an answer that is not streamed and follows a schema or a grammar: enforced if no other text could be generated, validated if the text was checked.",
	Enum:        []string{string(llm.Enforced), string(llm.Validated)},
}
