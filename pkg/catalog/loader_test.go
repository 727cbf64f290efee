package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// A loader is a [Loader] of models that generate their weights as text. It counts opens.
type loader struct {
	opens      atomic.Int32
	mu         sync.Mutex
	prefetched []string                // under mu
	options    atomic.Pointer[Options] // of the last open

	// Hooks of tests; nil: the defaults.
	block  chan struct{} // Open waits for it
	scan   func(fs.FS) ([]Run, []error)
	locate func(location string) (fs.FS, error)
	open   func() (llm.Backend, error)
}

var _ Loader = (*loader)(nil)

func (l *loader) Prefetch(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefetched = append(l.prefetched, name)
}

func (l *loader) Scan(fsys fs.FS) ([]Run, []error) {
	if l.scan != nil {
		return l.scan(fsys)
	}
	return scanWeights(fsys)
}

func (l *loader) Locate(location string) (fs.FS, error) {
	if l.locate != nil {
		return l.locate(location)
	}
	if !filepath.IsAbs(location) {
		return nil, errors.New("there is no S3 here")
	}
	weights, err := os.ReadFile(filepath.Join(location, "weights"))
	if err != nil {
		return nil, err
	}
	return fstest.MapFS{filepath.Base(location) + "/weights": {Data: weights}}, nil
}

func (l *loader) Open(_ context.Context, run *Run, o Options) (llm.Backend, error) {
	l.opens.Add(1)
	l.options.Store(&o)
	if l.block != nil {
		<-l.block
	}
	if l.open != nil {
		return l.open()
	}
	b, err := fs.ReadFile(run.FS, run.Checkpoint)
	switch {
	case err != nil:
		return nil, err
	case string(b) == "panic":
		panic("in the loader")
	case string(b) == "broken":
		return nil, errors.New("the weights are broken")
	}
	return llmtest.Script{string(b)}, nil
}

// scanWeights lists runs of the form <id>/weights; "bad" as content is a problem.
func scanWeights(fsys fs.FS) (runs []Run, problems []error) {
	dirs, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, []error{err}
	}
	for _, d := range dirs {
		file := path.Join(d.Name(), "weights")
		b, err := fs.ReadFile(fsys, file)
		if err != nil || string(b) == "bad" {
			problems = append(problems, fmt.Errorf("%s: bad run", d.Name()))
			continue
		}
		info, err := fs.Stat(fsys, file)
		if err != nil {
			return nil, []error{err}
		}
		runs = append(runs, Run{
			ID: d.Name(), Checkpoint: file, Size: info.Size(), ModTime: info.ModTime(), Context: 8,
			Info: &llm.Run{ID: "run-of-" + d.Name()}, Bytes: 10 * info.Size(),
		})
	}
	return runs, problems
}

// The loader receives the options of a model's record, and the model runs in this process.
func TestOptions(t *testing.T) {
	record := `{"pk":"models","sk":"local-a","context":7,"parse_special":true,"unsupported":"drop","schema":{"checkpoint":"m","chat_template":"chatml","cap":"tanh30","languages":["en","fr"],"quant":"q8_0","kv":"f32","prefixes":"public","speculate":false}}`
	l := &loader{}
	c := catalogOf(l, files(record, rows("r"), group("r", "")), Root{"root", fstest.MapFS{"m/weights": {Data: []byte("m")}}, false})
	if got := say(t, c, "a"); got != "m" {
		t.Fatal(got)
	}
	want := Options{Name: "a", Context: 7, ChatTemplate: "chatml", Cap: "tanh30", ParseSpecial: true, Languages: []string{"en", "fr"}, Quant: "q8_0", KV: "f32", Public: true, NoDrafts: true}
	if got := l.options.Load(); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", *got, want)
	}
	remote, err := remotes(files(rows("r"), group("r", ""))).Entry(t.Context(), "r")
	if err != nil || remote.InProcess {
		t.Errorf("a remote model: %+v, %v", remote, err)
	}
	local, err := c.Entry(t.Context(), "a")
	if err != nil || !local.InProcess || !local.Drops {
		t.Errorf("a local model: %+v, %v", local, err)
	}
}

// Without a loader, models of the family local are problems.
func TestNoLoader(t *testing.T) {
	c := New(Config{Source: files(`{"pk":"models","sk":"local-a","schema":{"checkpoint":"m"}}`), Roots: []Root{{"root", fstest.MapFS{"m/weights": {}}, false}}})
	entries, problems := c.Entries(t.Context())
	if len(entries) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "are not served here") {
		t.Errorf("%+v, %v", entries, problems)
	}
}
