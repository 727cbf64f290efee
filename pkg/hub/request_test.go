package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Errors of the hub say what to do, and rejected requests are not repeated.

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		token  string
		status int
		code   string
		says   string
		access bool
	}{
		"gated":              {"", 401, "GatedRepo", "acme/tiny is gated: accept its terms at", true},
		"gated for this one": {"t", 403, "GatedRepo", "acme/tiny is gated: accept its terms at", true},
		"none or private":    {"", 401, "", "does not exist, or it is private", true},
		"expired":            {"t", 401, "", "the token is expired", true},
		"forbidden":          {"t", 403, "", "is denied", true},
		"no such model":      {"t", 404, "RepoNotFound", "acme/tiny does not exist: check the name at", false},
		"no such revision":   {"", 404, "RevisionNotFound", `has no revision "v2"`, false},
		"other":              {"", 410, "", "status 410 Gone", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				deny(w, test.status, test.code, "the \u009b31mserver's words")
			}))
			defer h.Close()
			_, err := (&Client{Endpoint: h.URL, Token: Token(test.token)}).List(t.Context(), "acme/tiny", "v2")
			expectError(t, err, test.says)
			if err == nil || strings.Contains(err.Error(), "\u009b") || !strings.Contains(err.Error(), "server's words") {
				t.Error(err)
			}
			if e, ok := errors.AsType[*StatusError](err); !ok || e.Access != test.access || e.Status != test.status || asked != 1 {
				t.Errorf("%+v, asked %d times", e, asked)
			}
		})
	}
}

func TestFileIsGone(t *testing.T) {
	h := newHub(t, tinyTree())
	h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/config.json") {
			deny(w, 404, "EntryNotFound", "Entry not found")
			return true
		}
		return false
	})
	_, err := pull(t.Context(), h.client(), t.TempDir())
	expectError(t, err, "acme/tiny: config.json no longer exists")
}

// Waits between attempts, and their limit.

func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		header [2]string
		times  int
		waits  []time.Duration // at least
		says   string
	}{
		"503":                 {503, [2]string{}, 3, []time.Duration{time.Second / 2, time.Second, 2 * time.Second}, ""},
		"503, in seconds":     {503, [2]string{"Retry-After", "40"}, 1, []time.Duration{40 * time.Second}, ""},
		"429, of the hub":     {429, [2]string{"RateLimit", `"api";r=0;t=55`}, 1, []time.Duration{55 * time.Second}, ""},
		"408":                 {408, [2]string{}, 1, []time.Duration{time.Second / 2}, ""},
		"429 for an hour":     {429, [2]string{"Retry-After", "3600"}, 9, nil, "the hub asks to retry in 1h0m0s"},
		"500 and no end":      {500, [2]string{}, 99, make([]time.Duration, maxAttempts-1), "status 500 Internal Server Error (6 attempts)"},
		"nonsense and no end": {502, [2]string{"Retry-After", "soon"}, 99, make([]time.Duration, maxAttempts-1), "(6 attempts)"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, tinyTree())
			var left atomic.Int32
			left.Store(int32(test.times))
			h.sabotage(func(w http.ResponseWriter, _ *http.Request) bool {
				if left.Add(-1) < 0 {
					return false
				}
				if test.header[0] != "" {
					w.Header().Set(test.header[0], test.header[1])
				}
				w.WriteHeader(test.status)
				return true
			})
			c := h.client()
			var waits []time.Duration
			c.sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
			var told []time.Duration
			c.Retrying = func(err error, wait time.Duration) {
				if err == nil {
					t.Error("no error")
				}
				told = append(told, wait)
			}
			_, err := c.List(t.Context(), "acme/tiny", "main")
			if !slices.Equal(told, waits) {
				t.Errorf("reported waits %v, want %v", told, waits)
			}
			if test.says != "" {
				expectError(t, err, test.says)
			} else if err != nil {
				t.Error(err)
			}
			if len(waits) != len(test.waits) {
				t.Fatalf("waits %v", waits)
			}
			for i, least := range test.waits {
				if waits[i] < least || waits[i] > max(least*2, longestWait) {
					t.Errorf("wait %d is %s, at least %s is wanted", i, waits[i], least)
				}
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "-7", 0},
		{"Retry-After", "99999999999999999999", 0},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"RateLimit", `"resolvers";r=0;t=31`, 31 * time.Second},
		{"RateLimit", `"resolvers"; r=0; t = 31`, 31 * time.Second},
		{"RateLimit", `"resolvers";r=0`, 0},
		{"Unrelated", "7", 0},
	} {
		h := http.Header{}
		h.Set(test.key, test.value)
		if got := retryAfter(h, now); got != test.want {
			t.Errorf("%s: %s is %s, not %s", test.key, test.value, got, test.want)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := sleep(t.Context(), time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		time.AfterFunc(time.Minute, func() { cancel(reason) })
		begin = time.Now()
		if err := sleep(ctx, time.Hour); !errors.Is(err, reason) || time.Since(begin) != time.Minute {
			t.Error(err)
		}
	})
}

