package batches

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"glossa/pkg/batch"
	"glossa/pkg/httpx"
)

// torn is a store whose files cannot be read to their end.
type torn struct{ batch.Store }

var errTorn = errors.New("the disk is gone")

func (s torn) Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	r, err := s.Store.Open(ctx, key, offset, n)
	if err != nil || !strings.Contains(key, "/content/") {
		return r, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(r, 10_000), iotest.ErrReader(errTorn)), r}, nil
}

// serve returns a server of the batches in a store, and what it logs.
func serve(t *testing.T, store batch.Store) (b *batch.Batches, server *httptest.Server, log *bytes.Buffer) {
	t.Helper()
	b, log = batch.New(batch.Config{Store: store, Endpoints: Endpoints()}), &bytes.Buffer{}
	name := func(context.Context) string { return "ann" }
	mux := &httpx.Mux{Routes: Routes(Config{Batches: b, Owner: name, Sender: name}), Log: slog.New(slog.NewTextHandler(log, nil))}
	server = httptest.NewServer(mux.Handler())
	t.Cleanup(server.Close)
	return b, server, log
}

// TestContent downloads a file whole, and one that the store loses on the way: its client must not believe that
// it is whole.
func TestContent(t *testing.T) {
	for _, lost := range []bool{false, true} {
		var store batch.Store
		store, err := batch.OpenDirectory(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if lost {
			store = torn{store}
		}
		b, server, log := serve(t, store)
		text := strings.Repeat("0123456789", 2000)
		f, err := b.Upload(t.Context(), "ann", "in.jsonl", "batch", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Get(server.URL + "/v1/files/" + f.ID + "/content")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // it was read to its end
		if res.ContentLength != int64(len(text)) || !strings.HasPrefix(text, string(got)) {
			t.Errorf("lost %t: %d bytes announced, of %d the last are %q", lost, res.ContentLength, len(got), got[max(0, len(got)-100):])
		}
		if lost != errors.Is(err, io.ErrUnexpectedEOF) || !lost && len(got) != len(text) {
			t.Errorf("lost %t: %d bytes, %v", lost, len(got), err)
		}
		server.Close()
		if said := log.String(); lost && !strings.Contains(said, errTorn.Error()) {
			t.Errorf("the log is %q", said)
		}
	}
}
