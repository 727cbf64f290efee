package batch

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	uploadPrefix = "upload_"
	partPrefix   = "part_"
)

// Limits of uploads.
const (
	UploadTime   = time.Hour // in which an upload must be completed
	maxUploads   = 16        // of one owner that are pending
	maxParts     = 1000      // of one upload
	maxPartsText = "1,000"
)

// An Upload is a file that is sent in parts.
type Upload struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Purpose string    `json:"purpose"`
	Type    string    `json:"type"`  // media type
	Bytes   int64     `json:"bytes"` // of all parts
	FileID  string    `json:"file"`  // which it will have
	Created time.Time `json:"created"`

	Status UploadStatus `json:"-"`
	File   *File        `json:"-"` // nil unless it is completed
}

// An UploadStatus is the state of an upload, in OpenAI's words.
type UploadStatus string

// The states of an upload.
const (
	UploadPending   UploadStatus = "pending"
	UploadCompleted UploadStatus = "completed"
	UploadCancelled UploadStatus = "cancelled"
	UploadExpired   UploadStatus = "expired"
)

// Expires returns when the upload must be completed.
func (u *Upload) Expires() time.Time { return u.Created.Add(UploadTime) }

// uploadKey returns the key of an object of an upload; name "" is their prefix.
func uploadKey(owner, id, name string) string { return "uploads/" + room(owner) + id + "/" + name }

// BeginUpload begins an upload, and removes what expired ones of the owner have left.
func (b *Batches) BeginUpload(ctx context.Context, owner string, u Upload) (Upload, error) {
	if u.Bytes < 1 || u.Bytes > b.cfg.MaxBytes {
		return u, fmt.Errorf("%w: a file has 1 to %d bytes", ErrInvalid, b.cfg.MaxBytes)
	}
	keys, err := b.uploads(ctx, owner)
	if err != nil {
		return u, err
	}
	for id, name := range objects(keys) {
		if name == "draft" && age(id) > 2*UploadTime { // its client knows how it ended
			// The draft goes last: after a kill or a fault the next call finds the upload again.
			for _, prefix := range []string{"parts/", ""} {
				if err := b.removeUpload(ctx, owner, id, prefix); err != nil {
					return u, err
				}
			}
		}
	}
	if err := b.checkUploads(ctx, owner, 1); err != nil {
		return u, err
	}
	u.ID, u.FileID, u.Created, u.Status = newID(uploadPrefix), newID(filePrefix), time.Now(), UploadPending
	if err := b.createJSON(ctx, uploadKey(owner, u.ID, "draft"), u); err != nil {
		return u, err
	}
	// Of requests at once, whichever counts last sees what all have begun.
	if err := b.checkUploads(ctx, owner, 0); err != nil {
		return u, cmp.Or(b.removeUpload(ctx, owner, u.ID, ""), err)
	}
	return u, nil
}

// checkUploads fails if an owner would have too many pending uploads, or files, with some more.
func (b *Batches) checkUploads(ctx context.Context, owner string, more int) error {
	keys, err := b.uploads(ctx, owner)
	if err != nil {
		return err
	}
	n := countPending(keys)
	if n+more > maxUploads {
		return fmt.Errorf("%w uploads: complete or cancel some of the %d", ErrFull, n)
	}
	return b.checkRoom(ctx, owner, n, more)
}

// uploads returns the keys of the objects of an owner's uploads.
func (b *Batches) uploads(ctx context.Context, owner string) ([]string, error) {
	return b.cfg.Store.List(ctx, "uploads/"+room(owner))
}

// objects yields the id of the upload and the name of each object of a list of keys.
func objects(keys []string) iter.Seq2[string, string] {
	return func(yield func(id, name string) bool) {
		for _, key := range keys {
			if dir, name := path.Split(key); !yield(path.Base(dir), name) {
				return
			}
		}
	}
}

