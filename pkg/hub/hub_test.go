package hub

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A content is a file of a repository.
type content struct {
	data []byte
	lfs  bool // in large file storage: the hub redirects to it
}

func (c content) sha() string { s := sha256.Sum256(c.data); return hex.EncodeToString(s[:]) }

func blob(b []byte) string {
	s := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(b), b))
	return hex.EncodeToString(s[:])
}

// oid returns the git object id: of the file, or of the pointer to it.
func (c content) oid() string {
	if c.lfs {
		return blob(fmt.Appendf(nil, "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", c.sha(), len(c.data)))
	}
	return blob(c.data)
}

// A tree is the contents of a commit.
type tree map[string]content

// testHub is a hub with one repository, acme/tiny, and a store on another host.
type testHub struct {
	*httptest.Server
	store *httptest.Server
	page  int // entries in a page of a listing

	mu      sync.Mutex
	token   string // the required token; "": none
	refs    map[string]string
	commits map[string]tree
	seen    []*http.Request // by both hosts
	// fault answers a request instead of the hub or the store, if it returns true.
	fault func(w http.ResponseWriter, r *http.Request) bool
	// tag returns the store's entity tags, which differ from the hub's.
	tag func(sha string) string
}

// random returns n pseudo-random bytes.
func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{byte(seed)})
	rng.Read(b)
	return b
}

func tinyTree() tree {
	return tree{
		".gitattributes":                   {data: []byte("*.safetensors filter=lfs\n")},
		"README.md":                        {data: []byte("# tiny\n")},
		"config.json":                      {data: []byte(`{"model_type":"llama"}`)},
		"generation_config.json":           {data: []byte(`{"eos_token_id":2}`)},
		"tokenizer.json":                   {data: random(300_000, 1), lfs: true},
		"tokenizer_config.json":            {data: []byte(`{}`)},
		"tokenizer.model":                  {data: random(5_000, 2), lfs: true},
		"model.safetensors.index.json":     {data: []byte(`{"weight_map":{}}`)},
		"model-00001-of-00002.safetensors": {data: random(700_000, 3), lfs: true},
		"model-00002-of-00002.safetensors": {data: random(400_001, 4), lfs: true},
		"onnx/model.safetensors":           {data: random(10, 5), lfs: true},
		"tiny-Q4.gguf":                     {data: random(900, 6), lfs: true},
		"pytorch_model.bin":                {data: random(900, 7), lfs: true},
	}
}

// chosenOfTiny is the number of files in tinyTree that the engine reads.
const chosenOfTiny = 8

func newHub(t *testing.T, main tree) *testHub {
	h := &testHub{refs: map[string]string{}, commits: map[string]tree{}}
	h.tag = func(sha string) string { return `"store-` + sha[:8] + `"` }
	h.push("main", main)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/{owner}/{name}/revision/{revision}", h.info)
	mux.HandleFunc("GET /api/models/{owner}/{name}/tree/{revision}", h.tree)
	mux.HandleFunc("GET /acme/{name}/resolve/{revision}/{path...}", h.resolve)
	h.Server = httptest.NewServer(h.record(h.admit(mux)))
	t.Cleanup(h.Close)
	h.store = httptest.NewServer(h.record(http.HandlerFunc(h.send)))
	t.Cleanup(h.store.Close)
	return h
}

// push makes a commit and sets a branch to it.
func (h *testHub) push(ref string, files tree) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := sha1.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(all, "%s %s\n", name, files[name].oid())
	}
	commit := hex.EncodeToString(all.Sum(nil))
	h.refs[ref], h.commits[commit] = commit, files
	return commit
}

// record records requests and lets tests answer them.
func (h *testHub) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.seen = append(h.seen, r.Clone(context.Background()))
		fault := h.fault
		h.mu.Unlock()
		if fault == nil || !fault(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// sabotage sets a fault.
func (h *testHub) sabotage(fault func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = fault
}

// retag sets the store's entity tags.
func (h *testHub) retag(tag func(sha string) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tag = tag
}

// requests returns the requests since the last call.
func (h *testHub) requests() []*http.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.seen = nil }()
	return h.seen
}

func (h *testHub) ofStore(r *http.Request) bool { return "http://"+r.Host == h.store.URL }

func deny(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Error-Code", code)
	w.Header().Set("X-Error-Message", message)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": message})
}

func (h *testHub) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.token != "" && r.Header.Get("Authorization") != "Bearer "+h.token {
			deny(w, 401, "GatedRepo", "Access to model acme/tiny is restricted.")
			return
		}
		for _, prefix := range []string{"/", "/api/models/"} { // the repository was renamed
			if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix+"old/name/"); ok {
				w.Header().Set("Location", prefix+"acme/tiny/"+rest+"?"+r.URL.RawQuery)
				w.WriteHeader(http.StatusTemporaryRedirect)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// find returns the commit of a request.
func (h *testHub) find(w http.ResponseWriter, r *http.Request) (string, tree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cmp.Or(r.PathValue("owner"), "acme")+"/"+r.PathValue("name") != "acme/tiny" {
		deny(w, 404, "RepoNotFound", "Repository not found")
		return "", nil
	}
	commit := cmp.Or(h.refs[r.PathValue("revision")], r.PathValue("revision"))
	files := h.commits[commit]
	if files == nil {
		deny(w, 404, "RevisionNotFound", "Invalid rev id: "+commit)
	}
	return commit, files
}

func (h *testHub) info(w http.ResponseWriter, r *http.Request) {
	commit, files := h.find(w, r)
	if files == nil {
		return
	}
	var siblings []map[string]string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		siblings = append(siblings, map[string]string{"rfilename": name})
	}
	json.NewEncoder(w).Encode(map[string]any{"id": "acme/tiny", "sha": commit, "gated": false, "siblings": siblings})
}

