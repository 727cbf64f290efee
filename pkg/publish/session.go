package publish

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/llm"
)

// Bounds of uploads in parts.
const (
	maxParts  = 200 // of an upload in parts
	maxRecord = 64 << 20
	// Lasts is the lifetime of an upload after its latest part.
	Lasts    = 24 * time.Hour
	urlLasts = 6 * time.Hour // the lifetime of the URLs for parts
)

// Keys of an upload besides its parts.
const (
	recordFile = "upload.json"
	lockFile   = "completing" // during its completion
	doneFile   = "done.json"
)

// A Session is an upload in parts.
type Session struct {
	ID       string
	Name     string
	Step     int
	Size     int64 // bytes
	PartSize int64 // of all parts but the last, bytes
	Arrived  int64 // bytes
	Parts    []Part
	Done     bool // the model is published
	Expires  time.Time
}

// A Part is a part of the uploaded file.
type Part struct {
	Index   int
	Offset  int64
	Size    int64 // bytes
	Arrived bool
	URL     string // URL for a PUT of the part; "": send it to the server, which also accepts small parts in any case
}

// record is the stored description of an upload.
type record struct {
	Name         string          `json:"name"`
	Step         int             `json:"step"`
	Config       json.RawMessage `json:"config,omitempty"`
	Metrics      string          `json:"metrics,omitempty"`
	TrainingData string          `json:"trainingData,omitempty"`
	Quant        string          `json:"quant,omitempty"`
	Size         int64           `json:"size"`
	PartSize     int64           `json:"partSize"`
	SHA256       string          `json:"sha256,omitempty"` // of the file, in hexadecimal
	Begun        time.Time       `json:"begun"`
}

var (
	validSum = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// An id ends with the file's size and its owner, so that a listing of the keys is enough
	// for quotas and permissions.
	validID = regexp.MustCompile(`^[A-Z2-7]{26}-([0-9a-f]{1,15})-([0-9a-f]{16})$`)
)

// Begin announces a file of u.Size bytes, which comes in parts of partSize bytes, or in one
// if that is 0; u.Checkpoint is ignored. sha256 is the file's checksum in hexadecimal, ""
// if it is unknown.
func (s *Store) Begin(ctx context.Context, u Upload, partSize int64, sha256 string) (*Session, error) {
	u.Checkpoint = bytes.NewReader(nil)
	if err := u.check(); err != nil {
		return nil, err
	}
	r := record{
		Name: u.Name, Step: u.Step, Config: u.Config, Metrics: u.Metrics, TrainingData: u.TrainingData, Quant: u.Quant,
		Size: u.Size, PartSize: min(cmp.Or(partSize, u.Size), u.Size), SHA256: strings.ToLower(sha256), Begun: time.Now().UTC(),
	}
	if err := r.check(s.limit()); err != nil {
		return nil, err
	}
	id := rand.Text() + "-" + strconv.FormatInt(u.Size, 16) + "-" + owner(ctx)
	if err := s.admit(ctx, id, u.Size); err != nil {
		return nil, internal(ctx, err)
	}
	raw, err := json.Marshal(r)
	if len(raw) > maxRecord {
		err = invalid("trainingData", nil, "%d bytes with the rest, at most %d", len(raw), maxRecord)
	}
	if err == nil {
		err = s.blobs.put(ctx, path.Join(id, recordFile), bytes.NewReader(raw), int64(len(raw)), true)
	}
	if err != nil {
		return nil, internal(ctx, err)
	}
	return s.session(ctx, id, &r, nil)
}

// check rejects uploads that could not be completed.
func (r *record) check(limit int64) error {
	switch {
	case r.Size < 1:
		return invalid("size", nil, "must be the size of the file in bytes, at least 1")
	case r.Size > limit:
		return invalid("size", nil, "larger than the store's %d bytes", limit)
	case r.PartSize < 1:
		return invalid("partSize", nil, "must be at least 1")
	case (r.Size-1)/r.PartSize >= maxParts:
		return invalid("partSize", nil, "%d bytes make more than %d parts: choose larger parts", r.Size, maxParts)
	case r.PartSize > bucket.MaxPut:
		return invalid("partSize", nil, "must be at most %d", bucket.MaxPut)
	case r.SHA256 != "" && !validSum.MatchString(r.SHA256):
		return invalid("sha256", nil, "must be 64 hexadecimal digits")
	}
	return nil
}

// sweep deletes the blobs of an upload, except those listed.
func (s *Store) sweep(ctx context.Context, list []blob, id string, except ...string) (err error) {
	for _, b := range list {
		file, ok := strings.CutPrefix(b.key, id)
		if ok && (len(except) == 0 || file != except[0]) {
			err = errors.Join(err, s.blobs.remove(ctx, b.key))
		}
	}
	return err
}

// partKey returns the key of a part.
func partKey(id string, index int) string { return path.Join(id, fmt.Sprintf("%05d", index)) }

