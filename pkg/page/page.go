// Package page serves the playground and the reference of the API: two HTML pages with
// their scripts and styles, as embedded files. The pages use the public APIs from the
// browser; this package refuses to know these and models.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

//go:embed index.html docs.html style.css icon.svg css js
var files embed.FS

// Config configures the page.
type Config struct {
	// Elsewhere allows the page to send requests to other addresses. A function may serve
	// only a part of the routes; the page then asks its user for the API's address.
	Elsewhere bool
}

// Routes returns the routes of the page and its files. The page's links are relative,
// so that they work below any prefix of a gateway.
func Routes(cfg Config) []httpx.Route {
	s := &site{policy: policy(cfg.Elsewhere), read: sync.OnceValue(read)}
	return []httpx.Route{
		{Method: http.MethodGet, Pattern: "/{$}", Permission: httpx.Public, Doc: pageDoc, Handle: s.index},
		{Method: http.MethodGet, Pattern: "/docs", Permission: httpx.Public, Doc: docsDoc, Handle: s.docs},
		{Method: http.MethodGet, Pattern: "/page/{file...}", Permission: httpx.Public, Doc: assetDoc, Handle: s.asset},
	}
}

// The documentation of the routes.
var (
	pageDoc = &httpx.Operation{
		ID: "page", Tag: "Service", Summary: "Get the playground", Answers: []httpx.Answer{{Media: "text/html", Description: "a page for browsers"}},
	}
	docsDoc = &httpx.Operation{
		ID: "docs", Tag: "Service", Summary: "Get the reference of the API", Answers: []httpx.Answer{{Media: "text/html", Description: "a page for browsers that renders /openapi.json"}},
	}
	assetDoc = &httpx.Operation{
		ID: "pageFile", Tag: "Service", Summary: "Get a file of the playground",
		Path: []httpx.PathParameter{{Name: "file", Description: "the version of the page and the path of the file", Example: "js/main.js"}},
		Answers: []httpx.Answer{
			{Media: "text/javascript"}, {Media: "text/css"}, {Media: "image/svg+xml"},
			{Status: http.StatusNotModified, Description: "the file has not changed"},
		},
	}
)

// policy returns the page's Content-Security-Policy: only its own files, no inline
// scripts or styles, and as data URLs the images that a user attaches to a chat. Source: W3C Content Security Policy Level 3, 6.
func policy(elsewhere bool) string {
	connect := "connect-src 'self'"
	if elsewhere {
		connect += " https: http://localhost:* http://127.0.0.1:*"
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", connect, "img-src 'self' data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// A file is one of the page's files, ready to be served.
type file struct {
	data       []byte
	kind, etag string
}

// contents holds the files by path, and a version for all of them.
type contents struct {
	files   map[string]file
	version string
}

// read returns the files. The links of the pages contain the version, so that browsers can
// cache the files for good, and each page links all of its scripts directly, without chains
// of imports.
func read() contents {
	all := map[string]file{}
	whole := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		all[name] = newFile(name, data)
		fmt.Fprintf(whole, "%s %s\n", name, all[name].etag)
		return nil
	})
	if err != nil {
		panic("page: " + err.Error()) // the files are embedded
	}
	c := contents{all, hex.EncodeToString(whole.Sum(nil)[:8])}
	for _, name := range pages {
		page := strings.Replace(string(all[name].data), "</head>", preloads(all, name)+"</head>", 1)
		all[name] = newFile(name, []byte(strings.ReplaceAll(page, `="page/`, `="page/`+c.version+"/")))
	}
	return c
}

// The pages.
const (
	index = "index.html"
	docs  = "docs.html"
)

var pages = []string{index, docs}

var (
	started = regexp.MustCompile(`<script type="module" src="page/([^"]+)">`)
	imports = regexp.MustCompile(`(?m)^(?:import|export)\b[^'\n]*\bfrom '([^']+)'`)
)

// preloads returns links to the scripts of a page: the one that it starts, and all that
// this one imports.
func preloads(all map[string]file, page string) string {
	found := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if found[name] {
			return
		}
		found[name] = true
		for _, m := range imports.FindAllSubmatch(all[name].data, -1) {
			visit(path.Join(path.Dir(name), string(m[1])))
		}
	}
	for _, m := range started.FindAllSubmatch(all[page].data, -1) {
		visit(string(m[1]))
	}
	var links strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"page/%s\">\n", name)
	}
	return links.String()
}

func newFile(name string, data []byte) file {
	sum := sha256.Sum256(data)
	return file{data, kind(name), `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// kind returns the media type of a file. It does not use the system's table, which may
// give scripts a type that browsers do not run.
func kind(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

type site struct {
	policy string
	read   func() contents
}

// index sends the page. If a gateway has its stage before the path and the client omitted
// the slash after it, the page's relative links would miss the stage: index redirects to
// the path with the slash.
func (s *site) index(w http.ResponseWriter, r *http.Request) error {
	if asked, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(asked, "/") && !strings.HasSuffix(asked, "/") {
		w.Header().Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
	return s.serve(w, r, index, false)
}

// docs sends the reference of the API.
func (s *site) docs(w http.ResponseWriter, r *http.Request) error {
	return s.serve(w, r, docs, false)
}

// versioned matches a path with a version before it. For another program's version the
// file is served without caching: during a deployment both programs answer.
var versioned = regexp.MustCompile(`^([0-9a-f]{16})/(.*)$`)

func (s *site) asset(w http.ResponseWriter, r *http.Request) error {
	name, lasts := r.PathValue("file"), false
	if parts := versioned.FindStringSubmatch(name); parts != nil {
		name, lasts = parts[2], parts[1] == s.read().version
	}
	return s.serve(w, r, name, lasts)
}

// serve sends a file, or 304 if the browser has it. With lasts, browsers may cache it for
// good.
func (s *site) serve(w http.ResponseWriter, r *http.Request, name string, lasts bool) error {
	f, ok := s.read().files[name]
	if !ok {
		return llm.Errorf(httpx.NoRoute, "not found")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache") // cached, but validated each time
	if lasts {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
	return nil
}