// age returns how long ago an upload began.
func age(id string) time.Duration { return time.Since(timeOf(uploadPrefix, id)) }

// countPending counts the uploads that are pending, of which keys are the objects.
func countPending(keys []string) (n int) {
	for id, name := range objects(keys) {
		switch {
		case age(id) > UploadTime:
		case name == "draft":
			n++
		case name == "end":
			n--
		}
	}
	return n
}

// UploadState returns the state of an upload.
func (b *Batches) UploadState(ctx context.Context, owner, id string) (u Upload, err error) {
	if !validID(uploadPrefix, id) {
		return u, ErrNotFound
	}
	if err := b.readJSON(ctx, uploadKey(owner, id, "draft"), &u); err != nil {
		return u, err
	}
	ended, err := optional(b, ctx, uploadKey(owner, id, "end"), &u.Status)
	switch {
	case err != nil:
	case ended && u.Status == UploadCompleted:
		if f, err := b.File(ctx, owner, u.FileID); err == nil {
			u.File = &f
		} else if !errors.Is(err, ErrNotFound) { // the file may be deleted already
			return u, err
		}
	case !ended && time.Now().After(u.Expires()):
		u.Status = UploadExpired
	case !ended:
		u.Status = UploadPending
	}
	return u, err
}

// pending returns an upload that can still be completed.
func (b *Batches) pending(ctx context.Context, owner, id string) (Upload, error) {
	u, err := b.UploadState(ctx, owner, id)
	if err == nil && u.Status != UploadPending {
		err = u.notPending()
	}
	return u, err
}

// notPending returns the error of what only a pending upload can do.
func (u *Upload) notPending() error { return fmt.Errorf("%w: the upload is %s", ErrInvalid, u.Status) }

// AddPart stores a part of an upload and returns its id. Parts may come in any order.
func (b *Batches) AddPart(ctx context.Context, owner, id string, data io.ReadSeeker) (part string, err error) {
	u, err := b.pending(ctx, owner, id)
	if err != nil {
		return "", err
	}
	parts, err := b.parts(ctx, owner, id)
	if err != nil {
		return "", err
	}
	size, err := data.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	sum := size
	for _, n := range parts {
		sum += n
	}
	switch {
	case size == 0:
		return "", fmt.Errorf("%w: the part is empty", ErrInvalid)
	case sum > u.Bytes:
		return "", fmt.Errorf("%w: the parts have %d bytes, more than the %d of the upload", ErrInvalid, sum, u.Bytes)
	case len(parts) >= maxParts:
		return "", fmt.Errorf("%w: an upload has at most "+maxPartsText+" parts", ErrInvalid)
	}
	if _, err := data.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	part = newID(partPrefix)
	return part, b.cfg.Store.Create(ctx, partKey(owner, id, part, size), data)
}

// PartTime returns when a part was stored.
func PartTime(id string) time.Time { return timeOf(partPrefix, id) }

// partKey returns the key of a part, which tells its size.
func partKey(owner, id, part string, size int64) string {
	return uploadKey(owner, id, fmt.Sprintf("parts/%s-%d", part, size))
}

// parts returns the sizes of the parts of an upload.
func (b *Batches) parts(ctx context.Context, owner, id string) (map[string]int64, error) {
	keys, err := b.cfg.Store.List(ctx, uploadKey(owner, id, "parts/"))
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, key := range keys {
		name, size, _ := strings.Cut(path.Base(key), "-")
		if sizes[name], err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, fmt.Errorf("object %s: %w", key, err)
		}
	}
	return sizes, nil
}

