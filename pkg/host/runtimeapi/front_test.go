package runtimeapi_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/host/runtimeapi"
)

func frontServer(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// TestDoors checks that every front gives the same status, headers and body for the same request; paths keep %2F where
// AWS keeps it.
func TestDoors(t *testing.T) {
	leakFree(t)
	buffered := start(t, options(t, "buffered", nil))
	streamed := start(t, options(t, "streamed", nil))
	const path, query = "/echo/local%2Fnovels:latest", "?tag=a&tag=b&q=x%26y"
	decoded := "/echo/local/novels:latest"
	for _, d := range []struct {
		name, prefix string
		h            http.Handler
		httpAPI      bool
	}{
		{"url", "", buffered.FunctionURL(false), false},
		{"url streamed", "", streamed.FunctionURL(true), false},
		{"rest", "/prod", buffered.RESTProxy(false, "prod"), false},
		{"rest streamed", "/prod", streamed.RESTProxy(true, "prod"), false},
		{"http", "", buffered.HTTPAPI(), true},
		{"http of a streaming function", "", streamed.HTTPAPI(), true},
	} {
		t.Run(d.name, func(t *testing.T) {
			s := frontServer(t, d.h)
			for _, body := range []string{"", "text é", "\x00\xff\xfe"} {
				req, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.URL = mustParse(t, s.URL+d.prefix+path+query)
				req.Header["X-Tag"] = []string{"one", "two"}
				req.Header.Set("Content-Type", "text/plain")
				req.AddCookie(&http.Cookie{Name: "a", Value: "1"})
				req.AddCookie(&http.Cookie{Name: "b", Value: "2"})
				resp, err := s.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(got) != body || resp.StatusCode != http.StatusCreated {
					t.Errorf("%d %q %v, want 201 %q", resp.StatusCode, got, err, body)
				}
				want := map[string]string{
					"Content-Type":     "[application/octet-stream]",
					"Set-Cookie":       "[a=1; Path=/ b=2]",
					"X-Name":           "[local/novels:latest]",
					"X-Path":           "[" + decoded + "]",
					"X-Escaped":        "[" + path + "]",
					"X-Query":          "[a|b/x&y]",
					"X-Tags":           "[one,two]",
					"X-Cookies":        "[[a=1 b=2]]",
					"X-Request-Id-Set": "[true]",
					"X-Body":           fmt.Sprintf("[PUT %d <nil>]", len(body)),
				}
				if d.httpAPI {
					want["X-Name"], want["X-Escaped"] = "[novels:latest]", "["+decoded+"]"
				}
				resp.Header.Del("Date")
				resp.Header.Del("Content-Length")
				header := make(map[string]string)
				for k, v := range resp.Header {
					header[k] = fmt.Sprint(v)
				}
				if !maps.Equal(header, want) {
					t.Errorf("headers %v\nwant %v", header, want)
				}
			}
		})
	}
}

// TestDoorsStream checks that chunks pass through the fronts one by one, and that a client that leaves does not
// stop the function.
func TestDoorsStream(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	f := start(t, options(t, "streamed", c))
	for _, d := range []struct {
		path string
		h    http.Handler
	}{{"/stream", f.FunctionURL(true)}, {"/v1/stream", f.RESTProxy(true, "v1")}} {
		s := frontServer(t, d.h)
		ctx, leave := context.WithCancel(t.Context())
		for _, stay := range []bool{true, false} {
			req, err := http.NewRequestWithContext(ctx, "GET", s.URL+d.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if stay || i == 0 {
					buf := make([]byte, len("data: 0\n\n"))
					if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != fmt.Sprintf("data: %d\n\n", i) {
						t.Fatalf("chunk %d: %q %v", i, buf, err)
					}
				} else {
					leave()
				}
				c.expect(t, fmt.Sprint("chunk ", i, " <nil> <nil>"))
			}
			rest, err := io.ReadAll(resp.Body)
			if stay && (string(rest) != "data: [DONE]\n\n" || err != nil) {
				t.Errorf("rest %q %v", rest, err)
			}
			resp.Body.Close()
		}
		leave()
	}
	mustServe(t, f, 1)
}

func TestDoorErrors(t *testing.T) {
	leakFree(t)
	buffered := start(t, options(t, "buffered", nil))
	streamed := start(t, options(t, "streamed", nil))
	big := strings.Repeat("x", runtimeapi.MaxPayload+1)
	for _, k := range []struct {
		name, path, body string
		h                http.Handler
		status           int
		want             string
	}{
		{"panic", "/panic-before", "", buffered.FunctionURL(false), 500, "internal error"},
		{"panic streamed", "/p/panic-before", "", streamed.RESTProxy(true, "p"), 500, "internal error"},
		{"crash", "/crash", "", streamed.FunctionURL(true), 502, "exit status 7"},
		{"stream at a buffered door", "/pid", "", streamed.FunctionURL(false), 502, "this door is buffered"},
		{"buffered answer at a streaming integration", "/p/pid", "", buffered.RESTProxy(true, "p"), 502, "no HTTP streaming response"},
		{"buffered answer at a streaming URL", "/pid", "", buffered.FunctionURL(true), 200, `"statusCode":200`},
		{"outside the stage", "/q/pid", "", buffered.RESTProxy(false, "p"), 403, "not below the stage /p"},
		{"stage is a prefix", "/pp/pid", "", buffered.RESTProxy(false, "p"), 403, "not below the stage /p"},
		{"stage root", "/p", "", buffered.RESTProxy(false, "p"), 404, "404 page not found"},
		{"large body at a URL", "/echo/x", big, buffered.FunctionURL(false), 413, "over the limit of 6291456 bytes"},
		{"large event at REST", "/p/echo/x", big, buffered.RESTProxy(false, "p"), 413, "over Lambda's limit of 6291456"},
		{"large body at REST", "/p/echo/x", big + big, buffered.RESTProxy(false, "p"), 413, "over the limit of 10485760 bytes"},
	} {
		t.Run(k.name, func(t *testing.T) {
			s := frontServer(t, k.h)
			resp, err := s.Client().Post(s.URL+k.path, "text/plain", strings.NewReader(k.body))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != k.status || !strings.Contains(string(body), k.want) {
				t.Errorf("%d %q %v, want %d with %q", resp.StatusCode, body, err, k.status, k.want)
			}
		})
	}
	s := frontServer(t, streamed.FunctionURL(true))
	resp, err := s.Client().Get(s.URL + "/panic-after")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "begun" || err == nil {
		t.Errorf("a panic after the first byte: %q, %v: the cut is not seen", body, err)
	}
}

func TestHead(t *testing.T) {
	leakFree(t)
	buffered := start(t, options(t, "buffered", nil))
	streamed := start(t, options(t, "streamed", nil))
	for i, h := range []http.Handler{buffered.FunctionURL(false), streamed.FunctionURL(true), buffered.HTTPAPI()} {
		s := frontServer(t, h)
		resp, err := s.Client().Head(s.URL + "/pid")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		kind := resp.Header.Get("Content-Type")
		if err != nil || len(body) != 0 || resp.StatusCode != 200 || !slices.Contains([]string{"text/plain; charset=utf-8"}, kind) {
			t.Errorf("door %d: %d %q %q %v", i, resp.StatusCode, body, kind, err)
		}
	}
}
