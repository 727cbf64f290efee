// Package otlp runs the server with a collector that reads spans with the code of the
// OpenTelemetry Collector, and so checks that others understand them.
package otlp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// collector keeps the spans that it gets.
type collector struct {
	t     *testing.T
	spans chan ptrace.Span
	names chan string // of services
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	req := ptraceotlp.NewExportRequest()
	if err == nil {
		err = req.UnmarshalJSON(body)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Key") != "k" {
		c.t.Errorf("%s %v: %v: %.300s", r.URL.Path, r.Header, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, of := range req.Traces().ResourceSpans().All() {
		name, _ := of.Resource().Attributes().Get("service.name")
		c.names <- name.AsString()
		for _, scope := range of.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				c.spans <- s
			}
		}
	}
	fmt.Fprint(w, "{}")
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpans(t *testing.T) {
	c := &collector{t, make(chan ptrace.Span, 64), make(chan string, 64)}
	server := httptest.NewServer(c)
	defer server.Close()
	url, stop := serve(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=key=k", "OTEL_SERVICE_NAME=shop", "OTEL_BSP_SCHEDULE_DELAY=100")
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions",
		strings.NewReader(`{"model":"novels","messages":[{"role":"user","content":"The old lighthouse"}],"max_tokens":5,"temperature":0}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", parent)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", res.Status, body)
	}
	stop() // which exports what is left
	if name := <-c.names; name != "shop" {
		t.Errorf("the service is %q", name)
	}
	close(c.spans)
	byName, byID := map[string]ptrace.Span{}, map[string]string{}
	for s := range c.spans {
		byName[s.Name()], byID[s.SpanID().String()] = s, s.Name()
		if s.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || s.EndTimestamp() < s.StartTimestamp() || s.StartTimestamp() == 0 {
			t.Errorf("%s of %s from %d to %d", s.Name(), s.TraceID(), s.StartTimestamp(), s.EndTimestamp())
		}
	}
	var tree []string
	for name, s := range byName {
		tree = append(tree, fmt.Sprintf("%s < %s, %s", name, byID[s.ParentSpanID().String()], s.Kind()))
	}
	slices.Sort(tree)
	want := []string{
		"POST /v1/chat/completions < , Server", "chat novels < POST /v1/chat/completions, Internal", "decode < chat novels, Internal",
		"prefill < chat novels, Internal", "queue < chat novels, Internal",
	}
	if !slices.Equal(tree, want) {
		t.Errorf("%q, want %q", tree, want)
	}
	for key, want := range map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.max_tokens": "5", "gen_ai.usage.output_tokens": "5", "gen_ai.response.finish_reasons": `["length"]`} {
		if v, ok := byName["chat novels"].Attributes().Get(key); !ok || v.AsString() != want {
			t.Errorf("%s is %q, want %q", key, v.AsString(), want)
		}
	}
	for _, s := range byName {
		if text := fmt.Sprint(s.Attributes().AsRaw()); strings.Contains(text, "lighthouse") {
			t.Errorf("a prompt is in a span: %s", text)
		}
	}
}

// serve starts the built command and returns its address, and what stops it.
func serve(t *testing.T, env ...string) (url string, stop func()) {
	t.Helper()
	path, err := filepath.Abs("../../bin/glossa")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", "--host", "127.0.0.1", "--port", "0")
	cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	var out strings.Builder
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	found := make(chan string, 1)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := read.Read(buffer)
			out.Write(buffer[:n])
			if _, after, ok := strings.Cut(out.String(), "http://"); ok {
				if host, _, ok := strings.Cut(after, "\n"); ok && len(found) == 0 {
					found <- "http://" + strings.TrimSuffix(strings.Fields(host)[0], ",")
				}
			}
			if err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case url = <-found:
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		t.Fatal("the server does not start")
	}
	return url, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
	}
}
