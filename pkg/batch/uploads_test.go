package batch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/batch"
)

// addPart adds a part and returns its id.
func addPart(t *testing.T, b *batch.Batches, id, text string) string {
	t.Helper()
	part, err := b.AddPart(t.Context(), "ann", id, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return part
}

func begin(t *testing.T, b *batch.Batches, size int64) batch.Upload {
	t.Helper()
	u, err := b.BeginUpload(t.Context(), "ann", batch.Upload{Name: "in.jsonl", Purpose: "batch", Bytes: size})
	if err != nil || u.Status != batch.UploadPending {
		t.Fatalf("%+v, %v", u, err)
	}
	return u
}

// TestUploads joins the parts of a file in the order that its client names.
func TestUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}}
		b := batch.New(batch.Config{Store: store})
		u := begin(t, b, 9)
		two, one, other := addPart(t, b, u.ID, "five\n"), addPart(t, b, u.ID, "one\n"), ""
		if _, err := b.AddPart(t.Context(), "ann", u.ID, strings.NewReader("x")); !errors.Is(err, batch.ErrInvalid) {
			t.Errorf("a part beyond the size: %v", err)
		}
		for name, order := range map[string][]string{"too few": {one}, "twice": {one, one, two}, "unknown": {one, "part_x"}, "none": nil, "empty": {other}} {
			if _, err := b.CompleteUpload(t.Context(), "ann", u.ID, order, ""); !errors.Is(err, batch.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := b.CompleteUpload(t.Context(), "ann", u.ID, []string{one, two}, "00"); !errors.Is(err, batch.ErrInvalid) {
			t.Errorf("another sum: %v", err)
		}
		if _, err := b.CompleteUpload(t.Context(), "bob", u.ID, []string{one, two}, ""); !errors.Is(err, batch.ErrNotFound) {
			t.Errorf("another owner: %v", err)
		}
		for range 2 { // the answer may be lost
			done, err := b.CompleteUpload(t.Context(), "ann", u.ID, []string{one, two}, "F851A213EF406850CCC4120A2E5D7CD5")
			if err != nil || done.Status != batch.UploadCompleted || done.File == nil || done.File.Bytes != 9 || done.File.Name != "in.jsonl" {
				t.Fatalf("%+v, %v", done, err)
			}
		}
		_, r, err := b.Content(t.Context(), "ann", u.FileID)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) != "one\nfive\n" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := b.CancelUpload(t.Context(), "ann", u.ID); !errors.Is(err, batch.ErrInvalid) {
			t.Errorf("cancelled after its end: %v", err)
		}
		for key := range store.objects {
			if strings.Contains(key, "/parts/") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

// TestUnfinishedUploads cancels an upload and lets others expire: nothing of them stays.
func TestUnfinishedUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}}
		b := batch.New(batch.Config{Store: store, MaxBytes: 100})
		for _, size := range []int64{0, -1, 101} {
			if _, err := b.BeginUpload(t.Context(), "ann", batch.Upload{Bytes: size}); !errors.Is(err, batch.ErrInvalid) {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		u := begin(t, b, 3)
		addPart(t, b, u.ID, "x")
		if got, err := b.CancelUpload(t.Context(), "ann", u.ID); err != nil || got.Status != batch.UploadCancelled || got.File != nil {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := b.AddPart(t.Context(), "ann", u.ID, strings.NewReader("x")); !errors.Is(err, batch.ErrInvalid) {
			t.Errorf("a part of a cancelled upload: %v", err)
		}
		var last batch.Upload
		for range 16 {
			last = begin(t, b, 3)
			addPart(t, b, last.ID, "x")
		}
		if _, err := b.BeginUpload(t.Context(), "ann", batch.Upload{Bytes: 3}); !errors.Is(err, batch.ErrFull) {
			t.Errorf("too many: %v", err)
		}
		time.Sleep(batch.UploadTime + time.Second)
		if got, err := b.UploadState(t.Context(), "ann", last.ID); err != nil || got.Status != batch.UploadExpired {
			t.Errorf("%+v, %v", got, err)
		}
		time.Sleep(batch.UploadTime)
		u = begin(t, b, 3)
		if n := len(store.objects); n != 1 {
			t.Errorf("%d objects", n)
		}
		if _, err := b.AddPart(t.Context(), "ann", u.ID, bytes.NewReader(nil)); !errors.Is(err, batch.ErrInvalid) {
			t.Errorf("an empty part: %v", err)
		}
	})
}

// opens is a store that counts what is read.
type opens struct {
	*memory
	n int
}

func (s *opens) Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	s.n++
	return s.memory.Open(ctx, key, offset, n)
}

// TestUploadIsReadOnce counts the reads of a completion that is refused: the draft and, in vain, its end.
func TestUploadIsReadOnce(t *testing.T) {
	store := &opens{memory: &memory{objects: map[string][]byte{}}}
	b := batch.New(batch.Config{Store: store})
	u := begin(t, b, 3)
	store.n = 0
	if _, err := b.CompleteUpload(t.Context(), "ann", u.ID, []string{"part_x"}, ""); !errors.Is(err, batch.ErrInvalid) || store.n != 2 {
		t.Errorf("%d reads, %v", store.n, err)
	}
}

// stuck is a store that cannot delete parts of uploads for a while.
type stuck struct {
	*memory
	frees bool
}

func (s *stuck) Delete(ctx context.Context, key string) error {
	if strings.Contains(key, "/parts/") && !s.frees {
		return errOffline
	}
	return s.memory.Delete(ctx, key)
}

// TestExpiredUploadIsRemovedLater fails to remove an expired upload at first: a later attempt finds
// all of it.
func TestExpiredUploadIsRemovedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{memory: &memory{objects: map[string][]byte{}}}
		b := batch.New(batch.Config{Store: store})
		addPart(t, b, begin(t, b, 3).ID, "x")
		time.Sleep(2*batch.UploadTime + time.Second)
		if _, err := b.BeginUpload(t.Context(), "ann", batch.Upload{Bytes: 3}); !errors.Is(err, errOffline) {
			t.Error(err)
		}
		store.frees = true
		begin(t, b, 3)
		if n := len(store.objects); n != 1 {
			t.Errorf("%d objects", n)
		}
	})
}
