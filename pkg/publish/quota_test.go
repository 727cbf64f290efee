package publish

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"glossa/pkg/llm"
)

// Files that were replaced or deleted and uploads that failed take no room, even if another
// upload is in progress all the time.
func TestQuotaOfGoneFiles(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.MaxBytes = 100_000
		slow, err := p.Spool(t.Context(), strings.NewReader("x"), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		ann, bob := llm.WithSender(t.Context(), "key ann"), llm.WithSender(t.Context(), "key bob")
		body := func(n int) io.Reader { return bytes.NewReader(make([]byte, n)) }
		for i := range 12 {
			if err := p.Chunk(ann, "x", 0, 1, body(10_000)); err != nil {
				t.Fatalf("replaced %d times: %v", i, err)
			}
		}
		for range 3 {
			cut := io.MultiReader(body(40_000), iotest.ErrReader(io.ErrUnexpectedEOF))
			p.same(t, p.Chunk(ann, "x", 0, 1, cut), llm.Invalid, "")
		}
		for i := range 3 {
			u := upload(t, "m", 1)
			u.TrainingData = strings.Repeat("x", 40_000)
			if err := errors.Join(p.Put(ann, u), p.Delete(ann, "m")); err != nil {
				t.Fatalf("deleted %d times: %v", i, err)
			}
		}
		if err := p.Chunk(bob, "x", 0, 1, body(80_000)); err != nil {
			t.Error(err)
		}
		p.same(t, p.Chunk(bob, "x", 1, 2, body(20_000)), llm.Full, "checkpoint")
	})
}

// The parts of all owners together fit into the store, although each may announce as much as
// there is room for.
func TestPartQuota(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.MaxBytes = 100_000
		data := make([]byte, 90_000)
		owners := []context.Context{llm.WithOwner(t.Context(), "key ann"), llm.WithOwner(t.Context(), "key bob")}
		var ids []string
		for _, ctx := range owners {
			s, err := p.Begin(ctx, upload(t, "m", 1).of(data), 0, "")
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		if err := p.Part(owners[0], ids[0], 0, bytes.NewReader(data)); err != nil {
			t.Error(err)
		}
		p.same(t, p.Part(owners[1], ids[1], 0, bytes.NewReader(data)), llm.Full, "checkpoint")
	})
}

// A counting store calls during while it counts its models.
type counting struct {
	models
	during func()
}

func (c *counting) used(ctx context.Context) (int64, error) {
	c.during()
	return c.models.used(ctx)
}

// While the files are counted, uploads that need no new count proceed, and the others can leave.
func TestUploadsDuringCount(t *testing.T) {
	p := open(t, t.TempDir())
	p.MaxBytes = 100
	var during func()
	p.models = &counting{p.models, func() {
		if !p.mu.TryLock() {
			t.Fatal("the store is locked")
		}
		p.mu.Unlock()
		during()
	}}
	during = func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.begin(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that has left: %v", err)
		}
	}
	first, err := p.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.take(80); err != nil {
		t.Fatal(err)
	}
	during = func() {
		if err := second.take(10); err != nil {
			t.Error(err)
		}
		second.end()
	}
	p.same(t, first.take(30), llm.Full, "checkpoint") // the second's files may not be visible yet
	during = func() {}
	if err := first.take(30); err != nil {
		t.Error(err)
	}
	first.end()
}
