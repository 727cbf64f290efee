package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind is the source of an event.
type kind uint8

const (
	kindREST   kind = iota + 1 // API Gateway REST API, proxy format 1.0
	kindHTTPv1                 // API Gateway HTTP API, payload format 1.0
	kindHTTP                   // API Gateway HTTP API, payload format 2.0
	kindURL                    // Lambda function URL, payload format 2.0
)

// v1 reports whether events and answers of this kind have the 1.0 shape.
func (k kind) v1() bool { return k == kindREST || k == kindHTTPv1 }

// event has the fields that this package reads of the three event shapes, so that one pass decodes any.
type event struct {
	Version               string              `json:"version"`
	Path                  string              `json:"path"`       // 1.0
	HTTPMethod            string              `json:"httpMethod"` // 1.0
	RawPath               string              `json:"rawPath"`    // 2.0
	RawQuery              string              `json:"rawQueryString"`
	Cookies               []string            `json:"cookies"` // 2.0
	Headers               map[string]string   `json:"headers"`
	MultiValueHeaders     map[string][]string `json:"multiValueHeaders"` // 1.0
	QueryParameters       map[string]string   `json:"queryStringParameters"`
	MultiValueQueryParams map[string][]string `json:"multiValueQueryStringParameters"` // 1.0
	Body                  string              `json:"body"`
	IsBase64Encoded       bool                `json:"isBase64Encoded"`
	Context               eventContext        `json:"requestContext"`

	kind kind
}

type eventContext struct {
	Stage        string          `json:"stage"`
	DomainName   string          `json:"domainName"`
	RequestID    string          `json:"requestId"`
	Path         string          `json:"path"` // 1.0: with the stage
	ELB          json.RawMessage `json:"elb"`
	ConnectionID string          `json:"connectionId"`
	Identity     struct {
		SourceIP string `json:"sourceIp"`
	} `json:"identity"` // 1.0
	HTTP struct {
		Method   string `json:"method"`
		Path     string `json:"path"`
		SourceIP string `json:"sourceIp"`
	} `json:"http"` // 2.0
}

// EventError is the reason why an event cannot be served as an HTTP request.
type EventError struct {
	Reason string
}

// Error returns the reason.
func (e *EventError) Error() string { return "host: " + e.Reason }

// parseEvent decodes a payload and determines its kind.
func parseEvent(payload []byte) (*event, error) {
	e := new(event)
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, &EventError{"the event is not an HTTP request: " + describe(payload, err)}
	}
	switch {
	case len(e.Context.ELB) > 0:
		return nil, &EventError{"the event is from an Application Load Balancer; use an API Gateway API or a function URL"}
	case e.Context.ConnectionID != "":
		return nil, &EventError{"the event is from a WebSocket API; use a REST API, an HTTP API or a function URL"}
	case e.Version == "2.0" && e.Context.HTTP.Method != "":
		e.kind = kindHTTP
		if strings.Contains(e.Context.DomainName, ".lambda-url.") {
			e.kind = kindURL
		}
	case e.Version == "1.0" && e.HTTPMethod != "":
		e.kind = kindHTTPv1
	case e.HTTPMethod != "":
		e.kind = kindREST
	default:
		return nil, &EventError{"the event is not an HTTP request: " + describe(payload, nil)}
	}
	if !isToken(e.method()) {
		return nil, &EventError{fmt.Sprintf("the event's HTTP method %q is not a token", e.method())}
	}
	return e, nil
}

func (e *event) method() string {
	if e.kind.v1() {
		return e.HTTPMethod
	}
	return e.Context.HTTP.Method
}

func (e *event) sourceIP() string {
	if e.kind.v1() {
		return e.Context.Identity.SourceIP
	}
	return e.Context.HTTP.SourceIP
}

// describe describes an event of unknown shape, for the person who configured the trigger.
func describe(payload []byte, cause error) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return fmt.Sprintf("not a JSON object (%v)", err)
	}
	var source, detail string
	// A field of another type leaves its string empty; then the keys are listed instead.
	_ = json.Unmarshal(fields["source"], &source)
	_ = json.Unmarshal(fields["detail-type"], &detail)
	switch {
	case source != "":
		return fmt.Sprintf("source %.64q, detail-type %.64q", source, detail)
	case cause != nil:
		return cause.Error()
	case len(fields) == 0:
		return "it has no fields"
	}
	keys := slices.Sorted(maps.Keys(fields))
	return fmt.Sprintf("its fields are %.200q", strings.Join(keys[:min(len(keys), 8)], " "))
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
