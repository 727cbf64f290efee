// Package publish takes in models: it checks an upload completely, packs it and puts it
// where models are served from, a directory or a bucket, in one step, so that a failed or
// interrupted upload leaves the model of that name as it was. What is too large for one
// request comes in parts, in any order, which are kept until all have arrived. It refuses
// to know HTTP, who may upload, and how models run.
//
// Source: seed 002, /api/upload and the layout of run directories.
package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/deployment"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/llm"
)

// Upload is a model that comes in: a checkpoint of Alpha in either encoding, with what its
// run directory has, or a GGUF file, or a packed model, which say all of themselves.
type Upload struct {
	Name         string          // the model's; see [CheckName]
	Config       json.RawMessage // config.json: modelConfig, trainConfig, configHash, runId, domain
	Step         int
	Checkpoint   io.ReaderAt
	Size         int64  // of Checkpoint, bytes
	Metrics      string // metrics.jsonl; "" for none
	TrainingData string // training-data.txt; "" for none
	Quant        string // format of the weights, of [Quants]; "": f32 of Alpha, q8_0 of GGUF
	New          bool   // only if no model has the name: else the error is [ErrExists]

	Progress func(done, total int64) // hears of bytes that are written, if it is set
}

// Quants are the formats that models are packed in.
func Quants() []string { return []string{"f32", "bf16", "q8_0", "q4_0"} }

// ErrExists is the cause of the error of an upload that was to be new and is not.
var ErrExists = errors.New("there is a model of this name")

// PackName is what the file of a model is called, below the model's name.
const PackName = "packed" + checkpoint.PackSuffix

// Bounds, unless a store has others.
const (
	DefaultMaxBytes = 16 << 30  // of a directory, bytes
	bucketMaxBytes  = 256 << 30 // of a bucket, bytes
	maxStep         = 1 << 53
)

// models is where models are.
type models interface {
	// store writes a packed model, in place of the one that may have the name. write is
	// called once; nothing is seen of the model unless it goes well.
	store(ctx context.Context, name string, isNew bool, write func(to io.WriterAt) error) error
	// remove deletes a model; there being none is a NotFound error.
	remove(ctx context.Context, name string) error
	// used is how many bytes there are.
	used(ctx context.Context) (int64, error)
	close() error
}

// Store is where models are published. Its methods may be called concurrently.
type Store struct {
	// MaxBytes bounds the files of all models together, those under way included; 0:
	// [DefaultMaxBytes], or more in a bucket. Set it before the first use, like the next.
	MaxBytes int64
	// Memory is what this process has for the weights of models, bytes, of which uploads
	// take at most half together; 0: no more than is usual. Uploads that do not fit wait.
	Memory  int64
	Kernels *kernel.Kernels // that pack; nil: the best
	Log     func(error)     // hears of what could not be tidied up; nil: nobody
	// Resume goes on with what a Put into a bucket left that was interrupted, and leaves what
	// an interrupted one has sent. It is for one process at a time.
	Resume bool

	models models
	blobs  blobs // uploads under way
	memory memory

	unzipped int64 // instead of maxUnzipped, in tests

	locks locks
	mu    sync.Mutex
	open  int   // uploads that write
	bytes int64 // of all files while open > 0
}

// BucketPlaces returns the directories of a bucket for models, at s3://bucket/prefix, and for
// uploads under way, in the same parent directory. The caller adds how to reach the bucket.
func BucketPlaces(url string) (models, uploads bucket.Config, err error) {
	name, prefix, err := bucket.Parse(url)
	if err != nil {
		return models, uploads, err
	}
	models, uploads = bucket.Config{Bucket: name, Prefix: prefix}, bucket.Config{Bucket: name, Prefix: path.Join(path.Dir(prefix), deployment.Uploads)}
	if prefix == "" || prefix == uploads.Prefix {
		return models, uploads, llm.Errorf(llm.Unsupported, "uploads need a prefix of their own: checkpoints must be below another one than %q, such as s3://%s/%s",
			prefix, name, deployment.Checkpoints)
	}
	return models, uploads, nil
}

// OpenBucket opens a store in a bucket: models are objects below the one prefix, uploads
// under way below the other. Nothing is asked of it yet.
func OpenBucket(models, uploads *bucket.Bucket) *Store {
	s := &Store{MaxBytes: bucketMaxBytes}
	s.models, s.blobs = &objects{models, s}, &objectBlobs{uploads, s}
	return s
}

// Close releases what the store holds.
func (s *Store) Close() error { return s.models.close() }

func (s *Store) limit() int64 { return cmp.Or(s.MaxBytes, DefaultMaxBytes) }

// log tells of an error that changes nothing for who uploads.
func (s *Store) log(err error) {
	if err != nil && s.Log != nil {
		s.Log(err)
	}
}

