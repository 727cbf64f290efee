package runtimeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

const (
	account = "000000000000"
	apiID   = "local00000"
	region  = "us-east-1"
	clfTime = "02/Jan/2006:15:04:05 -0700"
)

// answer is a buffered answer in terms of HTTP.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// urlEvent returns the event of a function URL. Its path stays as the client encoded it.
func urlEvent(r *http.Request, body []byte) events.LambdaFunctionURLRequest {
	now := time.Now().UTC()
	headers, cookies := headersV2(r)
	text, isBase64 := encodeBody(r, body)
	return events.LambdaFunctionURLRequest{
		Version:               "2.0",
		RawPath:               r.URL.EscapedPath(),
		RawQueryString:        r.URL.RawQuery,
		Cookies:               cookies,
		Headers:               headers,
		QueryStringParameters: joined(r.URL.Query()),
		RequestContext: events.LambdaFunctionURLRequestContext{
			AccountID:    account,
			RequestID:    newID(),
			APIID:        apiID,
			DomainName:   apiID + ".lambda-url." + region + ".on.aws",
			DomainPrefix: apiID,
			Time:         now.Format(clfTime),
			TimeEpoch:    now.UnixMilli(),
			HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{
				Method: r.Method, Path: r.URL.EscapedPath(), Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent(),
			},
		},
		Body:            text,
		IsBase64Encoded: isBase64,
	}
}

// httpEvent returns the event of an HTTP API. Its path is decoded, as observed on AWS.
func httpEvent(r *http.Request, body []byte) events.APIGatewayV2HTTPRequest {
	now := time.Now().UTC()
	headers, cookies := headersV2(r)
	text, isBase64 := encodeBody(r, body)
	return events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              "$default",
		RawPath:               r.URL.Path,
		RawQueryString:        r.URL.RawQuery,
		Cookies:               cookies,
		Headers:               headers,
		QueryStringParameters: joined(r.URL.Query()),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey:     "$default",
			AccountID:    account,
			Stage:        "$default",
			RequestID:    newID(),
			APIID:        apiID,
			DomainName:   apiID + ".execute-api." + region + ".amazonaws.com",
			DomainPrefix: apiID,
			Time:         now.Format(clfTime),
			TimeEpoch:    now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent(),
			},
		},
		Body:            text,
		IsBase64Encoded: isBase64,
	}
}

// event returns the event of a REST API. Its path stays as the client encoded it, without the
// stage.
func (c REST) event(r *http.Request, body []byte) (*events.APIGatewayProxyRequest, error) {
	full := r.URL.EscapedPath()
	path, ok := strings.CutPrefix(full, "/"+c.Stage)
	if !ok || path != "" && path[0] != '/' {
		return nil, fmt.Errorf("%w /%s", errNotInStage, c.Stage)
	}
	if path == "" {
		path = "/"
	}
	now := time.Now().UTC()
	multi := forwarded(r)
	query := r.URL.Query()
	text, isBase64 := encodeBody(r, body)
	if c.Binary != nil {
		text, isBase64 = encodeMedia(r, body, c.Binary)
	}
	resource, variables := "/{proxy+}", map[string]string{"proxy": strings.TrimPrefix(path, "/")}
	if c.Resource != nil {
		resource, variables = c.Resource(path)
	}
	return &events.APIGatewayProxyRequest{
		Resource:                        resource,
		Path:                            path,
		HTTPMethod:                      r.Method,
		Headers:                         last(multi),
		MultiValueHeaders:               multi,
		QueryStringParameters:           last(query),
		MultiValueQueryStringParameters: query,
		PathParameters:                  variables,
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID:        account,
			ResourceID:       "proxy0",
			Stage:            c.Stage,
			DomainName:       apiID + ".execute-api." + region + ".amazonaws.com",
			DomainPrefix:     apiID,
			RequestID:        newID(),
			Protocol:         r.Proto,
			Identity:         events.APIGatewayRequestIdentity{SourceIP: sourceIP(r), UserAgent: r.UserAgent()},
			ResourcePath:     resource,
			Path:             full,
			HTTPMethod:       r.Method,
			RequestTime:      now.Format(clfTime),
			RequestTimeEpoch: now.UnixMilli(),
			APIID:            apiID,
		},
		Body:            text,
		IsBase64Encoded: isBase64,
	}, nil
}

