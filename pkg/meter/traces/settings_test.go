package traces

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// read returns the settings of variables.
func read(vars map[string]string) (Settings, error) {
	return ReadSettings(func(name string) string { return vars[name] })
}

func TestReadSettings(t *testing.T) {
	const all, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for want, vars := range map[string]map[string]string{
		"":                                     {},
		"http://localhost:4318/v1/traces":      {all: "http://localhost:4318"},
		"http://localhost:4318/otlp/v1/traces": {all: "http://localhost:4318/otlp/"},
		"https://x/spans":                      {all: "http://localhost:4318", own: "https://x/spans"},
	} {
		if s, err := read(vars); err != nil || s.URL != want {
			t.Errorf("%v: %q %v, want %q", vars, s.URL, err, want)
		}
	}
	for _, off := range []map[string]string{{all: "http://x", "OTEL_SDK_DISABLED": "TRUE"}, {all: "http://x", "OTEL_TRACES_EXPORTER": "none"}} {
		if s, err := read(off); err != nil || s.URL != "" {
			t.Errorf("%v: %+v %v", off, s, err)
		}
	}
	s, err := read(map[string]string{
		all: "http://x", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20k, b=c,", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "250", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
	})
	if err != nil || s.Header.Get("Authorization") != "Bearer k" || s.Header.Get("B") != "c" || s.Timeout != 250*time.Millisecond || !s.Gzip {
		t.Errorf("%+v %v", s, err)
	}
	for name, v := range map[string]string{
		all: "localhost:4318", own: "ftp://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TIMEOUT": "1s", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "br",
		"OTEL_EXPORTER_OTLP_HEADERS": "secret",
	} {
		vars := map[string]string{all: "http://x"}
		vars[name] = v
		if _, err := read(vars); err == nil || !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s=%s: %v", name, v, err)
		}
	}
}

// A collector answers requests without a connection.
type collector struct{ http.Handler }

func (c collector) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result(), nil
}

// A collector that is busy is asked again, one that refuses is not.
func TestSender(t *testing.T) {
	asked, status := 0, []int{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if text, err := io.ReadAll(body); err != nil || string(text) != "{}" || r.Header.Get("Key") != "k" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v %v", text, r.Header, err)
		}
		w.WriteHeader(status[asked])
		asked++
	})
	send := Settings{URL: "http://collector", Header: http.Header{"Key": {"k"}}, Gzip: true}.Sender(&http.Client{Transport: collector{handler}})
	for _, c := range []struct {
		status []int
		failed bool
	}{{[]int{200}, false}, {[]int{503, 200}, false}, {[]int{400}, true}, {[]int{500}, true}} {
		synctest.Test(t, func(t *testing.T) {
			asked, status = 0, c.status
			if err := send(t.Context(), []byte("{}")); (err != nil) != c.failed || asked != len(c.status) {
				t.Errorf("%v: asked %d times, %v", c.status, asked, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		asked, status = 0, []int{429, 429, 429, 429, 429}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := send(ctx, []byte("{}")); err == nil || asked != 1 || !strings.Contains(err.Error(), "429") {
			t.Errorf("asked %d times, %v", asked, err)
		}
	})
}

// The message has the members and types of OTLP's encoding in JSON.
func TestExport(t *testing.T) {
	var body []byte
	e := NewExporter(func(_ context.Context, b []byte) error { body = b; return nil }, time.Second)
	traces := New(Config{Exporter: e, Failed: func(err error) { t.Error(err) }})
	spans := ask(t, http.Header{"Traceparent": {parent}}, far, model{pieces: whole, err: context.DeadlineExceeded})
	if err := e.ExportSpans(t.Context(), spans.Snapshots()); err != nil {
		t.Fatal(err)
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
	var m struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []map[string]any }
			ScopeSpans []struct {
				Scope struct{ Name string }
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string
					Kind, Flags                                                             int
					Attributes                                                              []struct {
						Key   string
						Value map[string]any
					}
					Events []map[string]string
					Status struct{ Code int }
				}
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	for _, s := range m.ResourceSpans[0].ScopeSpans[0].Spans {
		values := map[string]any{}
		for _, kv := range s.Attributes {
			for kind, v := range kv.Value {
				values[kv.Key] = []any{kind, v}
			}
		}
		if s.TraceID != "0af7651916cd43dd8448eb211c80319c" || len(s.SpanID) != 16 || len(s.StartTimeUnixNano) != 19 || len(s.EndTimeUnixNano) != 19 || s.Status.Code != 2 {
			t.Errorf("%+v", s)
		}
		switch s.Name {
		case "POST /v1/ask":
			if s.Kind != 2 || s.ParentSpanID != "b7ad6b7169203331" || s.Flags != 0x301 {
				t.Errorf("%+v", s)
			}
		case "chat claude":
			want := map[string]any{"gen_ai.request.max_tokens": []any{"intValue", "3"}, "gen_ai.request.temperature": []any{"doubleValue", 0.5}, "gen_ai.request.stream": []any{"boolValue", false}}
			for key, v := range want {
				if got := values[key]; !equal(got, v) {
					t.Errorf("%s is %v, want %v", key, got, v)
				}
			}
			if s.Kind != 3 || len(s.Events) != 1 || s.Events[0]["name"] != "first token" {
				t.Errorf("%+v", s)
			}
		default:
			t.Errorf("a span %s", s.Name)
		}
	}
	if len(m.ResourceSpans[0].Resource.Attributes) < 2 || m.ResourceSpans[0].ScopeSpans[0].Scope.Name != "glossa" {
		t.Errorf("%s", body)
	}
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
