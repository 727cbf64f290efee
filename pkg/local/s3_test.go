package local

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// Runs, directories and packed models under a prefix are found, and answer as from a
// disk; so do those that records name.
func TestS3(t *testing.T) {
	want, err := start(t, settings{checkpoints: goldens}).score(t, "gpt2")
	if err != nil {
		t.Fatal(err)
	}
	s := &buckettest.Store{PageSize: 5}
	put(t, s, goldens+"gpt2", "root/gpt2")
	put(t, s, goldens+"gpt2-gguf", "root/gguf")
	put(t, s, starters, "root")
	s.Put("root/packed.safetensors", packOf(t, os.DirFS(goldens), "gpt2"))
	s.Put("else/where/packed.safetensors", packOf(t, os.DirFS(goldens), "gpt2"))
	put(t, s, goldens+"gpt2", "else/where/dir")
	put(t, s, starters, "else")
	p := start(t, settings{store: s, checkpoints: "s3://models/root/", records: recordsOf(map[string]string{
		"pack": "s3://models/else/where/packed.safetensors", "dir": "s3://models/else/where/dir/", "alpha": "s3://models/else/" + starterName(t),
	})})
	for _, name := range []string{"gpt2", "packed", "pack", "dir"} {
		if got, err := p.score(t, name); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
	entries, problems := p.Entries(t.Context())
	if len(problems) > 0 || len(entries) < 7 {
		t.Errorf("%d models, %v", len(entries), problems)
	}
	for _, name := range []string{"alpha", starterName(t)} {
		m, err := p.open(t, name)
		if err != nil || m.Run == nil || !m.InProcess {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	s.Asked()
	p.Refresh()
	p.forget()
	_, _ = p.Entries(t.Context())
	if asked := s.Asked(); strings.Contains(strings.Join(asked, " "), "bytes=") || len(asked) < 4 {
		t.Errorf("nothing has changed, and a scan asked for %q", asked)
	}
}

// A new version is served soon, without a restart, even with the size and the second of
// the old one.
func TestS3NewVersion(t *testing.T) {
	s := &buckettest.Store{}
	data := packOf(t, os.DirFS(goldens), "gpt2")
	s.Put("root/m.safetensors", data)
	p := start(t, settings{store: s, checkpoints: "s3://models/root"})
	old, err := p.score(t, "m")
	if err != nil {
		t.Fatal(err)
	}
	s.Put("root/m.safetensors", packOf(t, changed(t, "gpt2"), "gpt2"))
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		got, err := p.score(t, "m")
		if err != nil {
			t.Fatal(err)
		}
		if got != old {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the old version is still served")
		}
	}
}

// changed returns a golden model with another bias.
func changed(t *testing.T, name string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	entries, err := os.ReadDir(goldens + name)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(goldens + name + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == "model.safetensors" {
			copy(data[len(data)-4:], data[len(data)-8:]) // the last value becomes the one before it
		}
		files[name+"/"+e.Name()] = &fstest.MapFile{Data: data}
	}
	return files
}

// An error of S3 affects only that model, and includes the status.
func TestS3Refused(t *testing.T) {
	s := &buckettest.Store{}
	put(t, s, goldens+"gpt2", "root/good")
	put(t, s, goldens+"gpt2", "secret/m")
	put(t, s, goldens+"gpt2", "locked/m")
	p := start(t, settings{store: s, checkpoints: "s3://models/root", records: recordsOf(map[string]string{
		"unlisted": "s3://models/secret/m", "unread": "s3://models/locked/m", "absent": "s3://models/root/absent",
		"wrong": "s3://NO/m", "whole": "s3://models",
	})})
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Query().Get("prefix"), "secret/") || strings.Contains(r.URL.Path, "/locked/") {
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}
		return false
	}
	if _, err := p.score(t, "good"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"unlisted", "unread"} {
		if _, err := p.score(t, name); codeOf(err) != llm.Upstream || !strings.Contains(llm.AsError(err).Message, "403 AccessDenied") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"absent", "wrong", "whole"} {
		if _, err := p.score(t, name); codeOf(err) != llm.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	locked := start(t, settings{store: s, checkpoints: "s3://models/locked"})
	for name, want := range map[string]llm.Code{"m": llm.Upstream, "n": llm.NotFound} {
		if _, err := locked.score(t, name); codeOf(err) != want {
			t.Errorf("%s, of which a file cannot be read: %v", name, err)
		}
	}
	if _, err := start(t, settings{store: s, checkpoints: "s3://models/secret"}).score(t, "m"); codeOf(err) != llm.Upstream {
		t.Errorf("where nothing can be listed: %v", err)
	}
	_, problems := p.Entries(t.Context())
	told := errors.Join(problems...).Error()
	for _, want := range []string{"s3://models/secret/m", "s3://models/locked/m", "s3://models/root/absent", "s3://NO/m", "names only a bucket"} {
		if !strings.Contains(told, want) {
			t.Errorf("%s is not among the problems:\n%s", want, told)
		}
	}
}

// A generation of a model that is replaced while its first layers compute fails, and the
// next request gets the new one: versions never mix.
func TestS3ReplacedWhileRead(t *testing.T) {
	s := &buckettest.Store{}
	s.Put("root/m.safetensors", packOf(t, wide(t, 64, 8), "m"))
	second := packOf(t, wide(t, 65, 8), "m")
	var reads atomic.Int64
	p := start(t, settings{store: s, checkpoints: "s3://models/root"})
	s.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" && reads.Add(1) == 4 { // the first are the header's
			s.Put("root/m.safetensors", second)
		}
		return false
	}
	_, err := p.score(t, "m")
	if err == nil && reads.Load() < 4 {
		t.Fatalf("it was read at once: %d requests", reads.Load())
	}
	for begun := time.Now(); err != nil; time.Sleep(100 * time.Millisecond) {
		if code := codeOf(err); code != llm.Upstream && code != llm.Internal || time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
		_, err = p.score(t, "m")
	}
	m, err := p.open(t, "m")
	if err != nil {
		t.Fatal(err)
	}
	b := must(llm.As[interface{ Parameters() int64 }](m.Backend))
	if want := must(arch.Describe(fstest.MapFS{"m.safetensors": {Data: second}}, "m.safetensors")).Parameters; b.Parameters() != want {
		t.Errorf("%d parameters, want %d", b.Parameters(), want)
	}
}
