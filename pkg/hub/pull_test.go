package hub

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPull(t *testing.T) {
	h := newHub(t, tinyTree())
	h.page, h.token = 3, "hf_secret"
	c := h.client()
	c.Token = "hf_secret"
	dir := filepath.Join(t.TempDir(), "models", "tiny")
	at, err := pull(t.Context(), c, dir)
	if err != nil {
		t.Fatal(err)
	}
	if at.Files != chosenOfTiny || at.AllFiles != chosenOfTiny || at.Bytes != at.Total || at.Total < 1_400_000 {
		t.Errorf("%+v", at)
	}
	expectTree(t, dir, tinyTree())
	stored, pages := 0, 0
	for _, r := range h.requests() {
		if h.ofStore(r) {
			stored++
		}
		if strings.Contains(r.URL.Path, "/tree/") {
			pages++
		}
		if got := r.Header.Get("Authorization"); (got == "") != h.ofStore(r) {
			t.Errorf("%s%s got %q", r.Host, r.URL, got)
		}
		if got := r.Header.Get("User-Agent"); got != "glossa/devel" {
			t.Errorf("%s%s got the user agent %q", r.Host, r.URL, got)
		}
		if strings.Contains(r.URL.Path, "/resolve/main") {
			t.Errorf("%s is not of a commit", r.URL)
		}
	}
	if stored != 4 || pages != 5 {
		t.Errorf("%d files from the store, %d pages", stored, pages)
	}

	// Everything is there, so only the listing is requested.
	if _, err := pull(t.Context(), c, dir); err != nil {
		t.Fatal(err)
	}
	if list := h.requests(); len(list) != 1+5 {
		t.Errorf("%d requests", len(list))
	}
	for _, name := range []string{manifestFile, "config.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(b), "hf_secret") || strings.Contains(string(b), "Signature") {
			t.Errorf("%s, %v", b, err)
		}
	}
}

func TestPullRenamed(t *testing.T) {
	h := newHub(t, tinyTree())
	h.page = 5
	s, err := h.client().List(t.Context(), "old/name", "")
	if err != nil || len(s.Files) != len(tinyTree()) {
		t.Fatal(s, err)
	}
	files, err := s.Choose([]string{"*.gguf"}, nil)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	d, err := h.client().Prepare(t.Context(), s, files, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Run(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// cut makes the store end its answer after n bytes, and counts these answers.

func cut(h *testHub, times int, n int) *atomic.Int32 {
	var left atomic.Int32
	left.Store(int32(times))
	h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
		if !h.ofStore(r) || left.Add(-1) < 0 {
			return false
		}
		h.send(&cutWriter{ResponseWriter: w, left: n}, r)
		panic(http.ErrAbortHandler)
	})
	return &left
}

// cutWriter passes a number of bytes.

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	p = p[:min(len(p), c.left)]
	c.left -= len(p)
	if _, err := c.ResponseWriter.Write(p); err != nil {
		return 0, err
	}
	if c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		return len(p), errors.New("cut")
	}
	return len(p), nil
}

// Broken connections are resumed where they ended.

func TestBrokenConnections(t *testing.T) {
	h := newHub(t, tinyTree())
	cut(h, 5, 3_000)
	dir := t.TempDir()
	if _, err := pull(t.Context(), h.client(), dir); err != nil {
		t.Fatal(err)
	}
	expectTree(t, dir, tinyTree())
	ranges := 0
	for _, r := range h.requests() {
		if r.Header.Get("Range") != "" && h.ofStore(r) {
			ranges++
			if r.Header.Get("If-Range") == "" {
				t.Error("a range of whatever is there is asked for")
			}
		}
	}
	if ranges != 5 {
		t.Errorf("%d ranges", ranges)
	}
}

// interrupt pulls until the store has sent some bytes of each file, and cancels.

// partsOf lists the parts of stored files that have bytes.

// A commit between two pulls changes some files: their parts are useless.

// Servers that answer a range wrongly.

// tagWriter changes the entity tag.

// Bytes that differ from the listing never get their final name.

