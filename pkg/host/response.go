package host

import (
	"errors"
	"io"
	"sync"
)

// Response is the answer to one invocation, to be read as it goes to the Lambda Runtime API: one JSON document when
// buffered; when streamed, the JSON prelude, eight NUL bytes and the body, and a read error where the handler failed
// after the first bytes, which aws-lambda-go sends as the stream's error trailer.
type Response struct {
	io.Reader
	contentType string
	once        sync.Once
	close       func()
}

// ContentType is what the Runtime API is told of the answer.
func (r *Response) ContentType() string { return r.contentType }

// Close ends the invocation: a handler that still runs has its writes fail and its context cancelled, and is waited for.
func (r *Response) Close() error {
	r.once.Do(r.close)
	return nil
}

// MarshalJSON fails, which makes aws-lambda-go read the Response instead of encoding it.
func (r *Response) MarshalJSON() ([]byte, error) {
	return nil, errors.New("host: a Response is read, not encoded")
}
