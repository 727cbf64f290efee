package httpx

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"glossa/pkg/llm"
)

// ReadBody returns the whole body, decompressed if its Content-Encoding is gzip.
// The route's MaxBody bounds what comes out.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := Body(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxGrow { // what a client says of it is believed so far
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err = b.ReadFrom(body)
	return b.Bytes(), err
}

// maxGrow bounds what is set aside for a body before it came, in bytes.
const maxGrow = 1 << 16

// Body returns the body as a stream of at most the route's MaxBody bytes, both as
// they come and decompressed. Its errors are for the client, save for [io.EOF].
func Body(r *http.Request) (io.Reader, error) {
	if r.Body == nil {
		return http.NoBody, nil
	}
	rec := RecordOf(r.Context())
	rec.Read = 0 // a body that two routes share is read twice
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body{r.Body, rec}, nil // limited by the mux
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r.Body)
		if err == io.EOF { //nolint:errorlint // an empty body, as gzip returns it
			return http.NoBody, nil
		}
		if err != nil {
			return nil, bodyError(err)
		}
		return body{http.MaxBytesReader(nil, z, rec.maxBody), rec}, nil
	default:
		return nil, llm.Errorf(llm.Invalid, "the Content-Encoding %.40q is not supported: send gzip or none", encoding)
	}
}

// noBody refuses a body where none has a meaning. net/http would wait for the rest
// of it when the answer begins, which may be in the middle of a generation.
func noBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	switch _, err := io.ReadFull(body{r.Body, RecordOf(r.Context())}, make([]byte, 1)); err { //nolint:errorlint // io.EOF as it is
	case nil:
		return llm.Errorf(llm.Invalid, "a request of the method %s has no body here", r.Method)
	case io.EOF:
		return nil
	default:
		return err
	}
}

// body gives the errors of reading a body as the client should see them.
type body struct {
	r   io.Reader
	rec *Record
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.rec.Read += int64(n)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader's contract names the very value
		err = bodyError(err)
	}
	return n, err
}

func bodyError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return llm.Errorf(TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	message := "the body could not be read"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		message = "the body took too long to come"
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the body is cut short or is no valid gzip"
	}
	return &llm.Error{Code: llm.Invalid, Message: message, Err: err}
}
