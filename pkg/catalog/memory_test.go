package catalog

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// three returns a catalog of the models a, b and c, of 100 bytes each when open, with
// a bound on memory.
func three(memory int64) (*Catalog, *loader) {
	d, o := &disk{}, &loader{}
	for i, name := range []string{"a", "b", "c"} {
		d.put(name+"/weights", strings.Repeat(name, 10), int64(i+1))
	}
	return New(Config{
		Roots: []Root{{Name: "root", FS: d}}, Loader: o, Memory: memory,
	}), o
}

// isOpen returns the names of the models that are open.
func isOpen(c *Catalog) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.open {
		names = append(names, strings.TrimPrefix(key, "local/"))
	}
	slices.Sort(names)
	return names
}

// gone returns the number of models that are still in use after they were closed.
func gone(c *Catalog) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.gone)
}

func use(t *testing.T, c *Catalog, name string) (done func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Open(ctx, name); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		time.Sleep(time.Millisecond) // of the bubble: uses differ in time
	}
}

// The least recently used model is evicted first.
func TestLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := three(250)
		use(t, c, "a")()
		use(t, c, "b")()
		use(t, c, "a")()
		use(t, c, "c")()
		if got := isOpen(c); !slices.Equal(got, []string{"a", "c"}) || o.opens.Load() != 3 {
			t.Errorf("open: %v after %d opens", got, o.opens.Load())
		}
		use(t, c, "b")()
		if got := isOpen(c); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("open: %v", got)
		}
	})
}

// Models in use stay, and a request for their memory gets an error with a time to retry.
func TestModelsInUseStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := three(200)
		doneA, doneB := use(t, c, "a"), use(t, c, "b")
		_, err := c.Open(t.Context(), "c")
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != llm.Overloaded || e.RetryAfter == 0 || !strings.Contains(e.Message, "models in use") {
			t.Errorf("c beside a and b: %v", err)
		}
		doneB()
		use(t, c, "c")()
		if got := isOpen(c); !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("open: %v", got)
		}
		doneA()
	})
}

// A request just before the models in use are released waits for them.
func TestWaitingForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := three(100)
		done := use(t, c, "a")
		go func() {
			time.Sleep(patience / 2)
			done()
		}()
		use(t, c, "b")()
		if got := isOpen(c); !slices.Equal(got, []string{"b"}) {
			t.Errorf("open: %v", got)
		}
	})
}

// The memory of a replaced model counts until its last use ends.
func TestReplacedModelCountsWhileInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, o := &disk{}, &loader{}
		d.put("a/weights", strings.Repeat("a", 10), 1)
		c := New(Config{
			Roots: []Root{{Name: "root", FS: d}}, Loader: o, Memory: 150,
		})
		done := use(t, c, "a")
		if got := c.Held(); len(got) != 1 || got[0].Name != "a" || got[0].Bytes != 100 || got[0].Users != 1 {
			t.Errorf("held: %+v", got)
		}
		d.put("a/weights", strings.Repeat("b", 10), 2)
		c.Refresh()
		if _, err := c.Open(t.Context(), "a"); err == nil {
			t.Error("the new a fits beside the old one, which is in use")
		}
		done()
		use(t, c, "a")()
		if n := gone(c); n != 0 {
			t.Errorf("%d models are kept that nobody uses", n)
		}
	})
}

// A model that was replaced while it was being opened, and has no more users, is not
// kept once it is open.
func TestReplacedWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, o := &disk{}, &loader{block: make(chan struct{})}
		d.put("a/weights", strings.Repeat("a", 10), 1)
		c := New(Config{
			Roots: []Root{{Name: "root", FS: d}}, Loader: o, Memory: 150,
		})
		c.Has(t.Context(), "a") // this reads the list
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Open(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		d.remove("a/weights")
		c.Refresh()
		c.Has(t.Context(), "a")
		synctest.Wait()
		if n := gone(c); n != 1 {
			t.Fatalf("%d models are gone and being opened", n)
		}
		close(o.block)
		synctest.Wait()
		if gone(c) != 0 {
			t.Error("a model is kept that nobody can use")
		}
	})
}

// A model that can never fit is rejected with the numbers, before it is read.
func TestTooLargeForTheMemory(t *testing.T) {
	c, o := three(99)
	_, err := c.Open(t.Context(), "a")
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Code != llm.Unsupported || strings.Count(e.Message, "MiB") != 2 || o.opens.Load() != 0 {
		t.Errorf("%v after %d opens", err, o.opens.Load())
	}
}

