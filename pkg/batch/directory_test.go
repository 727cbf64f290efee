package batch_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/batch"
)

// TestDirectoryIsClean: what is deleted leaves no directories, and half-written objects of killed
// processes do not stay.
func TestDirectoryIsClean(t *testing.T) {
	dir := t.TempDir()
	store, err := batch.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a/b/c", "a/b/d", "e/f"} {
		if err := store.Create(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a/b/c", "e/f"} {
		if err := store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := store.List(t.Context(), ""); err != nil || !slices.Equal(keys, []string{"a/b/d"}) {
		t.Errorf("%q, %v", keys, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "objects", "e")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory stays: %v", err)
	}
	tmp := filepath.Join(dir, "tmp")
	for name, age := range map[string]time.Duration{"new-1": 2 * time.Hour, "new-2": 0} {
		file := filepath.Join(tmp, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := batch.OpenDirectory(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 1 || left[0].Name() != "new-2" {
		t.Errorf("%v, %v", left, err)
	}
}

// TestDirectoryDeletedMeanwhile: objects get their directory while others are deleted from it.
func TestDirectoryDeletedMeanwhile(t *testing.T) {
	store, err := batch.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			key := fmt.Sprintf("a/b/%d", i)
			for range 50 {
				if err := errors.Join(store.Create(t.Context(), key, strings.NewReader("x")), store.Delete(t.Context(), key)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
