package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
)

// signer holds the credentials of these tests.
var signer = aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "sec/ret+", SessionToken: "tok+en/="}

// signed returns a store that checks signatures, and a bucket with the keys.
func signed(t testing.TB, s *buckettest.Store) *bucket.Bucket {
	t.Helper()
	s.Keys = map[string]string{signer.AccessKeyID: signer.SecretAccessKey}
	s.Tokens = map[string]string{signer.AccessKeyID: signer.SessionToken}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return bucket.NewBucket(bucket.Config{
		Bucket: "models", Prefix: "some/prefix", Region: "eu-west-1", Endpoint: server.URL, HTTP: server.Client(),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return signer, nil }),
	})
}

// put stores bytes.
func put(t testing.TB, b *bucket.Bucket, key string, data []byte, opt bucket.PutOptions) (bucket.ETag, error) {
	t.Helper()
	return b.Put(t.Context(), key, bytes.NewReader(data), int64(len(data)), opt)
}

// A stored object can be listed, read and deleted, whatever its key.
func TestPut(t *testing.T) {
	s := &buckettest.Store{PageSize: 2}
	b := signed(t, s)
	s.Put("some/prefixed", nil)
	keys := []string{"a", "b/c", "b/ä +%&=?#<>\"'~", "b/empty"}
	for i, key := range keys {
		data := noise(i * 100)
		if key == "b/empty" {
			data = nil
		}
		etag, err := put(t, b, key, data, bucket.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		i, err := b.Head(t.Context(), key)
		if err != nil || i.ETag != etag || i.Size != int64(len(data)) || time.Since(i.Time) > time.Minute {
			t.Errorf("%s: %+v %v", key, i, err)
		}
		f := b.Open(i)
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) || !bytes.Equal(s.Get("some/prefix/"+key), data) {
			t.Errorf("%s: %.20q %v", key, got, err)
		}
	}
	for prefix, want := range map[string][]string{"": keys, "b/": keys[1:], "b": keys[1:], "c": nil} {
		var got []string
		list, err := b.List(t.Context(), prefix)
		for _, i := range list {
			got = append(got, i.Key)
		}
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v", prefix, got, err)
		}
	}
	if err := errors.Join(b.Delete(t.Context(), "a"), b.Delete(t.Context(), "a")); err != nil {
		t.Error(err)
	}
	if _, err := b.Head(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// IfNone stores an object only if there is none.
func TestPutIfNone(t *testing.T) {
	s := &buckettest.Store{}
	b := signed(t, s)
	only := bucket.PutOptions{IfNone: true}
	if _, err := put(t, b, "m", []byte("first"), only); err != nil {
		t.Fatal(err)
	}
	if _, err := put(t, b, "m", []byte("second"), only); !errors.Is(err, fs.ErrExist) || string(s.Get("some/prefix/m")) != "first" {
		t.Errorf("%v, and it is %s", err, s.Get("some/prefix/m"))
	}
	// The answer was lost: the object is ours.
	var lost atomic.Bool
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || lost.Swap(true) {
			return false
		}
		s.Put("some/prefix/n", nil)
		s.Delete("some/prefix/n")
		s.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	if _, err := put(t, b, "n", []byte("third"), only); err != nil {
		t.Errorf("after a lost answer: %v", err)
	}
	for _, code := range []int{http.StatusNotFound, http.StatusPreconditionFailed} { // statuses of the next attempt
		s.Delete("some/prefix/parts")
		var times atomic.Int64
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || r.URL.Query().Get("uploadId") == "" {
				return false
			}
			switch times.Add(1) {
			case 1:
				s.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			case 2: // that one
				return false
			}
			buckettest.Refuse(w, code, map[int]string{http.StatusNotFound: "NoSuchUpload", http.StatusPreconditionFailed: "PreconditionFailed"}[code])
			return true
		}
		if _, err := writeIn(b, t.Context(), "parts", noise(6<<20), bucket.WriterOptions{PutOptions: only, Part: 5 << 20}); err != nil {
			t.Errorf("in parts, after a lost answer and %d: %v", code, err)
		}
	}
	s.Fault = nil
	_, err := writeIn(b, t.Context(), "m", noise(6<<20), bucket.WriterOptions{PutOptions: only, Part: 5 << 20})
	if !errors.Is(err, fs.ErrExist) || string(s.Get("some/prefix/m")) != "first" {
		t.Errorf("in parts: %v", err)
	}
}

