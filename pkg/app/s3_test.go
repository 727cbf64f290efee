package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// recordsOf returns one file of records for each checkpoint, by name.
func recordsOf(checkpoints map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, checkpoint := range checkpoints {
		files[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"pk":"models","sk":"local-%s","schema":{"checkpoint":%q}}`, name, checkpoint)}
	}
	return files
}

// inStore returns an app whose S3 is a store.
func inStore(t testing.TB, s *buckettest.Store, cfg Config) *App {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cfg.Endpoints.S3 = server.URL
	if cfg.Records == nil {
		cfg.Records = fstest.MapFS{}
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.cloud.load = signer
	return a
}

// put stores the files of a directory.
func put(t testing.TB, s *buckettest.Store, dir, prefix string) {
	t.Helper()
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		s.Put(path.Join(prefix, name), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// packOf packs a model.
func packOf(t testing.TB, fsys fs.FS, dir string) []byte {
	t.Helper()
	m, err := arch.Open(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := &checkpointtest.File{}
	err = arch.Pack(b, m, kernel.Best(), transformer.F32, func(_, _ int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return b.Data
}

const goldens = "../engine/arch/testdata/"

// score asks for the score of a text, which is that of the golden model everywhere.
func score(t *testing.T, a *App, name string) (int, map[string]any) {
	t.Helper()
	return post(t, a.Handler("textsynth"), "/v1/engines/"+name+"/logprob", `{"context":"the hen","continuation":" and"}`)
}

// Runs, directories and packed models are found under a prefix and answer as they do from
// a disk; so do those that records name.
func TestS3(t *testing.T) {
	disk := published(t, Config{})
	_, want := score(t, disk, "gpt2")
	s := &buckettest.Store{PageSize: 5}
	put(t, s, goldens+"gpt2", "root/gpt2")
	put(t, s, goldens+"gpt2-gguf", "root/gguf")
	put(t, s, "../starter/runs", "root")
	s.Put("root/packed.safetensors", packOf(t, os.DirFS(goldens), "gpt2"))
	s.Put("else/where/packed.safetensors", packOf(t, os.DirFS(goldens), "gpt2"))
	put(t, s, goldens+"gpt2", "else/where/dir")
	put(t, s, "../starter/runs", "else")
	a := inStore(t, s, Config{Checkpoints: "s3://models/root/", Records: recordsOf(map[string]string{
		"pack": "s3://models/else/where/packed.safetensors", "dir": "s3://models/else/where/dir/", "alpha": "s3://models/else/" + starterName(t),
	})})
	for _, name := range []string{"gpt2", "packed", "pack", "dir"} {
		if code, got := score(t, a, name); code != 200 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %d %v, want %v", name, code, got, want)
		}
	}
	entries, problems := a.Catalog().Entries(t.Context())
	if len(problems) > 0 || len(entries) < 7 {
		t.Errorf("%d models, %v", len(entries), problems)
	}
	for _, name := range []string{"alpha", starterName(t)} {
		m, err := a.Catalog().Open(t.Context(), name)
		if err != nil || m.Run == nil {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	s.Asked()
	a.Catalog().Refresh()
	a.shelves.forget()
	_, _ = a.Catalog().Entries(t.Context())
	if asked := s.Asked(); strings.Contains(strings.Join(asked, " "), "bytes=") || len(asked) < 4 {
		t.Errorf("nothing has changed, and a look asked for %q", asked)
	}
}

// forget has all places listed again.
func (s *shelves) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if f, err := one.fs(); err == nil {
			f.Forget()
		}
	}
}

// starterName is the name of a run that comes with the program.
func starterName(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("../starter/runs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Stat("../starter/runs/" + e.Name() + "/metrics.jsonl"); err == nil {
			return e.Name()
		}
	}
	t.Fatal("there is no run")
	return ""
}

// A new version is served soon, without a restart, though it has the size and the second
// of the old one.
func TestS3NewVersion(t *testing.T) {
	s := &buckettest.Store{}
	data := packOf(t, os.DirFS(goldens), "gpt2")
	s.Put("root/m.safetensors", data)
	a := inStore(t, s, Config{Checkpoints: "s3://models/root"})
	code, old := score(t, a, "m")
	if code != 200 {
		t.Fatalf("%v", old)
	}
	s.Put("root/m.safetensors", packOf(t, changed(t, "gpt2"), "gpt2"))
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		code, got := score(t, a, "m")
		if code != 200 {
			t.Fatalf("%v", got)
		}
		if fmt.Sprint(got) != fmt.Sprint(old) {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the old version is still served")
		}
	}
}

// changed is a golden model with another bias.
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
			copy(data[len(data)-4:], data[len(data)-8:]) // the last value is the one before
		}
		files[name+"/"+e.Name()] = &fstest.MapFile{Data: data}
	}
	return files
}

// What S3 refuses is an error of that model, which says so, and of no other.
func TestS3Refused(t *testing.T) {
	s := &buckettest.Store{}
	put(t, s, goldens+"gpt2", "root/good")
	put(t, s, goldens+"gpt2", "secret/m")
	put(t, s, goldens+"gpt2", "locked/m")
	a := inStore(t, s, Config{Checkpoints: "s3://models/root", Records: recordsOf(map[string]string{
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
	if code, got := score(t, a, "good"); code != 200 {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"unlisted", "unread"} {
		if code, got := score(t, a, name); code != http.StatusBadGateway || !strings.Contains(fmt.Sprint(got), "403 AccessDenied") {
			t.Errorf("%s: %d %v", name, code, got)
		}
	}
	for _, name := range []string{"absent", "wrong", "whole"} {
		if code, got := score(t, a, name); code != http.StatusNotFound {
			t.Errorf("%s: %d %v", name, code, got)
		}
	}
	b := inStore(t, s, Config{Checkpoints: "s3://models/locked"})
	for name, want := range map[string]int{"m": http.StatusBadGateway, "n": http.StatusNotFound} {
		if code, got := score(t, b, name); code != want {
			t.Errorf("%s, of which a file cannot be read: %d %v", name, code, got)
		}
	}
	if code, got := score(t, inStore(t, s, Config{Checkpoints: "s3://models/secret"}), "m"); code != http.StatusBadGateway {
		t.Errorf("where nothing can be listed: %d %v", code, got)
	}
	_, problems := a.Catalog().Entries(t.Context())
	told := errors.Join(problems...).Error()
	for _, want := range []string{"s3://models/secret/m", "s3://models/locked/m", "s3://models/root/absent", "s3://NO/m", "names a bucket"} {
		if !strings.Contains(told, want) {
			t.Errorf("%s is not among the problems:\n%s", want, told)
		}
	}
}

// A model that is replaced while its first layers compute fails, and the next request has
// the new one: nothing is mixed.
func TestS3ReplacedWhileRead(t *testing.T) {
	s := &buckettest.Store{}
	s.Put("root/m.safetensors", packOf(t, wide(t, 64, 8), "m"))
	second := packOf(t, wide(t, 65, 8), "m")
	var reads atomic.Int64
	a := inStore(t, s, Config{Checkpoints: "s3://models/root"})
	s.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" && reads.Add(1) == 4 { // the first are the header's
			s.Put("root/m.safetensors", second)
		}
		return false
	}
	code, got := score(t, a, "m")
	if code == http.StatusOK && reads.Load() < 4 {
		t.Fatalf("it was read at once: %d requests", reads.Load())
	}
	for begun := time.Now(); code != http.StatusOK; time.Sleep(100 * time.Millisecond) {
		if code != http.StatusBadGateway && code != http.StatusInternalServerError || time.Since(begun) > time.Minute {
			t.Fatalf("%d %v", code, got)
		}
		code, got = score(t, a, "m")
	}
	m, err := a.Catalog().Open(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	b := must(llm.As[interface{ Parameters() int64 }](m.Backend))
	if want := must(arch.Describe(fstest.MapFS{"m.safetensors": {Data: second}}, "m.safetensors")).Parameters; b.Parameters() != want {
		t.Errorf("%d parameters, want %d", b.Parameters(), want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
