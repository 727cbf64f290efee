// Package buckettest is an in-memory object store for tests that implements the part of
// Amazon S3's protocol used here: listings in pages, ranges and conditions, objects in
// one piece and in parts, checksums, signatures of headers and of URLs. It refuses to
// know its clients.
//
// Source: Amazon S3 API Reference (ListObjectsV2, GetObject, PutObject, DeleteObject,
// CreateMultipartUpload and what follows it, Error responses); Amazon S3 User Guide,
// "Checking object integrity", "Conditional writes"; AWS General Reference, "Signature
// Version 4".
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

// A Store has one bucket, under any name: /bucket/key. It implements [http.Handler].
type Store struct {
	// Fault, if set, sees each request first; it reports whether it has answered.
	Fault func(w http.ResponseWriter, r *http.Request) bool
	// PageSize is the number of objects, or parts, in a page of a listing; 0: a thousand.
	PageSize int
	// Keys are the secrets of access keys: requests must be signed with one. nil: signatures
	// are not checked.
	Keys map[string]string
	// Tokens are the session tokens of access keys that have one.
	Tokens map[string]string
	// Now is the store's clock; nil: [time.Now].
	Now func() time.Time
	// MaxPut is the largest object that one request may store, in bytes; 0: five GiB.
	MaxPut int64

	mu      sync.Mutex
	objects map[string]*object
	uploads map[string]*upload
	asked   []string
}

type object struct {
	data []byte
	etag string
	sum  string // the checksum of its upload, "" if it had none
	time time.Time
}

// Put stores an object.
func (s *Store) Put(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, data, "")
}

func (s *Store) put(key string, data []byte, sum string) *object {
	if s.objects == nil {
		s.objects = map[string]*object{}
	}
	o := &object{data, fmt.Sprintf(`"%x"`, md5.Sum(data)), sum, s.now().Truncate(time.Second)}
	s.objects[key] = o
	return o
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Break sets Fault in a running store.
func (s *Store) Break(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fault = fault
}

// Delete removes an object.
func (s *Store) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Keyed returns the keys with a prefix, sorted.
func (s *Store) Keyed(prefix string) (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Get returns the bytes of an object, nil if there is none. The caller must not change them.
func (s *Store) Get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil {
		return o.data
	}
	return nil
}

// Asked returns the requests since the last call: keys with ranges, and "list"; with
// the method in front, unless it is GET.
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
	method := strings.TrimPrefix(r.Method, http.MethodGet)
	s.mu.Lock()
	s.asked = append(s.asked, strings.Join(strings.Fields(method+" "+cmp.Or(key, "list")+" "+r.Header.Get("Range")), " "))
	fault := s.Fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	if code := s.unsigned(r); code != "" {
		Refuse(w, http.StatusForbidden, code)
		return
	}
	query := r.URL.Query()
	switch {
	case query.Has("uploads") || query.Has("uploadId"):
		s.multipart(w, r, key, query)
	case r.Method == http.MethodPut && key != "":
		s.store(w, r, key)
	case r.Method == http.MethodDelete && key != "":
		s.Delete(key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case key == "":
		s.list(w, query)
	default:
		s.get(w, r, key)
	}
}

// get answers GetObject and HeadObject.
func (s *Store) get(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	o := s.objects[key]
	s.mu.Unlock()
	switch {
	case o == nil:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != o.etag:
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case len(o.data) == 0 && r.Header.Get("Range") != "": // net/http would answer 200
		Refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
	default:
		w.Header().Set("ETag", o.etag)
		w.Header().Set("Content-Type", "binary/octet-stream")
		if o.sum != "" && r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
			w.Header().Set("X-Amz-Checksum-Crc32c", o.sum)
		}
		http.ServeContent(w, r, "", o.time, bytes.NewReader(o.data))
	}
}

// Refuse answers with an error of the store.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>as the test wants</Message></Error>", code)
}

// answer sends XML.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/xml")
	w.Write([]byte(xml.Header))
	_ = xml.NewEncoder(w).Encode(v) // the client may have left
}

// entry is an object in a listing.
type entry struct {
	Key, LastModified, ETag string
	Size                    int
	StorageClass            string
}

// stamp is the format of times in XML.
const stamp = "2006-01-02T15:04:05.000Z"

// list answers ListObjectsV2; the token is the last key of the previous page.
func (s *Store) list(w http.ResponseWriter, q url.Values) {
	size, prefix, token := cmp.Or(s.PageSize, 1000), q.Get("prefix"), q.Get("continuation-token")
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		size = min(size, n)
	}
	listing := struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		EncodingType          string   `xml:",omitempty"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
	}{EncodingType: q.Get("encoding-type")}
	s.mu.Lock()
	for key, o := range s.objects {
		if strings.HasPrefix(key, prefix) && key > token {
			listing.Contents = append(listing.Contents, entry{key, o.time.UTC().Format(stamp), o.etag, len(o.data), "STANDARD"})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(listing.Contents, func(a, b entry) int { return strings.Compare(a.Key, b.Key) })
	if len(listing.Contents) > size {
		listing.Contents, listing.IsTruncated = listing.Contents[:size], true
		listing.NextContinuationToken = listing.Contents[size-1].Key
	}
	for i := range listing.Contents {
		if listing.EncodingType == "url" {
			listing.Contents[i].Key = url.QueryEscape(listing.Contents[i].Key)
		}
	}
	answer(w, listing)
}
