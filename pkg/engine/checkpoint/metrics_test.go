package checkpoint_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/checkpoint"
)

// line returns a line of a metrics.jsonl, with its line feed.
func line(step int) string { return fmt.Sprintf(`{"step":%d,"loss":0.5}`+"\n", step) }

func TestReadMetrics(t *testing.T) {
	two := line(1) + line(2)
	long := strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name, text string
		from       int64
		lines      int
		read       int64 // From
		next       int64
		more       bool
	}{
		{"all", two, 0, 2, 0, int64(len(two)), false},
		{"the rest", two, int64(len(line(1))), 1, int64(len(line(1))), int64(len(two)), false},
		{"nothing new", two, int64(len(two)), 0, int64(len(two)), int64(len(two)), false},
		{"half a line", two + `{"step":3,"lo`, 0, 2, 0, int64(len(two)), false},
		{"a last line without its line feed", two + `{"step":3}`, 0, 3, 0, int64(len(two)) + 10, false},
		{"and then its line feed", two + `{"step":3}` + "\n", int64(len(two)) + 10, 0, int64(len(two)) + 10, int64(len(two)) + 11, false},
		{"begun anew", line(1), int64(len(two)), 1, 0, int64(len(line(1))), false},
		{"within a line", two, 3, 1, 3, int64(len(two)), false},
		{"no objects", "\n[1]\nNaN\n{\"loss\":NaN}\n" + line(1), 0, 1, 0, 22 + int64(len(line(1))), false},
		{"empty", "", 0, 0, 0, 0, false},
		{"a line too long", long + line(1) + line(2), 0, 0, 0, 1 << 20, true},
	} {
		for kind, fsys := range map[string]fs.FS{"seeks": fstest.MapFS{"run/metrics.jsonl": file(test.text, 0)}, "directory": directory(t, test.text), "does not seek": plain{test.text}} {
			m, err := checkpoint.ReadMetrics(fsys, "run", test.from)
			if err != nil || len(m.Lines) != test.lines || m.From != test.read || m.Next != test.next || m.More != test.more {
				t.Errorf("%s, %s: %d lines, from %d to %d, more %v, %v; want %+v", test.name, kind, len(m.Lines), m.From, m.Next, m.More, err, test)
			}
		}
	}
	if m, err := checkpoint.ReadMetrics(fstest.MapFS{}, "run", 7); err != nil || len(m.Lines) != 0 || m.Next != 0 {
		t.Errorf("no file: %+v, %v", m, err)
	}
}

// TestReadMetricsInPieces reads a long file to its end: each line once, in order.
func TestReadMetricsInPieces(t *testing.T) {
	var text strings.Builder
	const steps = 100_000
	for step := range steps {
		text.WriteString(line(step))
	}
	fsys := fstest.MapFS{"run/metrics.jsonl": file(text.String(), 0)}
	pieces, step := 0, 0
	for m := (checkpoint.Metrics{More: true}); m.More; pieces++ {
		var err error
		if m, err = checkpoint.ReadMetrics(fsys, "run", m.Next); err != nil {
			t.Fatal(err)
		}
		for _, got := range m.Lines {
			if want := strings.TrimSpace(line(step)); string(got) != want {
				t.Fatalf("%s, want %s", got, want)
			}
			step++
		}
	}
	if step != steps || pieces < 2 {
		t.Errorf("%d lines in %d pieces", step, pieces)
	}
}

func directory(t *testing.T, text string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "metrics.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(dir)
}

// plain has one file, which supports only Read.
type plain struct{ text string }

func (p plain) Open(string) (fs.File, error) {
	f, err := fstest.MapFS{"f": file(p.text, 0)}.Open("f")
	return struct{ fs.File }{f}, err
}
