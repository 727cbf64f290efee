package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// disk is a file system that changes: MapFS under a lock.
type disk struct {
	mu    sync.Mutex
	files fstest.MapFS
}

func (d *disk) Open(name string) (fs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files.Open(name)
}

func (d *disk) put(name, content string, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		d.files = fstest.MapFS{}
	}
	d.files[name] = &fstest.MapFile{Data: []byte(content), ModTime: time.Unix(at, 0)}
}

func (d *disk) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, name)
}

func catalogOf(o *loader, source Source, roots ...Root) *Catalog {
	return New(Config{Source: source, Roots: roots, Loader: o})
}

// say opens the model and returns its text.
func say(t *testing.T, c *Catalog, name string) string {
	t.Helper()
	m, err := c.Open(t.Context(), name)
	if err != nil {
		return "error: " + err.Error()
	}
	rows, _, err := llm.Collect(m.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("")}}), 1)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].Text
}

func names(t *testing.T, c *Catalog) (list []string) {
	t.Helper()
	infos, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		list = append(list, info.Name)
	}
	return list
}

func records() Files {
	return Files{fstest.MapFS{
		"all-models.json": {Data: []byte(`{"pk":"models","sk":"all-models","models":[
			{"model_type":"Alpha","model_name":"novels","model_family":"local","streaming":true},
			{"model_type":"Alpha","model_name":"abc","model_family":"local","streaming":true}]}`)},
		"local-abc.json": {Data: []byte(`{"pk":"models","sk":"local-abc","schema":{"checkpoint":"abc"}}`)},
		"local-novels.json": {Data: []byte(`{"pk":"models","sk":"local-novels","created":1700000000,"description":"stories",
			"schema":"{\"checkpoint\":\"novels\",\"aliases\":[\"novels-5hr\"],\"cap\":30}"}`)},
	}}
}

func TestOrderAndNames(t *testing.T) {
	starters := fstest.MapFS{
		"abc/weights": {Data: []byte("starter abc")}, "novels/weights": {Data: []byte("starter novels")},
		"aaa/weights": {Data: []byte("starter aaa")},
	}
	d := &disk{}
	d.put("old/weights", "old", 100)
	d.put("new/weights", "new", 300)
	d.put("abc/weights", "shadowed", 200)
	d.put("broken-run/weights", "bad", 200)
	c := catalogOf(&loader{}, records(), Root{"starters", starters, true}, Root{"checkpoints", d, false})

	if got, want := names(t, c), []string{"new", "old", "novels", "abc", "aaa"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, want := range map[string]string{
		"": "new", "old": "old", "local/old": "old", "run-of-old": "old", "local/run-of-old": "old",
		"novels": "starter novels", "novels-5hr": "starter novels", "local/novels-5hr": "starter novels",
		"abc": "starter abc", "aaa": "starter aaa",
	} {
		if got := say(t, c, name); got != want {
			t.Errorf("%q says %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"nope", "bedrock/novels", "broken-run", "local/", "/", strings.Repeat("é", 1<<20)} {
		_, err := c.Open(t.Context(), name)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != llm.NotFound || !strings.Contains(e.Message, short(name)) || len(e.Message) > 1000 {
			t.Errorf("%.20q: %.300v", name, err)
		}
	}
	_, problems := c.Entries(t.Context())
	if s := errors.Join(problems...).Error(); len(problems) != 2 || !strings.Contains(s, "checkpoints: broken-run: bad run") ||
		!strings.Contains(s, "model abc of checkpoints: not served: its name is taken by the run abc of starters") {
		t.Error(s)
	}
	m, err := c.Open(t.Context(), "novels-5hr")
	if err != nil || m.Name != "novels" || m.Description != "stories" || m.Created.Unix() != 1700000000 || m.Context != 8 || !m.Streaming {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestRunNamedLikeAnAliasWins(t *testing.T) {
	d := &disk{}
	d.put("novels/weights", "record's", 1)
	d.put("novels-5hr/weights", "run's", 2)
	if got := say(t, catalogOf(&loader{}, records(), Root{"checkpoints", d, false}), "novels-5hr"); got != "run's" {
		t.Error(got)
	}
}

func TestChangesAreSeenWithinTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, o := &disk{}, &loader{}
		d.put("a/weights", "one", 1)
		c := catalogOf(o, nil, Root{"checkpoints", d, false})
		step := func(name, want string, opens int32) {
			t.Helper()
			if got := say(t, c, name); !strings.HasPrefix(got, want) || o.opens.Load() != opens {
				t.Errorf("%q says %q after %d opens, want %q after %d", name, got, o.opens.Load(), want, opens)
			}
		}
		step("a", "one", 1)
		time.Sleep(10 * DefaultTTL)
		step("a", "one", 1) // warm
		d.put("b/weights", "two", 2)
		step("b", "error: ", 1)
		time.Sleep(DefaultTTL)
		step("b", "two", 2)
		old, err := c.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		d.put("a/weights", "ONE", 3) // the same path and size
		time.Sleep(DefaultTTL)
		step("a", "ONE", 3)
		step("b", "two", 3)
		rows, _, err := llm.Collect(old.Generate(t.Context(), &llm.Request{Prompts: make([]llm.Prompt, 1)}), 1)
		if err != nil || rows[0].Text != "one" {
			t.Errorf("what was open says %v, %v", rows, err)
		}
		d.remove("a/weights")
		time.Sleep(DefaultTTL)
		step("a", "error: ", 3)
		if len(c.open) != 1 {
			t.Errorf("%d backends are kept", len(c.open))
		}
		d.put("c/weights", "three", 4)
		c.Refresh()
		step("c", "three", 4)
	})
}

func TestFailedOpenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, content := range []string{"broken", "panic"} {
			d, o := &disk{}, &loader{}
			d.put("a/weights", content, 1)
			c := catalogOf(o, nil, Root{"checkpoints", d, false})
			for range 3 {
				_, err := c.Open(t.Context(), "a")
				e, ok := errors.AsType[*llm.Error](err) // clients get the reason, but not that of a panic
				if !ok || e.Code != llm.Internal || strings.Contains(e.Message, "weights") != (content == "broken") || strings.Contains(e.Message, "goroutine") {
					t.Fatalf("%s: %v", content, err)
				}
			}
			if n := o.opens.Load(); n != 1 {
				t.Errorf("%s: %d opens within the TTL", content, n)
			}
			time.Sleep(DefaultTTL + 1)
			if _, err := c.Open(t.Context(), "a"); err == nil || o.opens.Load() != 2 {
				t.Errorf("%s: %v, %d opens", content, err, o.opens.Load())
			}
		}
	})
}

