package httpx

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// packed returns b, compressed.
func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A body that grows a thousandfold is rejected before it has grown.
func TestBodyRatio(t *testing.T) {
	text := strings.Repeat("prompts that repeat themselves, as few do ", 1<<8)
	for name, test := range map[string]struct {
		body   []byte
		status int
		read   int64 // at most
	}{
		"zeros":              {make([]byte, 8<<20), http.StatusRequestEntityTooLarge, 2 << 20},
		"a megabyte":         {make([]byte, freeBytes), http.StatusOK, freeBytes},
		"a few of the same":  {[]byte(text), http.StatusOK, freeBytes},
		"more than the rest": {make([]byte, 11<<20), http.StatusRequestEntityTooLarge, 2 << 20},
	} {
		var rec *Record
		m := &Mux{Observe: func(r *Record) { rec = r }, Routes: []Route{{Method: "POST", Pattern: "/", Handle: func(w http.ResponseWriter, r *http.Request) error {
			if _, err := ReadBody(r); err != nil {
				return err
			}
			return JSON(w, http.StatusOK, "read")
		}}}}
		w := serve(m, "POST", "/", http.Header{"Content-Encoding": {"gzip"}}, string(packed(t, test.body)))
		if w.Code != test.status || rec.Read > test.read {
			t.Errorf("%s: status %d, %d bytes were read: %s", name, w.Code, rec.Read, w.Body)
		}
	}
}

// holds reports whether the large bodies hold at least n bytes: if not, the pool grants
// one more byte within n.
func (b *Bodies) holds(n int64) bool {
	c, err := b.pool.Claim("another", 1, fair.Limits{Total: n})
	defer c.Release()
	return err != nil || !c.Granted()
}

func sent(t *testing.T, name string) context.Context { return llm.WithSender(t.Context(), name) }

// began starts to claim room and returns a channel with the result.
func began(ctx context.Context, l *lease, n int64) chan error {
	ended := make(chan error, 1)
	go func() { ended <- l.take(ctx, n) }()
	synctest.Wait()
	return ended
}

func state(ended chan error) string {
	select {
	case err := <-ended:
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return string(e.Code)
		}
		if err != nil {
			return err.Error()
		}
		return "taken"
	default:
		return "waits"
	}
}

func expect(t *testing.T, what string, ended chan error, want string) {
	t.Helper()
	synctest.Wait()
	if got := state(ended); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// Each sender has a share; its waiting bodies do not delay other senders.
func TestBodiesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bodies{Total: 400 << 10, Share: 200 << 10}
		first, second, other := &lease{of: b}, &lease{of: b}, &lease{of: b}
		expect(t, "the share", began(sent(t, "a"), first, 150<<10), "taken")
		more := began(sent(t, "a"), second, 100<<10)
		expect(t, "more than the share", more, "waits")
		expect(t, "another sender", began(sent(t, "b"), other, 150<<10), "taken")
		first.shrink(90 << 10)
		expect(t, "once there is room", more, "taken")
		for _, l := range []*lease{first, second, other} {
			l.release()
		}
		if b.holds(1) || len(b.small) != 0 {
			t.Errorf("bytes are left, small ones of %d senders", len(b.small))
		}
		alone := &lease{of: b}
		expect(t, "one body that is larger than all", began(sent(t, "a"), alone, 900<<10), "taken")
	})
}

// Without room a large body waits in order, and is rejected in the end. A small body
// does not wait if its sender has none under way.
func TestBodiesFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bodies{Total: 400 << 10, Share: 300 << 10, Wait: 5 * time.Second}
		var hogs []*lease
		for _, name := range []string{"a", "b"} {
			l := &lease{of: b}
			hogs = append(hogs, l)
			expect(t, name, began(sent(t, name), l, 200<<10), "taken")
		}
		small, again, tiny := &lease{of: b}, &lease{of: b}, &lease{of: b}
		if !small.takeSmall(sent(t, "c"), 60<<10) || again.takeSmall(sent(t, "c"), 60<<10) || !tiny.takeSmall(sent(t, "d"), 1) {
			t.Error("small bodies")
		}
		large, next := began(sent(t, "c"), small, 90<<10), began(sent(t, "d"), &lease{of: b}, 90<<10)
		expect(t, "large", large, "waits")
		ctx, leave := context.WithCancel(sent(t, "e"))
		gone := began(ctx, &lease{of: b}, 90<<10)
		leave()
		expect(t, "one that leaves", gone, context.Canceled.Error())
		hogs[0].shrink(100 << 10)
		expect(t, "the first in line", large, "taken")
		expect(t, "the second in line", next, "waits")
		time.Sleep(b.Wait)
		expect(t, "the second in line, later", next, string(llm.Overloaded))
		if !b.holds(390<<10) || b.holds(390<<10+1) { // of a, b and c; rejected claims hold nothing
			t.Error("not what was taken")
		}
	})
}