// session describes an upload with these blobs.
func (s *Store) session(ctx context.Context, id string, r *record, kept []blob) (*Session, error) {
	sizes := map[string]int64{}
	for _, b := range kept {
		sizes[b.key] = b.size
	}
	_, done := sizes[path.Join(id, doneFile)]
	out := &Session{ID: id, Name: r.Name, Step: r.Step, Size: r.Size, PartSize: r.PartSize, Done: done, Expires: r.Begun.Add(Lasts)}
	if k := uploads(kept)[id]; k != nil {
		out.Expires = k.last.Add(Lasts)
	}
	for at := int64(0); at < r.Size; at += r.PartSize {
		p := Part{Index: len(out.Parts), Offset: at, Size: min(r.PartSize, r.Size-at), Arrived: done}
		key := partKey(id, p.Index)
		if size, ok := sizes[key]; ok && size == p.Size {
			p.Arrived = true
		}
		if p.Arrived {
			out.Arrived += p.Size
		} else {
			var err error
			if p.URL, err = s.blobs.url(ctx, key, p.Size, urlLasts); err != nil {
				return nil, internal(ctx, err)
			}
		}
		out.Parts = append(out.Parts, p)
	}
	return out, nil
}

// unknownUpload returns the error of an unknown upload.
func unknownUpload(id string) error {
	return &llm.Error{Code: llm.NotFound, Param: "id", Message: fmt.Sprintf("no upload %.80q: uploads expire after a day", id)}
}

// kept returns the record and the blobs of an upload.
func (s *Store) kept(ctx context.Context, id string) (r *record, list []blob, err error) {
	if m := validID.FindStringSubmatch(id); m == nil || !mayAccess(ctx, m[2]) {
		return nil, nil, unknownUpload(id)
	}
	for range 3 { // it may be completed or deleted meanwhile
		if list, err = s.blobs.list(ctx, id+"/"); err != nil {
			break
		}
		b, ok := find(list, path.Join(id, doneFile)) // it replaces the record
		if !ok {
			b, ok = find(list, path.Join(id, recordFile))
		}
		if !ok {
			return nil, nil, unknownUpload(id)
		}
		r = &record{}
		if err = s.readJSON(b, r); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, nil, internal(ctx, err)
	}
	return r, list, nil
}

func find(list []blob, key string) (blob, bool) {
	for _, b := range list {
		if b.key == key {
			return b, true
		}
	}
	return blob{}, false
}

func (s *Store) readJSON(b blob, v any) error {
	if b.size > maxRecord {
		return fmt.Errorf("%s: %d bytes", b.key, b.size)
	}
	raw, err := io.ReadAll(io.NewSectionReader(s.blobs.open(b), 0, b.size))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// Session returns an upload with the parts that have arrived, and the URLs for the others.
func (s *Store) Session(ctx context.Context, id string) (*Session, error) {
	r, list, err := s.kept(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.session(ctx, id, r, list)
}

// Part stores a part that is sent through the server. It replaces an earlier one.
func (s *Store) Part(ctx context.Context, id string, index int, body io.Reader) error {
	r, list, err := s.kept(ctx, id)
	if err != nil {
		return err
	}
	at := int64(index) * r.PartSize
	if index < 0 || index >= maxParts || at >= r.Size {
		return &llm.Error{Code: llm.NotFound, Param: "part", Message: fmt.Sprintf("%d is not below %d", index, (r.Size+r.PartSize-1)/r.PartSize)}
	}
	if err := closed(list, id); err != nil {
		return err
	}
	q, err := s.begin(ctx)
	if err != nil {
		return internal(ctx, err)
	}
	defer q.end()
	if err := s.blobs.put(ctx, partKey(id, index), &countedReader{q, body}, min(r.PartSize, r.Size-at), false); err != nil {
		return inPart(internal(ctx, err))
	}
	return nil
}

// inPart sets the part as the parameter of an error.
func inPart(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.Invalid {
		named := *e
		named.Param = "part"
		return &named
	}
	return err
}

// closed returns an error if an upload is completed.
func closed(list []blob, id string) error {
	if _, ok := find(list, path.Join(id, doneFile)); ok {
		return invalid("id", nil, "the upload is already complete")
	}
	if b, ok := find(list, path.Join(id, lockFile)); ok && time.Since(b.time) < lockLasts {
		return completing()
	}
	return nil
}

// Abort deletes an upload, but not a model made from it.
func (s *Store) Abort(ctx context.Context, id string) error {
	var list []blob
	var err error
	if m := validChunks.FindStringSubmatch(id); m != nil && mayAccess(ctx, m[1]) {
		if list, err = s.blobs.list(ctx, id+"/"); err == nil && len(list) == 0 {
			err = unknownUpload(id)
		}
	} else {
		_, list, err = s.kept(ctx, id)
	}
	if err != nil {
		return internal(ctx, err)
	}
	if err := s.sweep(ctx, list, id+"/"); err != nil {
		return internal(ctx, err)
	}
	return nil
}
