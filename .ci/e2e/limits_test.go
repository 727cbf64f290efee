//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/deployment"
)

// limits tests the limits of API Gateway and of function URLs, and their encoding of bodies.
func limits(t *testing.T, w *World, key string) {
	const prompt = `{"model": "novels", "max_tokens": 1, "prompt": "%s"}`
	body := func(bytes int) string { return fmt.Sprintf(prompt, strings.Repeat("a", bytes)) }
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = fmt.Fprintf(z, prompt, "b")
	_ = z.Close() // into memory
	aws := w.Outputs[deployment.APIOutput]
	for _, test := range []struct {
		name   string
		r      request
		status int
		says   string
	}{
		{"gzip", request{url: w.api("/v1/completions"), body: zipped.String(), header: http.Header{"Content-Encoding": {"gzip"}}}, 200, `"choices"`},
		{"gzip at the URL", request{url: w.url("openai", "/v1/completions"), body: zipped.String(), header: http.Header{"Content-Encoding": {"gzip"}}}, 200, `"choices"`},
		{"no UTF-8", request{url: w.api("/api/upload"), body: "\xff\x00\xfe", header: http.Header{"Content-Type": {"application/octet-stream"}}}, 400, `"error"`},
		{"10 MB", request{url: w.api("/v1/completions"), body: body(10 << 20)}, 413, `"error"`},
		{"6 MB in base64", request{url: w.api("/v1/completions"), body: body(5 << 20)}, 413, `"error"`},
		{"6 MB at the URL", request{url: w.url("openai", "/v1/completions"), body: body(6 << 20)}, 413, ``},
		{"4 MB", request{url: w.api("/v1/completions"), body: body(4 << 20)}, 400, `"error"`}, // exceeds the model's context
		{"headers", request{url: w.api("/v1/completions"), body: body(1), header: http.Header{"X-Long": {strings.Repeat("x", 10240)}}}, 431, ``},
		{"no route", request{method: "GET", url: w.api("/v2/nothing/here?x=1")}, 404, ``},
		{"no stage", request{method: "GET", url: strings.Replace(aws, "/"+w.Edge.api.stage+"/", "/elsewhere/", 1) + "v1/models"}, 403, `Forbidden`},
		{"a name with a slash", request{method: "GET", url: w.api("/v1/models/local%2Fnovels")}, 200, `"object":"model"`},
		{"a prompt in the query", request{method: "GET", url: w.api("/api/generate?max_tokens=1&model=novels&prompt=a%26b%3Dc%20%C3%A9+d")}, 200, `"text"`},
		{"OPTIONS", request{method: "OPTIONS", url: w.api("/v1/models")}, 204, ``},
		{"HEAD", request{method: "HEAD", url: w.api("/v1/models")}, 200, ``},
		{"a wrong method", request{method: "DELETE", url: w.api("/v1/models")}, 405, `"error"`},
		{"the routes", request{method: "GET", url: w.api("/openapi.json")}, 200, `"openapi"`},
	} {
		if test.r.key = key; test.r.method == "" {
			test.r.method = http.MethodPost
		}
		if a := w.ask(t, test.r); a.status != test.status || !strings.Contains(a.body, test.says) {
			t.Errorf("%s: %s, want %d %s", test.name, a, test.status, test.says)
		}
	}
}

// silent checks a stream whose model is silent for twice the limit of the API, which is shortened:
// keep-alives hold it open, and without them it is cut.
func silent(t *testing.T, w *World, key string) string {
	const every = 300 * time.Millisecond
	f, api := w.Fleets["openai"], w.Edge.api
	env, silence := f.options.Env, api.silence
	api.silence = 10 * every
	defer func() {
		f.options.Env, api.silence = env, silence
		w.fresh(t)
	}()
	for _, setting := range []string{every.String(), "0"} {
		f.options.Env = append(slices.Clone(env), "GLOSSA_KEEP_ALIVE="+setting)
		w.fresh(t)
		res := w.open(t, request{method: "POST", url: w.api("/v1/completions"), key: key,
			body: `{"model": "anthropic.claude-v2", "prompt": "slowly", "max_tokens": 5, "stream": true}`})
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), " one") {
		}
		alive := 0
		for alive < 20 && lines.Scan() { // they take twice the limit
			if lines.Text() == ": keep-alive" {
				alive++
			}
		}
		w.Models.release(t)
		rest := ""
		for lines.Scan() {
			rest += lines.Text()
		}
		if whole := strings.Contains(rest, " two") && strings.HasSuffix(rest, "[DONE]") && lines.Err() == nil; whole != (setting != "0") {
			t.Errorf("keep-alives every %s: %d, then %q, %v", setting, alive, rest, lines.Err())
		}
	}
	return "keep-alives hold the stream open; without them it is cut"
}

// throttled exceeds the stage's rate limit while the clock is stopped.
func throttled(t *testing.T, w *World) string {
	limit := w.Edge.api.limit
	pass, goOn := limit.stop()
	defer goOn()
	for i := range int(limit.burst) {
		if a := w.ask(t, request{url: w.api("/health")}); a.status != 200 {
			t.Fatalf("request %d of %v: %s", i, limit.burst, a)
		}
	}
	a := w.ask(t, request{url: w.api("/health")})
	if a.status != 429 || a.header.Get("Retry-After") != "1" || a.header.Get("Access-Control-Allow-Origin") != "*" || !json.Valid([]byte(a.body)) {
		t.Errorf("the request after them: %s %v", a, a.header)
	}
	pass(time.Second)
	for i := range int(limit.rate) {
		if a := w.ask(t, request{url: w.api("/health")}); a.status != 200 {
			t.Fatalf("request %d of the next second: %s", i, a)
		}
	}
	if a := w.ask(t, request{url: w.api("/health")}); a.status != 429 {
		t.Errorf("one more than %v in a second: %s", limit.rate, a)
	}
	return fmt.Sprintf("429 with Retry-After after %v at once, and after %v in a second", limit.burst, limit.rate)
}
