package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// describeRequest writes all parts of a request that a handler can see.
func describeRequest(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", r.Method, r.RequestURI, r.Proto)
	fmt.Fprintf(&b, "path %s\nescaped %s\nhost %s\nurl %s\nremote %s\n", r.URL.Path, r.URL.EscapedPath(), r.Host, r.URL, r.RemoteAddr)
	query := r.URL.Query()
	for _, k := range slices.Sorted(maps.Keys(query)) {
		fmt.Fprintf(&b, "query %s %q\n", k, query[k])
	}
	for _, k := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "header %s %q\n", k, r.Header[k])
	}
	for _, c := range r.Cookies() {
		fmt.Fprintf(&b, "cookie %s\n", c)
	}
	body, err := io.ReadAll(r.Body)
	fmt.Fprintf(&b, "body %d %q %v\n", r.ContentLength, body, err)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, b.String())
}

// reply is a decoded answer, buffered or streamed, of either format.
type reply struct {
	status   int
	header   http.Header
	body     string
	isBase64 bool
	failure  error // the read error after the prelude
	streamed bool
}

type head struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
	Body              string              `json:"body"`
	IsBase64Encoded   bool                `json:"isBase64Encoded"`
}

func readReply(t testing.TB, resp *Response) reply {
	t.Helper()
	raw, failure := io.ReadAll(resp)
	if err := resp.Close(); err != nil {
		t.Fatal(err)
	}
	doc, rest, streamed := bytes.Cut(raw, make([]byte, 8))
	if want := map[bool]string{true: "application/vnd.awslambda.http-integration-response", false: "application/json"}[streamed]; resp.ContentType() != want {
		t.Errorf("content type %q, want %q", resp.ContentType(), want)
	}
	var h head
	if err := json.Unmarshal(doc, &h); err != nil {
		t.Fatalf("answer %q: %v", raw, err)
	}
	out := reply{status: h.StatusCode, header: http.Header{}, failure: failure, streamed: streamed, isBase64: h.IsBase64Encoded}
	for k, v := range h.Headers {
		out.header.Set(k, v)
	}
	maps.Copy(out.header, h.MultiValueHeaders)
	if len(h.Cookies) > 0 {
		out.header["Set-Cookie"] = h.Cookies
	}
	switch {
	case streamed:
		out.body = string(rest)
	case h.IsBase64Encoded:
		b, err := base64.StdEncoding.DecodeString(h.Body)
		if err != nil {
			t.Fatal(err)
		}
		out.body = string(b)
	default:
		out.body = h.Body
	}
	return out
}

func invoke(t testing.TB, h http.HandlerFunc, cfg Config, event string) reply {
	t.Helper()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "lambda-request-1"})
	resp, err := New(h, cfg).Invoke(ctx, json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	return readReply(t, resp)
}

func sample(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEvents compares the conversion of each sample event with its golden file, buffered and
// streamed.
func TestEvents(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples (%v)", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", name, stream), func(t *testing.T) {
				cfg := Config{StreamREST: stream, StreamURL: stream, BasePath: "/llm/"}
				ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "lambda-request-1"})
				resp, err := New(http.HandlerFunc(describeRequest), cfg).Invoke(ctx, json.RawMessage(sample(t, name)))
				var got string
				var ee *EventError
				switch {
				case errors.As(err, &ee):
					got = "error " + err.Error() + "\n"
				case err != nil:
					t.Fatalf("error %v of type %T", err, err)
				default:
					r := readReply(t, resp)
					if want := stream && !strings.HasPrefix(name, "http"); r.streamed != want {
						t.Errorf("streamed %t, want %t", r.streamed, want)
					}
					got = r.body
				}
				golden(t, name, got)
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRequestIDOutsideLambda(t *testing.T) {
	if got := RequestID(context.Background()); got != "" {
		t.Errorf("got %q", got)
	}
	var seen string
	h := func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get(RequestIDHeader) }
	resp, err := New(http.HandlerFunc(h), Config{}).Invoke(t.Context(), json.RawMessage(sample(t, "rest-chat")))
	if err != nil {
		t.Fatal(err)
	}
	readReply(t, resp)
	if want := "5f0c1d2e-3b4a-4968-8776-655443322110"; seen != want { // API Gateway's own
		t.Errorf("request id %q, want %q", seen, want)
	}
}

// The invocation's trace replaces any incoming header of that name.
func TestTraceOfTheInvocation(t *testing.T) {
	const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	for _, want := range []string{trace, ""} {
		var seen []string
		h := func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Values(TraceHeader) }
		//lint:ignore SA1029 aws-lambda-go's own key
		ctx := context.WithValue(t.Context(), "x-amzn-trace-id", want)
		resp, err := New(http.HandlerFunc(h), Config{}).Invoke(ctx, json.RawMessage(sample(t, "rest-chat")))
		if err != nil {
			t.Fatal(err)
		}
		readReply(t, resp)
		if want == "" && slices.Contains(seen, trace) || want != "" && !slices.Equal(seen, []string{want}) {
			t.Errorf("%q: %q", want, seen)
		}
	}
}

