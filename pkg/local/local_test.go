package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/catalog"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

const (
	goldens  = "../engine/arch/testdata/"
	starters = "../starter/runs"
)

// A process is a loader with its catalog, as in one process.
type process struct {
	*catalog.Catalog
	loader *Loader
}

// settings configure a process; the zero value has no models.
type settings struct {
	checkpoints string       // "": none
	store       http.Handler // S3; nil: none
	records     fs.FS
	starters    fs.FS
	memory      int64
	quant       string
}

func start(t testing.TB, s settings) *process {
	t.Helper()
	if s.store == nil {
		return s.startAt(t, "")
	}
	server := httptest.NewServer(s.store)
	t.Cleanup(server.Close)
	return s.startAt(t, server.URL)
}

// startAt starts a process whose models are at s3://models/root of the store at a URL.
func startAt(t testing.TB, store string) *process {
	t.Helper()
	return settings{checkpoints: "s3://models/root"}.startAt(t, store)
}

// at returns a function that opens the buckets of the store at a URL.
func at(url string) func(bucket.Config) (*bucket.FS, error) {
	return func(cfg bucket.Config) (*bucket.FS, error) {
		cfg.Endpoint, cfg.Region = url, "us-east-1"
		cfg.Stall = time.Minute // tests count requests, and a slow machine must not add hedges
		return bucket.New(cfg), nil
	}
}

func (s settings) startAt(t testing.TB, store string) *process {
	t.Helper()
	workers := runtime.GOMAXPROCS(0)
	l := New(Config{
		Kernels: kernel.Best(), Team: transformer.NewTeam(workers), Queue: engine.NewQueue(8, 64, 0), Turns: grammar.NewTurns(1),
		Memory: s.memory, Quant: s.quant, Bucket: at(store),
	})
	var roots []catalog.Root
	if s.starters != nil {
		roots = append(roots, catalog.Root{Name: "starters", FS: s.starters, Fixed: true})
	}
	if s.checkpoints != "" {
		root, err := l.Root(s.checkpoints)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, root)
	}
	var source catalog.Source
	if s.records != nil {
		source = catalog.Files{FS: s.records}
	}
	return &process{catalog.New(catalog.Config{Source: source, Roots: roots, Loader: l, Memory: s.memory}), l}
}

// open opens a model for a moment.
func (p *process) open(t testing.TB, name string) (*llm.Model, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return p.Open(ctx, name)
}

// score returns the log-probability of a text, which is the same for each copy of the
// golden model.
func (p *process) score(t testing.TB, name string) (float64, error) {
	t.Helper()
	return p.logprob(t, name, "the hen", " and")
}

func (p *process) logprob(t testing.TB, name, prompt, continuation string) (float64, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m, err := p.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	scorer, err := llm.As[llm.Scorer](m.Backend)
	if err != nil {
		return 0, err
	}
	score, _, err := scorer.Score(ctx, &llm.ScoreRequest{Prompt: llm.Text(prompt), Continuation: continuation})
	if err != nil {
		return 0, err
	}
	return score.Logprob, nil
}

// forget makes the next scan list all locations again.
func (p *process) forget() {
	s := &p.loader.locations
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byURL {
		one.forget()
	}
}

// codeOf returns the code of an error for clients, "" without an error.
func codeOf(err error) llm.Code {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Code
}

// recordsOf returns one file of records for each checkpoint, by name.
func recordsOf(checkpoints map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, checkpoint := range checkpoints {
		files[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"pk":"models","sk":"local-%s","schema":{"checkpoint":%q}}`, name, checkpoint)}
	}
	return files
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

// starterName is the name of a run that comes with the program.
func starterName(t testing.TB) string {
	t.Helper()
	entries, err := os.ReadDir(starters)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(starters, e.Name(), "metrics.jsonl")); err == nil {
			return e.Name()
		}
	}
	t.Fatal("there is no run")
	return ""
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRoot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(Config{})
	for checkpoints, want := range map[string]string{dir: dir, dir + "/.": dir, "s3://bucket/prefix/": "s3://bucket/prefix", "s3://bucket": "s3://bucket"} {
		if root, err := l.Root(checkpoints); err != nil || root.Name != want || root.FS == nil || root.Fixed {
			t.Errorf("%s: %+v, %v", checkpoints, root, err)
		}
	}
	if root, err := l.Root("."); err != nil || !filepath.IsAbs(root.Name) {
		t.Errorf("a relative directory: %+v, %v", root, err)
	}
	for checkpoints, want := range map[string]string{dir + "/none": "checkpoints directory", file: "it is a file", "s3://NO": "checkpoints", "s3://bucket/a//b": "dotted parts"} {
		if root, err := l.Root(checkpoints); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", checkpoints, root, err, want)
		}
	}
}

// A location shows one model, not its neighbours.
func TestLocate(t *testing.T) {
	l := New(Config{})
	dir := must(filepath.Abs(goldens))
	fsys, err := l.Locate(filepath.Join(dir, "gpt2") + "/")
	if err != nil {
		t.Fatal(err)
	}
	runs, problems := l.Scan(fsys)
	if len(runs) != 1 || runs[0].ID != "gpt2" || len(problems) > 0 {
		t.Errorf("%+v, %v", runs, problems)
	}
	gone := must(l.Locate(filepath.Join(dir, "none")))
	if runs, problems := l.Scan(gone); len(runs) != 0 || len(problems) == 0 || !errors.Is(problems[0], fs.ErrNotExist) {
		t.Errorf("a model that does not exist: %+v, %v", runs, problems)
	}
	if _, err := l.Locate("s3://bucket/m"); err == nil || !strings.Contains(err.Error(), "name a directory") {
		t.Errorf("without S3: %v", err)
	}
	l = New(Config{Bucket: at("")})
	for url, want := range map[string]string{"s3://NO/m": "not an S3 location", "s3://bucket": "names only a bucket", "s3:bucket/m": "not an S3 location"} {
		if _, err := l.Locate(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// The heap grows lazily until a model is opened.
func TestBallast(t *testing.T) {
	p := start(t, settings{checkpoints: goldens})
	p.loader.HoldBallast()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	runtime.GC()
	if metrics.Read(goal); goal[0].Value.Uint64() < 2*ballast {
		t.Errorf("the heap is collected from %d bytes on", goal[0].Value.Uint64())
	}
	if _, err := p.List(t.Context()); err != nil || p.loader.ballast.Load() == nil {
		t.Errorf("a listing has released the ballast, or failed: %v", err)
	}
	if _, err := p.open(t, "gpt2"); err != nil {
		t.Fatal(err)
	}
	if p.loader.ballast.Load() != nil {
		t.Error("a model has weights in memory, and the ballast is still held")
	}
}

// Computed prompts yield their memory when another model opens.
func TestPrefixesYield(t *testing.T) {
	p, limit := start(t, settings{checkpoints: goldens}), int64(1<<30)
	p.loader.cfg.Prefixes = engine.NewPrefixMemory(func() int64 { return limit })
	m, err := p.Open(t.Context(), "gpt2")
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text("the hen and")}, Params: llm.Params{MaxTokens: new(1)}}
	if _, _, err := llm.Collect(m.Backend.Generate(t.Context(), req), 1); err != nil {
		t.Fatal(err)
	}
	held := p.loader.cfg.Prefixes.Bytes()
	limit = 0
	if _, err := p.open(t, "gptj"); err != nil {
		t.Fatal(err)
	}
	if after := p.loader.cfg.Prefixes.Bytes(); held == 0 || after != 0 {
		t.Errorf("%d bytes of prompts, %d after another model has opened", held, after)
	}
}
