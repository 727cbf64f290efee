package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// MaxPut is the largest object that one request may store, in bytes.
const MaxPut = 5 << 30

// Time limits of write requests: a fixed time, and the time that the bytes take on a slow line.
const (
	writeTime = 30 * time.Second
	slowLine  = 256 << 10 // bytes a second
)

// A Bucket reads and writes objects by their keys below [Config.Prefix]. It is safe for
// concurrent use.
type Bucket struct {
	client *client
	cfg    Config
	files  *FS // the objects are read through its blocks
}

// NewBucket returns a bucket. It makes no request yet.
func NewBucket(cfg Config) *Bucket {
	files := New(cfg)
	return &Bucket{client: files.client, cfg: cfg, files: files}
}

func (b *Bucket) full(key string) string { return path.Join(b.cfg.Prefix, key) }

// An Info describes an object.
type Info struct {
	Key  string // below the prefix
	Size int64
	ETag ETag
	Time time.Time

	sum string // the store's checksum of it, "" if it has none
}

// PutOptions configure how an object is stored.
type PutOptions struct {
	IfNone bool // only if there is no such object: else the error is [fs.ErrExist]
}

func (o PutOptions) header() http.Header {
	h := http.Header{}
	if o.IfNone {
		h.Set("If-None-Match", "*")
	}
	return h
}

// Put stores an object of at most [MaxPut] bytes in one step: readers see the whole
// old object or the whole new one. The store verifies the checksums.
func (b *Bucket) Put(ctx context.Context, key string, body io.ReaderAt, size int64, opt PutOptions) (ETag, error) {
	h := opt.header()
	h.Set("Content-Type", "application/octet-stream")
	r, sum, err := b.store(ctx, key, nil, h, body, size)
	if errors.Is(err, fs.ErrExist) { // it may be ours: the answer to an attempt may have been lost
		if i, missing := b.Head(ctx, key); missing == nil && i.sum == sum && i.Size == size {
			return i.ETag, nil
		}
	}
	return ETag(r.Get("Etag")), err
}

// store sends the bytes of an object or a part, and returns the answer's header and
// the checksum.
func (b *Bucket) store(ctx context.Context, key string, query url.Values, h http.Header, body io.ReaderAt, size int64) (http.Header, string, error) {
	if size > MaxPut {
		return nil, "", fmt.Errorf("%d bytes, at most %d in one piece", size, MaxPut)
	}
	hash, sum := sha256.New(), crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if n, err := io.Copy(io.MultiWriter(hash, sum), io.NewSectionReader(body, 0, size)); err != nil || n != size {
		return nil, "", fmt.Errorf("%d bytes of %d arrived: %w", n, size, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	checksum := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	h.Set("X-Amz-Checksum-Crc32c", checksum)
	q := &request{
		method: http.MethodPut, key: b.full(key), query: query, header: h,
		body: body, size: size, hash: hex.EncodeToString(hash.Sum(nil)),
	}
	answer, _, err := b.do(ctx, q)
	if got := answer.Get("X-Amz-Checksum-Crc32c"); err == nil && got != "" && got != checksum {
		err = fmt.Errorf("the store has checksum %s of %s, not %s", got, key, checksum)
	}
	if err == nil && answer.Get("Etag") == "" {
		err = fmt.Errorf("the store sent no version of %s", key)
	}
	return answer, checksum, err
}

// do sends a request, with retries, and returns the answer's header and body, which is
// small.
func (b *Bucket) do(ctx context.Context, q *request) (header http.Header, body []byte, err error) {
	err = b.client.retry(ctx, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, writeTime+time.Duration(q.size/slowLine)*time.Second, errStalled)
		defer cancel()
		r, err := b.client.send(ctx, q)
		if err != nil {
			return slow(ctx, err)
		}
		defer r.Body.Close()
		if r.StatusCode/100 != 2 {
			return mayRetry(b.client.refused(q.key, r))
		}
		header = r.Header
		body, err = io.ReadAll(io.LimitReader(r.Body, maxPage))
		if err != nil {
			return &transient{slow(ctx, err)}
		}
		if q.method == http.MethodGet {
			return nil // its body is what was asked for
		}
		return errorInBody(b.client, q.key, body)
	})
	return header, body, err
}