// sharing returns a catalog of the base a, of 100 bytes, its adapters b and c, which take 20 more each,
// c of a version of a, and d of 60 bytes.
func sharing(memory int64, version string) *Catalog {
	l := &loader{scan: func(fsys fs.FS) ([]Run, []error) {
		runs, problems := scanWeights(fsys)
		for i := range runs {
			switch r := &runs[i]; r.ID {
			case "a":
				r.Bytes, r.Base, r.Weights = 100, "a", "version 1"
			case "d":
				r.Bytes = 60
			default:
				r.Bytes, r.Base, r.Weights, r.Added = 120, "a", "version 1", 20
				if r.ID == "c" {
					r.Weights = version
				}
			}
		}
		return runs, problems
	}}
	d := &disk{}
	for i, name := range []string{"a", "b", "c", "d"} {
		d.put(name+"/weights", name, int64(i+1))
	}
	return New(Config{Roots: []Root{{Name: "root", FS: d}}, Loader: l, Memory: memory})
}

// Weights that models share count once, for the base, and the adapters count for themselves.
func TestSharedWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sharing(140, "version 1")
		doneB, doneC := use(t, c, "b"), use(t, c, "c")
		held := func(want ...Held) {
			t.Helper()
			got := c.Held()
			slices.SortFunc(got, func(a, b Held) int { return strings.Compare(a.Name, b.Name) })
			if !slices.Equal(got, want) {
				t.Errorf("held: %+v, want %+v", got, want)
			}
		}
		held(Held{Name: "a", Bytes: 100, Users: 2}, Held{Name: "b", Bytes: 20, Users: 1}, Held{Name: "c", Bytes: 20, Users: 1})
		doneA := use(t, c, "a")
		held(Held{Name: "a", Bytes: 100, Users: 3}, Held{Name: "b", Bytes: 20, Users: 1}, Held{Name: "c", Bytes: 20, Users: 1})
		doneA()
		if _, err := c.Open(t.Context(), "d"); err == nil || !strings.Contains(err.Error(), "leave") {
			t.Errorf("d beside the adapters: %v", err)
		}
		if got := isOpen(c); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("open: %v: closing the base frees nothing", got)
		}
		doneB()
		doneC()
		use(t, c, "d")()
		if got := isOpen(c); !slices.Equal(got, []string{"d"}) {
			t.Errorf("open: %v", got)
		}
		held(Held{Name: "d", Bytes: 60, Users: 0})
		use(t, c, "c")() // with the base
		held(Held{Name: "a", Bytes: 100, Users: 0}, Held{Name: "c", Bytes: 20, Users: 0})
	})
}

// Weights of two versions of a base count for themselves.
func TestSharedWeightsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sharing(239, "version 2")
		done := use(t, c, "b")
		defer done()
		if _, err := c.Open(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "leave") {
			t.Errorf("c beside b: %v", err)
		}
	})
}

// An adapter that does not fit with its base is refused.
func TestAdapterTooLargeForTheMemory(t *testing.T) {
	c := sharing(119, "version 1")
	if _, err := c.Open(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), "may use") {
		t.Error(err)
	}
	if _, err := c.Open(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// Two names of the same weights are closed together: alone, neither would free anything.
func TestMemoryOfNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loader{scan: func(fsys fs.FS) ([]Run, []error) {
			runs, problems := scanWeights(fsys)
			for i := range runs {
				switch r := &runs[i]; r.ID {
				case "a", "b": // another record of a
					r.Bytes, r.Base, r.Weights = 100, "a", "version 1"
				case "d":
					r.Bytes = 60
				}
			}
			return runs, problems
		}}
		d := &disk{}
		for i, name := range []string{"a", "b", "d"} {
			d.put(name+"/weights", name, int64(i+1))
		}
		c := New(Config{Roots: []Root{{Name: "root", FS: d}}, Loader: l, Memory: 140})
		use(t, c, "a")()
		inUse := use(t, c, "b")
		if _, err := c.Open(t.Context(), "d"); llm.AsError(err).Code != llm.Overloaded {
			t.Errorf("while one of the names is in use: %v", err)
		}
		inUse()
		if _, err := c.Open(t.Context(), "d"); err != nil || !slices.Equal(isOpen(c), []string{"d"}) {
			t.Errorf("nothing is in use: %v, open %v", err, isOpen(c))
		}
	})
}

// mixed says how its experts were found.
type mixed struct{ llm.Backend }

func (mixed) ExpertUse() (llm.ExpertUse, bool) {
	return llm.ExpertUse{Hits: 9, Misses: 3, Bytes: 20, Limit: 30}, true
}

