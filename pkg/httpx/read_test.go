package httpx

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The record counts the bytes of the body once, also if two routes share it.
func TestReadBytes(t *testing.T) {
	const body = `{"a":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, body); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	route := Route{Method: "POST", Pattern: "/plain", Handle: func(_ http.ResponseWriter, r *http.Request) error {
		_, err := ReadBody(r)
		return err
	}}
	shared := Shared(func(http.Header, []byte) (int, error) { return 0, nil }, Route{Method: "POST", Pattern: "/shared", Handle: route.Handle})
	var rec *Record
	mux := Mux{Routes: []Route{route, shared}, Observe: func(r *Record) { rec = r }}
	for _, path := range []string{"/plain", "/shared"} {
		for encoding, sent := range map[string]string{"": body, "gzip": packed.String()} {
			r := httptest.NewRequest("POST", path, strings.NewReader(sent))
			r.Header.Set("Content-Encoding", encoding)
			mux.Handler().ServeHTTP(httptest.NewRecorder(), r)
			if rec.Status != 200 || rec.Read != int64(len(body)) {
				t.Errorf("%s, %q: status %d, %d bytes, want %d", path, encoding, rec.Status, rec.Read, len(body))
			}
		}
	}
}
