package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/llm"
)

// inS3 tells whether checkpoints are named by a URL of S3.
func inS3(checkpoints string) bool { return strings.HasPrefix(checkpoints, bucket.Scheme) }

// A shelf is a place in S3 where models are. Who is asked for them is looked for when
// something is read. It implements [fs.FS].
type shelf struct {
	url  string
	fs   func() (*bucket.FS, error)
	used time.Time // under shelves.mu
}

// Open implements [fs.FS].
func (s *shelf) Open(name string) (fs.File, error) {
	now, err := s.snapshot()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return now.Open(name)
}

// snapshot is what the place had when it was listed last.
func (s *shelf) snapshot() (fs.FS, error) {
	f, err := s.fs()
	if err != nil {
		return nil, err
	}
	return f.Snapshot()
}

// forget has the place listed again when it is looked at next: something was put there.
func (s *shelf) forget() {
	if f, err := s.fs(); err == nil {
		f.Forget()
	}
}

// look lists the place.
func (s *shelf) look() error {
	f, err := s.fs()
	if err != nil {
		return err
	}
	return f.Look(context.Background()) // it has a time limit
}

// shelves are the places that records and the configuration name.
type shelves struct {
	cloud *cloud
	ahead ahead

	mu  sync.Mutex
	all map[string]*shelf // by URL, and "/" after it for what lies below
}

// unusedFor is for how long a place is remembered that nobody names any more.
const unusedFor = time.Minute

// below returns the place whose entries are models.
func (s *shelves) below(url string) (*shelf, error) {
	name, prefix, err := bucket.Parse(url)
	if err != nil {
		return nil, err
	}
	return s.get(strings.TrimSuffix(url, "/")+"/", bucket.Config{Bucket: name, Prefix: prefix}), nil
}

// model returns the place of one model, which is its one entry.
func (s *shelves) model(url string) (fs.FS, error) {
	name, prefix, err := bucket.Parse(url)
	switch {
	case err != nil:
		return nil, err
	case prefix == "":
		return nil, errors.New("it names a bucket: name the model in it")
	}
	dir, only := path.Split(prefix)
	return s.get(strings.TrimSuffix(url, "/"), bucket.Config{Bucket: name, Prefix: strings.TrimSuffix(dir, "/"), Only: only}), nil
}

func (s *shelves) get(key string, cfg bucket.Config) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		one = &shelf{url: key, fs: sync.OnceValues(func() (*bucket.FS, error) { return s.cloud.bucket(cfg) })}
		if s.all == nil {
			s.all = map[string]*shelf{}
		}
		s.all[key] = one
	}
	one.used = time.Now()
	return one
}

// look lists all places that are in use at once, so that looking at many takes no longer
// than at one, and returns what one has.
func (s *shelves) look(one *shelf) (fs.FS, error) {
	s.mu.Lock()
	one.used = time.Now()
	for key, other := range s.all {
		switch {
		case time.Since(other.used) > unusedFor:
			delete(s.all, key)
		case other != one:
			go func() { _ = other.look() }() // bounded in time; told to who looks at it
		}
	}
	s.mu.Unlock()
	err := one.look()
	now, missing := one.snapshot()
	if missing != nil {
		missing = unreadable(missing)
		if !strings.HasSuffix(one.url, "/") { // the place of one model, whose record's problem this is
			return nil, missing
		}
		if !isTold(missing) {
			missing = &llm.Error{Code: llm.Upstream, Message: "S3 does not tell which models there are", Err: missing}
		}
		return nil, catalog.Unread{Err: missing}
	}
	s.ahead.found(now)
	return now, err
}

// bucket returns the file system of a place in S3.
func (c *cloud) bucket(cfg bucket.Config) (*bucket.FS, error) {
	cfg, err := c.account(cfg)
	if err != nil {
		return nil, err
	}
	return bucket.New(cfg), nil
}

// account adds who asks for a place in S3, and where.
func (c *cloud) account(cfg bucket.Config) (bucket.Config, error) {
	aws, err := c.region("")
	if err != nil {
		return cfg, err
	}
	cfg.Region, cfg.Credentials, cfg.HTTP = aws.Region, aws.Credentials, aws.HTTPClient
	if cfg.Endpoint = c.endpoints.S3; cfg.Endpoint == "" {
		if cfg.Endpoint, err = awsrest.Configured(aws, "S3"); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// unreadable says for clients why S3 does not give a model. What was replaced is none of
// that: it is there again.
func unreadable(err error) error {
	refusal, ok := errors.AsType[*bucket.Error](err)
	switch {
	case err == nil || isTold(err) || errors.Is(err, fs.ErrNotExist):
		return err
	case ok && errors.Is(err, fs.ErrPermission):
		return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 does not let this server read the checkpoint of the model (%d %s)", refusal.Status, refusal.Code), Err: err}
	case ok:
		return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 does not give the checkpoint of the model (%d %s)", refusal.Status, refusal.Code), Err: err}
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok && inS3(at.Path) { // it was not reached, or its answers broke off
		return &llm.Error{Code: llm.Upstream, Message: "S3 does not give the checkpoint of the model", Err: err}
	}
	return err
}

// isTold tells whether an error has words for clients.
func isTold(err error) bool {
	_, told := errors.AsType[*llm.Error](err)
	return told
}

// steady is the directory of a run as it is while it is opened.
func steady(run *catalog.Run) (fs.FS, error) {
	if s, ok := run.FS.(*shelf); ok {
		return s.snapshot()
	}
	return run.FS, nil
}

// version is what distinguishes a file from another of the same size and time, "" if
// nothing does.
func version(info fs.FileInfo) string {
	tag, _ := info.Sys().(bucket.ETag)
	return string(tag)
}

// fileVersion is version of a file by its name.
func fileVersion(fsys fs.FS, name string) string {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return ""
	}
	return version(info)
}
