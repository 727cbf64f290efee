package bucket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
)

// open returns a file in the store of f.
func open(t testing.TB, f fs.FS, name string) io.ReaderAt {
	t.Helper()
	file, err := f.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file.(io.ReaderAt)
}

// partly answers a range and stops after n bytes, for a time or for good.
func partly(w http.ResponseWriter, r *http.Request, data []byte, n int, pause time.Duration) {
	var from, to int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
	w.Header().Set("Content-Length", fmt.Sprint(to-from+1))
	w.WriteHeader(http.StatusPartialContent)
	n = min(n, to-from+1)
	_, _ = w.Write(data[from : from+n])
	w.(http.Flusher).Flush()
	if n == to-from+1 {
		return
	}
	select {
	case <-r.Context().Done():
	case <-time.After(pause):
	}
	if pause == 0 {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(data[from+n : to+1])
}

// Reads succeed, whatever happens to some of the requests.
func TestFaults(t *testing.T) {
	data := noise(3<<20 + 123)
	refuse := func(status int, code string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { buckettest.Refuse(w, status, code) }
	}
	for name, fault := range map[string]struct {
		times  int64 // of each read
		answer func(http.ResponseWriter, *http.Request)
	}{
		"500":           {3, refuse(500, "InternalError")},
		"503":           {3, refuse(503, "SlowDown")},
		"429":           {2, refuse(429, "TooManyRequests")},
		"late body":     {2, refuse(400, "RequestTimeout")},
		"cut at once":   {3, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"truncated":     {20, func(w http.ResponseWriter, r *http.Request) { partly(w, r, data, 100_000, 0) }},
		"never begins":  {2, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"stalls":        {3, func(w http.ResponseWriter, r *http.Request) { partly(w, r, data, 300_000, time.Minute) }},
		"stalls early":  {3, func(w http.ResponseWriter, r *http.Request) { partly(w, r, data, 10, time.Minute) }},
		"begins late":   {1, func(w http.ResponseWriter, r *http.Request) { partly(w, r, data, 0, 120*time.Millisecond) }},
		"goes on later": {1, func(w http.ResponseWriter, r *http.Request) { partly(w, r, data, 70_000, 120*time.Millisecond) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var left atomic.Int64
			s := &buckettest.Store{}
			s.Put("m", data)
			s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") == "" || left.Add(-1) < 0 {
					return false
				}
				fault.answer(w, r)
				return true
			}
			file := open(t, serve(t, s, bucket.Config{}), "m")
			for _, part := range [][2]int{{0, len(data)}, {1, 2 << 20}, {100, 600}, {3 << 20, 123}} { // in pieces and in blocks
				left.Store(fault.times)
				got := make([]byte, part[1])
				if n, err := file.ReadAt(got[:min(len(got), len(data)-part[0])], int64(part[0])); err != nil {
					t.Fatalf("%v: %d bytes, %v", part, n, err)
				}
				if !bytes.Equal(got, data[part[0]:part[0]+part[1]]) {
					t.Errorf("%v: other bytes", part)
				}
				if asked := len(s.Asked()); left.Load() >= fault.times || asked > int(fault.times)+30 {
					t.Errorf("%v: %d requests, %d faults left", part, asked, left.Load())
				}
			}
		})
	}
}

// Failed reads end in bounded time, with an error that names the cause.
func TestFails(t *testing.T) {
	data := noise(3 << 20)
	answer := func(status int, header ...string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write(data[:1000])
		}
	}
	for name, c := range map[string]struct {
		answer   func(http.ResponseWriter, *http.Request)
		want     string
		replaced bool
	}{
		"500 for ever":       {answer(500), "4 attempts, the last: the store of bucket models answered 500", false},
		"truncated for ever": {func(w http.ResponseWriter, r *http.Request) { partly(w, r, data, 100, 0) }, "unexpected EOF", false},
		"silent for ever":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "too slow", false},
		"denied":             {answer(403), "answered 403", false},
		"no ranges":          {answer(200), "does not support ranges", false},
		"another range":      {answer(206, "Content-Range", fmt.Sprintf("bytes 7-9/%d", len(data))), "bytes 7-9/", false},
		"no range told":      {answer(206), "", true},
		"another length":     {answer(206, "Content-Range", "bytes 0-2097151/2097152"), "of 2097152 bytes", true},
		"another version":    {answer(206, "Content-Range", fmt.Sprintf("bytes 0-2097151/%d", len(data)), "ETag", `"other"`), `it is "other"`, true},
		"a short object":     {answer(416), "416", true},
		"412":                {answer(412), "412", true},
		"404":                {answer(404), "404", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &buckettest.Store{}
			s.Put("m", data)
			s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") == "" {
					return false
				}
				c.answer(w, r)
				return true
			}
			stall := time.Minute // a slow machine is no slow store
			if c.want == "too slow" {
				stall = 10 * time.Millisecond
			}
			_, err := open(t, serve(t, s, bucket.Config{Stall: stall}), "m").ReadAt(make([]byte, 2<<20), 0)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s3://models/m") || errors.Is(err, bucket.ErrReplaced) != c.replaced {
				t.Errorf("%v", err)
			}
			if errors.Is(err, fs.ErrNotExist) != c.replaced {
				t.Errorf("%v: as a file", err)
			}
		})
	}
}

