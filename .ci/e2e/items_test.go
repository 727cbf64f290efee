//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/table"
)

func keyOf(pk, sk string) table.Key { return table.Key{PK: pk, SK: sk} }

// expire sets the expiry of all tokens and keys of users to an hour ago.
func (w *World) expire(t *testing.T, names ...string) {
	t.Helper()
	items, err := w.Items.Query(t.Context(), "accounts", "")
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, it := range items {
		sk, _ := it["sk"].(string)
		for _, name := range names {
			if it["name"] != name || strings.HasPrefix(sk, "user#") {
				continue
			}
			past := table.Change{Set: table.Item{"until": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}}
			if _, err := w.Items.Update(t.Context(), it.Key(), past); err != nil {
				t.Fatal(err)
			}
			ended++
		}
	}
	if ended != len(names) {
		t.Fatalf("%d of %v have ended", ended, names)
	}
}

// many gives a user more tokens than the limit, so that the oldest must be deleted.
func (w *World) many(t *testing.T, name string) {
	t.Helper()
	items, err := w.Items.Query(t.Context(), "accounts", "token#")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(items, func(it table.Item) bool { return it["name"] == name })
	if i < 0 {
		t.Fatalf("%s has no token", name)
	}
	numbers := make(chan int)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for n := range numbers {
				it := maps.Clone(items[i])
				id := fmt.Sprintf("%064x", n)
				it["id"], it["sk"], it["until"] = id, "token#"+id, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
				if err := w.Items.Put(t.Context(), it); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 1001 {
		numbers <- n
	}
	close(numbers)
	writers.Wait()
}
