// Package bucket presents a prefix of a bucket in Amazon S3, or in a compatible store, as a
// readable file system: objects are files, and slashes in their keys separate directories.
// The files are those of one listing, and each is the version of its object that the listing
// names: a read never mixes versions. A [Bucket] writes objects too, each in one step. The
// package refuses to know what the files contain.
//
// It signs with the AWS SDK, but does not use the SDK's client of S3, which would add a
// megabyte to every function.
//
// Source: Amazon S3 API Reference (ListObjectsV2, GetObject, PutObject, the multipart
// upload, checking object integrity, query-string authentication, Error responses); RFC
// 9110, sections 13 and 14 (If-Match, ranges).
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Scheme is the beginning of the URLs of buckets.
const Scheme = "s3://"

// IsURL reports whether a text looks like the URL of a place in S3.
func IsURL(s string) bool { return strings.HasPrefix(s, Scheme) }

// Config configures an [FS] or a [Bucket].
type Config struct {
	Bucket string
	Prefix string // a directory, without a trailing slash; "": the whole bucket
	Only   string // the only visible entry of Prefix; "": all

	Region      string
	Endpoint    string                  // base URL of the store, which precedes the bucket; "": Amazon's in the region
	FIPS        bool                    // use Amazon's endpoints that comply with FIPS 140
	DualStack   bool                    // use Amazon's endpoints that also support IPv6
	Credentials aws.CredentialsProvider // nil: requests are not signed
	HTTP        Doer                    // nil: [http.DefaultClient]

	// Stall is how long a request may deliver almost nothing before a second, equal one is
	// sent; 0: a second.
	Stall time.Duration
}

// A Doer sends requests: [http.Client] is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Time limits of listings, for which requests wait.
const (
	firstLook = 5 * time.Second
	laterLook = 2 * time.Second // if there is an earlier listing
	justNow   = time.Second     // a listing of this age is not repeated
)

// An FS presents the objects under a prefix. It implements [fs.FS] by its last listing, and
// is safe for concurrent use.
type FS struct {
	client *client
	cfg    Config
	blocks blocks

	looking sync.Mutex

	mu  sync.Mutex
	now *listing // nil: none yet
	at  time.Time
	err error // of the last attempt
}

// New returns a file system. It reads nothing yet.
func New(cfg Config) *FS { return &FS{client: newClient(cfg), cfg: cfg} }

// URL returns s3://bucket/prefix, with the name of the only entry.
func (f *FS) URL() string {
	return strings.TrimSuffix(Scheme+path.Join(f.cfg.Bucket, f.cfg.Prefix, f.cfg.Only), "/")
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Parse reads s3://bucket/prefix.
func Parse(url string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(url, Scheme)
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimSuffix(prefix, "/")
	switch {
	case !ok || !bucketName.MatchString(bucket):
		return "", "", fmt.Errorf("%.200q is not an S3 location such as s3://bucket/prefix", url)
	case prefix != "" && !isPath(prefix):
		return "", "", fmt.Errorf("%.200q: the prefix has empty or dotted parts", url)
	}
	return bucket, prefix, nil
}

// isPath reports whether a key can be the name of a file on every system.
func isPath(key string) bool {
	return key != "." && fs.ValidPath(key) && !strings.ContainsFunc(key, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f })
}

// Refresh lists the objects, unless a listing was made just now. If it fails, the earlier
// listing stays in force, and the error says so.
func (f *FS) Refresh(ctx context.Context) error {
	f.looking.Lock()
	defer f.looking.Unlock()
	f.mu.Lock()
	old, at, err := f.now, f.at, f.err
	f.mu.Unlock()
	if !at.IsZero() && time.Since(at) < justNow {
		return err
	}
	limit := laterLook
	if old == nil {
		limit = firstLook
	}
	found, begun, err := f.listWithin(ctx, limit)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.now = found
	case old != nil:
		err = fmt.Errorf("%s cannot be listed, the last listing is served: %w", f.URL(), err)
	default:
		err = fmt.Errorf("%s cannot be listed: %w", f.URL(), err)
	}
	f.at, f.err = begun, err
	return err
}

// listWithin lists within a time limit. If the process was stopped meanwhile, as functions are
// between requests, its connections are dead and the limit has passed. That is not a failure
// of the store: listWithin tries once more.
func (f *FS) listWithin(ctx context.Context, limit time.Duration) (found *listing, begun time.Time, err error) {
	for range 2 {
		begun = time.Now()
		limited, cancel := context.WithTimeout(ctx, limit)
		found, err = f.list(limited)
		cancel()
		// By the wall clock too: the monotonic one may stand still while a process is stopped.
		now := time.Now()
		if err == nil || max(now.Sub(begun), now.Round(0).Sub(begun.Round(0))) < limit+time.Second {
			break
		}
	}
	return found, begun, err
}

// Snapshot returns the files of the last listing, which do not change.
func (f *FS) Snapshot() (fs.FS, error) {
	f.mu.Lock()
	now, err := f.now, f.err
	f.mu.Unlock()
	if now == nil && err == nil {
		_ = f.Refresh(context.Background()) // it sets f.err
		f.mu.Lock()
		now, err = f.now, f.err
		f.mu.Unlock()
	}
	if now == nil {
		return nil, err
	}
	return now, nil
}

// Invalidate makes the next [FS.Refresh] list again, because the last listing is known to be
// outdated.
func (f *FS) Invalidate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = time.Time{}
}

// Open implements [fs.FS].
func (f *FS) Open(name string) (fs.File, error) {
	now, err := f.Snapshot()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return now.Open(name)
}

// Stat implements [fs.StatFS].
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	now, err := f.Snapshot()
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return fs.Stat(now, name)
}

// ReadDir implements [fs.ReadDirFS].
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	now, err := f.Snapshot()
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return fs.ReadDir(now, name)
}

// ErrReplaced is the error of reading a version of an object that no longer exists. Such an
// error is [fs.ErrNotExist] too.
var ErrReplaced = errors.New("the object was replaced or deleted")
