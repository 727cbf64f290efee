// Package awsrest calls operations of AWS's REST services: it finds the service's
// address, signs, posts, and distinguishes answers, errors and event streams. It refuses
// to know the operations and their bodies, and does not retry.
//
// The SDK's clients do all of this too, through middleware that is built for each call: a
// call takes four times the processor time and the allocations (BenchmarkPost). Each
// event of a stream passes a goroutine and a channel, with 98 allocations, and takes
// fifty times as long (BenchmarkEvents). Configuration, credentials and signatures come
// from the SDK.
package awsrest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"glossa/pkg/version"
)

// A Doer sends an HTTP request.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// A Client calls one service in one region.
type Client struct {
	base        url.URL // its path does not end in a slash
	service     string  // the name in signatures
	region      string
	credentials aws.CredentialsProvider
	token       string
	agent       string // User-Agent
	http        Doer
	signer      *v4.Signer
}

// New returns the client of a service in the region of cfg, with its credentials. endpoint
// is a base URL that overrides that of the configuration, which in turn overrides AWS's
// own. A token, unless "", is a bearer token that is sent instead of a signature.
func New(s Service, cfg aws.Config, endpoint, token string) (*Client, error) {
	if endpoint == "" {
		var err error
		if endpoint, err = s.endpoint(cfg); err != nil {
			return nil, err
		}
	}
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a service: use https://HOST or http://HOST", endpoint)
	}
	c := &Client{base: *base, service: s.Scope, region: cfg.Region, credentials: cfg.Credentials, token: token, agent: version.UserAgent(), http: cfg.HTTPClient, signer: v4.NewSigner()}
	if c.http == nil {
		c.http = http.DefaultClient
	}
	return c, nil
}

// Region returns the region of the service.
func (c *Client) Region() string { return c.region }

// An Operation is an operation of a service on one resource. It can be called many times.
type Operation struct {
	client *Client
	url    url.URL
	header http.Header // of all calls, read-only
}

// Operation returns the operation at a path of unescaped segments. All its calls send
// header, and the type of the body, which is JSON.
func (c *Client) Operation(header http.Header, segments ...string) *Operation {
	op := &Operation{client: c, url: c.base, header: header}
	op.url.RawPath = c.base.EscapedPath()
	for _, s := range segments {
		op.url.Path += "/" + s
		op.url.RawPath += "/" + httpbinding.EscapePath(s, true)
	}
	return op
}

const json1 = "application/json"

// Post calls the operation. An error is of type [*Error], or that of the credentials. The
// caller closes the answer.
func (op *Operation) Post(ctx context.Context, body []byte) (*Answer, error) {
	r, err := op.request(ctx, body)
	if err != nil {
		return nil, err
	}
	res, err := op.client.http.Do(r)
	if err != nil {
		return nil, &Error{Err: err}
	}
	a := &Answer{Header: res.Header, body: res.Body, length: res.ContentLength}
	if res.StatusCode/100 != 2 {
		defer a.Close()
		return nil, refused(res)
	}
	return a, nil
}

// request returns the signed request of a call.
func (op *Operation) request(ctx context.Context, body []byte) (*http.Request, error) {
	c, target := op.client, op.url
	header := make(http.Header, len(op.header)+8)
	for name, values := range op.header {
		header[name] = values
	}
	if header["User-Agent"] = []string{c.agent}; header["Content-Type"] == nil {
		header["Content-Type"] = []string{json1}
	}
	r := (&http.Request{
		Method: http.MethodPost, URL: &target, Host: target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		// net/http calls it when a reused connection was closed.
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	if c.token != "" {
		header["Authorization"] = []string{"Bearer " + c.token}
		return r, nil
	}
	who, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := c.signer.SignHTTP(ctx, who, r, hex.EncodeToString(sum[:]), c.service, c.region, time.Now()); err != nil {
		return nil, err
	}
	return r, nil
}

// An Answer is a successful answer. It can be read whole or as events, or just closed.
type Answer struct {
	Header http.Header
	body   io.ReadCloser
	length int64 // bytes; < 0: unknown
}

// maxAnswer bounds an answer, in bytes. Those of Bedrock and SageMaker have at most 25 MB.
const maxAnswer = 64 << 20

// Whole reads the answer and closes it.
func (a *Answer) Whole() ([]byte, error) {
	defer a.Close()
	if a.length > maxAnswer {
		return nil, &Error{Status: http.StatusOK, Err: fmt.Errorf("an answer of %d bytes is too long", a.length)}
	}
	var b bytes.Buffer
	b.Grow(int(min(max(a.length, 0), 1<<20)) + bytes.MinRead) // room to find the end
	n, err := b.ReadFrom(io.LimitReader(a.body, maxAnswer+1))
	if err == nil && n > maxAnswer {
		err = fmt.Errorf("an answer of more than %d bytes is too long", maxAnswer)
	}
	if err != nil {
		return nil, &Error{Status: http.StatusOK, Header: a.Header, Err: err}
	}
	return b.Bytes(), nil
}

// Close ends the call.
func (a *Answer) Close() { _ = a.body.Close() }