// redirector redirects all requests but the listing to an address that a test chooses.

func redirector(t *testing.T, to string) *testHub {
	h := newHub(t, tinyTree())
	h.sabotage(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/resolve/") {
			return false
		}
		if to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(302)
		return true
	})
	return h
}

func TestRedirectsThatAreRefused(t *testing.T) {
	for to, says := range map[string]string{
		"":                      "redirects without a location",
		"file:///etc/passwd":    "redirects to file://, which is not allowed",
		"https://u:p@a.example": "redirects to https://a.example, which is not allowed",
		"/acme/tiny/resolve/x":  "more than 10 redirects",
	} {
		t.Run(to, func(t *testing.T) {
			dir := t.TempDir()
			_, err := pull(t.Context(), redirector(t, to).client(), dir)
			expectError(t, err, says)
			expectNothing(t, dir)
		})
	}
}

// Redirects do not lead from an encrypted host to an unencrypted one.

func TestRedirectDowngrade(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was followed")
	}))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.RedirectHandler(plain.URL, http.StatusFound))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	c := &Client{Endpoint: secure.URL, Transport: secure.Client().Transport}
	_, err := c.List(t.Context(), "acme/tiny", "main")
	expectError(t, err, "redirects to http://")
	// An untrusted certificate is not retried.
	c.Transport = nil
	c.sleep = func(context.Context, time.Duration) error { t.Error("it waits"); return nil }
	_, err = c.List(t.Context(), "acme/tiny", "main")
	expectError(t, err, "certificate")
}

// The token is sent to the endpoint only: not to a subdomain, another port

// or another scheme.

func TestOurs(t *testing.T) {
	r, err := (&Client{Endpoint: "https://hub.example/mirror/"}).requester(&Snapshot{Repo: "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.fileURL("c0", "a b/%.json?#").String(); got != "https://hub.example/mirror/a/b/resolve/c0/a%20b/%25.json%3F%23" {
		t.Error(got)
	}
	for u, want := range map[string]bool{
		"https://hub.example/x": true, "https://hub.example:443/x": false, "http://hub.example/x": false,
		"https://cdn.hub.example/x": false, "https://example/x": false, "https://hub.example.evil/x": false,
	} {
		req, err := http.NewRequest(http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.ours(req.URL) != want {
			t.Errorf("%s: %v", u, !want)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, says := range map[string]string{
		"": "", "https://hub.example": "", "http://localhost:1/": "", "http://127.0.0.1": "", "http://[::1]:80": "",
		"http://mirror.example":   "not encrypted",
		"ftp://mirror.example":    "not of the form",
		"mirror.example":          "not of the form",
		"https://":                "not of the form",
		"https://a.example/?q=1":  "not of the form",
		"https://u:pass@a.b":      "user or password",
		"https://u:pass@a.b:port": "not a URL",
	} {
		_, err := (&Client{Endpoint: endpoint, Token: "secret"}).endpoint()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "pass@")) {
			t.Errorf("%q: %v, want %q", endpoint, err, says)
		}
	}
}

func TestTokenIsNotShown(t *testing.T) {
	c := Client{Token: "hf_secret"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, c) + fmt.Sprintf(format, c.Token); strings.Contains(s, "hf_secret") {
			t.Errorf("%s shows %s", format, s)
		}
	}
	for _, bad := range []Token{"hf_secret\n", "hf secret", "hf_sécret", Token(strings.Repeat("x", maxToken+1))} {
		if err := bad.Check(); err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%v", err)
		}
		if _, err := (&Client{Token: bad}).List(t.Context(), "a/b", ""); err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%v", err)
		}
	}
}

// URLs of stored files are signed: errors do not contain them.

func TestSignaturesAreNotShown(t *testing.T) {
	h := newHub(t, tinyTree())
	h.store.Close()
	_, err := pull(t.Context(), h.client(), t.TempDir())
	expectError(t, err, strings.TrimPrefix(h.store.URL, "http://"))
	if err != nil && strings.Contains(err.Error(), "Signature") {
		t.Error(err)
	}
}

// Listings that no hub sends.

func TestEncodedAnswers(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Error(r.Header)
		}
		w.Header().Set("Content-Encoding", "gzip")
	}))
	defer h.Close()
	_, err := (&Client{Endpoint: h.URL}).List(t.Context(), "acme/tiny", "")
	expectError(t, err, "encoding")
}

// A revision is a single element of the path.
