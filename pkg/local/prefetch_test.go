package local

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/checkpoint"
)

// A barrier holds requests until all of a set have been made.
type barrier struct {
	mu   sync.Mutex
	want map[string]bool
	open chan struct{}
}

func newBarrier(want ...string) *barrier {
	b := &barrier{want: map[string]bool{}, open: make(chan struct{})}
	for _, w := range want {
		b.want[w] = true
	}
	return b
}

// pass counts a request and waits; it reports whether all came.
func (b *barrier) pass(what string) bool {
	b.mu.Lock()
	if b.want[what] {
		if delete(b.want, what); len(b.want) == 0 {
			close(b.open)
		}
	}
	b.mu.Unlock()
	select {
	case <-b.open:
		return true
	case <-time.After(time.Minute):
		return false
	}
}

// The first requested model is read while its header is still being read, from a directory
// or a file, and only once; without a request nothing is read.
func TestPrefetch(t *testing.T) {
	data := packOf(t, wide(t, 64, 8), "m")
	other := packOf(t, wide(t, 65, 8), "m")
	for _, file := range []string{"root/m.safetensors", "root/m/model.safetensors"} {
		s := &buckettest.Store{}
		s.Put(file, data)
		s.Put("root/other.safetensors", other)
		b := newBarrier("header", "end")
		end := fmt.Sprintf("-%d", len(data)-1)
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			what := ""
			switch at := r.Header.Get("Range"); {
			case !strings.HasSuffix(r.URL.Path, file):
				return false
			case at == "bytes=0-262143":
				what = "header"
			case strings.HasSuffix(at, end):
				what = "end"
			}
			if what != "" && !b.pass(what) {
				t.Errorf("%s: %s came alone", file, what)
			}
			return false
		}
		p := start(t, settings{store: s, checkpoints: "s3://models/root"})
		if _, err := p.score(t, "m"); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		ends := 0
		for _, asked := range s.Asked() {
			if strings.HasSuffix(asked, end) {
				ends++
			}
			if strings.HasPrefix(asked, "root/other") && !strings.Contains(asked, "bytes=0-262143") {
				t.Errorf("%s was asked for", asked)
			}
		}
		if ends != 1 {
			t.Errorf("%s: its end was asked for %d times", file, ends)
		}
	}
}

// The headers of models in S3 are read at the same time.
func TestS3HeadersAtOnce(t *testing.T) {
	s := &buckettest.Store{}
	small := packOf(t, wide(t, 4, 1), "m")
	names := []string{"root/a.safetensors", "root/b.safetensors", "root/c.safetensors", "root/d/d.safetensors"}
	for _, name := range names {
		s.Put(name, small)
	}
	b := newBarrier(names...)
	s.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if name := strings.TrimPrefix(r.URL.Path, "/models/"); r.Header.Get("Range") != "" && !b.pass(name) {
			t.Errorf("%s came without the others", name)
		}
		return false
	}
	p := start(t, settings{store: s, checkpoints: "s3://models/root"})
	if entries, problems := p.Entries(t.Context()); len(entries) != len(names) || len(problems) > 0 {
		t.Errorf("%d models, %v", len(entries), problems)
	}
}

// A prefetched file is dropped if no one opens it. Nothing is prefetched beyond the memory,
// for an invalid name, or long after the request.
func TestPrefetchDropped(t *testing.T) {
	place := tagged{fstest.MapFS{"m.safetensors": {Data: make([]byte, 2<<20)}, "small.safetensors": {Data: make([]byte, 1<<10)}}}
	begun := func(p *prefetcher, name string) bool {
		p.request(name)
		p.listed(place)
		return p.load != nil
	}
	for name, want := range map[string]bool{"m": true, "small": false, "none": false, "../m": false, "": false, "bedrock/m": false} {
		if got := begun(&prefetcher{}, name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if begun(&prefetcher{memory: 1 << 20}, "m") || !begun(&prefetcher{memory: 3 << 20}, "m") {
		t.Error("the bound of memory does not hold")
	}
	if begun(&prefetcher{name: "m", asked: time.Now().Add(-time.Hour)}, "m") {
		t.Error("it was asked for long ago")
	}
	listed := &prefetcher{}
	listed.listed(place)
	if listed.request("m"); listed.load == nil {
		t.Error("what is listed already is not read")
	}
	if _, ok := listed.take(place, "small", "small.safetensors").(*prefetchedFS); ok || listed.load == nil {
		t.Error("another model took it over")
	}
	if got, ok := listed.take(place, "m", "m.safetensors").(*prefetchedFS); !ok || listed.load != nil || got.load == nil {
		t.Error("it was not taken over")
	}
	elsewhere := &prefetcher{}
	begun(elsewhere, "m")
	if _, ok := elsewhere.take(place, "m", "small.safetensors").(*prefetchedFS); ok || elsewhere.load != nil {
		t.Error("the name is that of another file, and both are in memory")
	}
	left := &prefetcher{}
	begun(left, "m")
	if left.drop(); left.load != nil || begun(left, "m") {
		t.Error("it is kept, or begun anew")
	}
	if _, ok := left.take(place, "m", "m.safetensors").(*prefetchedFS); ok {
		t.Error("it was given up, and taken over")
	}
}

var _ checkpoint.Loading = (*prefetchedFile)(nil)

// A model that is replaced between the listing and its header is listed again: the request
// gets the new version at once.
func TestS3ReplacedBeforeHeader(t *testing.T) {
	s := &buckettest.Store{}
	s.Put("root/m.safetensors", packOf(t, wide(t, 4, 1), "m"))
	second := packOf(t, wide(t, 4, 2), "m")
	var once sync.Once
	p := start(t, settings{checkpoints: "s3://models/root", store: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			once.Do(func() { s.Put("root/m.safetensors", second) })
		}
		s.ServeHTTP(w, r)
	})})
	if _, err := p.score(t, "m"); err != nil {
		t.Error(err)
	}
}

// tagged gives files versions, as S3 does.
type tagged struct{ fstest.MapFS }

func (t tagged) Stat(name string) (fs.FileInfo, error) {
	info, err := t.MapFS.Stat(name)
	if err != nil {
		return nil, err
	}
	return taggedInfo{info}, nil
}

type taggedInfo struct{ fs.FileInfo }

func (taggedInfo) Sys() any { return bucket.ETag(`"1"`) }

// A model whose header cannot be read for a while is a problem for that long: it is not
// considered missing.
func TestS3HeaderAway(t *testing.T) {
	s := &buckettest.Store{}
	s.Put("root/m.safetensors", packOf(t, wide(t, 4, 1), "m"))
	var away atomic.Bool
	away.Store(true)
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") == "" || !away.Load() {
			return false
		}
		buckettest.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	}
	p := start(t, settings{store: s, checkpoints: "s3://models/root"})
	entries, problems := p.Entries(t.Context())
	if len(entries) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "SlowDown") {
		t.Errorf("%d models, %v", len(entries), problems)
	}
	away.Store(false)
	p.Refresh()
	p.forget()
	if _, err := p.score(t, "m"); err != nil {
		t.Error(err)
	}
}
