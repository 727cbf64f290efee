package host

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// request converts the event into the request that net/http would have given the handler.
//
// The conversion is api-proxy's, corrected where v0.16.2 differs from net/http:
//   - a path that holds ?, #, a space or a bare % (HTTP APIs decode paths) is cut or refused: escaped first;
//   - its StripBasePath takes /v1 off /v10: prefixes are taken off here, whole segments only;
//   - format 2.0 header values are split at each comma (dates, Accept weights): set again as sent;
//   - format 1.0 query parameters come in the random order of a map: sorted by key;
//   - an empty multiValueHeaders map hides headers: passed as nil;
//   - several Cookie headers, Host as a header, an absolute URL, a RemoteAddr without a port: as net/http has them;
//   - a body that is not base64 is logged: decoded here.
func (e *event) request(ctx context.Context, basePath string) (*http.Request, error) {
	body, err := e.decodedBody()
	if err != nil {
		return nil, err
	}
	var r *http.Request
	if e.kind.v1() {
		r, err = e.requestV1(ctx, body, basePath)
	} else {
		r, err = e.requestV2(ctx, body, basePath)
	}
	if err != nil {
		return nil, &EventError{fmt.Sprintf("the event is not a valid request: %v", err)}
	}
	r.Host = cmp.Or(r.Header.Get("Host"), e.Context.DomainName)
	r.Header.Del("Host")
	r.URL.Scheme, r.URL.Host, r.URL.User = "", "", nil
	r.RequestURI = e.target(r.URL)
	r.RemoteAddr = ""
	if ip := e.sourceIP(); ip != "" {
		r.RemoteAddr = net.JoinHostPort(ip, "0")
	}
	r.Header.Del(RequestIDHeader)
	if id := cmp.Or(RequestID(ctx), e.Context.RequestID); id != "" {
		r.Header.Set(RequestIDHeader, id)
	}
	if trace, _ := ctx.Value(traceKey).(string); trace != "" {
		r.Header.Set(TraceHeader, trace)
	}
	return r, nil
}

// traceKey is the context key under which aws-lambda-go stores the Runtime API's
// Lambda-Runtime-Trace-Id.
const traceKey = "x-amzn-trace-id"

func (e *event) requestV1(ctx context.Context, body, basePath string) (*http.Request, error) {
	in := events.APIGatewayProxyRequest{
		Path:                            escapePath(e.path(basePath)),
		HTTPMethod:                      e.HTTPMethod,
		Headers:                         e.Headers,
		MultiValueHeaders:               e.MultiValueHeaders,
		QueryStringParameters:           e.QueryParameters,
		MultiValueQueryStringParameters: e.MultiValueQueryParams,
		Body:                            body,
	}
	if len(in.MultiValueHeaders) == 0 {
		in.MultiValueHeaders = nil
	}
	r, err := new(core.RequestAccessor).EventToRequestWithContext(ctx, in)
	if err == nil {
		r.URL.RawQuery = r.URL.Query().Encode()
	}
	return r, err
}

func (e *event) requestV2(ctx context.Context, body, basePath string) (*http.Request, error) {
	in := events.APIGatewayV2HTTPRequest{
		RawPath:        escapePath(e.path(basePath)),
		RawQueryString: escapeQuery(e.RawQuery),
		Body:           body,
	}
	if in.RawQueryString == "" {
		in.QueryStringParameters = e.QueryParameters
	}
	in.RequestContext.HTTP.Method = e.Context.HTTP.Method
	r, err := new(core.RequestAccessorV2).EventToRequestWithContext(ctx, in)
	if err != nil {
		return nil, err
	}
	for k, v := range e.Headers {
		r.Header.Set(k, v)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	return r, nil
}

func (e *event) decodedBody() (string, error) {
	if !e.IsBase64Encoded {
		return e.Body, nil
	}
	b, err := base64.StdEncoding.DecodeString(e.Body)
	if err != nil {
		return "", &EventError{fmt.Sprintf("the event's body is not base64 though isBase64Encoded is set: %v", err)}
	}
	return string(b), nil
}

// target returns the request target as the client sent it, with stage and base path,
// like net/http's RequestURI.
func (e *event) target(u *url.URL) string {
	p := e.fullPath()
	if !strings.HasPrefix(p, "/") {
		return u.RequestURI()
	}
	p = escapePath(p)
	if u.ForceQuery || u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return p
}

// fullPath returns the path as the client sent it, with stage and base path.
func (e *event) fullPath() string {
	if e.kind.v1() {
		return cmp.Or(e.Context.Path, e.Path)
	}
	return cmp.Or(e.RawPath, e.Context.HTTP.Path)
}

// removed returns what path removes from the start of the client's path.
func (e *event) removed(basePath string) string {
	start, ok := strings.CutSuffix(e.fullPath(), e.path(basePath))
	if !ok {
		return ""
	}
	return escapePath(start)
}

// path returns the request's path without the stage and the base path mapping, percent-encoded as received.
//
// Format 2.0 has a named stage at the head of rawPath. Format 1.0 has it in requestContext.path; in path only where both
// are equal and the domain is API Gateway's own (HTTP APIs, some emulators).
func (e *event) path(basePath string) string {
	p := e.Path
	strip := p == e.Context.Path && strings.Contains(e.Context.DomainName, ".execute-api.")
	if !e.kind.v1() {
		p, strip = cmp.Or(e.RawPath, e.Context.HTTP.Path), true
	}
	if stage := e.Context.Stage; strip && stage != "" && stage != "$default" {
		p = trimSegments(p, stage)
	}
	return trimSegments(p, basePath)
}

// trimSegments removes prefix from the start of p if it covers whole segments.
func trimSegments(p, prefix string) string {
	prefix = "/" + strings.Trim(prefix, "/")
	rest, ok := strings.CutPrefix(p, prefix)
	switch {
	case prefix == "/" || !ok:
		return p
	case rest == "":
		return "/"
	case rest[0] == '/':
		return rest
	default:
		return p
	}
}

// escapePath escapes the bytes that are invalid in an encoded path. REST APIs and function URLs send paths encoded,
// %2F included, and these stay unchanged; HTTP APIs send them decoded.
func escapePath(p string) string {
	return escape(p, func(i int) bool {
		c := p[i]
		if c == '%' {
			return i+2 >= len(p) || !isHex(p[i+1]) || !isHex(p[i+2])
		}
		return c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?[\\]^`{|}", c) >= 0
	})
}

// escapeQuery escapes the bytes that would end a raw query or make it unreadable.
func escapeQuery(q string) string {
	return escape(q, func(i int) bool { return q[i] <= ' ' || q[i] >= 0x7f || q[i] == '#' })
}

// escape percent-encodes the bytes of s for which bad reports true.
func escape(s string, bad func(i int) bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if bad(i) {
			b.Write([]byte{'%', digits[s[i]>>4], digits[s[i]&15]})
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