func (h *testHub) tree(w http.ResponseWriter, r *http.Request) {
	_, files := h.find(w, r)
	if files == nil {
		return
	}
	list := []map[string]any{{"type": "directory", "oid": blob(nil), "size": 0, "path": "onnx"}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c := files[name]
		entry := map[string]any{"type": "file", "oid": c.oid(), "size": len(c.data), "path": name}
		if c.lfs {
			entry["lfs"] = map[string]any{"oid": c.sha(), "size": len(c.data), "pointerSize": 134}
			entry["xetHash"] = c.sha()
		}
		list = append(list, entry)
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	page := list[from:]
	if h.page > 0 && len(page) > h.page {
		page = page[:h.page]
		query := url.Values{"recursive": {"true"}, "limit": {"1000"}, "cursor": {strconv.Itoa(from + h.page)}}
		// The hub's own address, even when a mirror answers.
		w.Header().Set("Link", `<https://hub.example`+r.URL.Path+"?"+query.Encode()+`>; rel="next"`)
	}
	json.NewEncoder(w).Encode(page)
}

func (h *testHub) resolve(w http.ResponseWriter, r *http.Request) {
	commit, files := h.find(w, r)
	if files == nil {
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	c, ok := files[r.PathValue("path")]
	switch {
	case !ok:
		deny(w, 404, "EntryNotFound", "Entry not found")
	case c.lfs:
		w.Header().Set("X-Linked-Etag", `"`+c.sha()+`"`)
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(c.data)))
		w.Header().Set("Location", h.store.URL+"/store/"+commit+"/"+url.PathEscape(r.PathValue("path"))+"?Signature=secret")
		w.WriteHeader(http.StatusFound)
	default:
		w.Header().Set("ETag", `"`+c.oid()+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(c.data))
	}
}

// send is the store, which rejects requests with a token.
func (h *testHub) send(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("Signature") != "secret" {
		http.Error(w, "only one auth mechanism allowed", http.StatusBadRequest)
		return
	}
	commit, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/store/"), "/")
	c, ok := h.commits[commit][name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", h.tag(c.sha()))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(c.data))
}

// client returns a client of h without waits between attempts.
func (h *testHub) client() *Client {
	return &Client{Endpoint: h.URL, sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// inMemory returns a transport to the hub and its store that does without the network, whose
// connections stall the time of a bubble.
func (h *testHub) inMemory(t *testing.T) http.RoundTripper {
	handlers := map[string]http.Handler{h.Listener.Addr().String(): h.Config.Handler, h.store.Listener.Addr().String(): h.store.Config.Handler}
	transport := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		client, server := net.Pipe()
		ln := &pipe{conns: make(chan net.Conn, 1)}
		ln.conns <- server
		s := &http.Server{Handler: handlers[address]}
		go func() { _ = s.Serve(ln) }()
		t.Cleanup(func() { _ = s.Close() })
		return client, nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// A pipe is a listener with one connection.
type pipe struct {
	conns chan net.Conn
	once  sync.Once
}

func (p *pipe) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p *pipe) Close() error { p.once.Do(func() { close(p.conns) }); return nil }
func (*pipe) Addr() net.Addr { return &net.UnixAddr{} }

// pull downloads the files that the engine reads into dir.
func pull(ctx context.Context, c *Client, dir string) (Progress, error) {
	s, err := c.List(ctx, "acme/tiny", "main")
	if err != nil {
		return Progress{}, err
	}
	files, err := s.Choose(nil, nil)
	if err != nil {
		return Progress{}, err
	}
	d, err := c.Prepare(ctx, s, files, dir)
	if err != nil {
		return Progress{}, err
	}
	defer d.Close()
	err = d.Run(ctx, nil)
	return d.Progress(), err
}

// expectTree checks that dir holds the files of want that the engine reads, and
// nothing else but the state of the download.
func expectTree(t *testing.T, dir string, want tree) {
	t.Helper()
	n := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(name, stateDir+"/") {
			return err
		}
		n++
		b, err := os.ReadFile(filepath.Join(dir, name))
		if !bytes.Equal(b, want[name].data) {
			t.Errorf("%s has %d bytes, not the %d of the hub", name, len(b), len(want[name].data))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if n != chosenOfTiny {
		t.Errorf("%d files, not %d", n, chosenOfTiny)
	}
	if _, err := os.Stat(filepath.Join(dir, partsDir)); err == nil {
		t.Error("parts are left")
	}
}

// expectError checks the text of an error.
func expectError(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v does not say %q", err, says)
	}
}

// expectNothing checks that no file has its final name.
func expectNothing(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != stateDir {
		t.Errorf("%v, %v", entries, err)
	}
}
