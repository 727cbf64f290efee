package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

const filePrefix = "file-"

// Upload stores a file of at most [Config].MaxBytes.
func (b *Batches) Upload(ctx context.Context, owner, name, purpose string, body io.Reader) (File, error) {
	if err := b.checkFiles(ctx, owner, 1); err != nil {
		return File{}, err
	}
	f := File{ID: newID(filePrefix), Name: name, Purpose: purpose, Created: time.Now()}
	f, err := b.store(ctx, owner, f, &bounded{r: body, left: b.cfg.MaxBytes})
	if err != nil {
		return File{}, err
	}
	// Of requests at once, whichever counts last sees what all have stored.
	if err := b.checkFiles(ctx, owner, 0); err != nil {
		return File{}, cmp.Or(b.removeFile(ctx, owner, f.ID), err)
	}
	return f, nil
}

// checkFiles fails if an owner would have too many files with some more. A pending upload has the place of its
// file. The results of open batches, which are stored in any case, can pass the limit by two a batch.
func (b *Batches) checkFiles(ctx context.Context, owner string, more int) error {
	uploads, err := b.uploads(ctx, owner)
	if err != nil {
		return err
	}
	return b.checkRoom(ctx, owner, countPending(uploads), more)
}

// checkRoom is checkFiles with the number of pending uploads.
func (b *Batches) checkRoom(ctx context.Context, owner string, pending, more int) error {
	files, err := b.cfg.Store.List(ctx, room(owner)+"files/")
	if n := len(files) + pending; err == nil && n+more > b.cfg.MaxFiles {
		err = fmt.Errorf("%w files: delete some of the %d, pending uploads included", ErrFull, n)
	}
	return err
}

// bounded fails when more than left bytes are read.
type bounded struct {
	r    io.Reader
	left int64
}

func (l *bounded) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: the file is too large", ErrInvalid)
	}
	return n, err
}

// store writes the content of a file, and then its description. Both may exist already.
func (b *Batches) store(ctx context.Context, owner string, f File, body io.Reader) (File, error) {
	counted := &counter{r: body}
	if err := b.cfg.Store.Create(ctx, room(owner)+"content/"+f.ID, counted); err != nil && !errors.Is(err, ErrExists) {
		return File{}, err
	}
	// A store may see that the object exists before it has read the body.
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return File{}, err
	}
	f.Bytes = counted.n
	if err := b.createJSON(ctx, room(owner)+"files/"+f.ID, f); err != nil && !errors.Is(err, ErrExists) {
		return File{}, err
	}
	return f, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// File describes a file.
func (b *Batches) File(ctx context.Context, owner, id string) (f File, err error) {
	if !validID(filePrefix, id) {
		return f, ErrNotFound
	}
	return f, b.readJSON(ctx, room(owner)+"files/"+id, &f)
}

// FileIDs returns the ids of an owner's files, the newest first.
func (b *Batches) FileIDs(ctx context.Context, owner string) ([]string, error) {
	return b.newestFirst(ctx, room(owner)+"files/")
}

// newestFirst returns the ids in the keys with a prefix.
func (b *Batches) newestFirst(ctx context.Context, prefix string) ([]string, error) {
	keys, err := b.cfg.Store.List(ctx, prefix)
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, prefix)
	}
	slices.Reverse(keys)
	return keys, err
}

// Content describes a file and reads it.
func (b *Batches) Content(ctx context.Context, owner, id string) (f File, content io.ReadCloser, err error) {
	if f, err = b.File(ctx, owner, id); err != nil {
		return f, nil, err
	}
	content, err = b.cfg.Store.Open(ctx, room(owner)+"content/"+id, 0, -1)
	return f, content, err
}

// DeleteFile deletes a file, unless a batch that has not ended reads it.
func (b *Batches) DeleteFile(ctx context.Context, owner, id string) error {
	if _, err := b.File(ctx, owner, id); err != nil {
		return err
	}
	open, err := b.openOf(ctx, owner)
	if err != nil {
		return err
	}
	for _, batch := range open {
		var d draft
		if err := b.readJSON(ctx, room(owner)+"batches/"+batch, &d); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if d.Input == id {
			return fmt.Errorf("%w: %s", ErrInUse, batch)
		}
	}
	return b.removeFile(ctx, owner, id)
}

func (b *Batches) removeFile(ctx context.Context, owner, id string) error {
	if err := b.cfg.Store.Delete(ctx, room(owner)+"files/"+id); err != nil {
		return err
	}
	return b.cfg.Store.Delete(ctx, room(owner)+"content/"+id)
}

// openOf returns the ids of an owner's batches that have not ended.
func (b *Batches) openOf(ctx context.Context, owner string) (ids []string, err error) {
	keys, err := b.cfg.Store.List(ctx, openKey(owner, ""))
	for _, key := range keys {
		ids = append(ids, path.Base(key))
	}
	return ids, err
}

// openKey returns the key of the object that holds the owner of a batch that has not ended.
func openKey(owner, id string) string { return "open/" + room(owner) + id }