// decodeV1 decodes a buffered answer of format 1.0, which must have a status.
func decodeV1(payload []byte) (*answer, error) {
	var p events.APIGatewayProxyResponse
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, err
	}
	return newAnswer(p.StatusCode, joinHeader(p.Headers, p.MultiValueHeaders, nil), p.Body, p.IsBase64Encoded)
}

// decodeV2 decodes a buffered answer of format 2.0. JSON without a status is itself the body.
func decodeV2(payload []byte) (*answer, error) {
	var p events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(payload, &p); err != nil || p.StatusCode == 0 {
		if !json.Valid(payload) {
			return nil, err
		}
		return newAnswer(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, string(payload), false)
	}
	return newAnswer(p.StatusCode, joinHeader(p.Headers, nil, p.Cookies), p.Body, p.IsBase64Encoded)
}

func newAnswer(status int, header http.Header, body string, isBase64 bool) (*answer, error) {
	if status < 200 || status > 999 {
		return nil, fmt.Errorf("status %d is not one of an answer", status)
	}
	a := &answer{status: status, header: header, body: []byte(body)}
	if isBase64 {
		b, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return nil, fmt.Errorf("the body is not base64: %w", err)
		}
		a.body = b
	}
	return a, nil
}

// forwarded returns the request's headers with those that AWS adds.
func forwarded(r *http.Request) map[string][]string {
	h := r.Header.Clone()
	h.Set("Host", r.Host)
	h.Set("X-Forwarded-For", sourceIP(r))
	h.Set("X-Forwarded-Port", "443")
	h.Set("X-Forwarded-Proto", "https")
	return h
}

// headersV2 returns headers with lower-case names and comma-joined values, and separately the
// cookies.
func headersV2(r *http.Request) (headers map[string]string, cookies []string) {
	headers = make(map[string]string)
	for k, v := range forwarded(r) {
		if k == "Cookie" {
			for _, line := range v {
				cookies = append(cookies, strings.Split(line, "; ")...)
			}
			continue
		}
		headers[strings.ToLower(k)] = strings.Join(v, ",")
	}
	return headers, cookies
}

func joined(query url.Values) map[string]string {
	out := make(map[string]string, len(query))
	for k, v := range query {
		out[k] = strings.Join(v, ",")
	}
	return out
}

func last(multi map[string][]string) map[string]string {
	out := make(map[string]string, len(multi))
	for k, v := range multi {
		if len(v) > 0 {
			out[k] = v[len(v)-1]
		}
	}
	return out
}

// encodeBody returns text unchanged and anything else in base64.
func encodeBody(r *http.Request, body []byte) (text string, isBase64 bool) {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	plain := err == nil && (strings.HasPrefix(t, "text/") || t == "application/json" || t == "application/xml" ||
		t == "application/javascript" || t == "application/x-www-form-urlencoded")
	if len(body) == 0 || plain && r.Header.Get("Content-Encoding") == "" && utf8.Valid(body) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// encodeMedia returns bodies of binary media types in base64, even textual ones, and others as text. A body without a
// type counts as JSON. Source: API Gateway Developer Guide, "Content type conversions in API Gateway".
func encodeMedia(r *http.Request, body []byte, binary func(mediaType string) bool) (text string, isBase64 bool) {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		t = "application/json"
	}
	if len(body) == 0 || !binary(t) {
		return strings.ToValidUTF8(string(body), "\uFFFD"), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
