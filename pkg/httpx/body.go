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
	"glossa/pkg/wire"
)

// Bounds of what compressed bodies become. JSON of prompts and of numbers shrinks to a
// third to a twentieth, and text that repeats itself to a hundredth; deflate makes up to
// 1,032 bytes of one, so that 10 KB that nobody wrote in earnest would fill 10 MB.
const (
	maxRatio  = 100
	freeBytes = 1 << 20 // that a body may become, whatever its ratio
)

// ReadBody returns the whole body, decompressed if its Content-Encoding is gzip.
// The route's MaxBody bounds what comes out, and the mux's [Bodies] all bodies together.
// The bytes belong to the request, for as long as its handler runs.
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
		// A client that is still sending sees no answer if the connection is closed.
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

// largest is how many bytes the body of r can become.
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
		packed := &counter{r: r.Body}
		z, err := gzip.NewReader(packed)
		if err == io.EOF { //nolint:errorlint // an empty body, as gzip returns it
			return http.NoBody, nil
		}
		if err != nil {
			return nil, bodyError(err)
		}
		return body{http.MaxBytesReader(nil, io.NopCloser(&unpacked{z: z, from: packed}), rec.maxBody), rec}, nil
	default:
		return nil, llm.Errorf(llm.Invalid, "the Content-Encoding %.40q is not supported: send gzip or none", encoding)
	}
}

// counter counts the bytes that come through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// unpacked refuses to make more of a body than is meant in earnest.
type unpacked struct {
	z    io.Reader
	from *counter
	n    int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if u.n += int64(n); u.n > freeBytes && u.n > maxRatio*u.from.n {
		return 0, llm.Errorf(TooLarge, "the body becomes more than %d times larger when it is decompressed: send it with less compression or none", maxRatio)
	}
	return n, err
}

// bodyInMemory is a body that was read, for another handler of the request.
type bodyInMemory struct {
	io.Reader
	bytes []byte
}

// Close implements [io.Closer].
func (*bodyInMemory) Close() error { return nil }

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
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
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

// DecodeJSON reads the body, whatever its Content-Type says, as one JSON object into the
// struct that v points to, as strictly as [wire.Unmarshal].
func DecodeJSON(r *http.Request, v any) error {
	b, err := ReadBody(r)
	if err != nil {
		return err
	}
	return wire.Unmarshal(b, v)
}