// Write requests succeed if a fault is temporary, and otherwise return its cause.
func TestWriteFaults(t *testing.T) {
	refuse := func(status int, code string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { buckettest.Refuse(w, status, code) }
	}
	data := noise(11 << 20) // three parts
	for name, c := range map[string]struct {
		times  int64
		answer func(http.ResponseWriter, *http.Request)
		want   string // of the error; "": success
	}{
		"503":              {2, refuse(503, "SlowDown"), ""},
		"500":              {2, refuse(500, "InternalError"), ""},
		"wrong checksum":   {2, refuse(400, "BadDigest"), ""},
		"wrong hash":       {2, refuse(400, "XAmzContentSHA256Mismatch"), ""},
		"conflict":         {2, refuse(409, "ConditionalRequestConflict"), ""},
		"cut":              {2, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ""},
		"503 for ever":     {1 << 30, refuse(503, "SlowDown"), "4 attempts, the last: the store of bucket models answered 503 SlowDown"},
		"damaged for ever": {1 << 30, refuse(400, "BadDigest"), "4 attempts, the last: the store of bucket models answered 400 BadDigest"},
		"denied":           {1 << 30, refuse(403, "AccessDenied"), "answered 403 AccessDenied"},
		"expired token":    {1 << 30, refuse(400, "ExpiredToken"), "answered 400 ExpiredToken"},
		"no bucket":        {1 << 30, refuse(404, "NoSuchBucket"), "answered 404 NoSuchBucket"},
		"full":             {1 << 30, refuse(507, "InsufficientStorage"), "507"},
		"says nothing": {1 << 30, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}, "the store "},
		"another checksum": {1 << 30, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Etag", `"x"`)
			w.Header().Set("X-Amz-Checksum-Crc32c", "AAAAAA==")
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
		}, "checksum AAAAAA=="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &buckettest.Store{}
			b := signed(t, s)
			s.Put("some/prefix/m", []byte("old"))
			for _, in := range []string{"one piece", "parts"} {
				var left atomic.Int64
				left.Store(c.times)
				s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodPut && r.Method != http.MethodPost || left.Add(-1) < 0 {
						return false
					}
					c.answer(w, r)
					return true
				}
				var err error
				if in == "parts" {
					_, err = writeIn(b, t.Context(), "m", data, bucket.WriterOptions{Part: 5 << 20})
				} else {
					_, err = put(t, b, "m", data, bucket.PutOptions{})
				}
				whole := bytes.Equal(s.Get("some/prefix/m"), data)
				switch {
				case c.want == "" && (err != nil || !whole):
					t.Errorf("%s: %v", in, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || string(s.Get("some/prefix/m")) != "old"):
					t.Errorf("%s: %v", in, err)
				}
			}
			if n := s.Uploads(); n != 0 {
				t.Errorf("%d uploads were left", n)
			}
		})
	}
}

