package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func interrupt(t *testing.T, h *testHub, dir string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the user has had enough")
	var waiting atomic.Int32
	h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
		if !h.ofStore(r) {
			return false
		}
		h.send(&cutWriter{ResponseWriter: w, left: 3_000}, r)
		if waiting.Add(1) == 4 {
			// Bytes in transit must arrive at the client.
			for len(partsOf(t, dir)) < 4 {
				time.Sleep(time.Millisecond)
			}
			cancel(stopped)
		}
		<-r.Context().Done()
		return true
	})
	if _, err := pull(ctx, h.client(), dir); !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	h.sabotage(nil)
	h.requests()
}

func partsOf(t *testing.T, dir string) (list []string) {
	for name, c := range tinyTree() {
		if !c.lfs {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, partName(name))); err == nil && info.Size() > 0 {
			list = append(list, name)
		}
	}
	return list
}

func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(t *testing.T, h *testHub, dir string)
		ranged    int // answers with 206 that are used
		whole     int // files that are sent from the first byte
	}{
		"all goes on": {func(*testing.T, *testHub, string) {}, 4, 0},
		"the tags have changed": {func(_ *testing.T, h *testHub, _ string) {
			h.retag(func(sha string) string { return `"other-` + sha[:8] + `"` })
		}, 0, 4},
		"the store has no tags any more": {func(_ *testing.T, h *testHub, _ string) {
			h.retag(func(string) string { return "" })
		}, 0, 4},
		"a part is damaged": {func(t *testing.T, _ *testHub, dir string) {
			damage(t, filepath.Join(dir, partName("tokenizer.json")))
		}, 4, 1},
		"a part is gone": {func(t *testing.T, _ *testHub, dir string) {
			if err := os.Remove(filepath.Join(dir, partName("tokenizer.json"))); err != nil {
				t.Fatal(err)
			}
		}, 3, 1},
		"a part is too long": {func(t *testing.T, _ *testHub, dir string) {
			if err := os.Truncate(filepath.Join(dir, partName("tokenizer.model")), 6_000); err != nil {
				t.Fatal(err)
			}
		}, 3, 1},
		"a part is complete": {func(t *testing.T, _ *testHub, dir string) {
			if err := os.WriteFile(filepath.Join(dir, partName("tokenizer.model")), tinyTree()["tokenizer.model"].data, 0o644); err != nil {
				t.Fatal(err)
			}
		}, 3, 0},
		"the parts are of nobody knows what": {func(t *testing.T, _ *testHub, dir string) {
			if err := os.Remove(filepath.Join(dir, manifestFile)); err != nil {
				t.Fatal(err)
			}
		}, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHub(t, tinyTree()), t.TempDir()
			interrupt(t, h, dir)
			expectNothing(t, dir)
			test.meanwhile(t, h, dir)
			if _, err := pull(t.Context(), h.client(), dir); err != nil {
				t.Fatal(err)
			}
			expectTree(t, dir, tinyTree())
			ranged, whole := 0, 0
			for _, r := range h.requests() {
				switch tag := r.Header.Get("If-Range"); {
				case !h.ofStore(r):
				case tag != "" && strings.Contains(h.tag(strings.Repeat("0", 64)), tag[1:6]):
					ranged++
				default:
					whole++
				}
			}
			if ranged != test.ranged || whole != test.whole {
				t.Errorf("%d ranges and %d whole files, want %d and %d", ranged, whole, test.ranged, test.whole)
			}
		})
	}
}

func damage(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[10] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestResumeOfAnotherCommit(t *testing.T) {
	h, dir := newHub(t, tinyTree()), t.TempDir()
	interrupt(t, h, dir)
	next := tinyTree()
	next["model-00001-of-00002.safetensors"] = content{random(700_000, 99), true}
	next["config.json"] = content{data: []byte(`{"model_type":"gpt2"}`)}
	h.push("main", next)
	if _, err := pull(t.Context(), h.client(), dir); err != nil {
		t.Fatal(err)
	}
	expectTree(t, dir, next)
	for _, r := range h.requests() {
		changed := strings.Contains(r.URL.Path, "model-00001")
		if h.ofStore(r) && (r.Header.Get("Range") == "") != changed {
			t.Errorf("%s: range %q", r.URL.Path, r.Header.Get("Range"))
		}
	}
	// Complete files are replaced, unless they have not changed.
	h.push("main", tinyTree())
	if _, err := pull(t.Context(), h.client(), dir); err != nil {
		t.Fatal(err)
	}
	expectTree(t, dir, tinyTree())
	fetched := slices.DeleteFunc(h.requests(), func(r *http.Request) bool { return !strings.Contains(r.URL.Path, "/resolve/") })
	if len(fetched) != 2 {
		t.Errorf("%d files are fetched", len(fetched))
	}
}

func TestWrongRanges(t *testing.T) {
	for name, answer := range map[string]func(h *testHub, w http.ResponseWriter, r *http.Request){
		"ignores ranges": func(h *testHub, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Range")
			h.send(w, r)
		},
		"of another length": func(_ *testHub, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 3000-3009/3010")
			w.WriteHeader(206)
			fmt.Fprint(w, "0123456789")
		},
		"from another place": func(h *testHub, w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=1-")
			h.send(w, r)
		},
		"is too short": func(_ *testHub, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(416) },
		"with another tag": func(h *testHub, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			h.send(&tagWriter{w}, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHub(t, tinyTree()), t.TempDir()
			interrupt(t, h, dir)
			h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
				if !h.ofStore(r) || r.Header.Get("Range") == "" {
					return false
				}
				answer(h, w, r)
				return true
			})
			if _, err := pull(t.Context(), h.client(), dir); err != nil {
				t.Fatal(err)
			}
			expectTree(t, dir, tinyTree())
		})
	}
}

type tagWriter struct{ http.ResponseWriter }

func (w *tagWriter) WriteHeader(status int) {
	w.Header().Set("ETag", `"changed"`)
	w.ResponseWriter.WriteHeader(status)
}
