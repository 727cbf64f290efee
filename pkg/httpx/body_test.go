package httpx

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// describe formats an error as its code, its parameter and the client's message.
func describe(err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return "no llm.Error: " + err.Error()
	}
	return string(e.Code) + " " + e.Param + ": " + e.Message
}

func zip(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// TestReadBody runs bodies through a mux whose route takes 1000 bytes.
func TestReadBody(t *testing.T) {
	good := zip(strings.Repeat("x", 1000))
	corrupt := []byte(good)
	corrupt[12] ^= 0xff
	for _, test := range []struct{ name, encoding, body, want string }{
		{"plain", "", "hello", "5 bytes"},
		{"identity", "identity", "hello", "5 bytes"},
		{"gzip", "gzip", zip("hello"), "5 bytes"},
		{"gzip in capitals", "GZIP", zip("hello"), "5 bytes"},
		{"at the limit", "", strings.Repeat("x", 1000), "1000 bytes"},
		{"at the limit, gzip", "gzip", good, "1000 bytes"},
		{"empty", "", "", "0 bytes"},
		{"empty, gzip", "gzip", "", "0 bytes"},
		{"two members", "gzip", zip("hello") + zip("hello"), "10 bytes"},
		{"over the limit", "", strings.Repeat("x", 1001), "too_large : the body is larger than 1000 bytes"},
		{"bomb", "gzip", zip(strings.Repeat("x", 10<<20)), "too_large : the body is larger than 1000 bytes"},
		{"no gzip", "gzip", "hello, this is plain", "invalid : the body is truncated or not valid gzip"},
		{"cut", "gzip", good[:len(good)-6], "invalid : the body is truncated or not valid gzip"},
		{"corrupt", "gzip", string(corrupt), "invalid : the body is truncated or not valid gzip"},
		{"rubbish behind", "gzip", zip("hello") + "rubbish rubbish", "invalid : the body is truncated or not valid gzip"},
		{"unknown encoding", "br", "hello", `invalid : the Content-Encoding "br" is not supported: send gzip or none`},
		{"two encodings", "gzip, gzip", "hello", `invalid : the Content-Encoding "gzip, gzip" is not supported: send gzip or none`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got string
			route := Route{Method: "POST", Pattern: "/", MaxBody: 1000, Handle: func(_ http.ResponseWriter, r *http.Request) error {
				b, err := ReadBody(r)
				if got = describe(err); err == nil {
					got = llm.Errorf("", "%d bytes", len(b)).Message
				}
				return err
			}}
			r := httptest.NewRequest("POST", "/", strings.NewReader(test.body))
			r.Header.Set("Content-Encoding", test.encoding)
			(&Mux{Routes: []Route{route}}).Handler().ServeHTTP(httptest.NewRecorder(), r)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A body that its sender cut short, or did not send, is the client's fault; the same
// error from a backend is not.
func TestBodyErrors(t *testing.T) {
	r, err := http.NewRequest("POST", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := ReadBody(r); err != nil || len(b) != 0 {
		t.Errorf("no body: got %q, %v", b, err)
	}
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), brokenReader{}))
	if got := describe(Decode(r, wire.For[struct{}](), new(struct{}))); got != "invalid : the body is truncated" {
		t.Errorf("cut: got %q", got)
	}
	if e := asError(t.Context(), io.ErrUnexpectedEOF); e.Code != llm.Internal {
		t.Errorf("a backend's: got %v", e)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