// slow marks an error that a time limit caused.
func slow(ctx context.Context, err error) error {
	if context.Cause(ctx) == errStalled { //nolint:errorlint // the very value
		return &transient{errStalled}
	}
	return err
}

// mayRetry marks the error of a store that rejected bytes that changed in transit, or a
// conflicting write: a retry may succeed.
func mayRetry(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Code {
		case "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody", "ConditionalRequestConflict", "OperationAborted":
			return &transient{err}
		}
	}
	return err
}

// errorInBody returns the error in the body of an answer with status 200, which a slow completion may
// have.
func errorInBody(c *client, key string, body []byte) error {
	var doc struct {
		XMLName       xml.Name
		Code, Message string
	}
	if xml.Unmarshal(body, &doc) != nil || doc.XMLName.Local != "Error" {
		return nil
	}
	err := &Error{Bucket: c.bucket, Key: key, Status: http.StatusOK, Code: doc.Code, Message: doc.Message}
	if doc.Code == "InternalError" || doc.Code == "SlowDown" || doc.Code == "ServiceUnavailable" {
		return &transient{err}
	}
	return err
}

// Delete removes an object. It is not an error if there is none.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, _, err := b.do(ctx, &request{method: http.MethodDelete, key: b.full(key)})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Head describes an object; the error for a missing one is [fs.ErrNotExist].
func (b *Bucket) Head(ctx context.Context, key string) (Info, error) {
	h := http.Header{"X-Amz-Checksum-Mode": {"ENABLED"}}
	answer, _, err := b.do(ctx, &request{method: http.MethodHead, key: b.full(key), header: h})
	if err != nil {
		return Info{}, err
	}
	size, err := strconv.ParseInt(answer.Get("Content-Length"), 10, 64)
	if err != nil || answer.Get("Etag") == "" {
		return Info{}, fmt.Errorf("the store sent neither the size nor the version of %s", key)
	}
	changed, _ := http.ParseTime(answer.Get("Last-Modified")) // zero if missing
	return Info{Key: key, Size: size, ETag: ETag(answer.Get("Etag")), Time: changed, sum: answer.Get("X-Amz-Checksum-Crc32c")}, nil
}

// List describes the objects whose keys have a prefix, sorted by key.
func (b *Bucket) List(ctx context.Context, prefix string) (list []Info, err error) {
	root := b.full("")
	if root != "" {
		root += "/"
	}
	err = b.client.objects(ctx, root+prefix, func(o *listed) {
		if key, ok := strings.CutPrefix(o.Key, root); ok {
			list = append(list, Info{Key: key, Size: o.Size, ETag: ETag(o.ETag), Time: o.LastModified})
		}
	})
	return list, err
}

// Open opens that version of an object. It makes no request yet.
func (b *Bucket) Open(i Info) fs.File {
	return &file{
		info:   &info{name: path.Base(i.Key), size: i.Size, time: i.Time, etag: i.ETag},
		object: object{fs: b.files, key: b.full(i.Key), size: i.Size, etag: i.ETag},
	}
}

// unsigned is the hash of a body that the signer does not know.
const unsigned = "UNSIGNED-PAYLOAD"

// Presign returns a URL whose holder may PUT an object of exactly size bytes, for a
// time, but not after the signing credentials expire.
func (b *Bucket) Presign(ctx context.Context, key string, size int64, lasts time.Duration) (string, error) {
	query := url.Values{"X-Amz-Expires": {strconv.Itoa(int(lasts / time.Second))}}
	r, err := b.client.make(ctx, &request{method: http.MethodPut, key: b.full(key), query: query})
	if err != nil {
		return "", err
	}
	if r.ContentLength = size; size < 1 || size > MaxPut {
		return "", fmt.Errorf("%d bytes are not within 1 to %d", size, MaxPut)
	}
	if b.client.credentials == nil {
		return r.URL.String(), nil
	}
	credentials, err := b.client.credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	signed, _, err := b.client.signer.PresignHTTP(ctx, credentials, r, unsigned, "s3", b.client.region, time.Now())
	return signed, err
}

// bytesAt returns a reader of a slice, and its size.
func bytesAt(p []byte) (io.ReaderAt, int64) { return bytes.NewReader(p), int64(len(p)) }

// hashOf returns the hash of a body for its signature.
func hashOf(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