// Experts of a model that is larger than memory stay in its file, as many as do not fit. Others
// have all of them in memory.
func TestPagedExperts(t *testing.T) {
	for _, c := range []struct {
		memory, bytes, experts int64
		read                   bool   // the file cannot be mapped
		message                string // of the error
	}{
		{memory: 0, bytes: 100},
		{memory: 100, bytes: 100},
		{memory: 99, bytes: 99, experts: 59},
		{memory: 60, bytes: 60, experts: 20},
		{memory: 59, message: "needs 60.0 MiB of memory, and models may use 59.0 MiB here"},
		{memory: 99, read: true, message: "needs 100.0 MiB of memory, and models may use 99.0 MiB here; its experts could stay in a local file that glossa pack writes"},
	} {
		const mib = 1 << 20
		l := &loader{scan: func(fsys fs.FS) ([]Run, []error) {
			runs, problems := scanWeights(fsys)
			for i := range runs {
				runs[i].Bytes, runs[i].Quant, runs[i].Mixture = 100*mib, "stored", true
				if !c.read {
					runs[i].Paged = map[string]Paged{"stored": {All: 60 * mib, Least: 20 * mib}}
				}
			}
			return runs, problems
		}, open: func() (llm.Backend, error) { return mixed{}, nil }}
		d := &disk{}
		d.put("a/weights", "a", 1)
		cat := New(Config{Roots: []Root{{Name: "root", FS: d}}, Loader: l, Memory: c.memory * mib})
		_, err := cat.Open(t.Context(), "a")
		if c.message != "" {
			if err == nil || !strings.Contains(err.Error(), c.message) || l.opens.Load() != 0 {
				t.Errorf("memory %d: %v", c.memory, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("memory %d: %v", c.memory, err)
			continue
		}
		held := cat.Held()
		if n := l.options.Load().ExpertMemory; n != c.experts*mib || len(held) != 1 || held[0].Bytes != c.bytes*mib {
			t.Errorf("memory %d: %d bytes for experts, held %+v", c.memory, n, held)
		}
		if use := held[0].Experts; (use == nil) != (c.experts == 0) || use != nil && *use != (llm.ExpertUse{Hits: 9, Misses: 3, Bytes: 20, Limit: 30}) {
			t.Errorf("memory %d: %+v", c.memory, use)
		}
	}
}

// pooled is a backend with memory for reuse that leads back to it.
type pooled struct {
	llm.Backend
	passes sync.Pool
}

// The memory of an evicted model is free before the next one is read, also if it has memory for reuse.
func TestEvictedMemoryIsFree(t *testing.T) {
	c, o := three(100)
	var made weak.Pointer[pooled]
	o.open = func() (llm.Backend, error) {
		if made.Value() != nil {
			t.Error("the evicted model is still in memory")
		}
		b := &pooled{Backend: llmtest.Script{"a"}}
		b.passes.Put(b)
		made = weak.Make(b)
		return b, nil
	}
	for _, name := range []string{"a", "b", "c"} {
		func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := c.Open(ctx, name); err != nil {
				t.Error(err)
			}
		}()
	}
	if o.opens.Load() != 3 {
		t.Errorf("%d opens", o.opens.Load())
	}
}

// A model leaves the memory at the time that was set after its last use, or as soon as it is unused, and
// is opened again by the next request. One that was opened again stays.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := three(0)
		keep := func(name string, idle time.Duration) {
			t.Helper()
			if err := c.Keep(t.Context(), name, idle); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		open := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if got := isOpen(c); !slices.Equal(got, want) || len(c.Held()) != len(want) {
				t.Errorf("open: %v, want %v; held: %+v", got, want, c.Held())
			}
		}
		done := use(t, c, "a")
		use(t, c, "b")()
		keep("a", 0)
		keep("b", 0)
		keep("c", 0) // it is not in memory
		open("a")
		done()
		open()
		use(t, c, "a")()
		open("a")
		keep("local/a", time.Minute)
		time.Sleep(time.Minute / 2)
		done = use(t, c, "a")
		if held := c.Held(); held[0].Leaves != time.Now().Add(time.Minute) {
			t.Errorf("in use: %+v", held)
		}
		time.Sleep(2 * time.Minute)
		open("a")
		done()
		left := time.Now().Add(time.Minute - time.Millisecond) // see use
		time.Sleep(time.Minute - 2*time.Millisecond)
		if open("a"); c.Held()[0].Leaves != left {
			t.Errorf("%+v leaves, want %v", c.Held(), left)
		}
		time.Sleep(2 * time.Millisecond)
		open()
		use(t, c, "a")()
		keep("a", time.Minute)
		keep("a", -1)
		time.Sleep(time.Hour)
		open("a")
		if !c.Held()[0].Leaves.IsZero() || o.opens.Load() != 4 {
			t.Errorf("%+v after %d opens", c.Held(), o.opens.Load())
		}
		if err := c.Keep(t.Context(), "none", 0); llm.AsError(err).Code != llm.NotFound {
			t.Error(err)
		}
	})
}

// A model whose requests have ended before it was open leaves as soon as it is.
func TestKeepOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := three(0)
		o.block = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go c.Open(ctx, "a")
		synctest.Wait()
		if err := c.Keep(t.Context(), "a", 0); err != nil {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		if got := isOpen(c); !slices.Equal(got, []string{"a"}) {
			t.Errorf("open: %v", got)
		}
		close(o.block)
		synctest.Wait()
		if got := isOpen(c); len(got) != 0 {
			t.Errorf("open: %v", got)
		}
	})
}
