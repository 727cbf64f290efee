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

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// drafted returns the record of a local model with a draft model; "": without one.
func drafted(name, draft string) string {
	return fmt.Sprintf(`{"pk":"models","sk":"local-%s","schema":{"checkpoint":"%[1]s","draft":%q}}`, name, draft)
}

// withDrafts returns a catalog of the runs a, b and c, of 100 bytes each when open, and of records.
func withDrafts(memory int64, records ...string) (*Catalog, *loader, *disk) {
	d, o := &disk{}, &loader{}
	for i, name := range []string{"a", "b", "c"} {
		d.put(name+"/weights", strings.Repeat(name, 10), int64(i+1))
	}
	return New(Config{Source: files(records...), Roots: []Root{{Name: "root", FS: d}}, Loader: o, Memory: memory}), o, d
}

// A model whose draft model cannot be used is not served, and its clients learn why. Its own draft
// model still is.
func TestDraftsRefused(t *testing.T) {
	embeds := &loader{scan: func(fsys fs.FS) ([]Run, []error) {
		runs, problems := scanWeights(fsys)
		for i := range runs {
			if runs[i].ID == "e" {
				runs[i].Task = llm.TaskEmbed
			}
		}
		return runs, problems
	}}
	root := Root{"root", fstest.MapFS{"a/weights": {}, "b/weights": {}, "c/weights": {}, "e/weights": {}}, false}
	for _, test := range []struct {
		records []string
		refused map[string]string // why, by name
	}{
		{[]string{drafted("a", "none")}, map[string]string{"a": `its draft model "none" does not exist`}},
		{[]string{drafted("a", "a")}, map[string]string{"a": `its draft model "a" is the model itself`}},
		{[]string{drafted("a", "e")}, map[string]string{"a": `its draft model "e" does not continue texts`}},
		{[]string{drafted("e", "b")}, map[string]string{"e": `its draft model "b" is for models that continue texts, which this one does not`}},
		{[]string{drafted("a", "r"), rows("r"), group("r", "")}, map[string]string{"a": `its draft model "r" does not run in this process`}},
		{[]string{drafted("a", "b"), drafted("b", "a")}, map[string]string{
			"a": `its draft model "b" has a draft model that leads back`, "b": `its draft model "a" has a draft model that leads back`,
		}},
		{[]string{drafted("a", "b"), drafted("b", "c"), drafted("c", "b")}, map[string]string{
			"a": `its draft model "b" cannot be served`, "b": "leads back", "c": "leads back",
		}},
		{[]string{drafted("a", "b"), drafted("b", "c")}, nil},
		{[]string{drafted("a", "local/b"), drafted("b", "")}, nil},
	} {
		c := New(Config{Source: files(test.records...), Roots: []Root{root}, Loader: embeds, Openers: map[string]Opener{
			Bedrock: func(context.Context, *Record) (llm.Backend, error) { return llmtest.Script{}, nil },
		}})
		for _, name := range []string{"a", "b", "c", "e"} {
			_, err := c.Open(t.Context(), name)
			want := test.refused[name]
			if e, ok := errors.AsType[*llm.Error](err); want == "" && err != nil || want != "" && (!ok || e.Code != llm.Internal || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, name)) {
				t.Errorf("%v: %s: got %v, want %q", test.records, name, err, want)
			}
		}
		entries, problems := c.Entries(t.Context())
		if n := len(entries); len(problems) != len(test.refused) || slices.ContainsFunc(entries, func(e Entry) bool { return test.refused[e.Name] != "" }) {
			t.Errorf("%v: %d models, problems %v", test.records, n, problems)
		}
	}
	c := New(Config{Source: files(drafted("a", "b")), Roots: []Root{root}, Loader: &loader{}, Drafts: map[string]string{"a": "none", "b": "c", "c": "x", "z": "a"}})
	if entries, problems := c.Entries(t.Context()); len(entries) != 1 || len(problems) != 4 {
		t.Errorf("%d models, %v", len(entries), problems)
	}
	problems := Check([]Item{{Name: "x", JSON: []byte(`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","draft":"b","speculate":false}}`)}}, nil)
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "/schema/draft: speculate is false") {
		t.Errorf("%v", problems)
	}
}

// A draft model is opened once for itself and for the models that it drafts for, and stays while one
// of these is open. Its memory counts once.
func TestDraftsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o, _ := withDrafts(300, drafted("a", "c"), drafted("b", "c"))
		use(t, c, "a")()
		if got := o.options.Load(); got.Name != "a" || fmt.Sprint(got.Draft) != "[cccccccccc]" {
			t.Errorf("options %+v", got)
		}
		use(t, c, "b")()
		use(t, c, "c")()
		if n := o.opens.Load(); n != 3 || !slices.Equal(isOpen(c), []string{"a", "b", "c"}) {
			t.Errorf("%d opens: %v", n, isOpen(c))
		}
		for _, h := range c.Held() {
			if want := map[string]int{"a": 0, "b": 0, "c": 2}[h.Name]; h.Users != want || h.Bytes != 100 {
				t.Errorf("%+v", h)
			}
		}
		if o.options.Load(); c.open["local/b"].draft != c.open["local/c"] {
			t.Error("b drafts with another model")
		}
	})
}

