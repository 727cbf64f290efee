package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/llm"
)

// An s3Location is a place in S3 that holds models. Its client is made at the first read.
// It implements [fs.FS].
type s3Location struct {
	url  string // ends in "/" if its entries are models; otherwise it is one model
	fs   func() (*bucket.FS, error)
	used time.Time // under s3Locations.mu
}

// Open implements [fs.FS].
func (s *s3Location) Open(name string) (fs.File, error) {
	last, err := s.snapshot()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return last.Open(name)
}

// snapshot returns the files of the last listing.
func (s *s3Location) snapshot() (fs.FS, error) {
	f, err := s.fs()
	if err != nil {
		return nil, err
	}
	return f.Snapshot()
}

// forget makes the next scan list the location again.
func (s *s3Location) forget() {
	if f, err := s.fs(); err == nil {
		f.Invalidate()
	}
}

// list lists the location.
func (s *s3Location) list() error {
	f, err := s.fs()
	if err != nil {
		return err
	}
	return f.Refresh(context.Background()) // it has a time limit
}

// s3Locations are the locations that records and the configuration name.
type s3Locations struct {
	open       func(bucket.Config) (*bucket.FS, error) // nil: there is no S3
	prefetcher prefetcher

	mu    sync.Mutex
	byURL map[string]*s3Location
}

// keepUnused is how long a location without references is kept.
const keepUnused = time.Minute

// root returns the location whose entries are models.
func (s *s3Locations) root(url string) (*s3Location, error) {
	name, prefix, err := bucket.Parse(url)
	if err != nil {
		return nil, err
	}
	return s.get(trimSlash(url)+"/", bucket.Config{Bucket: name, Prefix: prefix}), nil
}

// model returns the location of one model, which is its only entry.
func (s *s3Locations) model(url string) (fs.FS, error) {
	name, prefix, err := bucket.Parse(url)
	switch {
	case err != nil:
		return nil, err
	case prefix == "":
		return nil, errors.New("it names only a bucket: name the model in it")
	}
	dir, only := path.Split(prefix)
	return s.get(trimSlash(url), bucket.Config{Bucket: name, Prefix: trimSlash(dir), Only: only}), nil
}

func trimSlash(s string) string { return strings.TrimSuffix(s, "/") }

func (s *s3Locations) get(url string, cfg bucket.Config) *s3Location {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byURL[url]
	if one == nil {
		one = &s3Location{url: url, fs: sync.OnceValues(func() (*bucket.FS, error) { return s.open(cfg) })}
		if s.byURL == nil {
			s.byURL = map[string]*s3Location{}
		}
		s.byURL[url] = one
	}
	one.used = time.Now()
	return one
}

// list lists one location and returns its files. It lists all other locations in use at
// the same time, so that many take no longer than one. An error together with files
// means that they are of an earlier listing.
func (s *s3Locations) list(one *s3Location) (fs.FS, error) {
	s.mu.Lock()
	one.used = time.Now()
	for url, other := range s.byURL {
		switch {
		case time.Since(other.used) > keepUnused:
			delete(s.byURL, url)
		case other != one:
			go func() { _ = other.list() }() // bounded in time; the scan of that location returns the error
		}
	}
	s.mu.Unlock()
	err := one.list()
	files, missing := one.snapshot()
	if missing != nil {
		missing = clientError(missing)
		if !strings.HasSuffix(one.url, "/") { // the record of that model has the problem
			return nil, missing
		}
		if !hasClientError(missing) {
			missing = &llm.Error{Code: llm.Upstream, Message: "S3 does not list its models", Err: missing}
		}
		return nil, catalog.Unread{Err: missing}
	}
	s.prefetcher.listed(files)
	return files, err
}

// clientError adds to an error of S3 the message for clients. The error of a replaced
// object needs none: the object is there again.
func clientError(err error) error {
	refusal, ok := errors.AsType[*bucket.Error](err)
	switch {
	case err == nil || hasClientError(err) || errors.Is(err, fs.ErrNotExist):
		return err
	case ok && errors.Is(err, fs.ErrPermission):
		return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 denied this server access to the checkpoint of the model (%d %s)", refusal.Status, refusal.Code), Err: err}
	case ok:
		return &llm.Error{Code: llm.Upstream, Message: fmt.Sprintf("S3 could not return the checkpoint of the model (%d %s)", refusal.Status, refusal.Code), Err: err}
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok && bucket.IsURL(at.Path) { // the store was not reached, or its answer broke off
		return &llm.Error{Code: llm.Upstream, Message: "S3 could not return the checkpoint of the model", Err: err}
	}
	return err
}

// hasClientError reports whether an error has a message for clients.
func hasClientError(err error) bool {
	_, ok := errors.AsType[*llm.Error](err)
	return ok
}

// snapshot returns a file system that does not change while a model is read.
func snapshot(fsys fs.FS) (fs.FS, error) {
	if s, ok := fsys.(*s3Location); ok {
		return s.snapshot()
	}
	return fsys, nil
}

// versionOf distinguishes a file from another one of the same size and time; "": the store
// has no versions.
func versionOf(info fs.FileInfo) string {
	tag, _ := info.Sys().(bucket.ETag)
	return string(tag)
}
