package host

import (
	"errors"
	"io"
	"sync"
)

// Response is the answer to one invocation. It reads as the payload for the Lambda Runtime API: a buffered answer is
// one JSON document; a streamed one is the JSON prelude, eight NUL bytes and the body. If the handler fails after
// the first bytes, reading returns an error, which aws-lambda-go sends as the stream's error trailer.
type Response struct {
	io.Reader
	contentType string
	once        sync.Once
	close       func()
}

// ContentType returns the Content-Type for the Runtime API.
func (r *Response) ContentType() string { return r.contentType }

// Close ends the invocation: the writes of a handler that still runs fail, its context is cancelled, and Close waits for
// it.
func (r *Response) Close() error {
	r.once.Do(r.close)
	return nil
}

// MarshalJSON fails, which makes aws-lambda-go read the Response instead of encoding it.
func (r *Response) MarshalJSON() ([]byte, error) {
	return nil, errors.New("host: a Response is read, not encoded")
}