// TestRedirects: a handler does not know the stage, which the client's next request needs.
func TestRedirects(t *testing.T) {
	const rest, domain = `{"httpMethod":"POST","path":"%s","requestContext":{"stage":"prod","path":"%s","domainName":"%s"}}`, "x.execute-api.eu-west-1.amazonaws.com"
	const http2 = `{"version":"2.0","rawPath":"%s","requestContext":{"stage":"%s","domainName":"%s","http":{"method":"POST"}}}`
	for name, c := range map[string]struct{ event, base, to, want string }{
		"a stage":                {fmt.Sprintf(rest, "/v1//a", "/prod/v1//a", domain), "", "/v1/a", "/prod/v1/a"},
		"a stage in the path":    {fmt.Sprintf(rest, "/prod/v1//a", "/prod/v1//a", domain), "", "/v1/a", "/prod/v1/a"},
		"a domain":               {fmt.Sprintf(rest, "/v1//a", "/v1//a", "api.example.com"), "", "/v1/a", "/v1/a"},
		"a base path":            {fmt.Sprintf(rest, "/l m/v1//a", "/l m/v1//a", "api.example.com"), "/l m", "/v1/a", "/l%20m/v1/a"},
		"an HTTP API":            {fmt.Sprintf(http2, "/prod/v1//a", "prod", domain), "", "/v1/a", "/prod/v1/a"},
		"a function URL":         {fmt.Sprintf(http2, "/v1//a", "$default", "x.lambda-url.eu-west-1.on.aws"), "", "/v1/a", "/v1/a"},
		"another host":           {fmt.Sprintf(rest, "/a", "/prod/a", domain), "", "https://example.com/a", "https://example.com/a"},
		"another host's name":    {fmt.Sprintf(rest, "/a", "/prod/a", domain), "", "//example.com/a", "//example.com/a"},
		"a path beside the page": {fmt.Sprintf(rest, "/", "/prod", domain), "", "./prod/", "./prod/"},
	} {
		redirect := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", c.to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
		for _, streams := range []bool{true, false} {
			got := invoke(t, redirect, Config{StreamREST: streams, StreamURL: streams, BasePath: c.base}, c.event)
			if location := got.header.Get("Location"); location != c.want || got.status != http.StatusTemporaryRedirect {
				t.Errorf("%s, streams %v: %d %s, want %s", name, streams, got.status, location, c.want)
			}
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ path, prefix, want string }{
		{"/v1/models", "", "/v1/models"},
		{"/v1/models", "/", "/v1/models"},
		{"/v1/models", "v1", "/models"},
		{"/v1/models", "/v1/", "/models"},
		{"/v10/models", "/v1", "/v10/models"},
		{"/v1", "/v1", "/"},
		{"/a/v1/models", "/v1", "/a/v1/models"},
		{"/v1/v1", "/v1", "/v1"},
		{"", "/v1", ""},
	} {
		if got := trimSegments(c.path, c.prefix); got != c.want {
			t.Errorf("trimSegments(%q, %q) = %q, want %q", c.path, c.prefix, got, c.want)
		}
	}
	for in, want := range map[string]string{
		"/a%2Fb%3a":  "/a%2Fb%3a",
		"/a b":       "/a%20b",
		"/50%/x":     "/50%25/x",
		"/%zz":       "/%25zz",
		"/%2":        "/%252",
		"/q?a=b#c":   "/q%3Fa=b%23c",
		"/é":         "/%C3%A9",
		"/a:b@c;d,e": "/a:b@c;d,e",
		"/\x00\x7f":  "/%00%7F",
	} {
		if got := escapePath(in); got != want {
			t.Errorf("escapePath(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzInvoke checks that no event makes the adapter panic, hang, or give an answer that cannot be
// read.
func FuzzInvoke(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, event []byte, stream bool) {
		calls := 0
		h := func(w http.ResponseWriter, r *http.Request) {
			calls++
			if !strings.HasPrefix(r.URL.Path, "/") || r.Method == "" || r.Body == nil {
				t.Errorf("request %+v", r)
			}
			describeRequest(w, r)
		}
		a := New(http.HandlerFunc(h), Config{StreamREST: stream, StreamURL: stream, BasePath: "llm"})
		resp, err := a.Invoke(t.Context(), event)
		if err != nil {
			if ee := new(EventError); !errors.As(err, &ee) || calls != 0 {
				t.Fatalf("error %v of type %T after %d calls", err, err, calls)
			}
			return
		}
		if r := readReply(t, resp); r.status != 200 || calls != 1 || r.failure != nil {
			t.Fatalf("reply %+v after %d calls", r, calls)
		}
	})
}
