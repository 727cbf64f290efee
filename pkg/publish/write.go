package publish

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// temporary makes a directory for an upload.
func (s *Store) temporary() (string, error) {
	dir := uploadPrefix + rand.Text()
	return dir, s.root.Mkdir(dir, 0o755)
}

// occupied tells whether a model has the name. What is no model is not touched.
func (s *Store) occupied(name string) (bool, error) {
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && info.IsDir() {
		_, err = s.root.Lstat(path.Join(name, "config.json"))
		if err == nil {
			return true, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, internal(err)
	}
	return false, invalid("name", nil, "%q is taken by something that is no model", name)
}

// write puts the files of an upload into dir.
func (s *Store) write(ctx context.Context, q *quota, dir string, u *Upload) error {
	for _, f := range []struct {
		name, param string
		content     io.Reader
	}{
		{u.file(), "checkpoint", u.Checkpoint},
		{"config.json", "config", strings.NewReader(string(u.Config))},
		{"metrics.jsonl", "metrics", strings.NewReader(u.Metrics)},
		{"training-data.txt", "trainingData", strings.NewReader(u.TrainingData)},
	} {
		if r, ok := f.content.(*strings.Reader); ok && r.Len() == 0 && f.param != "checkpoint" {
			continue
		}
		if err := s.writeFile(ctx, q, path.Join(dir, f.name), f.param, f.content); err != nil {
			return err
		}
	}
	return s.sync(dir)
}

// writeFile copies content into a new file and makes it durable.
func (s *Store) writeFile(ctx context.Context, q *quota, name, param string, content io.Reader) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	in := &source{ctx: ctx, r: content}
	_, err = io.Copy(q.writer(f), in)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}
	switch e, ok := errors.AsType[*llm.Error](err); {
	case ok && e.Param == "":
		e = &llm.Error{Code: e.Code, Param: param, Message: e.Message, RetryAfter: e.RetryAfter, Err: e.Err}
		return e
	case ok:
		return e
	case ctx.Err() != nil:
		return interrupted(ctx.Err())
	case in.err != nil:
		return invalid(param, in.err, "the upload ended early")
	}
	return err
}

// source reads until its context ends and remembers its own error, to tell it from
// the file's.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// validate reads the checkpoint as the engine will and holds it against the
// configuration. label names it in errors.
func (s *Store) validate(name, label string, config *checkpoint.RunConfig) error {
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < minCheckpoint {
		return invalid("checkpoint", nil, "%d bytes, at least %d", info.Size(), minCheckpoint)
	}
	a, err := checkpoint.ReadAlpha(f, info.Size(), label, checkpoint.Options{})
	if err != nil {
		return invalid("checkpoint", nil, "%v", err)
	}
	if a.Tokenizer == nil {
		return invalid("checkpoint", nil, "tokenizerArtifacts: missing")
	}
	t, err := tokenizer.FromAlpha(a.Tokenizer)
	if err != nil {
		return invalid("checkpoint", nil, "tokenizerArtifacts: %v", err)
	}
	if c := &a.ModelConfig; t.Size() > c.VocabSize {
		return invalid("checkpoint", nil, "tokenizerArtifacts: %d tokens for vocabSize %d", t.Size(), c.VocabSize)
	}
	return sameShape(&config.ModelConfig, &a.ModelConfig)
}

// sameShape refuses a configuration that describes another model than the
// checkpoint holds: listings show the one, the engine runs the other.
func sameShape(config, inside *checkpoint.ModelConfig) error {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"vocabSize", config.VocabSize, inside.VocabSize},
		{"blockSize", config.BlockSize, inside.BlockSize},
		{"nLayer", config.NLayer, inside.NLayer},
		{"nEmbd", config.NEmbd, inside.NEmbd},
		{"nHead", config.NHead, inside.NHead},
		{"ffnActivation", config.Activation(), inside.Activation()},
		{"ffnDim", config.FFN(), inside.FFN()},
	} {
		if f.a != f.b {
			return invalid("config", nil, "modelConfig.%s is %v, in the checkpoint %v", f.name, f.a, f.b)
		}
	}
	return nil
}

// swap gives dir the model's name. Where the system can, a model that has the name
// is exchanged in one step; elsewhere it is set aside first, and put back if the
// second step fails or, after a crash, by [Open].
func (s *Store) swap(dir, name string, exists bool) error {
	if !exists {
		if err := s.rename(dir, name); err != nil {
			return err
		}
		return s.sync(".")
	}
	err := s.exchange(dir, name)
	if errors.Is(err, errors.ErrUnsupported) {
		return s.replace(dir, name)
	}
	if err == nil {
		err = s.sync(".")
	}
	if err == nil {
		s.discard(dir) // the old model
	}
	return err
}

// discard removes what no longer has a model's name. A failure, as when Windows
// has a file of it open, changes no model: the next Open removes what stays.
func (s *Store) discard(dir string) { _ = s.root.RemoveAll(dir) }

// replace is swap in two steps.
func (s *Store) replace(dir, name string) error {
	old := oldPrefix + name
	if err := s.root.RemoveAll(old); err != nil {
		return err
	}
	if err := s.rename(name, old); err != nil {
		return err
	}
	if err := s.rename(dir, name); err != nil {
		return errors.Join(err, s.rename(old, name))
	}
	if err := s.sync("."); err != nil {
		return err
	}
	s.discard(old)
	return nil
}

// sync makes the entries of a directory durable. Windows has no such call.
func (s *Store) sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
