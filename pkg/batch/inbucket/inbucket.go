// Package inbucket is a store of batches in a bucket. It refuses to know what the objects mean.
//
// Source: Amazon S3 User Guide, "How to prevent object overwrites with conditional writes".
package inbucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"glossa/pkg/batch"
	"glossa/pkg/bucket"
)

// Store is a [batch.Store] in a bucket. Any number of processes may use it at once.
type Store struct{ bucket *bucket.Bucket }

// New returns a store.
func New(b *bucket.Bucket) *Store { return &Store{b} }

// Objects of at most smallest bytes are written by one request, larger ones in parts.
const smallest = 5 << 20

// Create implements [batch.Store].
func (s *Store) Create(ctx context.Context, key string, body io.Reader) error {
	first := make([]byte, smallest)
	if small, ok := body.(*bytes.Reader); ok { // its size is known
		first = make([]byte, min(smallest, small.Len()+1))
	}
	n, err := io.ReadFull(body, first)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		_, err = s.bucket.Put(ctx, key, bytes.NewReader(first[:n]), int64(n), bucket.PutOptions{IfNone: true})
	case err == nil:
		err = s.createLarge(ctx, key, first, body)
	}
	return storeError(err)
}

// createLarge writes an object in parts, of which the first bytes were read already.
func (s *Store) createLarge(ctx context.Context, key string, first []byte, body io.Reader) (err error) {
	w := s.bucket.Create(ctx, key, bucket.WriterOptions{PutOptions: bucket.PutOptions{IfNone: true}})
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort(context.WithoutCancel(ctx)))
		}
	}()
	if _, err := io.Copy(io.NewOffsetWriter(w, 0), io.MultiReader(bytes.NewReader(first), body)); err != nil {
		return err
	}
	_, err = w.Close()
	return err
}

// Open implements [batch.Store].
func (s *Store) Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	r, err := s.bucket.Get(ctx, key, offset, n)
	if err != nil {
		return nil, storeError(err)
	}
	return object{r}, nil
}

// An object may be deleted while it is read.
type object struct{ io.ReadCloser }

func (o object) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	return n, storeError(err)
}

// List implements [batch.Store].
func (s *Store) List(ctx context.Context, prefix string) (keys []string, err error) {
	list, err := s.bucket.List(ctx, prefix)
	for _, o := range list {
		keys = append(keys, o.Key)
	}
	return keys, err
}

// Delete implements [batch.Store].
func (s *Store) Delete(ctx context.Context, key string) error { return s.bucket.Delete(ctx, key) }

// storeError returns an error in the words of a [batch.Store].
func storeError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", batch.ErrNotFound, err)
	case errors.Is(err, fs.ErrExist):
		return batch.ErrExists
	}
	return err
}