func TestRunReplacedAfterTheLook(t *testing.T) {
	d := &disk{}
	d.put("a/weights", "one", 1)
	c := catalogOf(&loader{scan: func(fsys fs.FS) ([]Run, []error) { // a run whose checkpoint has another name in each scan
		files, err := fs.Glob(fsys, "a/*")
		if err != nil {
			return nil, []error{err}
		}
		return []Run{{ID: "a", Checkpoint: files[0]}}, nil
	}}, nil, Root{"checkpoints", d, false})
	names(t, c)
	d.remove("a/weights")
	d.put("a/weights-2", "two", 2)
	if got := say(t, c, "a"); got != "two" {
		t.Error(got)
	}
}

func TestOneOpenForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, o := &disk{}, &loader{block: make(chan struct{})}
		d.put("a/weights", "one", 1)
		c := catalogOf(o, nil, Root{"checkpoints", d, false})
		first, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 20 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			wg.Go(func() {
				m, err := c.Open(ctx, "a")
				if i == 0 && !errors.Is(err, context.Canceled) || i > 0 && (err != nil || m.Name != "a") {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		synctest.Wait()
		cancel() // the others are not affected
		synctest.Wait()
		close(o.block)
		wg.Wait()
		if n := o.opens.Load(); n != 1 {
			t.Errorf("%d opens", n)
		}
	})
}

func TestConcurrentChanges(t *testing.T) {
	d, o := &disk{}, &loader{}
	d.put("a/weights", "0", 1)
	c := New(Config{
		Roots: []Root{{"checkpoints", d, false}}, Loader: o,
		TTL: time.Nanosecond, // read each time
	})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				d.put("a/weights", "x", int64(j))
				d.put(fmt.Sprintf("n%d/weights", i), "y", int64(j))
				if got := say(t, c, "a"); got != "0" && got != "x" {
					t.Error(got)
				}
				if got := say(t, c, fmt.Sprintf("n%d", i)); got != "y" {
					t.Error(got)
				}
				c.Refresh()
			}
		})
	}
	wg.Wait()
}

type failing struct {
	Files
	err error
}

func (f *failing) Items(ctx context.Context) ([]Item, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Files.Items(ctx)
}

func TestRecordsStayWhenTheSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &failing{Files: records()}
		starters := fstest.MapFS{"abc/weights": {Data: []byte("abc")}, "novels/weights": {Data: []byte("novels")}}
		c := catalogOf(&loader{}, source, Root{"starters", starters, true})
		want := names(t, c)
		source.err = errors.New("the table is throttled")
		time.Sleep(DefaultTTL)
		got := names(t, c)
		_, problems := c.Entries(t.Context())
		if !slices.Equal(got, want) || len(problems) != 1 || !errors.Is(problems[0], source.err) {
			t.Errorf("%v, %v", got, problems)
		}
	})
}

func TestEmptyCatalog(t *testing.T) {
	c := New(Config{})
	if list := names(t, c); len(list) != 0 {
		t.Error(list)
	}
	if _, err := c.Open(t.Context(), ""); llm.AsError(err).Code != llm.NotFound {
		t.Error(err)
	}
}

// The version of a model changes with its record and its weights, and with nothing else.
func TestVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		d.put("a/weights", "0", 1)
		record := func(more string) fs.FS {
			return fstest.MapFS{"a.json": {Data: []byte(`{"pk": "models", "sk": "local-a", "schema": {"checkpoint": "a"}` + more + `}`)}}
		}
		source := &Files{record("")}
		c := New(Config{
			Source: source, Roots: []Root{{"checkpoints", d, false}}, Loader: &loader{},
		})
		version := func() string {
			time.Sleep(DefaultTTL)
			_, e, err := c.OpenEntry(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if e.Record().Checkpoint != "a" {
				t.Fatal(e.Record())
			}
			return e.Version()
		}
		seen := map[string]string{version(): "the first"}
		if len(seen) != 1 || seen[version()] == "" {
			t.Error("another look, another version")
		}
		for what, change := range map[string]func(){
			"weights":   func() { d.put("a/weights", "1", 2) },
			"fallbacks": func() { source.FS = record(`, "fallbacks": ["b"]`) },
			"template":  func() { source.FS = record(`, "parse_special": true`) },
			"kv": func() {
				source.FS = fstest.MapFS{"a.json": {Data: []byte(`{"pk": "models", "sk": "local-a", "parse_special": true, "schema": {"checkpoint": "a", "kv": "f32"}}`)}}
			},
		} {
			change()
			v := version()
			if seen[v] != "" {
				t.Errorf("%s: the version is that of %s", what, seen[v])
			}
			seen[v] = what
		}
		if _, e, err := c.OpenEntry(t.Context(), "none"); e != nil || err == nil {
			t.Error(e, err)
		}
	})
}
