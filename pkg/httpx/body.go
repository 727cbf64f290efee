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

// Bounds of decompressed bodies. JSON of prompts and of numbers shrinks to a third to a
// twentieth, and repetitive text to a hundredth. Deflate expands one byte to up to
// 1,032, so a hostile body of 10 KB could fill 10 MB.
const (
	maxRatio  = 100
	freeBytes = 1 << 20 // a body may become this large at any ratio
)

// ReadBody returns the whole body, decompressed if its Content-Encoding is gzip. The
// route's MaxBody bounds the decompressed size, and the mux's [Bodies] all bodies
// together. The bytes are valid until the request's handler returns.
func ReadBody(r *http.Request) ([]byte, error) {
	if in, ok := r.Body.(*bodyInMemory); ok {
		return in.bytes, nil
	}
	body, err := Body(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	rec, most := RecordOf(r.Context()), largest(r)
	if small := min(most, SmallBody); rec.lease.takeSmall(r.Context(), small) {
		b.Grow(int(min(small, max(r.ContentLength, 0))) + bytes.MinRead)
		if n, err := b.ReadFrom(io.LimitReader(body, small)); err != nil || n < small {
			rec.lease.shrink(n)
			return b.Bytes(), err
		}
	}
	if err := rec.lease.take(r.Context(), most); err != nil {
		// A client that is still sending does not see the answer if the connection is closed.
		_, _ = io.CopyN(io.Discard, r.Body, DefaultMaxBody)
		return nil, err
	}
	if r.Header.Get("Content-Encoding") == "" && r.ContentLength > 0 {
		b.Grow(int(most) - b.Len() + bytes.MinRead)
	}
	_, err = b.ReadFrom(body)
	rec.lease.shrink(int64(b.Len()))
	return b.Bytes(), err
}

// largest returns the largest size that the body of r can have.
func largest(r *http.Request) int64 {
	limit, n := RecordOf(r.Context()).maxBody, r.ContentLength
	switch {
	case n < 0 || n > limit:
		return limit
	case r.Header.Get("Content-Encoding") != "":
		return min(limit, max(freeBytes, maxRatio*n))
	}
	return n
}

// Body returns the body as a stream of at most the route's MaxBody bytes, counted both
// as received and decompressed. Its errors are for the client, save for [io.EOF].
func Body(r *http.Request) (io.Reader, error) {
	if r.Body == nil {
		return http.NoBody, nil
	}
	rec := RecordOf(r.Context())
	rec.Read = 0 // a body shared by two routes is read twice
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body{r.Body, rec, false}, nil // limited by the mux
	case "gzip", "x-gzip":
		packed := &counter{r: r.Body}
		z, err := gzip.NewReader(packed)
		if err == io.EOF { //nolint:errorlint // an empty body, as gzip returns it
			return http.NoBody, nil
		}
		if err != nil {
			return nil, bodyError(err, true)
		}
		return body{http.MaxBytesReader(nil, io.NopCloser(&ratioReader{z: z, from: packed}), rec.maxBody), rec, true}, nil
	default:
		return nil, llm.Errorf(llm.Invalid, "the Content-Encoding %.40q is not supported: send gzip or none", encoding)
	}
}

// counter counts the bytes read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ratioReader rejects bodies that decompress at a suspicious ratio.
type ratioReader struct {
	z    io.Reader
	from *counter
	n    int64
}

func (u *ratioReader) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if u.n += int64(n); u.n > freeBytes && u.n > maxRatio*u.from.n {
		return 0, llm.Errorf(TooLarge, "the body is more than %d times larger when decompressed: compress it less or not at all", maxRatio)
	}
	return n, err
}

// bodyInMemory is a body that was already read, kept for another handler of the request.
type bodyInMemory struct {
	io.Reader
	bytes []byte
}

// Close implements [io.Closer].
func (*bodyInMemory) Close() error { return nil }

// noBody rejects a body on a route that has none. net/http would wait for the rest of
// it when the answer begins, which may be in the middle of a generation.
func noBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	switch _, err := io.ReadFull(body{r.Body, RecordOf(r.Context()), false}, make([]byte, 1)); err { //nolint:errorlint // io.EOF is returned unwrapped
	case nil:
		return llm.Errorf(llm.Invalid, "%s requests must not have a body here", r.Method)
	case io.EOF:
		return nil
	default:
		return err
	}
}

// body translates the errors of reading a body into those that the client sees.
type body struct {
	r      io.Reader
	rec    *Record
	packed bool
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.rec.Read += int64(n)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader's contract names this very value
		err = bodyError(err, b.packed)
	}
	return n, err
}

func bodyError(err error, packed bool) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return llm.Errorf(TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	message := "the body could not be read"
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	truncated := errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		message = "the body took too long to arrive"
	case corrupt, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), truncated && packed:
		message = "the body is truncated or not valid gzip"
	case truncated:
		message = "the body is truncated"
	}
	return &llm.Error{Code: llm.Invalid, Message: message, Err: err}
}
