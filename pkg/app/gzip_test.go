package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/httpx"
)

// Every dialect accepts compressed bodies, and rejects in its own shape those that
// decompress to more than its limit, or to far more than was sent.
func TestCompressedInAllDialects(t *testing.T) {
	h := golden(t, Config{}).Handler()
	space, rng := make([]byte, httpx.DefaultMaxBody), rand.New(rand.NewPCG(1, 2))
	for i := range space {
		space[i] = " \t\r\n"[rng.IntN(4)] // does not compress to nothing
	}
	refused := map[string]string{"large": "the body is larger than", "bomb": "more than 100 times larger"}
	for path, body := range paths {
		begun := strings.TrimSuffix(body, "}")
		for what, text := range map[string]string{
			"small": body, "large": begun + string(space) + "}", "bomb": begun + strings.Repeat(" ", httpx.DefaultMaxBody/2) + "}",
		} {
			var b bytes.Buffer
			z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, &b)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Content-Encoding", "gzip")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if (w.Code == http.StatusOK) != (what == "small") || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), refused[what]) {
				t.Errorf("%s, %s: %d %.200s", path, what, w.Code, w.Body)
			}
		}
	}
}
