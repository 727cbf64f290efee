package page

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"glossa/pkg/httpx"
)

func handler(cfg Config) http.Handler { return (&httpx.Mux{Routes: Routes(cfg)}).Handler() }

// get sends a request; headers are key, value, key, value.
func get(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// names returns the URL paths of the files.
func names(t *testing.T) (list []string) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, name)
		}
		return err
	})
	if err != nil || len(list) < 10 {
		t.Fatalf("%d files, %v", len(list), err)
	}
	return list
}

func TestHeaders(t *testing.T) {
	h := handler(Config{})
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	targets := []string{"/", "/docs"}
	for _, name := range names(t) {
		targets = append(targets, "/page/"+name)
	}
	for _, target := range targets {
		w := get(h, "GET", target)
		kind := kinds[path.Ext(target)]
		if path.Ext(target) == "" {
			kind = kinds[".html"]
		}
		for key, want := range map[string]string{
			"Content-Type": kind, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		} {
			if got := w.Header().Get(key); got != want || want == "" {
				t.Errorf("%s: %s is %q, want %q", target, key, got, want)
			}
		}
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %d bytes", target, w.Code, w.Body.Len())
		}
		tag := w.Header().Get("ETag")
		if again := get(h, "GET", target, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() != 0 || tag == "" {
			t.Errorf("%s with its tag %q: %d, %d bytes", target, tag, again.Code, again.Body.Len())
		}
		if other := get(h, "GET", target, "If-None-Match", `"other"`); other.Code != http.StatusOK {
			t.Errorf("%s with another tag: %d", target, other.Code)
		}
		if head := get(h, "HEAD", target); head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("ETag") != tag {
			t.Errorf("HEAD %s: %d, %d bytes", target, head.Code, head.Body.Len())
		}
	}
}

