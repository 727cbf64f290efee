// Package publish takes in checkpoints: it checks an upload completely and puts it
// into a directory of Alpha runs in one step, so that a failed or interrupted
// upload leaves the model of that name as it was. It refuses to know HTTP, who may
// upload, and how models run.
//
// Source: seed 002, /api/upload and the layout of run directories.
package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
)

// Upload is a model that comes in.
type Upload struct {
	Name         string          // the model's; see [CheckName]
	Config       json.RawMessage // config.json: modelConfig, trainConfig, configHash, runId, domain
	Step         int
	Checkpoint   io.Reader // either encoding
	Metrics      string    // metrics.jsonl; "" for none
	TrainingData string    // training-data.txt; "" for none
}

// DefaultMaxBytes is the default of [Store.MaxBytes]: 16 GiB.
const DefaultMaxBytes = 16 << 30

const (
	// minCheckpoint is the size below which a scan ignores a checkpoint, bytes.
	minCheckpoint = 1024
	maxStep       = 1 << 53
	// Names of directories that a scan never lists.
	uploadPrefix = ".upload-" // an upload under way
	oldPrefix    = ".old-"    // and a model's name: the model while another takes its place
	// staleAfter is how long an upload's directory may lie unchanged before [Open]
	// takes it for the remains of a crash.
	staleAfter = time.Hour
)

// Store is a directory of models. Its methods may be called concurrently.
type Store struct {
	// MaxBytes bounds the files of all models together, those under way included;
	// 0 means [DefaultMaxBytes]. Set it before the first Put.
	MaxBytes int64

	root *os.Root
	// The steps that tests let fail. exchange swaps two directories atomically or
	// reports [errors.ErrUnsupported].
	rename   func(from, to string) error
	exchange func(a, b string) error

	locks locks
	mu    sync.Mutex
	open  int   // uploads under way
	used  int64 // bytes of all files while open > 0
}

// Open opens a store in a directory, which it creates if it has to. It removes what
// uploads left behind that never ended, and puts back a model that a crash left
// aside.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	s := &Store{root: root, rename: root.Rename}
	s.exchange = func(a, b string) error { return exchange(root, a, b) }
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("publish: %w", err), root.Close())
	}
	return s, nil
}

// Close releases the directory.
func (s *Store) Close() error { return s.root.Close() }

// FS is the directory for [checkpoint.Scan] and for reading models.
func (s *Store) FS() fs.FS { return s.root.FS() }

// recover tidies up after a crash.
func (s *Store) recover() error {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		if name, ok := strings.CutPrefix(e.Name(), oldPrefix); ok && CheckName(name) == nil {
			err = s.putBack(e.Name(), name)
		} else if strings.HasPrefix(e.Name(), uploadPrefix) && time.Since(info.ModTime()) > staleAfter {
			err = s.root.RemoveAll(e.Name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putBack gives a model that was set aside its name again, or removes it if its
// successor has the name.
func (s *Store) putBack(old, name string) error {
	_, err := s.root.Lstat(name)
	if err == nil {
		return s.root.RemoveAll(old)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s.rename(old, name)
	}
	return err
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
	}
	return nil
}

// invalid is an error in a field of the upload.
func invalid(param string, cause error, format string, args ...any) *llm.Error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...), Err: cause}
}

// internal is a fault of ours while a model is stored or deleted.
func internal(err error) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	return &llm.Error{Code: llm.Internal, Message: "the model could not be stored", Err: err}
}

// Put checks an upload and stores it under its name, instead of the model that may
// be there: none of that one's files remain. Errors are [llm.Error]s whose Param is
// a field of the upload in its wire spelling. Uploads of one name wait for each
// other.
func (s *Store) Put(ctx context.Context, u Upload) error {
	config, err := u.check()
	if err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, u.Name)
	if err != nil {
		return interrupted(err)
	}
	defer unlock()
	exists, err := s.occupied(u.Name)
	if err != nil {
		return err
	}
	q, err := s.begin()
	if err != nil {
		return internal(err)
	}
	defer q.end()
	dir, err := s.temporary()
	if err != nil {
		return internal(err)
	}
	err = s.write(ctx, q, dir, &u)
	if err == nil {
		err = s.validate(path.Join(dir, u.file()), path.Join(u.Name, u.file()), config)
	}
	if err == nil && ctx.Err() != nil {
		err = interrupted(ctx.Err())
	}
	if err == nil {
		err = s.swap(dir, u.Name, exists)
	}
	if err != nil {
		e := *internal(err)
		// What cannot be removed now, a later Open removes.
		if err := s.root.RemoveAll(dir); err != nil {
			e.Err = errors.Join(e.Err, err)
		}
		return &e
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
	exists, err := s.occupied(name)
	if err != nil {
		return err
	}
	if !exists {
		return &llm.Error{Code: llm.NotFound, Param: "name", Message: fmt.Sprintf("no model %q", name)}
	}
	dir, err := s.temporary()
	if err != nil {
		return internal(err)
	}
	// It vanishes at once, and a crash while its files go leaves no half of it.
	if err := s.rename(name, path.Join(dir, name)); err != nil {
		return internal(errors.Join(err, s.root.RemoveAll(dir)))
	}
	if err := s.sync("."); err != nil {
		return internal(err)
	}
	s.discard(dir)
	return nil
}

// file is the checkpoint's name in the run directory.
func (u *Upload) file() string { return "checkpoint-" + strconv.Itoa(u.Step) + ".json" }

// check looks at all fields but the checkpoint.
func (u *Upload) check() (*checkpoint.RunConfig, error) {
	if err := CheckName(u.Name); err != nil {
		return nil, err
	}
	if u.Step < 0 || u.Step > maxStep {
		return nil, invalid("step", nil, "%d is not in 0..2^53", u.Step)
	}
	if u.Checkpoint == nil {
		return nil, invalid("checkpoint", nil, "missing")
	}
	if len(u.Config) == 0 {
		return nil, invalid("config", nil, "missing")
	}
	config, err := checkpoint.ParseRunConfig(u.Config)
	if err != nil {
		return nil, invalid("config", nil, "%v", err)
	}
	return &config, nil
}

// interrupted is the error of an upload whose context ended.
func interrupted(err error) *llm.Error {
	code := llm.Invalid
	if errors.Is(err, context.DeadlineExceeded) {
		code = llm.Timeout
	}
	return &llm.Error{Code: code, Param: "checkpoint", Message: "the upload was interrupted", Err: err}
}
