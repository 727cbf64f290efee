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

// MaxPut is what one request may store, bytes.
const MaxPut = 5 << 30

// How long a request that writes may take: a time, and what its bytes need on a slow line.
const (
	writeTime = 30 * time.Second
	slowLine  = 256 << 10 // bytes a second
)

// A Bucket reads and writes objects by their keys below [Config.Prefix]. It is safe for
// concurrent use.
type Bucket struct {
	client *client
	cfg    Config
	files  *FS // whose blocks the objects are read through
}

// NewBucket returns a bucket. Nothing is asked of it yet.
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

	sum string // its checksum, as the store tells it, if it does
}

// PutOptions say how an object is stored.
type PutOptions struct {
	IfNone bool // only where none is: else the error is [fs.ErrExist]
}

func (o PutOptions) header() http.Header {
	h := http.Header{}
	if o.IfNone {
		h.Set("If-None-Match", "*")
	}
	return h
}

// Put stores an object of at most [MaxPut] bytes in one step: whoever reads has all of
// the old one or all of the new one. The store compares what came with its checksums.
func (b *Bucket) Put(ctx context.Context, key string, body io.ReaderAt, size int64, opt PutOptions) (ETag, error) {
	h := opt.header()
	h.Set("Content-Type", "application/octet-stream")
	r, sum, err := b.store(ctx, key, nil, h, body, size)
	if errors.Is(err, fs.ErrExist) { // perhaps it is ours, and the answer to an attempt was lost
		if i, missing := b.Head(ctx, key); missing == nil && i.sum == sum && i.Size == size {
			return i.ETag, nil
		}
	}
	return ETag(r.Get("Etag")), err
}

// store sends bytes to an object or a part of one, and returns the answer's header and
// the checksum.
func (b *Bucket) store(ctx context.Context, key string, query url.Values, h http.Header, body io.ReaderAt, size int64) (http.Header, string, error) {
	if size > MaxPut {
		return nil, "", fmt.Errorf("%d bytes, at most %d in one piece", size, MaxPut)
	}
	hash, sum := sha256.New(), crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if n, err := io.Copy(io.MultiWriter(hash, sum), io.NewSectionReader(body, 0, size)); err != nil || n != size {
		return nil, "", fmt.Errorf("%d bytes of %d are there: %w", n, size, cmp.Or(err, io.ErrUnexpectedEOF))
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
		err = fmt.Errorf("the store names no version of %s", key)
	}
	return answer, checksum, err
}

// do sends a request until it goes well or has failed for good or too often, and returns
// the answer's header and body, which is small.
func (b *Bucket) do(ctx context.Context, q *request) (header http.Header, body []byte, err error) {
	err = b.client.again(ctx, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, writeTime+time.Duration(q.size/slowLine)*time.Second, errStalled)
		defer cancel()
		r, err := b.client.send(ctx, q)
		if err != nil {
			return slow(ctx, err)
		}
		defer r.Body.Close()
		if r.StatusCode/100 != 2 {
			return damaged(b.client.refused(q.key, r))
		}
		header = r.Header
		body, err = io.ReadAll(io.LimitReader(r.Body, maxPage))
		if err != nil {
			return &transient{slow(ctx, err)}
		}
		return late(b.client, q.key, body)
	})
	return header, body, err
}

// slow says of an error that a time limit caused it.
func slow(ctx context.Context, err error) error {
	if context.Cause(ctx) == errStalled { //nolint:errorlint // the very value
		return &transient{errStalled}
	}
	return err
}

// damaged tells refusals of bytes that changed on their way, and of writes beside
// others: the same may go well when it is sent again.
func damaged(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Code {
		case "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody", "ConditionalRequestConflict", "OperationAborted":
			return &transient{err}
		}
	}
	return err
}

// late returns the error in an answer that began well, as that of a slow completion may.
func late(c *client, key string, body []byte) error {
	var said struct {
		XMLName       xml.Name
		Code, Message string
	}
	if xml.Unmarshal(body, &said) != nil || said.XMLName.Local != "Error" {
		return nil
	}
	err := &Error{Bucket: c.bucket, Key: key, Status: http.StatusOK, Code: said.Code, Message: said.Message}
	if said.Code == "InternalError" || said.Code == "SlowDown" || said.Code == "ServiceUnavailable" {
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

// Head describes an object; that there is none is [fs.ErrNotExist].
func (b *Bucket) Head(ctx context.Context, key string) (Info, error) {
	h := http.Header{"X-Amz-Checksum-Mode": {"ENABLED"}}
	answer, _, err := b.do(ctx, &request{method: http.MethodHead, key: b.full(key), header: h})
	if err != nil {
		return Info{}, err
	}
	size, err := strconv.ParseInt(answer.Get("Content-Length"), 10, 64)
	if err != nil || answer.Get("Etag") == "" {
		return Info{}, fmt.Errorf("the store tells neither size nor version of %s", key)
	}
	changed, _ := http.ParseTime(answer.Get("Last-Modified")) // or the zero time
	return Info{Key: key, Size: size, ETag: ETag(answer.Get("Etag")), Time: changed, sum: answer.Get("X-Amz-Checksum-Crc32c")}, nil
}

// List describes the objects whose keys begin with a prefix, by key.
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

// Open returns that version of an object. Nothing is asked of the store yet.
func (b *Bucket) Open(i Info) fs.File {
	return &file{
		info:   &info{name: path.Base(i.Key), size: i.Size, time: i.Time, etag: i.ETag},
		object: object{fs: b.files, key: b.full(i.Key), size: i.Size, etag: i.ETag},
	}
}

// unsigned is the hash of a body that whoever signs does not know.
const unsigned = "UNSIGNED-PAYLOAD"

// Presign returns a URL to which whoever has it may PUT an object of exactly size bytes,
// for a time and for as long as the credentials last that sign it.
func (b *Bucket) Presign(ctx context.Context, key string, size int64, lasts time.Duration) (string, error) {
	query := url.Values{"X-Amz-Expires": {strconv.Itoa(int(lasts / time.Second))}}
	r, err := b.client.make(ctx, &request{method: http.MethodPut, key: b.full(key), query: query})
	if err != nil {
		return "", err
	}
	if r.ContentLength = size; size < 1 || size > MaxPut {
		return "", fmt.Errorf("%d bytes are not from 1 to %d", size, MaxPut)
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

// bytesAt is what a slice holds, with its size.
func bytesAt(p []byte) (io.ReaderAt, int64) { return bytes.NewReader(p), int64(len(p)) }

// hashOf is what a body is signed with.
func hashOf(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
