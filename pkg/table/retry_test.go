package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// A call is one call of a table's method.
type call struct {
	name, op string
	safe     bool // may be repeated
	do       func(context.Context, *table.Table) error
}

func calls() []call {
	k := table.Key{PK: "a", SK: "b"}
	item := table.Item{"pk": k.PK, "sk": k.SK, "v": "x"}
	update := func(c table.Change, conditions ...table.Condition) func(context.Context, *table.Table) error {
		return func(ctx context.Context, t *table.Table) error {
			_, err := t.Update(ctx, k, c, conditions...)
			return err
		}
	}
	return []call{
		{"query", "Query", true, func(ctx context.Context, t *table.Table) error { _, err := t.Query(ctx, "a", "b"); return err }},
		{"check", "GetItem", true, func(ctx context.Context, t *table.Table) error { return t.Check(ctx) }},
		{"put", "PutItem", true, func(ctx context.Context, t *table.Table) error { return t.Put(ctx, item) }},
		{"put if", "PutItem", false, func(ctx context.Context, t *table.Table) error { return t.Put(ctx, item, table.Missing("w")) }},
		{"delete if", "DeleteItem", false, func(ctx context.Context, t *table.Table) error { return t.Delete(ctx, k, table.Missing("w")) }},
		{"delete", "DeleteItem", true, func(ctx context.Context, t *table.Table) error { return t.Delete(ctx, k) }},
		{"set", "UpdateItem", true, update(table.Change{Set: table.Item{"v": "y"}, Remove: []string{"none"}})},
		{"set if", "UpdateItem", false, update(table.Change{Set: table.Item{"v": "z"}}, table.Present())},
		{"add", "UpdateItem", false, update(table.Change{Add: map[string]int64{"n": 1}})},
	}
}

// quick returns a table that gives up soon.
func quick(s *tabletest.Service) *table.Table {
	return table.Limited(tabletest.Caller(s.URL, nil), "glossa", 5*time.Second, time.Millisecond)
}

// times returns a fault that occurs n times.
func times(n int64, status int, code string) func(string) (int, string) {
	return func(string) (int, string) {
		if n--; n < 0 {
			return 0, ""
		}
		return status, code
	}
}

// TestThrottled checks that each call is retried when the service was too busy.
func TestThrottled(t *testing.T) {
	for _, code := range []string{"ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"} {
		s := tabletest.New(t)
		tab := quick(s)
		for _, c := range calls() {
			before := s.Requests(c.op)
			s.Fault(times(2, 400, code))
			if err := c.do(t.Context(), tab); err != nil {
				t.Errorf("%s, twice %s: %v", c.name, code, err)
			}
			s.Fault(times(3, 400, code))
			err := c.do(t.Context(), tab)
			if !errors.Is(err, table.ErrThrottled) || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), c.op+" of table glossa") {
				t.Errorf("%s, thrice %s: %v", c.name, code, err)
			}
			if n := s.Requests(c.op) - before; n != 6 {
				t.Errorf("%s: %d requests, want 6", c.name, n)
			}
		}
	}
}

// TestBroken checks that only safe calls are retried after an error that leaves open
// whether they took effect.
func TestBroken(t *testing.T) {
	for name, fault := range map[string]struct {
		status int
		code   string
	}{"500": {500, "InternalServerError"}, "503": {503, "ServiceUnavailable"}, "closed": {tabletest.Close, ""}, "lost": {tabletest.Lost, ""}} {
		s := tabletest.New(t)
		tab := quick(s)
		for _, c := range calls() {
			s.Fault(nil)
			if err := tab.Put(t.Context(), table.Item{"pk": "a", "sk": "b"}); err != nil {
				t.Fatal(err)
			}
			before := s.Requests(c.op)
			s.Fault(times(2, fault.status, fault.code))
			err := c.do(t.Context(), tab)
			n, want := s.Requests(c.op)-before, 1
			if c.safe {
				want = 3
			}
			if n != want || (err == nil) != c.safe || errors.Is(err, table.ErrThrottled) || errors.Is(err, table.ErrCondition) {
				t.Errorf("%s, %s: %d requests, want %d: %v", c.name, name, n, want, err)
			}
		}
	}
}

