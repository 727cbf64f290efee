package inbucket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/batch"
	"glossa/pkg/batch/inbucket"
	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
)

func newStore(t *testing.T) (*inbucket.Store, *buckettest.Store) {
	s := &buckettest.Store{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return inbucket.New(bucket.NewBucket(bucket.Config{Bucket: "some", Prefix: "batches", Region: "eu-west-1", Endpoint: server.URL})), s
}

// onlyReader hides what else a reader can do.
type onlyReader struct{ io.Reader }

func TestStore(t *testing.T) {
	store, in := newStore(t)
	for name, size := range map[string]int{"a/empty": 0, "a/small": 10, "a/edge": 5 << 20, "b/large": 17 << 20} {
		data := bytes.Repeat([]byte("abcdefg\n"), size/8+1)[:size]
		for i, body := range []io.Reader{onlyReader{bytes.NewReader(data)}, bytes.NewReader(append([]byte("other"), data...))} {
			if err := store.Create(t.Context(), name, body); err != nil && i == 0 || i == 1 && !errors.Is(err, batch.ErrExists) {
				t.Fatalf("%s, %d: %v", name, i, err)
			}
		}
		r, err := store.Open(t.Context(), name, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if n := in.Uploads(); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
	keys, err := store.List(t.Context(), "a/")
	if err != nil || !slices.Equal(keys, []string{"a/edge", "a/empty", "a/small"}) {
		t.Errorf("%q, %v", keys, err)
	}
	for range 2 {
		if err := store.Delete(t.Context(), "a/small"); err != nil {
			t.Error(err)
		}
	}
	if _, err := store.Open(t.Context(), "a/small", 0, -1); !errors.Is(err, batch.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	broken := errors.New("broken")
	if err := store.Create(t.Context(), "b/broken", io.MultiReader(strings.NewReader(strings.Repeat("x", 20<<20)), failing{broken})); !errors.Is(err, broken) || in.Uploads() != 0 {
		t.Errorf("%v, %d uploads", err, in.Uploads())
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

type same struct{}

func (same) Run(_ context.Context, _ string, line batch.Line) (batch.Answer, error) {
	return batch.Answer{Status: 200, Body: line.Body}, nil
}

// TestBatch works on a batch with several processes at once.
func TestBatch(t *testing.T) {
	store, _ := newStore(t)
	processes := make([]*batch.Batches, 4)
	for i := range processes {
		processes[i] = batch.New(batch.Config{Store: store, Runner: same{}, Endpoints: []string{"/v1/embeddings"}})
	}
	b := processes[0]
	const lines = 300
	text := strings.Repeat(`{"custom_id":"ID","method":"POST","url":"/v1/embeddings","body":{"input":"x"}}`+"\n", lines)
	for i := range lines {
		text = strings.Replace(text, "ID", strings.Repeat("i", i+1), 1)
	}
	f, err := b.Upload(t.Context(), "ann", "in.jsonl", "batch", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.Create(t.Context(), "ann", batch.Order{Input: f.ID, Endpoint: "/v1/embeddings"})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, b := range processes {
		group.Go(func() {
			for {
				step, err := b.Step(t.Context(), "ann", made.ID)
				if err != nil {
					t.Error(err)
					return
				}
				if step.Ended {
					return
				}
			}
		})
	}
	group.Wait()
	got, err := b.Batch(t.Context(), "ann", made.ID)
	if err != nil || got.Status != batch.Completed || got.Counts != (batch.Counts{Total: lines, Completed: lines}) {
		t.Fatalf("%+v, %v", got, err)
	}
	_, r, err := b.Content(t.Context(), "ann", got.Output)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := io.ReadAll(r)
	if err != nil || bytes.Count(answers, []byte("\n")) != lines {
		t.Errorf("%d answers, %v", bytes.Count(answers, []byte("\n")), err)
	}
}