// With Elsewhere, the page may send requests to other servers; scripts still come from its own.
func TestElsewhere(t *testing.T) {
	policy := get(handler(Config{Elsewhere: true}), "GET", "/").Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "connect-src 'self' https: http://localhost:* http://127.0.0.1:*;") || !strings.Contains(policy, "script-src 'self';") {
		t.Error(policy)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	h := handler(Config{})
	for _, target := range []string{
		"/page", "/page/", "/page/js", "/page/js/", "/page/js/views", "/page/none.js", "/page/js/main.js/", "/page/page.go", "/page/page_test.go",
		"/page/..%2fpage.go", "/page/%2e%2e/page.go", "/page/js%2fmain.js%00", "/index.html", "/style.css",
	} {
		w := get(h, "GET", target)
		if w.Code/100 == 3 { // ServeMux cleans paths
			w = get(h, "GET", w.Header().Get("Location"))
		}
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("ETag") != "" {
			t.Errorf("%s: %d %s %s", target, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
	for _, target := range []string{"/", "/page/style.css"} {
		if w := get(h, "POST", target); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", target, w.Code)
		}
	}
}

// A gateway's stage without its slash redirects to the one with it, and nowhere else.
func TestStageWithoutSlash(t *testing.T) {
	for asked, want := range map[string]string{
		"/prod": "./prod/", "/base/prod?x=1": "./prod/", "/prod/": "", "/": "", "/?x": "", "": "", "http://host": "",
		"//evil.example": "./evil.example/", "/https://evil.example": "./evil.example/", "/javascript:x": "./javascript:x/",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RequestURI = asked
		w := httptest.NewRecorder()
		handler(Config{}).ServeHTTP(w, r)
		status := http.StatusOK
		if want != "" {
			status = http.StatusPermanentRedirect
		}
		if got := w.Header().Get("Location"); got != want || w.Code != status {
			t.Errorf("%q: %d %q, want %q", asked, w.Code, got, want)
		}
	}
}

var (
	links = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	urls  = regexp.MustCompile(`url\(([^)]*)\)|@import`)
)

// TestRelative checks that everything the files link to exists, below any prefix, and not above
// it.
func TestRelative(t *testing.T) {
	h := handler(Config{})
	prefixed := http.StripPrefix("/prod", h)
	found := 0
	for _, page := range []string{"", "docs"} {
		for _, m := range links.FindAllStringSubmatch(get(h, "GET", "/"+page).Body.String(), -1) {
			link := m[1]
			if strings.HasPrefix(link, "#") || link == "openapi.json" {
				continue
			}
			found++
			known := strings.HasPrefix(link, "page/") || link == "docs" || link == "./"
			if !known || get(prefixed, "GET", "/prod/"+strings.TrimPrefix(link, "./")).Code != http.StatusOK {
				t.Errorf("/%s: %s", page, link)
			}
		}
	}
	for _, name := range names(t) {
		body := get(h, "GET", "/page/"+name).Body.String()
		for _, m := range imports.FindAllStringSubmatch(body, -1) {
			found++
			to := m[1]
			if _, err := files.ReadFile(path.Join(path.Dir(name), to)); err != nil || !strings.HasPrefix(to, ".") {
				t.Errorf("%s imports %s", name, to)
			}
		}
		if path.Ext(name) == ".css" && urls.MatchString(body) {
			t.Errorf("%s loads %s", name, urls.FindString(body))
		}
	}
	if found < 20 {
		t.Errorf("%d links", found)
	}
}

// TestNothingInline checks for inline code, which the policy forbids.
func TestNothingInline(t *testing.T) {
	for _, page := range []string{"/", "/docs"} {
		body := get(handler(Config{}), "GET", page).Body.String()
		for _, wrong := range []string{"<style", " style=", " onclick=", " onload=", "javascript:", "<script>", "<base"} {
			if strings.Contains(body, wrong) {
				t.Errorf("%s has %s", page, wrong)
			}
		}
	}
	for _, name := range names(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		body := get(handler(Config{}), "GET", "/page/"+name).Body.String()
		for _, wrong := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "setAttribute('style'", "DOMParser"} {
			if strings.Contains(body, wrong) {
				t.Errorf("%s has %s", name, wrong)
			}
		}
		if !strings.HasPrefix(body, "// @ts-check\n") {
			t.Errorf("%s is not checked for types", name)
		}
	}
}

// maxBytes bounds the files: each function is deployed with them, compressed to a
// quarter.
const maxBytes = 496 << 10

func TestSize(t *testing.T) {
	n := 0
	for _, name := range names(t) {
		data, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += len(data)
	}
	if t.Logf("%d bytes", n); n > maxBytes {
		t.Errorf("%d bytes, at most %d are allowed", n, maxBytes)
	}
}

// Links of the pages have a version in their path and are cached for good; all scripts
// of a page are linked directly, and no others. With another program's version the same files
// are served, but not cached.
func TestVersions(t *testing.T) {
	h, version := handler(Config{}), ""
	preloaded := map[string][]string{} // the pages of a script
	for _, target := range []string{"/", "/docs"} {
		page := get(h, "GET", target).Body.String()
		for _, l := range regexp.MustCompile(`(?:href|src)="(page/([0-9a-f]{16})/([^"]+))"`).FindAllStringSubmatch(page, -1) {
			if version == "" {
				version = l[2]
			}
			if l[2] != version {
				t.Errorf("%s has another version than %s", l[1], version)
			}
			if strings.Contains(l[0], "href") && path.Ext(l[3]) == ".js" {
				preloaded[l[3]] = append(preloaded[l[3]], target)
			}
			checkVersion(t, h, l[2], l[3])
		}
		if strings.Contains(page, `="page/js`) || strings.Contains(page, `="page/style`) {
			t.Errorf("%s: a link has no version", target)
		}
	}
	for _, name := range names(t) {
		if path.Ext(name) == ".js" && len(preloaded[name]) == 0 {
			t.Errorf("%s is not asked for", name)
		}
	}
	for name, want := range map[string]string{"js/main.js": "/", "js/docs/main.js": "/docs", "js/dom.js": "/ /docs"} {
		if got := strings.Join(preloaded[name], " "); got != want {
			t.Errorf("%s is asked for by %q, want %q", name, got, want)
		}
	}
	if w := get(h, "GET", "/page/"+version+"/none.js"); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
}

// checkVersion requires that a file is cached for good with its version, and not with another.
func checkVersion(t *testing.T, h http.Handler, version, name string) {
	t.Helper()
	plain := get(h, "GET", "/page/"+name).Body.String()
	if w := get(h, "GET", "/page/"+version+"/"+name); w.Code != http.StatusOK || w.Body.String() != plain || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%s: %d %q", name, w.Code, w.Header())
	}
	other := strings.Repeat("0", len(version))
	if w := get(h, "GET", "/page/"+other+"/"+name); w.Code != http.StatusOK || w.Body.String() != plain || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%s with another version: %d %q", name, w.Code, w.Header())
	}
}
