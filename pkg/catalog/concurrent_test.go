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

// Records and roots are read at the same time. The first requested model is prefetched
// before that.
func TestLookedAtBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &loader{scan: func(fs.FS) ([]Run, []error) {
			time.Sleep(time.Second)
			return nil, nil
		}}
		roots := []Root{{Name: "a", FS: fstest.MapFS{}}, {Name: "b", FS: fstest.MapFS{}}}
		c := New(Config{
			Source: &slow{names: []string{"m"}, takes: time.Second}, Roots: roots, Loader: o,
			Openers: map[string]Opener{"g": func(context.Context, *Record) (llm.Backend, error) { return nil, nil }},
		})
		begun := time.Now()
		for _, name := range []string{"local/one", "two"} {
			if _, err := c.Open(t.Context(), name); err == nil {
				t.Error("there is such a model")
			}
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
		if !slices.Equal(o.prefetched, []string{"one"}) {
			t.Errorf("prefetched: %q", o.prefetched)
		}
		time.Sleep(time.Minute)
	})
}
