package catalog

import (
	"context"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// Records and roots are looked at beside each other; who opens a model tells its name
// first, while nothing is known yet.
func TestLookedAtBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expected []string
		o := &opener{}
		roots := []Root{{Name: "a", FS: fstest.MapFS{}}, {Name: "b", FS: fstest.MapFS{}}}
		c := New(Config{
			Source: &slow{names: []string{"m"}, takes: time.Second}, Roots: roots,
			Scan: func(fsys fs.FS) ([]Run, []error) {
				time.Sleep(time.Second)
				return nil, nil
			},
			Expect:  func(name string) { expected = append(expected, name) },
			Openers: map[string]Opener{Local: o.Open, "g": func(context.Context, *Record, *Run) (llm.Backend, error) { return nil, nil }},
		})
		begun := time.Now()
		for _, name := range []string{"one", "two"} {
			if _, err := c.Open(t.Context(), name); err == nil {
				t.Error("there is such a model")
			}
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
		if !slices.Equal(expected, []string{"one"}) {
			t.Errorf("expected: %q", expected)
		}
		time.Sleep(time.Minute)
	})
}
