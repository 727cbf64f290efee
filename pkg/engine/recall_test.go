package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"glossa/pkg/engine/sealed"
	"glossa/pkg/llm"
)

// watched counts the reads of a store, which takes its time.
type watched struct {
	sealed.Store
	delay time.Duration
	reads chan string
}

func (w *watched) Get(ctx context.Context, name string, size int64) ([]byte, error) {
	w.reads <- name
	select {
	case <-time.After(w.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return w.Store.Get(ctx, name, size)
}

// An archiveTest has processes that share a directory.
type archiveTest struct {
	*testing.T
	dir   string
	reads chan string
	open  func(testing.TB, int, Config) *Engine
}

func newArchiveTest(t *testing.T, open func(testing.TB, int, Config) *Engine) *archiveTest {
	return &archiveTest{T: t, dir: t.TempDir(), reads: make(chan string, 1000), open: open}
}

// process opens an engine whose store takes its time; for one that does not it always waits.
func (t *archiveTest) process(fingerprint string, delay time.Duration) (*Engine, *sealed.Archive) {
	t.Helper()
	store, err := sealed.OpenDirectory(t.dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	a := sealed.NewArchive(&watched{store, delay, t.reads}, func(err error) { t.Error(err) })
	t.Cleanup(func() { a.Flush(context.Background()) })
	e := t.open(t, 1500, Config{PrefixMemory: 256 << 20, Archive: a, Fingerprint: fingerprint})
	if delay == 0 && fingerprint != "" {
		e.prefixes.archive.took = float64(time.Hour) // a busy machine's disk may be slower than this model
	}
	return e, a
}

const system = "you are a helpful fox who jumps over lazy dogs and never over others "

// asked returns prompts that begin alike, 690 of their characters.
func asked(questions ...string) (texts []string) {
	for _, q := range questions {
		texts = append(texts, strings.ReplaceAll(strings.Repeat(system, 10), " ", "z")+q)
	}
	return texts
}

// What two prompts of one process begin with need not be computed by another, whose answers
// are the same; nor is it read twice.
func TestArchivedPrefix(t *testing.T) {
	for name, open := range map[string]func(testing.TB, int, Config) *Engine{"full": random, "windows": windowed} {
		t.Run(name, func(t *testing.T) {
			test := newArchiveTest(t, open)
			off := open(t, 1500, Config{PrefixMemory: -1})
			texts := asked("where", "quite", "xylophones", "behind")
			first, archive := test.process("m", 0)
			for _, p := range texts[:3] { // with windows, the second marks where the third leaves it
				computed(t, first, sampled(3, p))
			}
			archive.Flush(t.Context())
			second, _ := test.process("m", 0)
			drain(test.reads)
			n, got := computed(t, second, sampled(3, texts[3]))
			if want, _ := collect(t, off, sampled(3, texts[3])); !same(got, want) {
				t.Errorf("%+v, computed %+v", got, want)
			}
			if want := len(texts[3]) - 690/64*64 + 2; n != want {
				t.Errorf("%d tokens were computed, want %d", n, want)
			}
			drain(test.reads)
			if n, _ := computed(t, second, sampled(3, texts[3])); n != 3 {
				t.Errorf("%d tokens were computed for the same prompt", n)
			}
			if reads := len(test.reads); reads != 0 {
				t.Errorf("%d reads of what is in memory", reads)
			}
		})
	}
}

// Texts of one prompt alone, short ones, and those of other models and owners are not found.
func TestNotArchived(t *testing.T) {
	test := newArchiveTest(t, random)
	first, archive := test.process("m", 0)
	own := func(ctx context.Context, e *Engine, prompt string) int {
		before := e.lanes.computed()
		if _, _, err := llm.Collect(e.Generate(ctx, sampled(1, prompt)), 1); err != nil {
			t.Fatal(err)
		}
		return e.lanes.computed() - before
	}
	alice := llm.WithOwner(t.Context(), "alice")
	own(alice, first, strings.Repeat("abc", 200))
	archive.Flush(t.Context())
	if files, _ := filepath.Glob(filepath.Join(test.dir, "*")); len(files) > 0 {
		t.Errorf("%d blocks of a text that one prompt had", len(files))
	}
	texts := asked("one", "two", "three")
	own(alice, first, texts[0])
	own(alice, first, texts[1])
	archive.Flush(t.Context())
	for _, other := range []struct {
		model string
		ctx   context.Context
		known bool
	}{
		{"another", alice, false}, {"", alice, false}, {"m", t.Context(), false},
		{"m", llm.WithOwner(t.Context(), "bob"), false}, {"m", alice, true},
	} {
		e, _ := test.process(other.model, 0)
		if n := own(other.ctx, e, texts[2]); n == len(texts[2]) == other.known {
			t.Errorf("model %q of %q: %d of %d tokens were computed", other.model, llm.OwnerOf(other.ctx), n, len(texts[2]))
		}
	}
	e, _ := test.process("m", 0)
	drain(test.reads)
	own(alice, e, texts[2][:recallAt])
	if len(test.reads) > 0 {
		t.Error("the archive was asked for a short text")
	}
}

// What only one of two prompts goes on with is not archived, though its block begins alike.
func TestArchivedBlocks(t *testing.T) {
	test := newArchiveTest(t, random)
	e, archive := test.process("m", 0)
	for _, text := range asked(strings.Repeat("a", 200), strings.Repeat("b", 200)) {
		computed(t, e, sampled(1, text))
	}
	archive.Flush(t.Context())
	if files, err := filepath.Glob(filepath.Join(test.dir, "*")); err != nil || len(files) != 690/blockTokens {
		t.Errorf("%d blocks of 690 common tokens: %v", len(files), err)
	}
}

// A store that is slower than computing is given up, and asked less; damaged blocks are
// computed.
func TestUselessArchive(t *testing.T) {
	test := newArchiveTest(t, random)
	texts := asked("one", "two", "three", "four")
	first, archive := test.process("m", 0)
	computed(t, first, sampled(1, texts[0]))
	computed(t, first, sampled(1, texts[1]))
	archive.Flush(t.Context())

	slow, _ := test.process("m", 2*time.Second)
	computed(t, slow, sampled(1, strings.Repeat("abc", recallAt/3))) // now it knows how long computing takes
	for i, text := range []string{texts[2], strings.Repeat("xyz", 100)} {
		drain(test.reads)
		if n, _ := computed(t, slow, sampled(1, text)); n != len(text) {
			t.Errorf("%d of %d tokens were computed", n, len(text))
		}
		if reads := len(test.reads); reads != 1-i {
			t.Errorf("text %d: %d reads", i, reads)
		}
	}

	files, err := filepath.Glob(filepath.Join(test.dir, "*"))
	if err != nil || len(files) != 690/64 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)/2] ^= 4
		if err := os.WriteFile(f, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	store, err := sealed.OpenDirectory(test.dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	e := random(t, 1500, Config{Archive: sealed.NewArchive(store, func(error) { told++ }), Fingerprint: "m"})
	if n, _ := computed(t, e, sampled(1, texts[2])); n != len(texts[2]) || told != 1 {
		t.Errorf("damaged blocks: %d of %d tokens were computed, %d faults", n, len(texts[2]), told)
	}
}

func drain(c chan string) {
	for len(c) > 0 {
		<-c
	}
}
