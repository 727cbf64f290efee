package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/archive"
	"glossa/pkg/llm"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// A store is what both kinds of archive are.
type store interface {
	Put(ctx context.Context, owner, id string, text []byte, expires time.Time) error
	Get(ctx context.Context, owner, id string, room func(bytes int64) error) ([]byte, error)
	Delete(ctx context.Context, owner, id string) error
}

var (
	_ store = (*archive.Memory)(nil)
	_ store = (*archive.Table)(nil)
)

type document struct {
	Owner, ID string
	Text      []byte
	Expires   time.Time
}

func put(t *testing.T, s store, d document) error {
	return s.Put(t.Context(), d.Owner, d.ID, d.Text, d.Expires)
}

// epoch is the time of the stores' clocks until they are moved.
var epoch = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// stores returns an empty archive of each kind, which share a clock.
func stores(t *testing.T) (list map[string]store, now *time.Time) {
	now = new(epoch)
	clock := func() time.Time { return *now }
	return map[string]store{
		"memory": &archive.Memory{Now: clock},
		"table":  &archive.Table{Table: tabletest.New(t).Table(), Kind: "documents", Now: clock},
	}, now
}

func anyRoom(int64) error { return nil }

// isMissing checks that an error says that there is no document, and nothing else.
func isMissing(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.NotFound || e.Message != "no such document" || e.Err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TestArchive runs the contract of archives on each kind.
func TestArchive(t *testing.T) {
	list, now := stores(t)
	for name, s := range list {
		t.Run(name, func(t *testing.T) {
			*now = epoch
			d := document{Owner: "key ann#1", ID: "a", Text: []byte(`{"é":"\u0000"}`), Expires: epoch.Add(time.Hour)}
			if err := put(t, s, d); err != nil {
				t.Fatal(err)
			}
			get := func(owner, id string) ([]byte, error) { return s.Get(t.Context(), owner, id, anyRoom) }
			if got, err := get(d.Owner, d.ID); err != nil || !bytes.Equal(got, d.Text) {
				t.Errorf("got %q, %v", got, err)
			}
			for _, other := range [][2]string{{"key ann", "a"}, {"key ann", "1#a"}, {"", "a"}, {d.Owner, "b"}, {d.Owner, ""}, {d.Owner, strings.Repeat("x", 2000)}, {d.Owner, "\xff"}} {
				_, err := get(other[0], other[1])
				isMissing(t, fmt.Sprintf("get %.40q", other), err)
				isMissing(t, fmt.Sprintf("delete %.40q", other), s.Delete(t.Context(), other[0], other[1]))
			}
			*now = epoch.Add(time.Hour - time.Second)
			if _, err := get(d.Owner, d.ID); err != nil {
				t.Errorf("a second before it expires: %v", err)
			}
			*now = epoch.Add(time.Hour)
			_, err := get(d.Owner, d.ID)
			isMissing(t, "expired", err)
			isMissing(t, "delete expired", s.Delete(t.Context(), d.Owner, d.ID))
			d.ID, d.Expires = "b", epoch.Add(2*time.Hour)
			if err := put(t, s, d); err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(t.Context(), d.Owner, "b"); err != nil {
				t.Error(err)
			}
			_, err = get(d.Owner, "b")
			isMissing(t, "deleted", err)
			isMissing(t, "delete twice", s.Delete(t.Context(), d.Owner, "b"))
		})
	}
}

// TestLarge: documents of more than one item come back whole, and larger ones than allowed
// are rejected.
func TestLarge(t *testing.T) {
	list, _ := stores(t)
	for name, s := range list {
		for _, n := range []int{0, 379_999, 380_000, 380_001, 759_999, 760_002, archive.MaxDocument} {
			text := []byte(strings.Repeat("aé日😀", n/10) + strings.Repeat("x", n%10))
			d := document{Owner: "o", ID: fmt.Sprint("d", n), Text: text, Expires: epoch.Add(time.Hour)}
			if err := put(t, s, d); err != nil {
				t.Fatalf("%s: %d bytes: %v", name, n, err)
			}
			var told int64
			got, err := s.Get(t.Context(), "o", d.ID, func(n int64) error { told = n; return nil })
			if err != nil || !bytes.Equal(got, text) || told != int64(n) {
				t.Errorf("%s: %d bytes: %d came back, %d announced, %v", name, n, len(got), told, err)
			}
			full := errors.New("full")
			if _, err := s.Get(t.Context(), "o", d.ID, func(int64) error { return full }); !errors.Is(err, full) {
				t.Errorf("%s: without room: %v", name, err)
			}
			if err := s.Delete(t.Context(), "o", d.ID); err != nil {
				t.Errorf("%s: %d bytes: %v", name, n, err)
			}
		}
		err := put(t, s, document{Owner: "o", ID: "d", Text: make([]byte, archive.MaxDocument+1), Expires: epoch.Add(time.Hour)})
		if e := llm.AsError(err); err == nil || e.Code != llm.Full {
			t.Errorf("%s: too large: %v", name, err)
		}
	}
}

// TestPartsGo: a deleted document leaves no item behind, and each has a time to live.
func TestPartsGo(t *testing.T) {
	s := tabletest.New(t)
	a := &archive.Table{Table: s.Table(), Kind: "documents", Now: func() time.Time { return epoch }}
	d := document{Owner: "o", ID: "d", Text: bytes.Repeat([]byte("x"), 1_000_000), Expires: epoch.Add(time.Hour)}
	if err := put(t, a, d); err != nil {
		t.Fatal(err)
	}
	items, err := s.Table().Query(t.Context(), "documents#o", "")
	if err != nil || len(items) != 3 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for _, item := range items {
		if fmt.Sprint(item["expires"]) != fmt.Sprint(d.Expires.Unix()) {
			t.Errorf("%s expires at %v", item.Key().SK, item["expires"])
		}
	}
	_, err = a.Get(t.Context(), "o", "d#1", anyRoom)
	isMissing(t, "a part as a document", err)
	if err := a.Delete(t.Context(), "o", "d"); err != nil {
		t.Fatal(err)
	}
	if items, err = s.Table().Query(t.Context(), "documents#o", ""); err != nil || len(items) != 0 {
		t.Errorf("%d items, %v", len(items), err)
	}
}

// TestTableFails: an error of the service is no missing document, and tells no text.
func TestTableFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &archive.Table{Table: table.New(tabletest.Caller("http://127.0.0.1:1", nil), "none"), Kind: "documents"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, get := a.Get(ctx, "o", "d", anyRoom)
		put := a.Put(ctx, "o", "d", []byte("5ecre7"), epoch)
		for _, err := range []error{get, put, a.Delete(ctx, "o", "d")} {
			if e := llm.AsError(err); err == nil || e.Code != llm.Unavailable || strings.Contains(fmt.Sprint(e.Err), "5ecre7") {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestMemoryIsBounded: an owner loses its own least recently used documents, and only if all
// owners together need more, the one with the most bytes does.
func TestMemoryIsBounded(t *testing.T) {
	m := &archive.Memory{Total: 400_000, Now: func() time.Time { return epoch }}
	fill := func(owner, id string, n int) {
		t.Helper()
		if err := put(t, m, document{Owner: owner, ID: id, Text: make([]byte, n), Expires: epoch.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	has := func(owner, id string) bool {
		_, err := m.Get(t.Context(), owner, id, anyRoom)
		return err == nil
	}
	fill("ann", "1", 40_000)
	fill("ann", "2", 40_000)
	has("ann", "1")
	fill("ann", "3", 40_000)
	if !has("ann", "1") || has("ann", "2") || !has("ann", "3") {
		t.Error("the least recently used document must go")
	}
	if err := put(t, m, document{Owner: "ann", ID: "x", Text: make([]byte, 100_000), Expires: epoch.Add(time.Hour)}); llm.AsError(err).Code != llm.Full {
		t.Errorf("a document larger than the owner's share: %v", err)
	}
	for i := range 4 {
		fill(fmt.Sprint("bob", i), "1", 75_000+i*1000)
	}
	fill("carl", "1", 40_000)
	if !has("carl", "1") || !has("bob0", "1") || !has("bob3", "1") || has("ann", "1") && has("ann", "3") {
		t.Error("the owner with the most bytes must lose a document")
	}
}

// TestMemoryConcurrently reads, writes and deletes at once, for the race detector and the
// count of bytes.
func TestMemoryConcurrently(t *testing.T) {
	m := &archive.Memory{Total: 100_000}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 200 {
				owner, id := fmt.Sprint(i%3), fmt.Sprint((i+g)%7)
				_ = put(t, m, document{Owner: owner, ID: id, Text: make([]byte, 1000*(i%20)), Expires: time.Now().Add(time.Duration(i%2) * time.Hour)})
				_, _ = m.Get(t.Context(), owner, id, anyRoom)
				_ = m.Delete(t.Context(), owner, fmt.Sprint(i%7))
			}
		})
	}
	group.Wait()
	for i := range 3 {
		for j := range 7 {
			_ = m.Delete(t.Context(), fmt.Sprint(i), fmt.Sprint(j))
		}
	}
	if err := put(t, m, document{Owner: "o", ID: "d", Text: make([]byte, 24_000), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Errorf("an empty memory has no room: %v", err)
	}
}

// TestExpiredGoFirst: expired documents make room before others lose theirs.
func TestExpiredGoFirst(t *testing.T) {
	now := epoch
	m := &archive.Memory{Total: 400_000, Now: func() time.Time { return now }}
	for i, keep := range []time.Duration{time.Hour, time.Minute} {
		if err := put(t, m, document{Owner: "ann", ID: fmt.Sprint(i), Text: make([]byte, 40_000), Expires: epoch.Add(keep)}); err != nil {
			t.Fatal(err)
		}
	}
	now = epoch.Add(2 * time.Minute)
	if err := put(t, m, document{Owner: "ann", ID: "2", Text: make([]byte, 40_000), Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"0", "2"} {
		if _, err := m.Get(t.Context(), "ann", id, anyRoom); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
