// Package publish stores uploaded models: it checks an upload completely, packs it and puts
// it into the directory or the bucket from which models are served. This last step is atomic:
// a failed or interrupted upload leaves the model of that name as it was. An upload that is
// too large for one request comes in parts, in any order, which are kept until all have
// arrived. The package refuses to know HTTP, permissions, and how models run.
//
// Source: Alpha's documentation, /api/upload and the layout of run directories.
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
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/internal/osfile"
	"glossa/pkg/llm"
)

// DefaultQuant is the format of the weights where nothing else is chosen. A checkpoint that a
// client uploads keeps all its bits instead, and quantised weights stay as they are stored.
const DefaultQuant = "q8_0"

// StoredQuant is the format that keeps each matrix as the source stores it.
const StoredQuant = "stored"

// Quant returns the format in which m is packed if the user has chosen one or, as "", none.
func Quant(chosen string, m *arch.Model) string {
	if chosen == "" && m.Weights.Quantised() {
		return StoredQuant
	}
	return cmp.Or(chosen, DefaultQuant)
}

// Upload is a model to publish: a checkpoint of Alpha in either encoding, with the other
// files of its run directory, or a GGUF file, or a packed model, which need no other files.
type Upload struct {
	Name         string          // the model's; see [CheckName]
	Config       json.RawMessage // config.json: modelConfig, trainConfig, configHash, runId, domain
	Step         int
	Checkpoint   io.ReaderAt
	Size         int64  // of Checkpoint, bytes
	Metrics      string // metrics.jsonl; "" for none
	TrainingData string // training-data.txt; "" for none
	Quant        string // format of the weights, one of [Quants]; "": f32 for Alpha, else [Quant]
	New          bool   // only if no model has the name: else the error is [ErrExists]

	Progress func(done, total int64) // called with the bytes written so far; nil: disabled
}

// Quants are the formats that models are packed in.
func Quants() []string { return append(dtype.Options(), StoredQuant) }

// ErrExists is the cause of the error of an [Upload] with New whose name a model has.
var ErrExists = errors.New("the name is in use")

// PackName is the name of a model's file, below the model's name.
const PackName = "packed" + checkpoint.PackSuffix

// Bounds of stores by default.
const (
	DefaultMaxBytes = 16 << 30  // of a directory, bytes
	bucketMaxBytes  = 256 << 30 // of a bucket, bytes
	maxStep         = 1 << 53
)

// models is the directory or the bucket of the published models.
type models interface {
	// store writes a packed model, which replaces the one of that name. write is called
	// once; the model is visible only if it succeeds.
	store(ctx context.Context, name string, isNew bool, write func(to io.WriterAt) error) error
	// remove deletes a model; an unknown name is a NotFound error.
	remove(ctx context.Context, name string) error
	// hasOther reports whether a model of the name is not just the packed one of store.
	hasOther(ctx context.Context, name string) (bool, error)
	// used returns the bytes of all models.
	used(ctx context.Context) (int64, error)
	close() error
}

// Store publishes models. Set its fields before the first use. Its methods are safe for
// concurrent use.
type Store struct {
	// MaxBytes bounds the files of all models together, including uploads under way; 0:
	// [DefaultMaxBytes], or more in a bucket.
	MaxBytes int64
	// Memory is the memory of this process for the weights of models, bytes. All uploads
	// together take at most half of it; 0: the usual bounds. Uploads that do not fit wait.
	Memory  int64
	Kernels *kernel.Kernels // for packing; nil: the best
	Log     func(error)     // called with errors of cleaning up; nil: they are ignored
	// Resume continues an interrupted Put into a bucket, and keeps what an interrupted Put
	// has sent. Only one process at a time may use it.
	Resume bool

	models models
	blobs  blobs // uploads under way
	memory memory

	unzipped int64 // instead of maxUnzipped, in tests

	locks locks
	mu    sync.Mutex
	open  int   // uploads in progress
	bytes int64 // of all files while open > 0; too many after deletions, see [Store.count]
	taken int64 // bytes that uploads have ever written
	ended int64 // of these, the bytes of uploads that are no longer in progress
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
		return models, uploads, llm.Errorf(llm.Unsupported, "uploads need a prefix of their own: checkpoints must have a prefix other than %q, such as s3://%s/%s",
			prefix, name, deployment.Checkpoints)
	}
	return models, uploads, nil
}

