package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
)

// firstChunk is what the first request of [Bucket.Get] asks for, before the size of the object is
// known; further requests ask for a chunk each. In bytes.
const (
	firstChunk = 1 << 20
	nextChunk  = 4 << 20
)

// Get reads n bytes of an object from offset, n < 0: to its end. Small objects take one request.
// All bytes are of one version of the object: if it is replaced meanwhile, reading fails with
// [ErrReplaced]. The error for a missing object is [fs.ErrNotExist].
func (b *Bucket) Get(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	want := int64(firstChunk)
	if n >= 0 {
		want = min(n, want)
	}
	if want == 0 {
		return http.NoBody, nil
	}
	q := &request{
		method: http.MethodGet, key: b.full(key),
		header: http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", offset, offset+want-1)}},
	}
	header, first, err := b.do(ctx, q)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusRequestedRangeNotSatisfiable {
		return http.NoBody, nil // the object ends before offset
	}
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return http.NoBody, nil // so some stores answer for an empty object
	}
	size, err := sizeOf(header, offset, int64(len(first)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	end := size
	if n >= 0 {
		end = min(size, offset+n)
	}
	return &reader{
		ctx: ctx, object: object{fs: b.files, key: b.full(key), size: size, etag: ETag(header.Get("Etag"))},
		chunk: bytes.NewReader(first), at: offset + int64(len(first)), end: end,
	}, nil
}

// sizeOf returns the size of an object of which n bytes from offset were answered.
func sizeOf(header http.Header, offset, n int64) (int64, error) {
	place, size, _ := strings.Cut(header.Get("Content-Range"), "/")
	total, err := strconv.ParseInt(size, 10, 64)
	if err != nil || place != fmt.Sprintf("bytes %d-%d", offset, offset+n-1) || offset+n > total {
		return 0, fmt.Errorf("the store answered with %d bytes and the range %.80q", n, header.Get("Content-Range"))
	}
	return total, nil
}

// A reader reads the bytes of an object up to end.
type reader struct {
	ctx     context.Context // of all requests, because io.Reader has no context
	object  object
	chunk   *bytes.Reader
	at, end int64 // of the next chunk, and of all
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if r.chunk.Len() == 0 {
		n := min(nextChunk, r.end-r.at)
		if n <= 0 {
			return 0, io.EOF
		}
		next := make([]byte, n)
		if _, err := r.object.read(r.ctx, next, r.at); err != nil {
			return 0, &fs.PathError{Op: "read", Path: r.object.url(), Err: err}
		}
		r.chunk.Reset(next)
		r.at += n
	}
	return r.chunk.Read(p)
}

// Close implements [io.Closer].
func (r *reader) Close() error { return nil }
