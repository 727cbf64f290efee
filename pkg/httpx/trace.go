package httpx

import (
	"context"
	"net/http"
	"strings"
)

// A Trace is the distributed trace that a request belongs to, as its headers say.
// [Traced] passes it on unchanged. Malformed and overlong headers are ignored, because
// these headers end up in logs and at providers.
type Trace struct {
	Parent string // traceparent: W3C Trace Context, 3.2
	State  string // tracestate: the same, 3.3; none without Parent
	Amazon string // X-Amzn-Trace-Id: of AWS X-Ray; Lambda sets it too
}

// Bounds in bytes. At least 512 of a tracestate must be passed on (W3C Trace Context, 3.3.1.5).
const (
	parentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2
	maxState     = 512
	maxAmazon    = 256
	rootLength   = 1 + 1 + 8 + 1 + 24 // 1-5759e988-bd862e3fe1be46a994272793
)

// ID returns the id of the trace: of Parent, else of Amazon, else "".
func (t *Trace) ID() string {
	switch {
	case t.Parent != "":
		return t.Parent[3 : 3+32]
	case t.Amazon != "":
		return root(t.Amazon)
	}
	return ""
}

// traceOf reads the headers of a request.
func traceOf(h http.Header) (t Trace) {
	if list := h["Traceparent"]; len(list) == 1 && isParent(list[0]) {
		t.Parent = list[0]
		if state := strings.Join(h["Tracestate"], ","); len(state) <= maxState && graphic(state) {
			t.State = state
		}
	}
	if list := h["X-Amzn-Trace-Id"]; len(list) == 1 && len(list[0]) <= maxAmazon && graphic(list[0]) && root(list[0]) != "" {
		t.Amazon = list[0]
	}
	return t
}

// isParent reports whether s is a traceparent: version, trace id, parent id and flags
// in lower-case hexadecimal digits, the ids not zero, the version not ff. Later
// versions may be longer; those are dropped.
func isParent(s string) bool {
	if len(s) != parentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return false
	}
	trace, parent := s[3:35], s[36:52]
	return hexadecimal(s[:2]) && hexadecimal(trace) && hexadecimal(parent) && hexadecimal(s[53:]) &&
		strings.Trim(trace, "0") != "" && strings.Trim(parent, "0") != ""
}

// root returns the id of the trace in X-Ray's header, which is Root=ID among other
// fields between semicolons; "" if there is none.
func root(amazon string) string {
	for field := range strings.SplitSeq(amazon, ";") {
		id, ok := strings.CutPrefix(strings.TrimSpace(field), "Root=")
		if ok && len(id) == rootLength && strings.HasPrefix(id, "1-") && id[10] == '-' && hexadecimal(id[2:10]) && hexadecimal(id[11:]) {
			return id
		}
	}
	return ""
}

// hexadecimal reports whether s consists of lower-case hexadecimal digits.
func hexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// graphic reports whether s consists of spaces and graphic ASCII characters.
func graphic(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// A Doer sends an HTTP request.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Traced returns a client that adds the trace of the context's request to each of its
// requests. Headers that are already set stay. AWS's signature does not cover these
// headers: it was made before.
func Traced(client Doer) Doer { return traced{client} }

type traced struct{ Doer }

type parentKey struct{}

// WithParent returns a context whose requests have another parent, a traceparent, than the
// request that it belongs to.
func WithParent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, parentKey{}, traceparent)
}

func (t traced) Do(r *http.Request) (*http.Response, error) {
	var trace Trace
	if rec, ok := r.Context().Value(recordKey{}).(*Record); ok {
		trace = rec.Trace
	}
	if parent, ok := r.Context().Value(parentKey{}).(string); ok {
		trace.Parent = parent
	}
	if trace != (Trace{}) {
		sent := *r
		sent.Header = r.Header.Clone()
		add(sent.Header, "Traceparent", trace.Parent)
		add(sent.Header, "Tracestate", trace.State)
		add(sent.Header, "X-Amzn-Trace-Id", trace.Amazon)
		r = &sent
	}
	return t.Doer.Do(r)
}

func add(h http.Header, name, value string) {
	if value != "" && h.Get(name) == "" {
		h.Set(name, value)
	}
}
