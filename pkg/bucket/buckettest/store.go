// Package buckettest is a store of objects in memory that speaks as much of Amazon S3's
// protocol as is read with, for tests: listings in pages, ranges and conditions. It checks
// no signatures and refuses to know what asks.
//
// Source: Amazon S3 API Reference (ListObjectsV2, GetObject, Error responses).
package buckettest

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Store has one bucket, whatever it is called: /bucket/key. It implements [http.Handler].
type Store struct {
	// Fault, if set, sees each request first; it tells whether it has answered.
	Fault func(w http.ResponseWriter, r *http.Request) bool
	// PageSize is how many objects a page of a listing has; 0: a thousand.
	PageSize int

	mu      sync.Mutex
	objects map[string]*object
	asked   []string
}

type object struct {
	data []byte
	etag string
	time time.Time
}

// Put stores an object.
func (s *Store) Put(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]*object{}
	}
	s.objects[key] = &object{data, fmt.Sprintf(`"%x"`, md5.Sum(data)), time.Now().Truncate(time.Second)}
}

// Delete removes an object.
func (s *Store) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Asked returns what was asked for since the last call: keys with ranges, and "list".
func (s *Store) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.asked
	s.asked = nil
	return list
}

// ServeHTTP implements [http.Handler].
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSpace(cmp.Or(key, "list")+" "+r.Header.Get("Range")))
	o := s.objects[key]
	s.mu.Unlock()
	switch {
	case s.Fault != nil && s.Fault(w, r):
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case key == "":
		s.list(w, r.URL.Query())
	case o == nil:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != o.etag:
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		w.Header().Set("ETag", o.etag)
		w.Header().Set("Content-Type", "binary/octet-stream")
		http.ServeContent(w, r, "", o.time, bytes.NewReader(o.data))
	}
}

// Refuse answers as the store does when it refuses.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>as the test wants</Message></Error>", code)
}

// entry is an object in a listing.
type entry struct {
	Key, LastModified, ETag string
	Size                    int
	StorageClass            string
}

// list answers ListObjectsV2; the token is the last key that was told.
func (s *Store) list(w http.ResponseWriter, q url.Values) {
	size, prefix, token := cmp.Or(s.PageSize, 1000), q.Get("prefix"), q.Get("continuation-token")
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		size = min(size, n)
	}
	answer := struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		EncodingType          string   `xml:",omitempty"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
	}{EncodingType: q.Get("encoding-type")}
	s.mu.Lock()
	for key, o := range s.objects {
		if strings.HasPrefix(key, prefix) && key > token {
			answer.Contents = append(answer.Contents, entry{key, o.time.UTC().Format("2006-01-02T15:04:05.000Z"), o.etag, len(o.data), "STANDARD"})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(answer.Contents, func(a, b entry) int { return strings.Compare(a.Key, b.Key) })
	if len(answer.Contents) > size {
		answer.Contents, answer.IsTruncated = answer.Contents[:size], true
		answer.NextContinuationToken = answer.Contents[size-1].Key
	}
	for i := range answer.Contents {
		if answer.EncodingType == "url" {
			answer.Contents[i].Key = url.QueryEscape(answer.Contents[i].Key)
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	w.Write([]byte(xml.Header))
	_ = xml.NewEncoder(w).Encode(answer) // the client has left, or has it
}
