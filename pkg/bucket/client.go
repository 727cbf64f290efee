package bucket

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// emptyHash is the SHA-256 of an empty body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Attempts of a request that fails temporarily, with pauses that grow from the first one.
const (
	attempts   = 4
	firstPause = 50 * time.Millisecond
)

// A client sends requests to one bucket.
type client struct {
	base        string // URL of the bucket, without a trailing slash
	err         error  // why there is no base
	bucket      string
	region      string
	credentials aws.CredentialsProvider
	http        Doer
	signer      *v4.Signer
	stall       time.Duration
}

func newClient(cfg Config) *client {
	c := &client{
		bucket: cfg.Bucket, region: cfg.Region, credentials: cfg.Credentials, http: cfg.HTTP,
		// S3 signs paths as sent; other services escape them once more.
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		stall:  cmp.Or(cfg.Stall, time.Second),
	}
	if c.http == nil {
		c.http = http.DefaultClient
	}
	c.base, c.err = endpoint(cfg)
	return c
}

// A request to the bucket.
type request struct {
	method string
	key    string // "": the bucket
	query  url.Values
	header http.Header
	body   io.ReaderAt // nil: none
	size   int64       // of body, bytes
	hash   string      // SHA-256 of body, in hexadecimal
}

// get requests an object, or the bucket if key is "". The caller closes the body.
func (c *client) get(ctx context.Context, key string, query url.Values, header http.Header) (*http.Response, error) {
	return c.send(ctx, &request{method: http.MethodGet, key: key, query: query, header: header})
}

// send sends a signed request. The caller closes the body.
func (c *client) send(ctx context.Context, q *request) (*http.Response, error) {
	r, err := c.make(ctx, q)
	if err != nil {
		return nil, err
	}
	hash := cmp.Or(q.hash, emptyHash)
	r.Header.Set("Accept-Encoding", "identity") // ranges count stored bytes
	r.Header.Set("X-Amz-Content-Sha256", hash)
	if c.credentials != nil {
		credentials, err := c.credentials.Retrieve(ctx)
		if err != nil {
			return nil, err
		}
		if err := c.signer.SignHTTP(ctx, credentials, r, hash, "s3", c.region, time.Now()); err != nil {
			return nil, err
		}
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, &transient{err}
	}
	return answer, nil
}

// make builds an unsigned request.
func (c *client) make(ctx context.Context, q *request) (*http.Request, error) {
	if c.err != nil {
		return nil, c.err
	}
	var body io.Reader
	if q.size > 0 {
		body = io.NewSectionReader(q.body, 0, q.size)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, c.base+"/"+httpbinding.EscapePath(q.key, false), body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = q.size
	r.URL.RawQuery = q.query.Encode()
	for name, values := range q.header {
		r.Header[name] = values
	}
	return r, nil
}

// transient is the error of a request that may succeed on retry.
type transient struct{ error }

func (t *transient) Unwrap() error { return t.error }

// retry calls try until it succeeds, fails for good, or has failed too often.
func (c *client) retry(ctx context.Context, try func() error) error {
	for attempt := 0; ; attempt++ {
		err := try()
		temporary, ok := errors.AsType[*transient](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !ok:
			return err
		case attempt+1 == attempts:
			return fmt.Errorf("%d attempts, the last: %w", attempts, temporary.error)
		}
		pause := firstPause << attempt
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
		}
	}
}

// An Error is an error response of the store.
type Error struct {
	Bucket, Key   string // Key is "" for listings
	Status        int
	Code, Message string // from the store's answer, if present
	Region        string // of the bucket, if the store names another one
}

func (e *Error) Error() string {
	text := fmt.Sprintf("the store of bucket %s answered %d %s", e.Bucket, e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
	if e.Message != "" {
		text += fmt.Sprintf(": %.300s", e.Message)
	}
	if e.Region != "" {
		text += "; the bucket is in the region " + e.Region
	}
	return text
}

// Is maps errors of the store to those of a file system.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrPermission:
		return e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized
	case fs.ErrNotExist:
		return e.Status == http.StatusNotFound && e.Key != ""
	case fs.ErrExist:
		return e.Status == http.StatusPreconditionFailed
	}
	return false
}

// refused returns the error of a response.
func (c *client) refused(key string, r *http.Response) error {
	var doc struct{ Code, Message string }
	raw, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10)) // a part is enough
	_ = xml.Unmarshal(raw, &doc)
	err := &Error{Bucket: c.bucket, Key: key, Status: r.StatusCode, Code: doc.Code, Message: doc.Message}
	if region := r.Header.Get("X-Amz-Bucket-Region"); region != c.region {
		err.Region = region
	}
	switch {
	case r.StatusCode >= 500 && r.StatusCode != http.StatusNotImplemented, r.StatusCode == http.StatusTooManyRequests,
		r.StatusCode == http.StatusRequestTimeout, doc.Code == "RequestTimeout":
		return &transient{err}
	}
	return err
}
