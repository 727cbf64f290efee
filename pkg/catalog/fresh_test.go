package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// slow is a source that takes time, may fail, and counts its calls.
type slow struct {
	mu    sync.Mutex
	names []string // of its models
	err   error
	takes time.Duration
	stops func() // called once in the middle of a call
	asked int
}

func (s *slow) Items(ctx context.Context) ([]Item, error) {
	s.mu.Lock()
	s.asked++
	names, err, takes, stops := s.names, s.err, s.takes, s.stops
	s.stops = nil
	s.mu.Unlock()
	if stops != nil {
		stops()
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return []Item{{Name: "all", JSON: []byte(rows(names...))}, {Name: "g", JSON: []byte(group("m", ""))}}, err
}

func (s *slow) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *slow) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// timed returns the names of the models, and the time that took.
func timed(t *testing.T, c *Catalog) ([]string, time.Duration) {
	t.Helper()
	begun := time.Now()
	list := names(t, c)
	return list, time.Since(begun)
}

// Under load no request waits for the source, and served data is never older than the
// TTL.
func TestRefreshedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second, names: []string{"m.0"}}
		c := remotes(s)
		if _, took := timed(t, c); took != time.Second {
			t.Errorf("the first answer took %v", took)
		}
		changed := map[string]time.Time{}
		for i := range 300 {
			time.Sleep(100 * time.Millisecond)
			if i%40 == 20 {
				name := fmt.Sprint("m.", i)
				s.set(func() { s.names = []string{name} })
				changed[name] = time.Now()
			}
			list, took := timed(t, c)
			if took != 0 {
				t.Fatalf("after %d: a request waited for %v", i, took)
			}
			for name, at := range changed {
				if later := !slices.ContainsFunc(list, func(n string) bool { return !changed[n].Before(at) }); later && time.Since(at) > DefaultTTL {
					t.Fatalf("after %v %s is not served, but %s", time.Since(at), name, list)
				}
			}
		}
		if n := s.count(); n > 13 {
			t.Errorf("asked %d times in 30 s", n)
		}
	})
}

// After a long pause the first request waits for fresh data, even if the process was
// stopped in the middle of a call, which then fails.
func TestFreshAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &slow{takes: time.Second, names: []string{"m.1"}}
		c := remotes(s)
		c.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		names(t, c)
		s.set(func() { s.names = []string{"m.2"} })
		time.Sleep(time.Hour)
		if list, took := timed(t, c); list[0] != "m.2" || took != time.Second {
			t.Errorf("%v after %v", list, took)
		}
		time.Sleep(DefaultTTL / 2)
		s.set(func() { s.stops = func() { time.Sleep(time.Hour) } })
		if list, took := timed(t, c); list[0] != "m.2" || took != 0 {
			t.Errorf("%v after %v", list, took)
		}
		time.Sleep(time.Hour - time.Minute)
		s.set(func() { s.names = []string{"m.3"} })
		if list, took := timed(t, c); list[0] != "m.3" || took != time.Minute+time.Second {
			t.Errorf("%v after %v", list, took)
		}
		if log.Len() > 0 {
			t.Errorf("the source did not fail: %s", &log)
		}
	})
}

// A failing source is called again after growing pauses, its last answer stays, the
// log reports it once, and its recovery is noticed soon.
func TestFailingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &slow{names: []string{"m.1"}}
		c := remotes(s)
		c.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		names(t, c)
		fault := errors.New("throttled")
		s.set(func() { s.err = fault })
		before := s.count()
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if list, took := timed(t, c); !slices.Equal(list, []string{"m.1"}) || took != 0 {
				t.Fatalf("%v after %v", list, took)
			}
		}
		if n := s.count() - before; n < 60/4 || n > 40 {
			t.Errorf("asked %d times in a minute", n)
		}
		_, problems := c.Entries(t.Context())
		if len(problems) != 1 || !errors.Is(problems[0], fault) || IsWarning(problems[0]) {
			t.Error(problems)
		}
		s.set(func() { s.err, s.names = nil, []string{"m.1", "x"} })
		for back := time.Now(); len(c.now.Load().problems) == 0; time.Sleep(100 * time.Millisecond) {
			names(t, c)
			if time.Since(back) > maxPause+DefaultTTL/2 {
				t.Fatal("its return is not seen")
			}
		}
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			names(t, c)
		}
		s.set(func() { s.names = []string{"m.1"} })
		time.Sleep(DefaultTTL)
		names(t, c)
		got := log.String()
		for _, want := range []string{"level=ERROR msg=models problem=", `msg="models: records can be read again"`, `level=WARN msg="not served" problem="all-models: /models/1: `, `level=INFO msg="valid again"`} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%q is there %d times in\n%s", want, strings.Count(got, want), got)
			}
		}
		if strings.Count(got, "\n") != 4 {
			t.Error(got)
		}
	})
}

