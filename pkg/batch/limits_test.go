package batch_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/batch"
)

// meanwhile is a store in which something else happens, once, before an object is written.
type meanwhile struct {
	*memory
	part string // of the object's key
	do   func()
}

func (s *meanwhile) Create(ctx context.Context, key string, body io.Reader) error {
	if do := s.do; do != nil && strings.Contains(key, s.part) {
		s.do = nil
		do()
	}
	return s.memory.Create(ctx, key, body)
}

// TestFilesAtOnce stores two files, or begins two uploads, at once where there is room for one: the other leaves
// nothing.
func TestFilesAtOnce(t *testing.T) {
	upload := func(b *batch.Batches) error {
		return second(b.Upload(t.Context(), "ann", "in.jsonl", "batch", strings.NewReader("x")))
	}
	begin := func(b *batch.Batches) error {
		return second(b.BeginUpload(t.Context(), "ann", batch.Upload{Bytes: 1}))
	}
	for name, c := range map[string]struct {
		part          string
		inner, outer  func(*batch.Batches) error
		files, before int
	}{
		"files":             {"/content/", upload, upload, 1, 0},
		"uploads":           {"/draft", begin, begin, 1, 0},
		"a file, an upload": {"/content/", begin, upload, 1, 0},
		"an upload, a file": {"/draft", upload, begin, 1, 0},
		"the last upload":   {"/draft", begin, begin, 100, 15},
	} {
		store := &meanwhile{memory: &memory{objects: map[string][]byte{}}, part: c.part}
		b := batch.New(batch.Config{Store: store, MaxFiles: c.files})
		for range c.before {
			if err := begin(b); err != nil {
				t.Fatal(err)
			}
		}
		first := errors.New("not called")
		store.do = func() { first = c.inner(b) }
		if err := c.outer(b); first != nil || !errors.Is(err, batch.ErrFull) {
			t.Errorf("%s: %v, %v", name, first, err)
		}
		if n := len(store.objects); n > c.before+2 { // a content and its description, or a draft
			t.Errorf("%s: %d objects", name, n)
		}
	}
}

// TestUploadHasPlace shows that a pending upload has the place of its file, and keeps it.
func TestUploadHasPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := batch.New(batch.Config{Store: &memory{objects: map[string][]byte{}}, MaxFiles: 1})
		upload := func() error { return second(b.Upload(t.Context(), "ann", "in.jsonl", "batch", strings.NewReader("x"))) }
		u := begin(t, b, 1)
		if err := upload(); !errors.Is(err, batch.ErrFull) {
			t.Errorf("a file in the place of an upload: %v", err)
		}
		if _, err := b.CompleteUpload(t.Context(), "ann", u.ID, []string{addPart(t, b, u.ID, "x")}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := b.BeginUpload(t.Context(), "ann", batch.Upload{Bytes: 1}); !errors.Is(err, batch.ErrFull) {
			t.Errorf("an upload in the place of a file: %v", err)
		}
		if err := b.DeleteFile(t.Context(), "ann", u.FileID); err != nil {
			t.Fatal(err)
		}
		begin(t, b, 1)
		time.Sleep(batch.UploadTime + time.Second)
		if err := upload(); err != nil {
			t.Errorf("a file in the place of an expired upload: %v", err)
		}
	})
}

// TestOldBatches shows that a new batch removes the oldest ones that have ended, but no files.
func TestOldBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}}
		b := batch.New(batch.Config{Store: store, Endpoints: []string{endpoint}, Runner: newEcho(), MaxEnded: 2})
		running := order(t, b, input(1)) // older than all others
		var last batch.Batch
		for range 4 {
			time.Sleep(time.Second)
			last = order(t, b, input(1))
			checkOnce(t, b, drive(t, b, last.ID), 1)
		}
		kept := func(want int) []string {
			t.Helper()
			ids, err := b.IDs(t.Context(), "ann")
			if err != nil || len(ids) != want {
				t.Fatalf("%q, %v, want %d", ids, err, want)
			}
			return ids
		}
		if ids := kept(4); ids[0] != last.ID || ids[3] != running.ID {
			t.Errorf("%q", ids)
		}
		checkOnce(t, b, drive(t, b, running.ID), 1)
		open := order(t, b, input(1))
		if ids := kept(3); ids[0] != open.ID || ids[1] != last.ID {
			t.Errorf("%q", ids)
		}
		ends := 0
		for key := range store.objects {
			if strings.Contains(key, "/ended/") {
				ends++
			}
		}
		if files, err := b.FileIDs(t.Context(), "ann"); err != nil || len(files) != 11 || ends != 2 {
			t.Errorf("files %q, %d ends, %v", files, ends, err)
		}
		if _, err := b.Batch(t.Context(), "ann", running.ID); !errors.Is(err, batch.ErrNotFound) {
			t.Errorf("a batch that was removed: %v", err)
		}
	})
}
