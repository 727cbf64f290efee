package batches

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

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

// serve returns a handler of the batches in a store, and what it logs.
func serve(store batch.Store) (b *batch.Batches, h http.Handler, log *bytes.Buffer) {
	b, log = batch.New(batch.Config{Store: store, Endpoints: Endpoints()}), &bytes.Buffer{}
	name := func(context.Context) string { return "ann" }
	mux := &httpx.Mux{Routes: Routes(Config{Batches: b, Owner: name, Sender: name}), Log: slog.New(slog.NewTextHandler(log, nil))}
	return b, mux.Handler(), log
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
		b, h, log := serve(store)
		server := httptest.NewServer(h)
		defer server.Close()
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

// counted is a store that counts the descriptions of files that are read.
type counted struct {
	batch.Store
	reads int
}

func (s *counted) Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	if strings.Contains(key, "/files/") {
		s.reads++
	}
	return s.Store.Open(ctx, key, offset, n)
}

// TestPagesOfFiles shows that pages join to the list, and that one reads no more than its files and the next.
func TestPagesOfFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := batch.OpenDirectory(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		counts := &counted{Store: store}
		b, h, _ := serve(counts)
		for _, f := range []struct{ name, purpose string }{{"a", "batch"}, {"b", "batch_output"}, {"c", "batch"}, {"d", "batch"}, {"e", "batch"}} {
			time.Sleep(time.Second) // the order is that of their times
			if _, err := b.Upload(t.Context(), "ann", f.name, f.purpose, strings.NewReader("")); err != nil {
				t.Fatal(err)
			}
		}
		for query, want := range map[string]string{
			"limit=2": "ed cb a", "limit=2&order=asc": "ab cd e", "limit=5": "edcba", "limit=3&purpose=batch": "edc a",
			"limit=1&purpose=batch_output": "b", "purpose=vision": "",
		} {
			if got := strings.Join(pagesOf(t, h, "/v1/files?"+query), " "); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		counts.reads = 0
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/files?limit=1", nil))
		if counts.reads != 2 {
			t.Errorf("%d files were read for a page of one", counts.reads)
		}
	})
}

// pagesOf returns the names of the files of each page.
func pagesOf(t *testing.T, h http.Handler, path string) (pages []string) {
	t.Helper()
	for after := ""; ; {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path+"&after="+after, nil))
		var list fileList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || list.Data == nil {
			t.Fatalf("%s: %s, %v", path, w.Body, err)
		}
		names := ""
		for _, f := range list.Data {
			names += f.Filename
		}
		if n := len(list.Data); n > 0 && (*list.FirstID != list.Data[0].ID || *list.LastID != list.Data[n-1].ID) {
			t.Errorf("%s: %s", path, w.Body)
		}
		if pages = append(pages, names); !list.HasMore {
			return pages
		}
		after = *list.LastID
	}
}
