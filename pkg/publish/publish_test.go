package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/llm"
)

const config = `{"modelConfig":{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0},"trainConfig":{},"configHash":"00000000","runId":"r"}`

func golden(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := checkpoint.WriteALPH(&b, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func upload(t testing.TB, name string, step int) Upload {
	return Upload{Name: name, Config: []byte(config), Step: step, Checkpoint: bytes.NewReader(golden(t)), Metrics: `{"loss":1.5}` + "\n"}
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// models lists what a scan finds, as name@step, and checks that each loads and that
// nothing is left of uploads.
func models(t testing.TB, s *Store) []string {
	t.Helper()
	runs, problems := checkpoint.Scan(s.FS())
	if problems != nil {
		t.Fatal(problems)
	}
	var list []string
	for _, r := range runs {
		if _, err := checkpoint.ReadAlphaFile(s.FS(), r.Checkpoint, checkpoint.Options{}); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s@%d", r.ID, r.Step))
	}
	slices.Sort(list)
	return list
}

func leftovers(t testing.TB, s *Store) []string {
	t.Helper()
	names, err := fs.Glob(s.FS(), ".*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "." })
}

// expect checks an error's code and parameter, the models and the absence of
// leftovers.
func expect(t *testing.T, s *Store, err error, code llm.Code, param string, list ...string) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Code != code || e.Param != param || e.Message == "" {
		t.Errorf("%v (%+v), want %s in %q", err, e, code, param)
	}
	if got := models(t, s); !slices.Equal(got, list) {
		t.Errorf("models %v, want %v", got, list)
	}
	if got := leftovers(t, s); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func put(t *testing.T, s *Store, u Upload) {
	t.Helper()
	if err := s.Put(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

func TestPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "root")
	s := open(t, dir)
	put(t, s, upload(t, "novels", 9))
	u := upload(t, "novels", 7)
	u.TrainingData, u.Metrics = "once upon a time", ""
	put(t, s, u) // a lower step replaces a higher one
	put(t, s, upload(t, "abc", 1))
	if got := models(t, s); !slices.Equal(got, []string{"abc@1", "novels@7"}) {
		t.Error(got)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "novels"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"checkpoint-7.json", "config.json", "training-data.txt"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	if got := leftovers(t, s); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestNames(t *testing.T) {
	s := open(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "/etc", "a/../b", ".hidden", "-x", "_x", "a.", "a..", "x\x00", "x\n", "é",
		"con", "CON", "Nul.txt", "com1", "LPT9.tar.gz", "a b", "a:b", "C:", "%2e%2e", strings.Repeat("a", 129)} {
		u := upload(t, name, 1)
		expect(t, s, s.Put(t.Context(), u), llm.Invalid, "name")
		expect(t, s, s.Delete(t.Context(), name), llm.Invalid, "name")
	}
	for _, name := range []string{"a", "0", "gpt-2_x.y", "console", "com", "com10", "a..b", strings.Repeat("a", 128)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, upload(t, "m", 1))
	jsonText := func() string {
		var b bytes.Buffer
		if err := checkpoint.WriteJSON(&b, checkpointtest.Golden()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}()
	for _, c := range []struct {
		change func(*Upload)
		param  string
		says   string
	}{
		{func(u *Upload) { u.Config = nil }, "config", "missing"},
		{func(u *Upload) { u.Config = []byte(`{}`) }, "config", "no modelConfig"},
		{func(u *Upload) { u.Config = []byte(`[`) }, "config", "unexpected end"},
		{func(u *Upload) { u.Config = []byte(strings.Replace(config, `"nHead":2`, `"nHead":4`, 1)) }, "config", "modelConfig.nHead is 4, in the checkpoint 2"},
		{func(u *Upload) { u.Step = -1 }, "step", "-1"},
		{func(u *Upload) { u.Checkpoint = nil }, "checkpoint", "missing"},
		{func(u *Upload) { u.Checkpoint = strings.NewReader("") }, "checkpoint", "0 bytes"},
		{func(u *Upload) { u.Checkpoint = bytes.NewReader(golden(t)[:1500]) }, "checkpoint", `m/checkpoint-2.json: tensor "layer.0.attn.wo"`},
		{func(u *Upload) { u.Checkpoint = strings.NewReader(jsonText[:len(jsonText)-9]) }, "checkpoint", "truncated"},
		{func(u *Upload) {
			u.Checkpoint = strings.NewReader(strings.Replace(jsonText, `"tokenizerArtifacts"`, `"x"`, 1))
		}, "checkpoint", "tokenizerArtifacts: missing"},
		{func(u *Upload) {
			u.Checkpoint = strings.NewReader(strings.Replace(jsonText, `["\n","a","b"]`, `["a","a","b"]`, 1))
		}, "checkpoint", "tokenizerArtifacts: tokenizer: vocab"},
		{func(u *Upload) {
			u.Checkpoint = strings.NewReader(strings.Replace(jsonText, `"vocabSize":3,"vocab":["\n","a","b"]`, `"vocabSize":4,"vocab":["\n","a","b","c"]`, 1))
		}, "checkpoint", "4 tokens for vocabSize 3"},
		{func(u *Upload) {
			u.Checkpoint = io.MultiReader(bytes.NewReader(golden(t)), iotest.ErrReader(io.ErrUnexpectedEOF))
		}, "checkpoint", "ended early"},
	} {
		u := upload(t, "m", 2)
		c.change(&u)
		err := s.Put(t.Context(), u)
		expect(t, s, err, llm.Invalid, c.param, "m@1")
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
}

// An error of the reader that is one for the client stays what it is.
func TestReaderError(t *testing.T) {
	s := open(t, t.TempDir())
	u := upload(t, "m", 2)
	u.Checkpoint = iotest.ErrReader(llm.Errorf(llm.TooLong, "the body is over 5 bytes"))
	expect(t, s, s.Put(t.Context(), u), llm.TooLong, "checkpoint")
}

func TestCancelled(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, upload(t, "m", 1))
	ctx, cancel := context.WithCancel(t.Context())
	u := upload(t, "m", 2)
	u.Checkpoint = io.MultiReader(bytes.NewReader(golden(t)[:1000]), readFunc(func([]byte) (int, error) { cancel(); return 0, nil }))
	err := s.Put(ctx, u)
	expect(t, s, err, llm.Invalid, "checkpoint", "m@1")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	expect(t, s, s.Put(ctx, upload(t, "m", 2)), llm.Timeout, "checkpoint", "m@1")
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestQuota(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.MaxBytes = 5000
	put(t, s, upload(t, "a", 1))
	put(t, s, upload(t, "b", 1))
	expect(t, s, s.Put(t.Context(), upload(t, "c", 1)), llm.Overloaded, "checkpoint", "a@1", "b@1")
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	put(t, s, upload(t, "c", 1))
	u := upload(t, "d", 1)
	u.Checkpoint = bytes.NewReader(make([]byte, 5001))
	expect(t, s, s.Put(t.Context(), u), llm.Invalid, "checkpoint", "b@1", "c@1")
	u = upload(t, "d", 1)
	u.TrainingData = strings.Repeat("x", 5000)
	if err := s.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, s.Put(t.Context(), u), llm.Invalid, "trainingData", "c@1")
}

// Each rename fails in turn, with and without a system that exchanges directories.
func TestFailingRename(t *testing.T) {
	broken := errors.New("broken disk")
	for _, atomic := range []bool{true, false} {
		for fail := 1; ; fail++ {
			s := open(t, t.TempDir())
			put(t, s, upload(t, "m", 1))
			calls := 0
			step := func(do func(a, b string) error) func(a, b string) error {
				return func(a, b string) error {
					if calls++; calls == fail {
						return broken
					}
					return do(a, b)
				}
			}
			s.rename = step(s.root.Rename)
			if atomic {
				s.exchange = step(s.exchange)
			} else {
				s.exchange = func(string, string) error { return errors.ErrUnsupported }
			}
			err := s.Put(t.Context(), upload(t, "m", 2))
			if calls < fail {
				if err != nil || !slices.Equal(models(t, s), []string{"m@2"}) || fail == 1 {
					t.Errorf("after %d renames: %v", calls, err)
				}
				break
			}
			expect(t, s, err, llm.Internal, "", "m@1")
			if !errors.Is(err, broken) {
				t.Error(err)
			}
		}
	}
}

// A process that dies between any two steps leaves a model that the next Open has.
func TestCrash(t *testing.T) {
	type crash struct{}
	for _, atomic := range []bool{true, false} {
		for die := 1; ; die++ {
			dir := t.TempDir()
			s := open(t, dir)
			put(t, s, upload(t, "m", 1))
			calls := 0
			step := func(do func(a, b string) error) func(a, b string) error {
				return func(a, b string) error {
					if calls++; calls == die {
						panic(crash{})
					}
					return do(a, b)
				}
			}
			s.rename = step(s.root.Rename)
			if atomic {
				s.exchange = step(s.exchange)
			} else {
				s.exchange = func(string, string) error { return errors.ErrUnsupported }
			}
			died := func() (died bool) {
				defer func() { died = recover() != nil }()
				put(t, s, upload(t, "m", 2))
				return false
			}()
			if !died {
				break
			}
			// The remains of an upload are young: they might be another process's.
			again := open(t, dir)
			if got := models(t, again); !slices.Equal(got, []string{"m@1"}) {
				t.Errorf("atomic %v, death before step %d: %v", atomic, die, got)
			}
			for _, name := range leftovers(t, again) {
				old := time.Now().Add(-2 * staleAfter)
				if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
					t.Fatal(err)
				}
			}
			again = open(t, dir)
			if got := leftovers(t, again); len(got) > 0 {
				t.Errorf("left behind: %v", got)
			}
			put(t, again, upload(t, "m", 3))
		}
	}
}

// A crash after the new model has the name leaves the old one aside.
func TestOpenRemovesOld(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, upload(t, "m", 2))
	if err := os.CopyFS(filepath.Join(dir, oldPrefix+"m"), os.DirFS(filepath.Join(dir, "m"))); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := models(t, s); !slices.Equal(got, []string{"m@2"}) || len(leftovers(t, s)) > 0 {
		t.Error(got, leftovers(t, s))
	}
}

func TestOccupied(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"file", "photos"}
	if os.Symlink(t.TempDir(), filepath.Join(dir, "link")) == nil {
		names = append(names, "link")
	}
	for _, name := range names {
		expect(t, s, s.Put(t.Context(), upload(t, name, 1)), llm.Invalid, "name")
		expect(t, s, s.Delete(t.Context(), name), llm.Invalid, "name")
	}
}

func TestDelete(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, upload(t, "m", 1))
	expect(t, s, s.Delete(t.Context(), "n"), llm.NotFound, "name", "m@1")
	real := s.rename
	s.rename = func(string, string) error { return errors.New("broken disk") }
	expect(t, s, s.Delete(t.Context(), "m"), llm.Internal, "", "m@1")
	s.rename = real
	if err := s.Delete(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, s.Delete(t.Context(), "m"), llm.NotFound, "name")
}

// While many upload one name, whoever scans sees a whole model.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, upload(t, "m", 0))
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		writers.Go(func() {
			for k := range 5 {
				if err := s.Put(t.Context(), upload(t, "m", 1+i*5+k)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	// Where directories are not exchanged in one step there is a moment without.
	if err := s.exchange("m", "m"); !errors.Is(err, errors.ErrUnsupported) {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				runs, problems := checkpoint.Scan(os.DirFS(dir))
				if len(runs) != 1 || runs[0].ID != "m" || problems != nil {
					t.Errorf("%+v %v", runs, problems)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if got := models(t, s); len(got) < 1 || len(leftovers(t, s)) > 0 {
		t.Error(got, leftovers(t, s))
	}
	if len(s.locks.held) != 0 || s.open != 0 {
		t.Errorf("%d locks held, %d uploads open", len(s.locks.held), s.open)
	}
}

// An upload waits for another of its name, and no longer than its context.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		unlock, err := l.lock(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := l.lock(ctx, "M"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		got := make(chan func())
		go func() {
			second, err := l.lock(t.Context(), "m")
			if err != nil {
				t.Error(err)
			}
			got <- second
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Error("locked twice")
		default:
		}
		unlock()
		(<-got)()
		if len(l.held) != 0 {
			t.Errorf("%d locks left", len(l.held))
		}
	})
}