// The draft model of an open model is not closed for others, and no longer held when its last model
// closes.
func TestDraftsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := withDrafts(200, drafted("a", "b"))
		use(t, c, "b")() // used before a
		done := use(t, c, "a")
		if _, err := c.Open(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "the models in use leave 0.0 MiB") {
			t.Errorf("c beside a and its draft model: %v", err)
		}
		done()
		use(t, c, "c")()
		if got := isOpen(c); slices.Contains(got, "a") || gone(c) != 0 {
			t.Errorf("open: %v, %d gone", got, gone(c))
		}
		use(t, c, "a")()
		if got := isOpen(c); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("open: %v", got)
		}
		use(t, c, "c")()
		use(t, c, "b")()
		inUse := use(t, c, "c")
		if _, err := c.Open(t.Context(), "a"); err == nil || c.open["local/b"].users != 0 {
			t.Errorf("%v, and its draft model is held", err)
		}
		inUse()
		tight, o, _ := withDrafts(150, drafted("a", "b"))
		_, err := tight.Open(t.Context(), "a")
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Unsupported || !strings.Contains(e.Message, `the model "a" needs 0.0 MiB of memory, with its draft model "b", and models may use`) || o.opens.Load() != 0 {
			t.Errorf("%v after %d opens", err, o.opens.Load())
		}
	})
}

// When the files of a draft model change, the models that it drafts for are opened again with the new
// one, and the old ones are closed after their last use.
func TestDraftReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o, d := withDrafts(0, drafted("a", "b"))
		done := use(t, c, "a")
		d.put("b/weights", "dddddddddd", 9)
		c.Refresh()
		use(t, c, "a")()
		if got := o.options.Load(); got.Name != "a" || fmt.Sprint(got.Draft) != "[dddddddddd]" || o.opens.Load() != 4 {
			t.Errorf("options %+v after %d opens", got, o.opens.Load())
		}
		if n := gone(c); n != 2 {
			t.Errorf("%d models in use are gone", n)
		}
		done()
		if n := gone(c); n != 0 {
			t.Errorf("%d models are kept that nobody uses", n)
		}
		c.Drop("b") // a still has it
		if n := gone(c); n != 1 {
			t.Errorf("%d models are gone", n)
		}
		c.Drop("a")
		if n := gone(c); n != 0 {
			t.Errorf("%d models are kept that nobody uses", n)
		}
	})
}

// If a draft model cannot be opened, neither can its models, and it is not held.
func TestDraftBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, d := withDrafts(0, drafted("a", "b"))
		d.put("b/weights", "broken", 9)
		_, err := c.Open(t.Context(), "a")
		if e, ok := errors.AsType[*llm.Error](err); !ok || !strings.Contains(e.Message, `the model "b" could not be opened: the weights are broken`) {
			t.Errorf("%v", err)
		}
		if c.open["local/b"].users != 0 || c.open["local/a"].draft != nil {
			t.Error("the draft model is held")
		}
	})
}

// Concurrent requests for models and their draft models open each once.
func TestDraftsConcurrently(t *testing.T) {
	c, o, _ := withDrafts(300, drafted("a", "c"), drafted("b", "c"))
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			if _, err := c.Open(t.Context(), []string{"a", "b", "c"}[i%3]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := o.opens.Load(); n != 3 {
		t.Errorf("%d opens", n)
	}
}

// Draft models of the configuration are those of models whose records name none, unless they have no
// drafts.
func TestDraftsConfigured(t *testing.T) {
	d, o := &disk{}, &loader{}
	for i, name := range []string{"a", "b", "c"} {
		d.put(name+"/weights", strings.Repeat(name, 10), int64(i+1))
	}
	off := `{"pk":"models","sk":"local-c","schema":{"checkpoint":"c","speculate":false}}`
	c := New(Config{Source: files(drafted("b", "c"), off), Roots: []Root{{Name: "root", FS: d}}, Loader: o, Drafts: map[string]string{"a": "c", "b": "a", "c": "a"}})
	for name, want := range map[string]string{"a": "c", "b": "c", "c": ""} {
		if _, err := c.Open(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		draft := c.open["local/"+name].draft
		if (draft == nil) != (want == "") || draft != nil && draft.name != want {
			t.Errorf("%s has the draft model %+v, want %q", name, draft, want)
		}
	}
}

// Experts of a model stay in its file where they would take the memory of the draft model.
func TestDraftOfExperts(t *testing.T) {
	c, o, _ := withDrafts(250, drafted("a", "b"))
	o.scan = func(fsys fs.FS) ([]Run, []error) {
		runs, problems := scanWeights(fsys)
		for i := range runs {
			if runs[i].ID == "a" {
				runs[i].Bytes, runs[i].Mixture, runs[i].Paged = 200, true, map[string]Paged{"": {All: 150, Least: 50}}
			}
		}
		return runs, problems
	}
	if _, err := c.Open(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := o.options.Load(); got.Name != "a" || got.ExpertMemory != 100 {
		t.Errorf("options %+v", got)
	}
}

// All models of a chain of drafts must fit, or none is opened.
func TestDraftChainTooLarge(t *testing.T) {
	for memory, want := range map[int64]string{250: `with its draft model "b", and models may use`, 300: ""} {
		synctest.Test(t, func(t *testing.T) {
			c, _, _ := withDrafts(memory, drafted("a", "b"), drafted("b", "c"))
			_, err := c.Open(t.Context(), "a")
			if want == "" && err != nil || want != "" && (llm.AsError(err).Code != llm.Unsupported || !strings.Contains(err.Error(), want) || len(isOpen(c)) > 0) {
				t.Errorf("memory %d: %v, open %v", memory, err, isOpen(c))
			}
		})
	}
}