func TestCorrupt(t *testing.T) {
	for name, test := range map[string]struct {
		path  string
		times int32
		body  func(h *testHub) []byte
		says  string // "": it succeeds
	}{
		"once":    {"tokenizer.json", 1, func(*testHub) []byte { return random(300_000, 77) }, ""},
		"always":  {"tokenizer.json", 99, func(*testHub) []byte { return random(300_000, 77) }, "tokenizer.json: its checksum (sha256) is "},
		"of git":  {"config.json", 99, func(*testHub) []byte { return []byte(`{"model_type":"LLAMA"}`) }, "config.json: its checksum (git) is "},
		"short":   {"tokenizer.json", 99, func(*testHub) []byte { return random(299_999, 77) }, "sent 299999 bytes instead of the missing 300000 (6 attempts)"},
		"long":    {"tokenizer.json", 99, func(*testHub) []byte { return random(300_001, 77) }, "sent 300001 bytes"},
		"chunked": {"tokenizer.json", 99, func(*testHub) []byte { return random(500_000, 77) }, "more bytes than the file has"},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHub(t, tinyTree()), t.TempDir()
			var times atomic.Int32
			h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
				stored := tinyTree()[test.path].lfs
				if !strings.HasSuffix(r.URL.Path, "/"+test.path) || stored != h.ofStore(r) || times.Add(1) > test.times {
					return false
				}
				body := test.body(h)
				if name == "chunked" {
					_ = http.NewResponseController(w).Flush()
				} else {
					w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				}
				w.Write(body)
				return true
			})
			_, err := pull(t.Context(), h.client(), dir)
			if test.says == "" && err == nil {
				expectTree(t, dir, tinyTree())
				return
			}
			expectError(t, err, test.says)
			expectNothing(t, dir)
			// After the hub is repaired, the same directory works.
			h.sabotage(nil)
			if _, err := pull(t.Context(), h.client(), dir); err != nil {
				t.Fatal(err)
			}
			expectTree(t, dir, tinyTree())
		})
	}
}

// The hub's headers for a file contradict its listing.

func TestListingIsOld(t *testing.T) {
	for name, header := range map[string][2]string{
		"commit": {"X-Repo-Commit", strings.Repeat("0", 40)},
		"sum":    {"X-Linked-Etag", `"` + strings.Repeat("0", 64) + `"`},
		"size":   {"X-Linked-Size", "12"},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHub(t, tinyTree()), t.TempDir()
			h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
				if h.ofStore(r) || !strings.HasSuffix(r.URL.Path, "/tokenizer.json") {
					return false
				}
				w.Header().Set("X-Linked-Etag", `"`+tinyTree()["tokenizer.json"].sha()+`"`)
				w.Header().Set(header[0], header[1])
				commit := strings.Split(r.URL.Path, "/")[4]
				w.Header().Set("Location", h.store.URL+"/store/"+commit+"/tokenizer.json?Signature=secret")
				w.WriteHeader(302)
				return true
			})
			_, err := pull(t.Context(), h.client(), dir)
			expectError(t, err, "pull again")
			expectNothing(t, dir)
		})
	}
}

func TestTwoPullsOfOneDirectory(t *testing.T) {
	h, dir := newHub(t, tinyTree()), t.TempDir()
	c := h.client()
	s, err := c.List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Choose(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Prepare(t.Context(), s, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Prepare(t.Context(), s, files, dir)
	expectError(t, err, "another pull")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// Of many concurrent pulls some find the directory locked, and none does harm.
	var all sync.WaitGroup
	var ended atomic.Int32
	for range 8 {
		all.Go(func() {
			switch _, err := pull(t.Context(), h.client(), dir); {
			case err == nil:
				ended.Add(1)
			case !errors.Is(err, errLocked):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ended.Load() == 0 {
		t.Error("no pull has ended well")
	}
	expectTree(t, dir, tinyTree())
}

func TestConnectionsAreBounded(t *testing.T) {
	h, dir := newHub(t, tinyTree()), t.TempDir()
	var now, most atomic.Int32
	h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
		if h.ofStore(r) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(5 * time.Millisecond)
			now.Add(-1)
		}
		return false
	})
	c := h.client()
	c.Connections = 2
	if _, err := pull(t.Context(), c, dir); err != nil {
		t.Fatal(err)
	}
	if most.Load() > 2 {
		t.Errorf("%d files at once", most.Load())
	}
}

// A connection that delivers nothing for a minute is closed, and the download goes on with another.
func TestStalled(t *testing.T) {
	h := newHub(t, tinyTree())
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Int32
		left.Store(2)
		h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
			if !h.ofStore(r) || left.Add(-1) < 0 {
				return false
			}
			h.send(&cutWriter{ResponseWriter: w, left: 2_000}, r)
			<-r.Context().Done()
			return true
		})
		c, dir, begin := h.client(), t.TempDir(), time.Now()
		c.Transport, c.Connections = h.inMemory(t), 1
		if _, err := pull(t.Context(), c, dir); err != nil {
			t.Fatal(err)
		}
		expectTree(t, dir, tinyTree())
		if got := time.Since(begin); got != 2*stallTime {
			t.Errorf("two stalled connections were closed after %s", got)
		}
	})
}