// OpenBucket opens a store in a bucket: models are objects below the one prefix, uploads
// under way below the other. It sends no request yet.
func OpenBucket(models, uploads *bucket.Bucket) *Store {
	s := &Store{MaxBytes: bucketMaxBytes}
	s.models, s.blobs = &objects{models, s}, &objectBlobs{uploads, s}
	return s
}

// Close releases what the store holds.
func (s *Store) Close() error { return s.models.close() }

func (s *Store) limit() int64 { return cmp.Or(s.MaxBytes, DefaultMaxBytes) }

// log logs an error that does not concern the client.
func (s *Store) log(err error) {
	if err != nil && s.Log != nil {
		s.Log(err)
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// CheckName returns an error if a model may not have a name. A name has 1 to 128 letters,
// digits, dots, underscores and hyphens, begins with a letter or digit, does not end with a
// dot, and is not a device of Windows.
func CheckName(name string) error {
	switch {
	case !validName.MatchString(name):
		return invalid("name", nil, "%.140q: 1 to 128 letters, digits, dots, underscores and hyphens, of which the first is a letter or digit", name)
	case strings.HasSuffix(name, "."):
		return invalid("name", nil, "%q ends with a dot", name)
	case osfile.IsDevice(name):
		return invalid("name", nil, "%q is a device on Windows", name)
	case strings.HasSuffix(strings.ToLower(name), checkpoint.PackSuffix):
		return invalid("name", nil, "%q ends like the name of a model file", name)
	}
	return nil
}

// Put checks an upload, packs it and stores it under its name. It replaces a model of that
// name completely. Errors are of type [*llm.Error] whose Param is the wire name of a field of the
// upload. Uploads of one name wait for each other; among several processes the last one wins.
func (s *Store) Put(ctx context.Context, u Upload) error {
	if err := u.check(); err != nil {
		return err
	}
	return s.put(ctx, &u, func() (*model, error) { return s.read(ctx, &u) })
}

// PutModel is Put of an open model instead of u.Checkpoint. The model stays open.
func (s *Store) PutModel(ctx context.Context, u Upload, m *arch.Model) error {
	u.Checkpoint = bytes.NewReader(nil)
	if err := u.check(); err != nil {
		return err
	}
	return s.put(ctx, &u, func() (*model, error) {
		packed := s.pack(ctx, &u, m, Quant(u.Quant, m))
		packed.close = func() error { return nil }
		return packed, nil
	})
}

// put stores the model that read returns.
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

// HasOther reports whether a model of the name has another form than what Put stores, such as
// the directory of a run, whose files Put deletes.
func (s *Store) HasOther(ctx context.Context, name string) (bool, error) {
	other, err := s.models.hasOther(ctx, name)
	if err != nil {
		return false, internal(ctx, err)
	}
	return other, nil
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

// noModel returns the error of an unknown name.
func noModel(name string) error {
	return &llm.Error{Code: llm.NotFound, Param: "name", Message: fmt.Sprintf("no model %q", name)}
}

// exists returns the error of an upload with New for the name of an existing model.
func exists(name string) error { return invalid("name", ErrExists, "a model %s already exists", name) }

// taken returns the error for a name of something that is not a model and stays.
func taken(name string) error {
	return invalid("name", nil, "%q exists and is not a model", name)
}

// invalid returns an error in a field of the upload.
func invalid(param string, cause error, format string, args ...any) *llm.Error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...), Err: cause}
}

// retryAfter is the time after which to retry an upload for which the store has no room now.
const retryAfter = 5 * time.Second

// internal returns the error of a failure that the client did not cause: the request
// ended, the bucket refused, or the program has a bug.
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
		return &llm.Error{Code: llm.Unavailable, Message: fmt.Sprintf("S3 is not accepting data now (%d %s)", e.Status, e.Code), RetryAfter: retryAfter, Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 denied this server permission to store models (%d %s)", e.Status, e.Code), Err: err}
	}
	return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 rejected the model (%d %s)", e.Status, e.Code), Err: err}
}

// interrupted returns the error of an upload whose context ended.
func interrupted(err error) *llm.Error {
	code := llm.Invalid
	if errors.Is(err, context.DeadlineExceeded) {
		code = llm.Timeout
	}
	return &llm.Error{Code: code, Param: "checkpoint", Message: "the upload was interrupted", Err: err}
}