// writeIn writes data in pieces, in random order, several at a time, the first ones last.
func writeIn(b *bucket.Bucket, ctx context.Context, key string, data []byte, opt bucket.WriterOptions) (bucket.ETag, error) {
	w := b.Create(ctx, key, opt)
	const piece = 700_001
	var starts []int
	for at := piece; at < len(data); at += piece {
		starts = append(starts, at)
	}
	rand.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range 3 {
		group.Go(func() {
			for k := i; k < len(starts); k += 3 {
				if _, err := w.WriteAt(data[starts[k]:min(len(data), starts[k]+piece)], int64(starts[k])); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	if failed == nil {
		_, failed = w.WriteAt(data[:min(piece, len(data))], 0)
	}
	var etag bucket.ETag
	if failed == nil {
		etag, failed = w.Close()
	}
	if failed != nil {
		failed = errors.Join(failed, w.Abort(context.WithoutCancel(ctx)))
	}
	return etag, failed
}

// An object written in any order equals its data; a small one takes a single request.
func TestWriter(t *testing.T) {
	s := &buckettest.Store{}
	b := signed(t, s)
	for _, size := range []int{1, 700_000, 5 << 20, 5<<20 + 1, 10 << 20, 13 << 20} {
		data := noise(size)
		s.Asked()
		etag, err := writeIn(b, t.Context(), "m", data, bucket.WriterOptions{Part: 5 << 20})
		if err != nil || !bytes.Equal(s.Get("some/prefix/m"), data) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if i, err := b.Head(t.Context(), "m"); err != nil || i.ETag != etag || int(i.Size) != size {
			t.Errorf("%d bytes: %+v %v", size, i, err)
		}
		if asked := s.Asked(); size < 5<<20 && len(asked) != 2 {
			t.Errorf("%d bytes: %q", size, asked)
		}
	}
	w := b.Create(t.Context(), "hole", bucket.WriterOptions{})
	if _, err := w.WriteAt([]byte("x"), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err == nil || !strings.Contains(err.Error(), "holes") || s.Get("some/prefix/hole") != nil {
		t.Errorf("a hole: %v", err)
	}
	if _, err := b.Create(t.Context(), "none", bucket.WriterOptions{}).Close(); err == nil {
		t.Error("nothing was written, and it went well")
	}
}

// An interrupted attempt is resumed: equal stored parts are not sent again; different
// ones are.
func TestWriterResumes(t *testing.T) {
	s := &buckettest.Store{PageSize: 1}
	b := signed(t, s)
	data := noise(23 << 20)
	opt := bucket.WriterOptions{Part: 5 << 20, Resume: true}
	var parts atomic.Int64
	var cut atomic.Bool
	cut.Store(true)
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && parts.Add(1) > 3 && cut.Load() {
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}
		return false
	}
	if _, err := writeIn(b, t.Context(), "m", data, opt); err == nil {
		t.Fatal("the cut went unnoticed")
	}
	cut.Store(false)
	parts.Store(0)
	changed := bytes.Clone(data)
	changed[len(changed)-1] ^= 1
	if _, err := writeIn(b, t.Context(), "m", changed, opt); err != nil || !bytes.Equal(s.Get("some/prefix/m"), changed) {
		t.Fatal(err)
	}
	if n := parts.Load(); n < 2 || n > 3 || s.Uploads() != 0 {
		t.Errorf("%d parts were sent after 3 of 5 had arrived; %d uploads are left", n, s.Uploads())
	}
	cut.Store(true)
	parts.Store(0)
	if _, err := writeIn(b, t.Context(), "m", data, opt); err == nil {
		t.Fatal("the cut went unnoticed")
	}
	cut.Store(false)
	for at := 0; at < len(data); at += 5 << 20 {
		data[at] ^= 1
	}
	if _, err := writeIn(b, t.Context(), "m", data, opt); err != nil || !bytes.Equal(s.Get("some/prefix/m"), data) {
		t.Errorf("another object than before the cut: %v", err)
	}
}

// Abort leaves nothing.
func TestWriterAborts(t *testing.T) {
	s := &buckettest.Store{}
	b := signed(t, s)
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return r.Method == http.MethodPut
	}
	if _, err := writeIn(b, t.Context(), "m", noise(6<<20), bucket.WriterOptions{Part: 5 << 20}); err == nil || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	asked := strings.Join(s.Asked(), " ")
	if s.Uploads() != 0 || !strings.Contains(asked, "POST") || !strings.Contains(asked, "DELETE") {
		t.Errorf("%d uploads are left after %s", s.Uploads(), asked)
	}
}

// A completion whose answer was lost has succeeded; one that S3 answers with 200 and an
// error has not.
func TestCompletion(t *testing.T) {
	data := noise(6 << 20)
	for _, how := range []string{"lost", "late error"} {
		s := &buckettest.Store{}
		b := signed(t, s)
		var once atomic.Bool
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") || once.Swap(true) {
				return false
			}
			if how == "late error" {
				buckettest.Refuse(w, http.StatusOK, "InternalError")
				return true
			}
			s.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		etag, err := writeIn(b, t.Context(), "m", data, bucket.WriterOptions{Part: 5 << 20})
		if err != nil || etag == "" || !bytes.Equal(s.Get("some/prefix/m"), data) || !once.Load() {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// The holder of a URL can put one object of one size until the URL expires.
func TestPresign(t *testing.T) {
	s := &buckettest.Store{}
	b := signed(t, s)
	now := time.Now()
	s.Now = func() time.Time { return now }
	url, err := b.Presign(t.Context(), "up loads/ü+", 5, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	send := func(url, body string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if status := send(url, "12345"); status != 200 || string(s.Get("some/prefix/up loads/ü+")) != "12345" {
		t.Errorf("%d", status)
	}
	for name, status := range map[string]int{
		"longer":         send(url, "123456"),
		"shorter":        send(url, "1234"),
		"another object": send(strings.Replace(url, "up%20loads", "checkpoints", 1), "12345"),
		"longer lasting": send(strings.Replace(url, "X-Amz-Expires=3600", "X-Amz-Expires=36000", 1), "12345"),
		"no token":       send(strings.Replace(url, "X-Amz-Security-Token", "X-Amz-Other", 1), "12345"),
	} {
		if status != 403 {
			t.Errorf("%s: %d", name, status)
		}
	}
	now = now.Add(time.Hour + time.Minute)
	if status := send(url, "12345"); status != 403 {
		t.Errorf("after its time: %d", status)
	}
	for _, size := range []int64{0, -1, bucket.MaxPut + 1} {
		if _, err := b.Presign(t.Context(), "x", size, time.Hour); err == nil {
			t.Errorf("%d bytes", size)
		}
	}
}