// The bytes of a body count until its handler has returned, or panicked.
func TestBodiesHeld(t *testing.T) {
	b := &Bodies{}
	const n = 3 * SmallBody
	m := &Mux{Bodies: b}
	for path, err := range map[string]error{"/ok": nil, "/bad": llm.Errorf(llm.Invalid, "bad"), "/panic": nil} {
		m.Routes = append(m.Routes, Route{Method: "POST", Pattern: path, Handle: func(_ http.ResponseWriter, r *http.Request) error {
			body, readErr := ReadBody(r)
			if readErr != nil || len(body) != n || !b.holds(n) || b.holds(n+1) {
				t.Errorf("%s: %d bytes are read, and not as many counted: %v", path, len(body), readErr)
			}
			if path == "/panic" {
				panic("as planned")
			}
			return err
		}})
	}
	for _, route := range m.Routes {
		for _, body := range []io.Reader{strings.NewReader(strings.Repeat("a", n)), io.MultiReader(strings.NewReader(strings.Repeat("a", n)))} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", route.Pattern, body)
			if err != nil {
				t.Fatal(err)
			}
			if r.ContentLength == 0 {
				r.ContentLength = -1 // as a server sets it
			}
			m.Handler().ServeHTTP(&discard{}, r)
			if b.holds(1) || len(b.small) != 0 {
				t.Errorf("%s: bytes are held after the request", route.Pattern)
			}
		}
	}
}

// A body that is rejected for lack of room is read to its end, so that its client sees
// the answer.
func TestBodiesRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bodies{Total: 4 * SmallBody}
		expect(t, "another body", began(sent(t, "a"), &lease{of: b}, 3*SmallBody), "taken")
		m := &Mux{Bodies: b, Routes: []Route{{Method: "POST", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
			_, err := ReadBody(r)
			return err
		}}}}
		body := strings.NewReader(strings.Repeat("a", 2*SmallBody))
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/", body))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "10" || body.Len() != 0 {
			t.Errorf("status %d, Retry-After %q, %d bytes are not read: %s", w.Code, w.Header().Get("Retry-After"), body.Len(), w.Body)
		}
	})
}

// discard is a response writer that drops its output.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (*discard) Write(b []byte) (int, error) { return len(b), nil }
func (*discard) WriteHeader(int)             {}

// A body shared by two routes is read and stored once.
func TestSharedBodyOnce(t *testing.T) {
	var first, second []byte
	handle := func(_ http.ResponseWriter, r *http.Request) (err error) {
		second, err = ReadBody(r)
		return err
	}
	m := &Mux{Routes: []Route{Shared(func(_ http.Header, body []byte) (int, error) {
		first = body
		return 0, nil
	}, Route{Method: "POST", Pattern: "/", Handle: handle, Errors: plainErrors{}})}}
	serve(m, "POST", "/", nil, "text")
	if string(second) != "text" || &first[0] != &second[0] {
		t.Errorf("%q, then %q", first, second)
	}
}

// Reserve counts for the request until it ends, and does not wait for what the request itself
// could hold up.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := &Bodies{Total: 1 << 20, Share: 1 << 20}
		var second error
		m := &Mux{Bodies: bodies, Routes: []Route{{Method: "POST", Pattern: "/", Handle: func(w http.ResponseWriter, r *http.Request) error {
			if _, err := ReadBody(r); err != nil {
				return err
			}
			if err := Reserve(r.Context(), 10); err != nil {
				return err
			}
			if err := Reserve(r.Context(), 600<<10); err != nil {
				return err
			}
			begun := time.Now()
			if second = Reserve(r.Context(), 600<<10); time.Since(begun) != 0 {
				t.Errorf("it waited %s", time.Since(begun))
			}
			return JSON(w, http.StatusOK, "kept")
		}}}}
		for range 2 { // the first request gives its room back
			if w := serve(m, "POST", "/", nil, "{}"); w.Code != http.StatusOK || llm.AsError(second).Code != llm.Overloaded {
				t.Errorf("got %d, then %v", w.Code, second)
			}
		}
	})
}