// Versions never mix: if an object is replaced while it is read, its readers fail, and a
// new listing and open give the new version.
func TestReplaced(t *testing.T) {
	was, is := bytes.Repeat([]byte("a"), 8<<20), bytes.Repeat([]byte("b"), 8<<20)
	for _, how := range []string{"replaced", "deleted"} {
		s := &buckettest.Store{}
		s.Put("m", was)
		f := serve(t, s, bucket.Config{})
		file := open(t, f, "m")
		var read atomic.Int64
		s.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") != "" && read.Add(1) == 3 {
				if s.Delete("m"); how == "replaced" {
					s.Put("m", is)
				}
			}
			return false
		}
		var group sync.WaitGroup
		var failed atomic.Int64
		for i := range 8 {
			group.Go(func() {
				got := make([]byte, 1<<20)
				switch _, err := file.ReadAt(got, int64(i)<<20); {
				case errors.Is(err, bucket.ErrReplaced) && errors.Is(err, fs.ErrNotExist):
					failed.Add(1)
				case err != nil || !bytes.Equal(got, was[:1<<20]):
					t.Errorf("%s: %v, and %.10q", how, err, got)
				}
			})
		}
		group.Wait()
		if failed.Load() == 0 {
			t.Errorf("%s: nobody was told", how)
		}
		if err := f.Refresh(t.Context()); err != nil { // at once: the listing is known to be outdated
			t.Fatal(err)
		}
		switch got, err := fs.ReadFile(f, "m"); {
		case how == "deleted" && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("deleted: %v", err)
		case how == "replaced" && !bytes.Equal(got, is):
			t.Errorf("replaced: %.10q, %v", got, err)
		}
	}
}

// While a request stalls, an equal one is sent, and the first to answer is used; bytes
// that the other delivered are not requested again.
func TestBeside(t *testing.T) {
	data := noise(2 << 20)
	for _, had := range []int{0, 1000, 300_000} {
		s := &buckettest.Store{}
		s.Put("m", data)
		f := serve(t, s, bucket.Config{Stall: 300 * time.Millisecond})
		file := open(t, f, "m")
		var requests atomic.Int64
		second := make(chan string, 10)
		var left atomic.Bool // the first request
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if requests.Add(1) > 1 {
				if second <- r.Header.Get("Range"); left.Load() {
					t.Error("the first request was given up before another was made")
				}
				return false
			}
			partly(w, r, data, had, time.Minute)
			left.Store(true)
			return true
		}
		got := make([]byte, len(data))
		done := make(chan error, 1)
		go func() {
			_, err := file.ReadAt(got, 0)
			done <- err
		}()
		if at, want := <-second, fmt.Sprintf("bytes=%d-%d", had, len(data)-1); at != want {
			t.Errorf("%s was asked for beside it, want %s", at, want)
		}
		if err := <-done; err != nil || !bytes.Equal(got, data) {
			t.Errorf("%v", err)
		}
	}
}

// Small reads request each block once, and sequential readers get read-ahead.
func TestBlocks(t *testing.T) {
	data := noise(5 << 20)
	s := &buckettest.Store{}
	s.Put("m", data)
	f := serve(t, s, bucket.Config{Stall: time.Minute})
	for range 3 {
		file := open(t, f, "m")
		for at := 0; at < len(data); at += 60_000 {
			got := make([]byte, min(60_000, len(data)-at))
			if _, err := file.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got, data[at:at+len(got)]) {
				t.Fatalf("at %d: %v", at, err)
			}
		}
	}
	if asked := s.Asked(); len(asked) != 1+20 {
		t.Errorf("%d requests: %q", len(asked), asked)
	}
}
