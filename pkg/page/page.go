// Package page serves the playground: one HTML page with its scripts and styles, as
// embedded files. The page speaks the public APIs from the browser; this package
// refuses to know any of them, and what models are.
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

//go:embed index.html style.css icon.svg css js
var files embed.FS

// Config is what the page is given.
type Config struct {
	// Elsewhere lets the page ask servers at other addresses: the function that serves it
	// may have a part of the routes only, and then the page asks for the API's address.
	Elsewhere bool
}

// Routes returns the routes of the page and of what it is made of. The page's links are
// relative, so that it works below any prefix that a gateway puts before the paths.
func Routes(cfg Config) []httpx.Route {
	s := &site{policy: policy(cfg.Elsewhere), read: sync.OnceValue(read)}
	return []httpx.Route{
		{Method: http.MethodGet, Pattern: "/{$}", Permission: httpx.Public, Doc: pageDoc, Handle: s.index},
		{Method: http.MethodGet, Pattern: "/page/{file...}", Permission: httpx.Public, Doc: assetDoc, Handle: s.asset},
	}
}

// The documentation of the routes.
var (
	pageDoc = &httpx.Operation{
		ID: "page", Tag: "Service", Summary: "Get the playground", Answers: []httpx.Answer{{Media: "text/html", Description: "a page for browsers"}},
	}
	assetDoc = &httpx.Operation{
		ID: "pageFile", Tag: "Service", Summary: "Get a file of the playground",
		Path: []httpx.PathParameter{{Name: "file", Description: "the version of the page and the path of the file", Example: "main.js"}},
		Answers: []httpx.Answer{
			{Media: "text/javascript"}, {Media: "text/css"}, {Media: "image/svg+xml"},
			{Status: http.StatusNotModified, Description: "the file has not changed"},
		},
	}
)

// policy is the page's Content-Security-Policy: nothing but its own files, no inline
// script or style. Source: W3C Content Security Policy Level 3, 6.
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

// A file is one of the page, as it is served.
type file struct {
	data       []byte
	kind, etag string
}

// contents are the files by their paths, and what all of them are called together.
type contents struct {
	files   map[string]file
	version string
}

// read returns the files. The links of the page name their version, so that browsers keep
// them for good, and all scripts, of which one asks for the next: on Lambda a request is
// an invocation.
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
		panic("page: " + err.Error()) // the files are in the program
	}
	c := contents{all, hex.EncodeToString(whole.Sum(nil)[:8])}
	var scripts strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if path.Ext(name) == ".js" {
			fmt.Fprintf(&scripts, "<link rel=\"modulepreload\" href=\"page/%s\">\n", name)
		}
	}
	page := strings.Replace(string(all[index].data), "</head>", scripts.String()+"</head>", 1)
	all[index] = newFile(index, []byte(strings.ReplaceAll(page, `="page/`, `="page/`+c.version+"/")))
	return c
}

const index = "index.html"

func newFile(name string, data []byte) file {
	sum := sha256.Sum256(data)
	return file{data, kind(name), `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// kind is the media type of a file. The table of the system is not asked: it may call
// scripts what browsers do not run.
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

// index sends the page. Where a gateway has its stage before the path and the client left
// out the slash behind it, the page's links would lead beside the stage: it is sent there
// with the slash.
func (s *site) index(w http.ResponseWriter, r *http.Request) error {
	if asked, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(asked, "/") && !strings.HasSuffix(asked, "/") {
		w.Header().Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
	return s.serve(w, r, index, false)
}

// versioned is a path with a version before it. That of another program is the file of
// this one, and not kept: while a new one is put in place both answer.
var versioned = regexp.MustCompile(`^([0-9a-f]{16})/(.*)$`)

func (s *site) asset(w http.ResponseWriter, r *http.Request) error {
	name, lasts := r.PathValue("file"), false
	if parts := versioned.FindStringSubmatch(name); parts != nil {
		name, lasts = parts[2], parts[1] == s.read().version
	}
	return s.serve(w, r, name, lasts)
}

// serve sends a file, or that it is still what the browser has. One that lasts is what its
// address says for good.
func (s *site) serve(w http.ResponseWriter, r *http.Request, name string, lasts bool) error {
	f, ok := s.read().files[name]
	if !ok {
		return llm.Errorf(httpx.NoRoute, "not found")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache") // kept, and asked for anew
	if lasts {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
	return nil
}
