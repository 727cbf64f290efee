//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// spans is a stand-in of AWS X-Ray: it keeps the traces of spans by their names.
type spans struct {
	mu     sync.Mutex
	traces map[string][]string
}

func (s *spans) start(t *testing.T) string {
	s.traces = map[string][]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct{ Name, TraceID string }
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(w, "xray", http.StatusBadRequest, "InvalidRequestException", err.Error())
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, of := range in.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				for _, one := range scope.Spans {
					s.traces[one.Name] = append(s.traces[one.Name], one.TraceID)
				}
			}
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// last returns the trace of the last span of a name.
func (s *spans) last(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append([]string{""}, s.traces[name]...)
	return list[len(list)-1]
}

// spansArrive asks a local and a remote model, and finds the spans of the requests with X-Ray before the
// function is frozen. Without the permission, answers are as before.
func spansArrive(t *testing.T, w *World, key string) string {
	found := 0
	for model, names := range map[string][]string{
		"novels":              {"POST /v1/completions", "text_completion novels", "queue", "prefill", "decode"},
		"anthropic.claude-v2": {"POST /v1/completions", "text_completion anthropic.claude-v2"},
	} {
		if a := w.completion(t, model, key); a.status != 200 {
			t.Fatalf("%s: %s", model, a)
		}
		trace := ""
		until(t, fresher, func() bool { trace = w.Models.spans.last(names[1]); return trace != "" })
		for _, name := range names {
			if got := w.Models.spans.last(name); got != trace {
				t.Errorf("%s: the span %q is of the trace %q, want %q", model, name, got, trace)
			}
			found++
		}
	}
	f := w.Fleets["openai"]
	giveBack := w.Proxy.Withdraw(f.Principal, "Spans")
	a := w.completion(t, "novels", key)
	refused := giveBack()
	if a.status != 200 {
		t.Errorf("without the permission: %s, %d refusals", a, len(refused))
	}
	return fmt.Sprintf("%d spans of two requests, before the function is frozen", found)
}