// CompleteUpload joins the parts, in this order, to a file. sum is their MD5 in hexadecimal; "": it is
// not checked. It can be repeated if its answer was lost.
func (b *Batches) CompleteUpload(ctx context.Context, owner, id string, order []string, sum string) (Upload, error) {
	u, err := b.UploadState(ctx, owner, id)
	switch {
	case err != nil || u.Status == UploadCompleted:
		return u, err
	case u.Status != UploadPending:
		return u, u.notPending()
	}
	sizes, err := b.parts(ctx, owner, id)
	if err != nil {
		return u, err
	}
	joined := &parts{ctx: ctx, store: b.cfg.Store}
	total := int64(0)
	for _, part := range order {
		size, ok := sizes[part]
		if !ok {
			return u, fmt.Errorf("%w: the upload has no part %.80q, or it is named twice", ErrInvalid, part)
		}
		delete(sizes, part)
		joined.keys = append(joined.keys, partKey(owner, id, part, size))
		total += size
	}
	if total != u.Bytes {
		return u, fmt.Errorf("%w: the parts have %d bytes, not the %d of the upload", ErrInvalid, total, u.Bytes)
	}
	f := File{ID: u.FileID, Name: u.Name, Purpose: u.Purpose, Created: time.Now()}
	defer joined.Close()
	if _, err = b.store(ctx, owner, f, &summed{r: joined, hash: md5.New(), want: strings.ToLower(sum)}); err != nil {
		return u, err
	}
	return b.endUpload(ctx, owner, id, UploadCompleted)
}

// CancelUpload gives up an upload.
func (b *Batches) CancelUpload(ctx context.Context, owner, id string) (Upload, error) {
	u, err := b.pending(ctx, owner, id)
	if err != nil {
		return u, err
	}
	return b.endUpload(ctx, owner, id, UploadCancelled)
}

// endUpload fixes how an upload ended, unless it has ended already, and removes its parts.
func (b *Batches) endUpload(ctx context.Context, owner, id string, as UploadStatus) (Upload, error) {
	if err := once(b.createJSON(ctx, uploadKey(owner, id, "end"), as)); err != nil {
		return Upload{}, err
	}
	u, err := b.UploadState(ctx, owner, id)
	if err != nil {
		return u, err
	}
	if err := b.removeUpload(ctx, owner, id, "parts/"); err != nil {
		return u, err
	}
	if u.Status != as { // it was cancelled while it was completed, or the reverse
		if u.Status == UploadCancelled {
			err = b.removeFile(ctx, owner, u.FileID)
		}
		return u, errors.Join(err, u.notPending())
	}
	return u, nil
}

// removeUpload removes objects of an upload.
func (b *Batches) removeUpload(ctx context.Context, owner, id, prefix string) error {
	keys, err := b.cfg.Store.List(ctx, uploadKey(owner, id, prefix))
	if err != nil {
		return err
	}
	return b.deleteAll(ctx, keys)
}

// parts reads objects one after the other.
type parts struct {
	ctx   context.Context // of all reads, because io.Reader has no context
	store Store
	keys  []string
	now   io.ReadCloser // nil: none is open
}

// Read implements [io.Reader].
func (p *parts) Read(buf []byte) (n int, err error) {
	for {
		if p.now == nil {
			if len(p.keys) == 0 {
				return 0, io.EOF
			}
			if p.now, err = p.store.Open(p.ctx, p.keys[0], 0, -1); err != nil {
				return 0, err
			}
			p.keys = p.keys[1:]
		}
		n, err = p.now.Read(buf)
		if errors.Is(err, io.EOF) {
			err = p.now.Close()
			p.now = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close closes the object that is open.
func (p *parts) Close() error {
	if p.now == nil {
		return nil
	}
	return p.now.Close()
}

// summed reads r, and fails at its end if the MD5 of what it read is not the wanted one.
type summed struct {
	r    io.Reader
	hash hash.Hash
	want string // in hexadecimal; "": any
}

// Read implements [io.Reader].
func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.hash.Write(p[:n])
	if s.want == "" || !errors.Is(err, io.EOF) {
		return n, err
	}
	if got := hex.EncodeToString(s.hash.Sum(nil)); got != s.want {
		err = fmt.Errorf("%w: the MD5 of the parts is %s", ErrInvalid, got)
	}
	return n, err
}