// TestLost checks that an addition with a lost answer is not repeated.
func TestLost(t *testing.T) {
	s := tabletest.New(t)
	tab, k := quick(s), table.Key{PK: "a", SK: "b"}
	s.Fault(times(1, tabletest.Lost, ""))
	if got, err := tab.Update(t.Context(), k, table.Change{Add: map[string]int64{"n": 1}}); err == nil {
		t.Errorf("an answer that was lost: %v", got)
	}
	if got, err := tab.Get(t.Context(), k); err != nil || got["n"] != json.Number("1") {
		t.Errorf("%v (%v), want one addition", got, err)
	}
}

// TestHangs checks that waiting for an answer is bounded.
func TestHangs(t *testing.T) {
	for _, c := range calls() {
		s := tabletest.New(t)
		s.Fault(func(string) (int, string) { return tabletest.Hang, "" })
		err := c.do(t.Context(), table.Limited(tabletest.Caller(s.URL, nil), "glossa", 200*time.Millisecond, time.Millisecond)) // enough time to arrive on a busy machine
		want := 1
		if c.safe {
			want = 3
		}
		if n := s.Requests(""); err == nil || n != want {
			t.Errorf("%s: %d requests, want %d: %v", c.name, n, want, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.Fault(func(string) (int, string) { cancel(); return tabletest.Hang, "" })
		err = c.do(ctx, s.Table())
		if n := s.Requests("") - want; !errors.Is(err, context.Canceled) || n != 1 {
			t.Errorf("%s, left while it hangs: %d requests: %v", c.name, n, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		err = c.do(ctx, s.Table())
		if n := s.Requests("") - want - 1; !errors.Is(err, context.Canceled) || n != 0 {
			t.Errorf("%s, cancelled: %d requests: %v", c.name, n, err)
		}
	}
}

// TestWaits checks that a wait ends with its caller.
func TestWaits(t *testing.T) {
	s := tabletest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Fault(func(string) (int, string) { cancel(); return 400, "ThrottlingException" })
	_, err := table.Limited(tabletest.Caller(s.URL, nil), "glossa", time.Second, 1000*time.Hour).Get(ctx, table.Key{PK: "a", SK: "b"})
	if n := s.Requests(""); err == nil || n != 1 {
		t.Errorf("%d requests: %v", n, err)
	}
}

// dialler counts dials, which all fail.
type dialler struct{ n atomic.Int64 }

func (d *dialler) Do(r *http.Request) (*http.Response, error) {
	d.n.Add(1)
	return (&http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
	}}}).Do(r)
}

// TestUnreached checks that every call is retried if there was no connection.
func TestUnreached(t *testing.T) {
	for _, c := range calls() {
		d := &dialler{}
		err := c.do(t.Context(), table.Limited(tabletest.Caller("http://127.0.0.1:1", d), "glossa", time.Second, time.Millisecond))
		if err == nil || d.n.Load() != 3 {
			t.Errorf("%s: %d attempts: %v", c.name, d.n.Load(), err)
		}
	}
}

// TestDown checks that the clients of a service that is down do not all send three requests.
func TestDown(t *testing.T) {
	s := tabletest.New(t)
	tab := quick(s)
	s.Fault(func(string) (int, string) { return 500, "InternalServerError" })
	const all = 80
	for range all {
		if _, err := tab.Get(t.Context(), table.Key{PK: "a", SK: "b"}); err == nil || errors.Is(err, table.ErrNotFound) {
			t.Fatalf("it is down: %v", err)
		}
	}
	if n := s.Requests(""); n >= all*5/2 || n <= all { // the token bucket pays for the first 100 retries
		t.Errorf("%d requests of %d calls", n, all)
	}
}

// TestAnswers checks that a damaged answer is read again, and is an error without its text.
func TestAnswers(t *testing.T) {
	for name, damage := range map[string]func(http.Header) string{
		"another checksum": func(h http.Header) string { h.Set("X-Amz-Crc32", "1"); return `{"Item":{"secret":{"S":"x"}}}` },
		"cut":              func(h http.Header) string { h.Set("Content-Length", "100"); return `{"Item":{"secret":` },
		"not JSON":         func(http.Header) string { return `secret` },
		"another form":     func(http.Header) string { return `["secret"]` },
	} {
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			io.WriteString(w, damage(w.Header()))
		}))
		t.Cleanup(server.Close)
		tab := table.Limited(tabletest.Caller(server.URL, nil), "glossa", 5*time.Second, time.Millisecond)
		item, err := tab.Get(t.Context(), table.Key{PK: "a", SK: "b"})
		if err == nil || errors.Is(err, table.ErrNotFound) || strings.Contains(err.Error(), "secret") || n != 3 {
			t.Errorf("%s: %v %v after %d requests", name, item, err, n)
		}
	}
}