var (
	validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	// Windows takes these names, whatever follows a dot, for devices.
	deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// CheckName reports why a model may not have a name: it has 1 to 128 letters,
// digits, dots, underscores and hyphens, begins with a letter or digit, does not
// end with a dot, and is no device of Windows.
func CheckName(name string) error {
	switch {
	case !validName.MatchString(name):
		return invalid("name", nil, "%.140q: 1 to 128 letters, digits, dots, underscores and hyphens, of which the first is a letter or digit", name)
	case strings.HasSuffix(name, "."):
		return invalid("name", nil, "%q ends with a dot", name)
	case deviceName.MatchString(name):
		return invalid("name", nil, "%q is a device on Windows", name)
	case strings.HasSuffix(strings.ToLower(name), checkpoint.PackSuffix):
		return invalid("name", nil, "%q ends as files of models do", name)
	}
	return nil
}

// Put checks an upload, packs it and stores it under its name, instead of the model that
// may be there: nothing of that one remains. Errors are [llm.Error]s whose Param is a field
// of the upload in its wire spelling. Uploads of one name wait for each other; of those in
// several processes the last one wins, whole.
func (s *Store) Put(ctx context.Context, u Upload) error {
	if err := u.check(); err != nil {
		return err
	}
	return s.put(ctx, &u, func() (*model, error) { return s.read(ctx, &u) })
}

// PutModel packs a model that is open, which u.Checkpoint and what belongs to it do not say.
// It stays open.
func (s *Store) PutModel(ctx context.Context, u Upload, m *arch.Model) error {
	u.Checkpoint = bytes.NewReader(nil)
	if err := u.check(); err != nil {
		return err
	}
	return s.put(ctx, &u, func() (*model, error) {
		packed := s.pack(ctx, &u, m, cmp.Or(u.Quant, "q8_0"))
		packed.close = func() error { return nil }
		return packed, nil
	})
}

// put stores what read returns.
func (s *Store) put(ctx context.Context, u *Upload, read func() (*model, error)) error {
	unlock, err := s.locks.lock(ctx, u.Name)
	if err != nil {
		return interrupted(err)
	}
	defer unlock()
	q, err := s.begin(ctx)
	if err != nil {
		return internal(ctx, err)
	}
	defer q.end()
	m, err := read()
	if err != nil {
		return internal(ctx, err)
	}
	err = s.models.store(ctx, u.Name, u.New, func(to io.WriterAt) error {
		if err := m.write(q.writer(to)); err != nil {
			return err
		}
		return ctx.Err()
	})
	s.log(m.close())
	if err != nil {
		return internal(ctx, err)
	}
	return nil
}

// Delete removes a model. An unknown name is a NotFound error.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, name)
	if err != nil {
		return interrupted(err)
	}
	defer unlock()
	if err := s.models.remove(ctx, name); err != nil {
		return internal(ctx, err)
	}
	return nil
}

// noModel is the error of an unknown name.
func noModel(name string) error {
	return &llm.Error{Code: llm.NotFound, Param: "name", Message: fmt.Sprintf("no model %q", name)}
}

// exists is the error of an upload that was to be new.
func exists(name string) error { return invalid("name", ErrExists, "there is a model %s", name) }

// taken is the error of a name that something has that is no model and is left alone.
func taken(name string) error {
	return invalid("name", nil, "%q is taken by something that is no model", name)
}

// invalid is an error in a field of the upload.
func invalid(param string, cause error, format string, args ...any) *llm.Error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...), Err: cause}
}

// shortly is when that may go well which the store has no room for now.
const shortly = 5 * time.Second

// internal is the error of what is no fault of who uploads: that a request ended, what a
// bucket refuses, or a fault of ours.
func internal(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return interrupted(errors.Join(ctx.Err(), err))
	}
	e, ok := errors.AsType[*bucket.Error](err)
	switch {
	case isFull(err):
		return &llm.Error{Code: llm.Full, Message: "the server's disk is full: nothing was stored", Err: err}
	case !ok:
		return &llm.Error{Code: llm.Internal, Message: "the model could not be stored", Err: err}
	case e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests:
		return &llm.Error{Code: llm.Unavailable, Message: fmt.Sprintf("S3 takes nothing now (%d %s)", e.Status, e.Code), RetryAfter: shortly, Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 does not let this server store models (%d %s)", e.Status, e.Code), Err: err}
	}
	return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 does not take the model (%d %s)", e.Status, e.Code), Err: err}
}

// interrupted is the error of an upload whose context ended.
func interrupted(err error) *llm.Error {
	code := llm.Invalid
	if errors.Is(err, context.DeadlineExceeded) {
		code = llm.Timeout
	}
	return &llm.Error{Code: code, Param: "checkpoint", Message: "the upload was interrupted", Err: err}
}