// Before the first answer, remote names are not unknown, because they may be served in a
// moment; local ones are.
func TestNoAnswerYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{names: []string{"m.1"}, err: errors.New("no credentials")}
		c := remotes(s)
		for range 2 {
			_, err := c.Open(t.Context(), "m.1")
			e := llm.AsError(err)
			if e.Code != llm.Unavailable || e.RetryAfter < time.Second || strings.Contains(e.Message, "credentials") || !errors.Is(e, s.err) {
				t.Errorf("%#v", err)
			}
			if _, err := c.List(t.Context()); llm.AsError(err).Code != llm.Unavailable {
				t.Errorf("%#v", err)
			}
		}
		if n := s.count(); n != 1 {
			t.Errorf("asked %d times at once", n)
		}
		c.cfg.Roots = []Root{{Name: "root", FS: fstest.MapFS{"a/weights": {Data: []byte("a")}}}}
		c.fixed = make([]scan, 1)
		time.Sleep(time.Second)
		names(t, c)
		synctest.Wait()
		if got := say(t, c, "a"); got != "a" {
			t.Error(got)
		}
		if _, err := c.Open(t.Context(), "m.1"); llm.AsError(err).Code != llm.Unavailable {
			t.Error(err)
		}
		s.set(func() { s.err = nil })
		time.Sleep(time.Minute)
		if _, err := c.Open(t.Context(), "m.1"); err != nil {
			t.Error(err)
		}
	})
}

// A request whose client has gone stops waiting; a source that hangs is a source that
// fails.
func TestHangingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{names: []string{"m.1"}, takes: 20 * time.Minute}
		c := remotes(s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Open(ctx, "m.1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := c.Open(t.Context(), "m.1"); llm.AsError(err).Code != llm.Unavailable {
			t.Error(err)
		}
		s.set(func() { s.takes = 0 })
		time.Sleep(time.Hour)
		names(t, c)
		s.set(func() { s.takes = 20 * time.Minute })
		for range 100 {
			time.Sleep(500 * time.Millisecond)
			if list, took := timed(t, c); len(list) != 1 || took != 0 {
				t.Fatalf("%v after %v", list, took)
			}
		}
		time.Sleep(time.Hour)
		if list, took := timed(t, c); len(list) != 1 || took > sourceTimeout {
			t.Errorf("%v after %v", list, took)
		}
	})
}

// A read that began before Refresh does not count as one after it.
func TestRefreshDuringALook(t *testing.T) {
	d, began, gate := &disk{}, make(chan struct{}), make(chan struct{})
	d.put("a/weights", "one", 1)
	c := catalogOf(&loader{scan: func(fsys fs.FS) ([]Run, []error) {
		runs, problems := scanWeights(fsys)
		began <- struct{}{}
		<-gate
		return runs, problems
	}}, nil, Root{Name: "root", FS: d})
	count := make(chan int, 3)
	ask := func() {
		list, _ := c.List(t.Context())
		count <- len(list)
	}
	go ask()
	<-began
	d.put("b/weights", "two", 2)
	c.Refresh()
	gate <- struct{}{}
	if n := <-count; n != 1 {
		t.Errorf("the look of before has %d models", n)
	}
	go ask()
	<-began
	go ask()
	time.Sleep(20 * time.Millisecond) // an answer would have arrived by now
	gate <- struct{}{}
	for range 2 {
		if n := <-count; n != 2 {
			t.Errorf("a question after Refresh has %d models", n)
		}
	}
}

// A panic of the loader is an error of the waiting requests, and does not end the process.
func TestPanicInALook(t *testing.T) {
	c := remotes(&slow{names: []string{"m.1"}})
	c.cfg.Roots, c.fixed = []Root{{Name: "r"}}, make([]scan, 1)
	c.cfg.Loader = &loader{scan: func(fs.FS) ([]Run, []error) { panic("in the loader") }}
	if _, err := c.Open(t.Context(), "m.1"); llm.AsError(err).Code != llm.Internal {
		t.Error(err)
	}
	if _, problems := c.Entries(t.Context()); len(problems) != 1 {
		t.Error(problems)
	}
}

// Models added to the table are served, and removed ones are not, within the TTL, under
// load and without a restart.
func TestAddAndRemoveTakeEffect(t *testing.T) {
	tab := tabletest.New(t).Table()
	e := Editor{tab}
	if _, err := e.WriteSeed(t.Context(), Seed{Items: []Item{{Name: "m", JSON: []byte(group("m", ""))}}}); err != nil {
		t.Fatal(err)
	}
	const ttl = 100 * time.Millisecond
	c := New(Config{Source: Table{tab}, Openers: remotes(nil).cfg.Openers, TTL: ttl})
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := c.List(t.Context()); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	// is waits for a state, and fails if it comes after the TTL of a call that began after
	// the change. It counts calls of the table, because a busy machine's clock is not
	// reliable.
	is := func(name string, there bool) {
		t.Helper()
		changed := time.Now()
		for c.Has(t.Context(), name) != there {
			if v := c.now.Load(); v.at.After(changed) && c.Has(t.Context(), name) != there {
				t.Fatalf("%s: a newer look does not see the change", name)
			}
			time.Sleep(time.Millisecond)
			if time.Since(changed) > time.Minute {
				t.Fatalf("%s: the change is not seen", name)
			}
		}
	}
	for i := range 5 {
		name := fmt.Sprint("m.", i)
		if _, err := e.Add(t.Context(), Addition{Rows: []Row{{Type: "T", Name: name, Family: Bedrock}}}); err != nil {
			t.Fatal(err)
		}
		is(name, true)
		if i%2 == 0 {
			if _, err := e.Remove(t.Context(), []string{name}, false); err != nil {
				t.Fatal(err)
			}
			is(name, false)
		}
	}
	if err := tab.Delete(t.Context(), table.Key{PK: pk, SK: "bedrock-m"}); err != nil {
		t.Fatal(err)
	}
	is("m.1", false)
	close(stop)
	load.Wait()
}
