package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

const config = `{"modelConfig":{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0},"trainConfig":{},"configHash":"00000000","runId":"r"}`

// golden returns the golden checkpoint as ALPH.
func golden(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := checkpoint.WriteALPH(&b, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func upload(t testing.TB, name string, step int) Upload {
	return Upload{Name: name, Config: []byte(config), Step: step, Metrics: `{"loss":1.5}` + "\n"}.of(golden(t))
}

// of returns the upload with these bytes.
func (u Upload) of(data []byte) Upload {
	u.Checkpoint, u.Size = bytes.NewReader(data), int64(len(data))
	return u
}

// A place is a store with the means to inspect it.
type place struct {
	*Store
	kind string
	fsys fs.FS             // of the models
	s3   *buckettest.Store // nil: a directory
	dir  string            // "": a bucket
	base string            // URL of the store
}

func open(t testing.TB, dir string) *place {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &place{Store: s, kind: "directory", fsys: os.DirFS(dir), dir: dir}
}

func (p *place) directory() *directory { return p.models.(*directory) }

// inBucket opens a store in a bucket, which other processes may share.
func inBucket(t testing.TB, s3 *buckettest.Store) *place {
	t.Helper()
	server := httptest.NewServer(s3)
	t.Cleanup(server.Close)
	cfg := bucket.Config{Bucket: "b", Prefix: "checkpoints", Region: "eu-west-1", Endpoint: server.URL, HTTP: server.Client()}
	beside := cfg
	beside.Prefix = "uploads"
	return &place{
		Store: OpenBucket(bucket.NewBucket(cfg), bucket.NewBucket(beside)), kind: "bucket", fsys: fresh{cfg}, s3: s3, base: server.URL,
	}
}

// fresh is a file system with the current contents of a prefix.
type fresh struct{ cfg bucket.Config }

func (f fresh) Open(name string) (fs.File, error) { return bucket.New(f.cfg).Open(name) }

// places returns stores of both kinds.
func places(t *testing.T) []*place {
	return []*place{open(t, t.TempDir()), inBucket(t, &buckettest.Store{PageSize: 2})}
}

// each runs a test with a store of each kind.
func each(t *testing.T, f func(t *testing.T, p *place)) {
	t.Helper()
	for _, p := range places(t) {
		t.Run(p.kind, func(t *testing.T) { f(t, p) })
	}
}

// list returns the served models as name@step, and checks that each loads.
func (p *place) list(t testing.TB) (list []string) {
	t.Helper()
	fsys := p.fsys
	if f, ok := fsys.(fresh); ok {
		fsys = bucket.New(f.cfg) // one listing
	}
	runs, problems := checkpoint.Scan(fsys)
	if problems != nil {
		t.Fatal(problems)
	}
	for _, r := range runs {
		list = append(list, fmt.Sprintf("%s@%d", r.ID, r.Step))
	}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		is, err := arch.Detect(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, ".") || slices.ContainsFunc(runs, func(r checkpoint.Run) bool { return r.ID == name }) || !is {
			continue
		}
		m, err := arch.Open(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Weights.Await != nil {
			err = m.Weights.Await(math.MaxInt)
		}
		step := -1
		if m.Run != nil {
			step = m.Run.Step
		}
		list = append(list, fmt.Sprintf("%s@%d", strings.TrimSuffix(name, ".safetensors"), step))
		if err = errors.Join(err, m.Close()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(list)
	return list
}

// leftovers returns the files that belong to no model.
func (p *place) leftovers(t testing.TB) (names []string) {
	t.Helper()
	if p.s3 != nil {
		names = p.s3.Keyed("uploads/")
		for range p.s3.Uploads() {
			names = append(names, "a multipart upload")
		}
		return names
	}
	err := fs.WalkDir(p.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(name, ".") && len(name) > 1 && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// expect checks an error's code and parameter, the models and the absence of leftovers.
func (p *place) expect(t *testing.T, err error, code llm.Code, param string, list ...string) {
	t.Helper()
	p.same(t, err, code, param, list...)
	if got := p.leftovers(t); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

// same checks an error's code and parameter, and the models.
func (p *place) same(t *testing.T, err error, code llm.Code, param string, list ...string) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Code != code || e.Param != param || e.Message == "" {
		t.Errorf("%v (%+v), want %s in %q", err, e, code, param)
	}
	if got := p.list(t); !slices.Equal(got, list) {
		t.Errorf("models %v, want %v", got, list)
	}
}

func put(t *testing.T, p *place, u Upload) {
	t.Helper()
	if err := p.Put(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// A model is one file with all uploaded data, and replaces another completely.
func TestPut(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		put(t, p, upload(t, "novels", 9))
		u := upload(t, "novels", 7)
		u.TrainingData = "once upon a time"
		put(t, p, u) // a lower step replaces a higher one
		put(t, p, upload(t, "abc", 1))
		if got := p.list(t); !slices.Equal(got, []string{"abc@1", "novels@7"}) {
			t.Error(got)
		}
		entries, err := fs.ReadDir(p.fsys, "novels")
		if err != nil || len(entries) != 1 || entries[0].Name() != PackName {
			t.Errorf("%v %v", entries, err)
		}
		m, err := arch.Open(p.fsys, "novels")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		kept := map[string]string{}
		for _, f := range m.Run.Files {
			data, err := f.Data()
			if err != nil {
				t.Fatal(err)
			}
			kept[f.Name] = string(data)
		}
		if *m.Run.LastLoss != 1.5 || kept["metrics.jsonl"] != u.Metrics || kept["training-data.txt"] != u.TrainingData {
			t.Errorf("%+v %q", m.Run, kept)
		}
		if c, err := checkpoint.ParseRunConfig(m.Run.Config); err != nil || c.RunID != "r" {
			t.Errorf("%s", m.Run.Config)
		}
		if got := p.leftovers(t); len(got) > 0 {
			t.Errorf("left behind: %v", got)
		}
	})
}

// packOf returns the golden model, packed.
func packOf(t testing.TB) []byte {
	t.Helper()
	m, err := arch.FromAlpha(checkpointtest.Golden(), "")
	if err != nil {
		t.Fatal(err)
	}
	b := &checkpointtest.File{}
	if err := arch.Pack(b, m, kernel.Best(), transformer.F32, func(_, _ int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return b.Data
}

func ggufOf(t testing.TB) []byte {
	t.Helper()
	const dir = "../engine/arch/testdata/gpt2-gguf"
	names, err := filepath.Glob(dir + "/*.gguf")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Self-describing files need only a name. A packed one is stored unchanged.
func TestPutOthers(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		pack := packOf(t)
		put(t, p, Upload{Name: "pack"}.of(pack))
		if got, err := fs.ReadFile(p.fsys, "pack/"+PackName); err != nil || !bytes.Equal(got, pack) {
			t.Errorf("another pack: %v", err)
		}
		for _, quant := range append(Quants(), "") {
			put(t, p, Upload{Name: "gguf", Quant: quant}.of(ggufOf(t)))
		}
		if got := p.list(t); !slices.Equal(got, []string{"gguf@-1", "pack@-1"}) {
			t.Error(got)
		}
		for param, u := range map[string]Upload{
			"quant": {Name: "pack", Quant: "q8_0"}, "config": {Name: "pack", Config: []byte(config)},
		} {
			p.expect(t, p.Put(t.Context(), u.of(pack)), llm.Invalid, param, "gguf@-1", "pack@-1")
		}
	})
}

// A damaged file is rejected, or is a model that loads.
func TestDamaged(t *testing.T) {
	pack := packOf(t)
	p := open(t, t.TempDir())
	for kind, data := range map[string][]byte{"alph": golden(t), "pack": pack, "gguf": ggufOf(t)} {
		u := Upload{Name: "m"}
		if kind == "alph" {
			u = upload(t, "m", 1)
		}
		for at := 0; at < len(data); at += 1 + len(data)/41 {
			for what, broken := range map[string][]byte{"cut": data[:at], "changed": bytes.Clone(data)} {
				if what == "changed" {
					broken[at] ^= 0x41
				}
				err := p.Put(t.Context(), u.of(broken))
				e, ok := errors.AsType[*llm.Error](err)
				switch {
				case err == nil && what == "changed" && kind != "pack":
					if got := p.list(t); len(got) != 1 {
						t.Errorf("%s %s at %d: %v", kind, what, at, got)
					}
				case err == nil || !ok || e.Code != llm.Invalid:
					t.Errorf("%s %s at %d: %v", kind, what, at, err)
				}
			}
		}
	}
	if got := p.leftovers(t); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "/etc", "a/../b", ".hidden", "-x", "_x", "a.", "a..", "x\x00", "x\n", "é",
			"con", "CON", "Nul.txt", "com1", "LPT9.tar.gz", "a b", "a:b", "C:", "%2e%2e", "a%2Fb", "m.safetensors", "M.SafeTensors", strings.Repeat("a", 129)} {
			u := upload(t, name, 1)
			p.expect(t, p.Put(t.Context(), u), llm.Invalid, "name")
			p.expect(t, p.Delete(t.Context(), name), llm.Invalid, "name")
			_, err := p.Begin(t.Context(), u, 0, "")
			p.expect(t, err, llm.Invalid, "name")
			p.expect(t, p.Assemble(t.Context(), "x", 1, u), llm.Invalid, "name")
		}
	})
	for _, name := range []string{"a", "0", "gpt-2_x.y", "console", "com", "com10", "a..b", strings.Repeat("a", 128)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	jsonText := func() string {
		var b bytes.Buffer
		if err := checkpoint.WriteJSON(&b, checkpointtest.Golden()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}()
	text := func(u *Upload, s string) { *u = u.of([]byte(s)) }
	each(t, func(t *testing.T, p *place) {
		put(t, p, upload(t, "m", 1))
		for _, c := range []struct {
			change func(*Upload)
			param  string
			says   string
		}{
			{func(u *Upload) { u.Config = nil }, "config", "missing"},
			{func(u *Upload) { u.Config = []byte(`{}`) }, "config", "no modelConfig"},
			{func(u *Upload) { u.Config = []byte(`[`) }, "config", "unexpected end"},
			{func(u *Upload) { u.Config = []byte(strings.Replace(config, `"nHead":2`, `"nHead":4`, 1)) }, "config", "modelConfig.nHead is 4, but in the checkpoint 2"},
			{func(u *Upload) { u.Step = -1 }, "step", "-1"},
			{func(u *Upload) { u.Quant = "q3_k" }, "quant", "must be one of f32"},
			{func(u *Upload) { u.Checkpoint = nil }, "checkpoint", "missing"},
			{func(u *Upload) { text(u, "") }, "checkpoint", "0 bytes"},
			{func(u *Upload) { text(u, "PK\x03\x04"+jsonText); u.Config, u.Metrics = nil, "" }, "checkpoint", "glossa pack"},
			{func(u *Upload) { text(u, "PK\x03\x04"+jsonText) }, "config", "only for checkpoints of Alpha"},
			{func(u *Upload) { *u = u.of(golden(t)[:1500]) }, "checkpoint", `m/checkpoint-2.json: tensor "layer.0.attn.wo"`},
			{func(u *Upload) { text(u, jsonText[:len(jsonText)-9]) }, "checkpoint", "truncated"},
			{func(u *Upload) { text(u, strings.Replace(jsonText, `"tokenizerArtifacts"`, `"x"`, 1)) }, "checkpoint", "tokenizerArtifacts: missing"},
			{func(u *Upload) { text(u, strings.Replace(jsonText, `["\n","a","b"]`, `["a","a","b"]`, 1)) }, "checkpoint", "tokenizerArtifacts: tokenizer: vocab"},
			{func(u *Upload) {
				text(u, strings.Replace(jsonText, `"vocabSize":3,"vocab":["\n","a","b"]`, `"vocabSize":4,"vocab":["\n","a","b","c"]`, 1))
			}, "checkpoint", "4 tokens for vocabSize 3"},
		} {
			u := upload(t, "m", 2)
			c.change(&u)
			err := p.Put(t.Context(), u)
			p.expect(t, err, llm.Invalid, c.param, "m@1")
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %s", err, c.says)
			}
		}
	})
}

// readAt is a function as a reader.
type readAt func(p []byte, at int64) (int, error)

func (f readAt) ReadAt(p []byte, at int64) (int, error) { return f(p, at) }

// An error of the reader is not an error of the file.
func TestReaderError(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		for _, c := range []struct {
			err   error
			code  llm.Code
			param string
		}{
			{errors.New("broken line"), llm.Internal, ""},
			{llm.Errorf(llm.TooLong, "the body is over 5 bytes"), llm.TooLong, ""},
			{&bucket.Error{Status: 403, Code: "AccessDenied"}, llm.Upstream, ""},
			{fmt.Errorf("4 times: %w", &bucket.Error{Status: 503, Code: "SlowDown"}), llm.Unavailable, ""},
		} {
			u := upload(t, "m", 2)
			data := golden(t)
			u.Checkpoint = readAt(func(p []byte, at int64) (int, error) {
				if at > 1000 {
					return 0, c.err
				}
				return copy(p, data[at:1100]), c.err
			})
			p.expect(t, p.Put(t.Context(), u), c.code, c.param)
		}
	})
}

func TestCancelled(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		put(t, p, upload(t, "m", 1))
		ctx, cancel := context.WithCancel(t.Context())
		u := upload(t, "m", 2)
		r := u.Checkpoint
		u.Checkpoint = readAt(func(p []byte, at int64) (int, error) {
			defer cancel()
			return r.ReadAt(p, at)
		})
		err := p.Put(ctx, u)
		p.expect(t, err, llm.Invalid, "checkpoint", "m@1")
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		p.expect(t, p.Put(ctx, upload(t, "m", 2)), llm.Timeout, "checkpoint", "m@1")
	})
}

func TestQuota(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		put(t, p, upload(t, "a", 1))
		size, err := p.models.used(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.MaxBytes = 5 * size / 2
		put(t, p, upload(t, "b", 1))
		p.expect(t, p.Put(t.Context(), upload(t, "c", 1)), llm.Full, "checkpoint", "a@1", "b@1")
		if err := p.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		put(t, p, upload(t, "c", 1))
		if err := p.Delete(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		u := upload(t, "d", 1)
		u.TrainingData = strings.Repeat("x", int(p.MaxBytes))
		p.expect(t, p.Put(t.Context(), u), llm.Invalid, "checkpoint", "c@1")
	})
}

// With New, a name of an existing model is rejected; of several concurrent uploads one is stored.
func TestNew(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		first := upload(t, "m", 1)
		first.New = true
		put(t, p, first)
		second := upload(t, "m", 2)
		second.New = true
		err := p.Put(t.Context(), second)
		p.expect(t, err, llm.Invalid, "name", "m@1")
		if !errors.Is(err, ErrExists) {
			t.Error(err)
		}
	})
	s3 := &buckettest.Store{}
	var group sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for step := range 4 { // in four processes
		group.Go(func() {
			u := upload(t, "m", step)
			u.New = true
			err := inBucket(t, s3).Put(t.Context(), u)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won != 1 {
		t.Errorf("%d were new", won)
	}
}

// ReadRun returns a run directory as an upload.
func TestReadRun(t *testing.T) {
	runs := fstest.MapFS{
		"m/config.json": {Data: []byte(config)}, "m/checkpoint-7.json": {Data: golden(t)}, "m/checkpoint-5.json": {Data: golden(t)},
		"m/metrics.jsonl": {Data: []byte(`{"valLoss":2}`)}, "none/x": {},
	}
	p := open(t, t.TempDir())
	u, c, err := ReadRun(runs, "m")
	if err != nil {
		t.Fatal(err)
	}
	put(t, p, u)
	if got := p.list(t); !slices.Equal(got, []string{"m@7"}) || c.Close() != nil || u.Metrics != `{"valLoss":2}` {
		t.Error(got, u)
	}
	if _, _, err := ReadRun(runs, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
