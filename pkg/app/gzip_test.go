package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/httpx"
)

// Every dialect takes compressed bodies, and refuses in its own shape those that unpack to
// more than it takes.
func TestCompressedInAllDialects(t *testing.T) {
	h := golden(t, Config{}).Handler()
	for path, body := range paths {
		large := strings.TrimSuffix(body, "}") + strings.Repeat(" ", httpx.DefaultMaxBody) + "}"
		for what, text := range map[string]string{"small": body, "large": large} {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, &b)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Content-Encoding", "gzip")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if (w.Code == http.StatusOK) != (what == "small") || !json.Valid(w.Body.Bytes()) || what == "large" && !strings.Contains(w.Body.String(), "the body is larger than") {
				t.Errorf("%s, %s: %d %.200s", path, what, w.Code, w.Body)
			}
		}
	}
}
