package httpx

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	amazon = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
)

// Malformed and overlong headers are dropped; others reach the log line and the
// requests made on behalf of this one.
func TestTrace(t *testing.T) {
	long := strings.Repeat("x", maxState+1)
	for _, test := range []struct {
		name string
		sent http.Header
		want Trace
		id   string
	}{
		{"none", http.Header{}, Trace{}, ""},
		{"W3C", http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}}, Trace{Parent: parent, State: "a=1,b=2"}, "0af7651916cd43dd8448eb211c80319c"},
		{"X-Ray", http.Header{"X-Amzn-Trace-Id": {amazon}}, Trace{Amazon: amazon}, "1-5759e988-bd862e3fe1be46a994272793"},
		{"X-Ray behind a balancer", http.Header{"X-Amzn-Trace-Id": {"Self=1-67891234-12456789abcdef012345678a;" + amazon}},
			Trace{Amazon: "Self=1-67891234-12456789abcdef012345678a;" + amazon}, "1-5759e988-bd862e3fe1be46a994272793"},
		{"both", http.Header{"Traceparent": {parent}, "X-Amzn-Trace-Id": {amazon}}, Trace{Parent: parent, Amazon: amazon}, "0af7651916cd43dd8448eb211c80319c"},
		{"state alone", http.Header{"Tracestate": {"a=1"}}, Trace{}, ""},
		{"long state", http.Header{"Traceparent": {parent}, "Tracestate": {long}}, Trace{Parent: parent}, "0af7651916cd43dd8448eb211c80319c"},
		{"control character", http.Header{"Traceparent": {parent}, "Tracestate": {"a=\x1b"}}, Trace{Parent: parent}, "0af7651916cd43dd8448eb211c80319c"},
		{"two", http.Header{"Traceparent": {parent, parent}, "X-Amzn-Trace-Id": {amazon, amazon}}, Trace{}, ""},
		{"capitals", http.Header{"Traceparent": {strings.ToUpper(parent)}}, Trace{}, ""},
		{"zero trace", http.Header{"Traceparent": {"00-00000000000000000000000000000000-b7ad6b7169203331-01"}}, Trace{}, ""},
		{"zero parent", http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}}, Trace{}, ""},
		{"version ff", http.Header{"Traceparent": {"ff" + parent[2:]}}, Trace{}, ""},
		{"longer", http.Header{"Traceparent": {parent + "-00"}}, Trace{}, ""},
		{"X-Ray without root", http.Header{"X-Amzn-Trace-Id": {"Parent=53995c3f42cd8ad8"}}, Trace{}, ""},
		{"X-Ray with a bad root", http.Header{"X-Amzn-Trace-Id": {"Root=1-5759e988-bd862e3fe1be46a99427279\n"}}, Trace{}, ""},
		{"long X-Ray", http.Header{"X-Amzn-Trace-Id": {amazon + ";x=" + long}}, Trace{}, ""},
		{"injected X-Ray", http.Header{"X-Amzn-Trace-Id": {amazon + "\r\nX: y"}}, Trace{}, ""},
	} {
		var out bytes.Buffer
		var got Trace
		passed := &seen{}
		m := &Mux{
			Log: slog.New(slog.NewJSONHandler(&out, nil)),
			Routes: []Route{{Method: "POST", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
				got = RecordOf(r.Context()).Trace
				call, err := http.NewRequestWithContext(r.Context(), "GET", "http://example.invalid/", nil)
				if err == nil {
					_, err = Traced(passed).Do(call)
				}
				if len(call.Header) != 0 {
					t.Errorf("%s: the caller's request has changed: %v", test.name, call.Header)
				}
				return err
			}}},
		}
		r := httptest.NewRequest("POST", "/", nil)
		r.Header = test.sent
		m.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if got != test.want || got.ID() != test.id {
			t.Errorf("%s: %+v with the id %q", test.name, got, got.ID())
		}
		want := http.Header{}
		add(want, "Traceparent", test.want.Parent)
		add(want, "Tracestate", test.want.State)
		add(want, "X-Amzn-Trace-Id", test.want.Amazon)
		if len(passed.header) != len(want) || traceOf(passed.header) != test.want {
			t.Errorf("%s: passed on %v", test.name, passed.header)
		}
		var line struct{ Trace string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Trace != test.id {
			t.Errorf("%s: the log has %q, %v", test.name, line.Trace, err)
		}
	}
}

// seen records the header of a request.
type seen struct{ header http.Header }

func (s *seen) Do(r *http.Request) (*http.Response, error) {
	s.header = r.Header
	return &http.Response{}, nil
}

// Headers that the caller set stay, and outside of a request nothing is added.
func TestTracedLeavesWhatIsThere(t *testing.T) {
	var s seen
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Traceparent", "its own")
	if _, err := Traced(&s).Do(r); err != nil || len(s.header) != 1 {
		t.Error(s.header, err)
	}
	m := &Mux{Routes: []Route{{Method: "GET", Pattern: "/", Handle: func(_ http.ResponseWriter, in *http.Request) error {
		_, err := Traced(&s).Do(r.WithContext(in.Context()))
		return err
	}}}}
	in := httptest.NewRequest("GET", "/", nil)
	in.Header.Set("Traceparent", parent)
	in.Header.Set("X-Amzn-Trace-Id", amazon)
	m.Handler().ServeHTTP(httptest.NewRecorder(), in)
	if s.header.Get("Traceparent") != "its own" || s.header.Get("X-Amzn-Trace-Id") != amazon {
		t.Error(s.header)
	}
}
