package functions_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/app"
)

// gzipped compresses a body.
func gzipped(t *testing.T, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, body); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compressibleText is text of at least n bytes that becomes about eight times shorter.
func compressibleText(n int) string {
	random := rand.NewChaCha8([32]byte{})
	var b strings.Builder
	for raw := make([]byte, 8<<10); b.Len() < n; {
		_, _ = random.Read(raw) // never fails
		b.WriteString(strings.Repeat(hex.EncodeToString(raw), 4))
	}
	return b.String()
}

// Compressed bodies work through every door, each of which encodes them differently. Bodies
// that unpack to too much, or do not unpack, are rejected in the dialect's shape.
func TestCompressed(t *testing.T) {
	runs := golden(t)
	plain, err := app.New(app.Config{Checkpoints: runs})
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, build(t, "textsynth"), runs)
	doors := []door{{"REST", f.RESTProxy(true, "prod"), "/prod"}, {"function URL", f.FunctionURL(true), ""}, {"HTTP API", f.HTTPAPI(), ""}, {"plain HTTP", plain.Handler("textsynth"), ""}}
	const ask = `{"prompt":"a","max_tokens":2,"temperature":0}`
	whole := gzipped(t, ask)
	for _, c := range []struct {
		name, encoding string
		body           []byte
		status         int
		says           string
	}{
		{"as it is", "", []byte(ask), 200, `"text":`},
		{"compressed", "gzip", whole, 200, `"text":`},
		{"a bomb", "gzip", gzipped(t, `{"prompt":"`+strings.Repeat("a", 64<<20)+`"}`), 413, "the body is more than 100 times larger"},
		{"too much", "gzip", gzipped(t, `{"prompt":"`+compressibleText(11<<20)+`"}`), 413, "the body is larger than "},
		{"cut", "gzip", whole[:len(whole)-9], 400, "the body is truncated or not valid gzip"},
		{"not compressed", "gzip", []byte(ask), 400, "the body is truncated or not valid gzip"},
		{"mangled, as by an API without binary types", "gzip", []byte(strings.ToValidUTF8(string(whole), "\ufffd")), 400, "the body is truncated or not valid gzip"},
		{"another encoding", "br", whole, 400, `the Content-Encoding \"br\" is not supported: send gzip or none`},
	} {
		for _, d := range doors {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, d.stage+"/v1/engines/golden/completions", bytes.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			w := httptest.NewRecorder()
			d.handler.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || c.status != 200 && !strings.HasPrefix(w.Body.String(), `{"error":`) {
				t.Errorf("%s, %s: %d %s", c.name, d.name, w.Code, fmt.Sprintf("%.300s", w.Body))
			}
		}
	}
}
