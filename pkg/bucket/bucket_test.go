package bucket_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
)

// serve returns the file system of a prefix in a store.
func serve(t testing.TB, s *buckettest.Store, cfg bucket.Config) *bucket.FS {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cfg.Bucket, cfg.Endpoint, cfg.Region, cfg.HTTP = "models", server.URL, "eu-west-1", server.Client()
	if cfg.Stall == 0 {
		cfg.Stall = 50 * time.Millisecond
	}
	return bucket.New(cfg)
}

// noise returns n random bytes.
func noise(n int) []byte {
	out := make([]byte, 0, n+sha256.Size)
	for i := 0; len(out) < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		out = append(out, sum[:]...)
	}
	return out[:n]
}

// look lists, and fails the test on an error.
func look(t testing.TB, f *bucket.FS) {
	t.Helper()
	f.Invalidate()
	if err := f.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The contents of the prefix satisfy io/fs's tests.
func TestFS(t *testing.T) {
	s := &buckettest.Store{PageSize: 3}
	names := []string{"a.txt", "dir/b", "dir/deep/er/c", "dir/ä +%&=?#<>\"'", "z"}
	for i, name := range names {
		s.Put("some/prefix/"+name, noise(i*i*40_000))
	}
	s.Put("some/prefixed", nil)
	s.Put("else", nil)
	f := serve(t, s, bucket.Config{Prefix: "some/prefix"})
	if err := fstest.TestFS(f, names...); err != nil {
		t.Error(err)
	}
	for i, name := range names {
		got, err := fs.ReadFile(f, name)
		if err != nil || !bytes.Equal(got, noise(i*i*40_000)) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if info, err := fs.Stat(f, name); err != nil || info.Sys().(bucket.ETag) == "" || time.Since(info.ModTime()) > time.Hour {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for _, name := range []string{"some/prefixed", "../else", "/else", "", "dir/"} {
		if _, err := f.Open(name); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
}

// With Only, one entry of a directory is visible, and only it is listed.
func TestOnly(t *testing.T) {
	s := &buckettest.Store{}
	for _, key := range []string{"p/run/a", "p/run/b/c", "p/runs/a", "p/run.safetensors", "p/other"} {
		s.Put(key, []byte(key))
	}
	f := serve(t, s, bucket.Config{Prefix: "p", Only: "run"})
	if err := fstest.TestFS(f, "run/a", "run/b/c"); err != nil {
		t.Error(err)
	}
	entries, err := f.ReadDir(".")
	if err != nil || len(entries) != 1 || f.URL() != "s3://models/p/run" {
		t.Errorf("%v, %v, %s", entries, err, f.URL())
	}
}

// Keys that are not valid paths are omitted, and hide nothing. A directory replaces an
// object of the same name.
func TestHostileKeys(t *testing.T) {
	s := &buckettest.Store{}
	for _, key := range []string{
		"p/../up", "p/..", "p/.", "p//abs", "p/", "p/a/../b", "p/a//b", "p/a/", "p/back\\slash", "p/nul\x01", "p/line\n", "p/\xff",
		"p/./x", "p/d", "p/d/good", "p/good", "/p/good", "p",
	} {
		s.Put(key, []byte("x"))
	}
	f := serve(t, s, bucket.Config{Prefix: "p"})
	var found []string
	err := fs.WalkDir(f, ".", func(name string, _ fs.DirEntry, err error) error {
		found = append(found, name)
		return err
	})
	if want := []string{".", "d", "d/good", "good"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v", found, err)
	}
}

// Listings come in pages up to a bound; an endless one is an error.
func TestPages(t *testing.T) {
	s := &buckettest.Store{PageSize: 100}
	for i := range 2345 {
		s.Put(fmt.Sprintf("p/%05d", i), nil)
	}
	f := serve(t, s, bucket.Config{Prefix: "p"})
	if entries, err := f.ReadDir("."); err != nil || len(entries) != 2345 || len(s.Asked()) != 24 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	for what, answer := range map[string]string{
		"the same page":   `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken><Contents><Key>p/a</Key><ETag>"1"</ETag></Contents></ListBucketResult>`,
		"no token":        `<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>p/a</Key><ETag>"1"</ETag></Contents></ListBucketResult>`,
		"no listing":      `<html><body>`,
		"an unknown form": `{"Contents":[]}`,
	} {
		s := &buckettest.Store{Fault: func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, answer)
			return true
		}}
		if _, err := serve(t, s, bucket.Config{}).ReadDir("."); err == nil || !strings.Contains(err.Error(), "s3://models cannot be listed") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.Fault = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `<R><EncodingType>url</EncodingType><Contents><Key>half%2</Key></Contents></R>`)
		return true
	}
	if _, err := serve(t, s, bucket.Config{}).ReadDir("."); err == nil || !strings.Contains(err.Error(), `a listing with a key "half%2"`) {
		t.Errorf("a key that is not escaped: %v", err)
	}
	endless := 0
	s.Fault = func(w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprintf(w, `<R><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>%s</R>`, endless, strings.Repeat(`<Contents><Key>a</Key></Contents>`, 1000))
		endless++
		return true
	}
	if _, err := serve(t, s, bucket.Config{}).ReadDir("."); err == nil || !strings.Contains(err.Error(), "more than 50000") || endless > 60 {
		t.Errorf("%d pages: %v", endless, err)
	}
}

// An error of the store is returned; the earlier listing stays in force.
func TestRefused(t *testing.T) {
	s := &buckettest.Store{}
	s.Put("p/m", noise(1000))
	f := serve(t, s, bucket.Config{Prefix: "p"})
	deny := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("X-Amz-Bucket-Region", "us-east-2")
		buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	}
	s.Fault = deny
	_, err := f.ReadDir(".")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "AccessDenied") || !strings.Contains(err.Error(), "us-east-2") || len(s.Asked()) != 1 {
		t.Errorf("%v", err)
	}
	s.Fault = nil
	look(t, f)
	s.Fault = deny
	if _, err := fs.ReadFile(f, "m"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "s3://models/p/m") || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	f.Invalidate()
	if err := f.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "last listing is served") {
		t.Errorf("%v", err)
	}
	if entries, err := f.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// URLs name a bucket and a path in it.
func TestParse(t *testing.T) {
	for url, want := range map[string]string{
		"s3://bucket": "bucket ", "s3://bucket/": "bucket ", "s3://my.bucket-1/a/b/": "my.bucket-1 a/b", "s3://bucket/a b": "bucket a b",
		"s3:/bucket": "", "s3://": "", "s3://B": "", "s3://bucket//a": "", "s3://bucket/../a": "", "s3://bucket/a/./b": "", "s3://b_b/a": "", "bucket/a": "",
	} {
		b, prefix, err := bucket.Parse(url)
		if err == nil && b+" "+prefix != want || err != nil && want != "" {
			t.Errorf("%s: %q, %q, %v", url, b, prefix, err)
		}
	}
}
