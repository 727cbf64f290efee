package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	rest := " S 1 1 1 0 -1 4194560 100 0 0 0 123 45 0 0 20 0 1 0 100 1000 10"
	for line, want := range map[string]time.Duration{
		"77 (glossa)" + rest: 1680 * time.Millisecond, "77 (a) b) c)" + rest: 1680 * time.Millisecond,
		"77 (glossa) S 1": -1, "": -1, "77 (glossa)" + strings.Replace(rest, "123", "x", 1): -1,
	} {
		got, err := parseStat([]byte(line))
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
}

func TestStatusField(t *testing.T) {
	status := []byte("Name:\tglossa\nVmPeak:\t  999 kB\nVmHWM:\t   2048 kB\nVmRSS:\t1024 kB\n")
	for name, want := range map[string]int64{"VmHWM": 2 << 20, "VmRSS": 1 << 20, "Vm": -1, "Name": -1} {
		got, err := statusField(status, name)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

func TestSummary(t *testing.T) {
	b := &bystander{}
	for i := range 10 {
		b.waits = append(b.waits, wait{time.Duration(10-i) * time.Millisecond, time.Duration(20-i) * time.Millisecond, "200"})
	}
	b.waits[3].outcome, b.waits[4].outcome, b.waits[5].outcome = "429", lost, "429"
	want := waits{n: 10, median: 5 * time.Millisecond, p90: 9 * time.Millisecond, first: 10 * time.Millisecond, end: 20 * time.Millisecond, bad: "2x429 1xlost"}
	if got := b.summary(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := b.summary(); got != (waits{}) {
		t.Errorf("forgotten: %+v", got)
	}
}

func TestQuantile(t *testing.T) {
	list := []time.Duration{1, 2, 3, 4}
	for q, want := range map[float64]time.Duration{0: 1, 0.25: 1, 0.26: 2, 0.5: 2, 0.9: 4, 1: 4} {
		if got := quantile(list, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("of nothing")
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1s", 1234 * time.Millisecond: "1.23s", 250 * time.Millisecond: "250ms", 1500 * time.Microsecond: "1.5ms", 0: "0.0ms",
	} {
		if got := brief(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// Outcomes of calls: an answer, an answer that is cut, no answer, and a cancelled call.
func TestOutcomes(t *testing.T) {
	waiting := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/half":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		case "/none":
			panic(http.ErrAbortHandler)
		case "/never":
			waiting <- struct{}{}
			<-r.Context().Done()
		default:
			if r.Header.Get("Authorization") != "Bearer key" || r.Host != "other.example" || r.Header.Get("X-A") != "b" {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = w.Write([]byte(strings.Repeat("x", 2*maxKept)))
		}
	}))
	defer server.Close()
	s := newSender(server.URL, "key", "127.0.0.1", true)
	for path, want := range map[string]string{"/busy": "429", "/half": lost, "/none": lost} {
		if a := s.ask(t.Context(), get(path)); a.outcome() != want || a.end <= 0 {
			t.Errorf("%s: %s, want %s", path, a.outcome(), want)
		}
	}
	c := post("/", "{}").with("X-A", "b")
	c.host = "other.example"
	if a := s.ask(t.Context(), c); a.outcome() != "200" || len(a.body) != maxKept+1 || a.first > a.end {
		t.Errorf("%s, %d bytes", a.outcome(), len(a.body))
	}
	ctx, leave := context.WithCancelCause(t.Context())
	go func() { <-waiting; leave(errors.New("left")) }()
	if a := s.ask(ctx, get("/never")); a.outcome() != cut {
		t.Errorf("left: %s", a.outcome())
	}
}
