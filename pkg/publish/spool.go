package publish

import (
	"context"
	"errors"
	"io"

	"glossa/pkg/llm"
)

// A Spool stores the body of a request until it is closed: with a directory of models in
// an unnamed file, else in memory. It implements [io.ReaderAt].
type Spool struct {
	io.ReaderAt
	size  int64 // bytes
	close func() error
}

// Size returns the size of the content in bytes.
func (s *Spool) Size() int64 { return s.size }

// Close deletes the content.
func (s *Spool) Close() error { return s.close() }

// spoolPrefix is the prefix of the files' names, on systems where files need one.
const spoolPrefix = uploadPrefix + "body-"

// Spool stores a body of at most most bytes. Errors of the body that are of type [*llm.Error] are
// returned unchanged. The bytes count against the store's limit. The caller closes the
// result.
func (s *Store) Spool(ctx context.Context, body io.Reader, most int64) (*Spool, error) {
	q, err := s.begin(ctx)
	if err != nil {
		return nil, internal(ctx, err)
	}
	spool, err := s.blobs.spool(ctx, &countedReader{q, body}, most)
	if early, ok := errors.AsType[cut](err); ok {
		q.giveBack()
		return nil, early
	}
	if err != nil {
		q.giveBack()
		return nil, internal(ctx, err)
	}
	forget := spool.close
	spool.close = func() error {
		q.giveBack()
		return forget()
	}
	return spool, nil
}

// countedReader counts the bytes against the store's limit.
type countedReader struct {
	q *quota
	r io.Reader
}

// Read implements [io.Reader].
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		if full := c.q.take(int64(n)); full != nil {
			return 0, full
		}
	}
	return n, err
}

// spool implements [blobs].
func (f *fileBlobs) spool(ctx context.Context, body io.Reader, _ int64) (*Spool, error) {
	file, err := f.files.unnamed(spoolPrefix)
	if err != nil {
		return nil, err
	}
	size, err := copyTo(file, &untilDone{ctx, body})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Spool{ReaderAt: file, size: size, close: file.Close}, nil
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements [io.Reader].
func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// copyTo copies a body. Errors of writing are distinguished from those of the body.
func copyTo(w io.Writer, body io.Reader) (int64, error) {
	out := &written{w: w}
	n, err := io.CopyBuffer(out, struct{ io.Reader }{body}, make([]byte, 256<<10))
	if out.err != nil {
		return n, out.err
	}
	if e, ok := errors.AsType[*llm.Error](err); ok || err == nil {
		if ok {
			return n, e
		}
		return n, nil
	}
	return n, cut{err}
}

// cut is the error of a truncated body.
type cut struct{ error }

// Unwrap returns the cause.
func (c cut) Unwrap() error { return c.error }

// written keeps the error of writing.
type written struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer].
func (w *written) Write(p []byte) (n int, err error) {
	n, w.err = w.w.Write(p)
	return n, w.err
}

// spool implements [blobs]. It waits for the memory before it reads.
func (o *objectBlobs) spool(ctx context.Context, body io.Reader, most int64) (*Spool, error) {
	claim, err := take(ctx, &o.s.memory.bodies, most, o.s.share(maxBodies))
	if err != nil {
		return nil, err
	}
	var p pieces
	if _, err := copyTo(&p, &untilDone{ctx, body}); err != nil {
		claim.Release()
		return nil, err
	}
	return &Spool{ReaderAt: &p, size: p.size, close: func() error {
		p = pieces{}
		claim.Release()
		return nil
	}}, nil
}

// pieceSize is the size of the pieces of a body in memory, in bytes: the overhead is at
// most one piece.
const pieceSize = 1 << 20

// pieces is a body in memory that grows without copying.
type pieces struct {
	list [][]byte // all but the last are full
	size int64    // bytes
}

// Write implements [io.Writer].
func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		at := int(p.size % pieceSize)
		if at == 0 {
			p.list = append(p.list, nil)
		}
		last := &p.list[len(p.list)-1]
		n := min(len(rest), pieceSize-at)
		*last = append(*last, rest[:n]...)
		p.size += int64(n)
		rest = rest[n:]
	}
	return len(b), nil
}

// ReadAt implements [io.ReaderAt].
func (p *pieces) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) && at < p.size {
		k := copy(b[n:], p.list[at/pieceSize][at%pieceSize:])
		n += k
		at += int64(k)
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}
