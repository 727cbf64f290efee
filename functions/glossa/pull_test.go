package main

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"glossa/pkg/hub"
)

// pullFiles returns the files of the model acme/tiny.
func pullFiles() map[string][]byte {
	return map[string][]byte{
		"config.json": []byte(`{"model_type":"llama"}`), "tokenizer.json": []byte(`{}`), "README.md": []byte("# tiny\n"),
		"model.safetensors": bytes.Repeat([]byte("weights "), 150_000),
	}
}

// hubServer is a hub whose store is another host; pkg/hub has a complete one. The store
// sends 100,000 bytes and waits while the gate is closed.
type hubServer struct {
	*httptest.Server
	files map[string][]byte // of every model
	token string
	gate  atomic.Pointer[chan struct{}]
	sent  chan struct{} // receives a value when the store stops at the gate
}

func newHubServer(t *testing.T) *hubServer { return newHubOf(t, pullFiles()) }

// newHubOf returns a hub whose models have the given files.
func newHubOf(t *testing.T, files map[string][]byte) *hubServer {
	stored := func(name string) bool {
		return strings.HasSuffix(name, ".safetensors") || strings.HasSuffix(name, ".gguf")
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	h := &hubServer{files: files, sent: make(chan struct{}, 1)}
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the store gets the token")
		}
		data := h.files[strings.TrimPrefix(r.URL.Path, "/")]
		if gate := h.gate.Load(); gate != nil {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			w.Write(data[:100_000])
			_ = http.NewResponseController(w).Flush()
			h.sent <- struct{}{}
			<-*gate
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(store.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/{owner}/{name}/revision/{revision}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"sha":%q}`, commit)
	})
	mux.HandleFunc("GET /api/models/{owner}/{name}/tree/"+commit, func(w http.ResponseWriter, _ *http.Request) {
		var list []map[string]any
		for name, data := range h.files {
			e := map[string]any{"type": "file", "path": name, "size": len(data)}
			e["oid"] = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
			if stored(name) {
				e["lfs"] = map[string]any{"oid": fmt.Sprintf("%x", sha256.Sum256(data)), "size": len(data)}
			}
			list = append(list, e)
		}
		json.NewEncoder(w).Encode(list)
	})
	for _, owner := range []string{"acme", "zenith"} {
		mux.HandleFunc("GET /"+owner+"/{name}/resolve/"+commit+"/{path...}", func(w http.ResponseWriter, r *http.Request) {
			if name := r.PathValue("path"); stored(name) {
				http.Redirect(w, r, store.URL+"/"+name, http.StatusFound)
			} else {
				w.Write(h.files[name])
			}
		})
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		if want := "Bearer " + h.token; got != "" && got != want {
			t.Errorf("the hub gets %q", got)
		} else if h.token != "" && got != want {
			w.Header().Set("X-Error-Code", "GatedRepo")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func TestPull(t *testing.T) {
	h, dir := newHubServer(t), t.TempDir()
	h.token = "hf_ofthefile"
	t.Setenv("HF_TOKEN", "hf_oftheenvironment") // of another hub
	t.Setenv("GLOSSA_CHECKPOINTS", dir)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(h.token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"1.2 MB", "0 B"} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), []string{"pull", "acme/tiny", "--endpoint", h.URL, "--token-file", file}, nil, &out, &errs); status != 0 {
			t.Fatalf("status %d: %s", status, &errs)
		}
		for _, want := range []string{
			"acme/tiny at main is commit 0123456789abcdef0123456789abcdef01234567: 3 files, 1.2 MB\n",
			"to download: " + missing + "; free on the disk: ",
			filepath.Join(dir, "tiny") + " is complete: glossa serve --checkpoints " + dir + "\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s is not in\n%s", want, &out)
			}
		}
		if !strings.Contains(errs.String(), "1.2 MB of 1.2 MB  3/3 files") || strings.Contains(out.String()+errs.String(), "hf_") {
			t.Errorf("%s%s", &out, &errs)
		}
	}
	for name, data := range pullFiles() {
		b, err := os.ReadFile(filepath.Join(dir, "tiny", name))
		if wanted := name != "README.md"; wanted != (err == nil) || wanted && !bytes.Equal(b, data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An error of the network says where else the hub may be.
func TestPullWithoutNetwork(t *testing.T) {
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "huggingface.co", IsNotFound: true}}
	err := (&pullOptions{}).withHint(fmt.Errorf("hub: %w", lookup))
	if !errors.Is(err, lookup) || !strings.HasSuffix(err.Error(), "no such host: check the network, or name another hub with --endpoint") {
		t.Error(err)
	}
}

func TestPullRefuses(t *testing.T) {
	h, dir := newHubServer(t), t.TempDir()
	h.token = "hf_needed"
	t.Setenv("HF_TOKEN", "hf_oftheenvironment")
	bad := filepath.Join(dir, "token")
	if err := os.WriteFile(bad, []byte("hf_a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"":                                     {2, "missing argument OWNER/NAME"},
		"../tiny":                              {2, "is not OWNER/NAME"},
		"acme/tiny extra":                      {2, `unexpected argument "extra"`},
		"acme/tiny --token-file /no/such/file": {1, "/no/such/file"},
		"acme/tiny --token-file " + bad:        {1, "byte 4 of the token is not a printable"},
		"acme/tiny --token-file " + empty:      {1, "is empty"},
		"acme/tiny --endpoint ftp://a":         {1, "not of the form"},
		"acme/tiny --endpoint " + h.URL:        {1, "; set a token with --token-file FILE\n"},
		"acme/none --endpoint " + h.URL:        {1, "--token-file"},
		"acme/tiny:../x":                       {2, "not the name of a quantisation"},
	} {
		var out, errs bytes.Buffer
		status := run(t.Context(), append(append([]string{"pull"}, strings.Fields(args)...), "--to", dir), nil, &out, &errs)
		if status != want.status || !strings.Contains(errs.String(), want.says) || strings.Contains(errs.String(), "secret") {
			t.Errorf("%s: status %d, %s; want %d, %q", args, status, &errs, want.status, want.says)
		}
	}
	t.Setenv("HF_TOKEN", "not a token")
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"pull", "acme/tiny"}, nil, &out, &errs); status != 1 || !strings.Contains(errs.String(), "HF_TOKEN: ") {
		t.Errorf("status %d, %s", status, &errs)
	}
}

// A URL of one part of a split model names all parts.
func TestPullSplitByURL(t *testing.T) {
	models := withHome(t)
	h := newHubOf(t, map[string][]byte{"Q8_0/m-00001-of-00002.gguf": []byte("first"), "Q8_0/m-00002-of-00002.gguf": []byte("second"), "m-Q4_0.gguf": []byte("other")})
	status, _, notes := say(t, "", "pull", "https://huggingface.co/acme/split/blob/main/Q8_0/m-00002-of-00002.gguf", "--endpoint", h.URL)
	files, _ := filepath.Glob(filepath.Join(models, "split", "*.gguf"))
	if status != 0 || len(files) != 2 || filepath.Base(files[0]) != "m-Q8_0-00001-of-00002.gguf" {
		t.Errorf("status %d, %q, %s", status, files, notes)
	}
}

// A pull that is stopped prints how to resume, and resumes.
func TestPullIsStopped(t *testing.T) {
	h, dir := newHubServer(t), t.TempDir()
	gate := make(chan struct{})
	h.gate.Store(&gate)
	ctx, stop := context.WithCancel(t.Context())
	go func() { // ends with the first bytes
		<-h.sent
		part := filepath.Join(dir, "tiny", ".pull", "parts", "model.safetensors.part")
		for {
			if info, err := os.Stat(part); err == nil && info.Size() == 100_000 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		close(gate)
	}()
	args := []string{"pull", "acme/tiny", "--endpoint", h.URL, "--to", dir}
	var out, errs bytes.Buffer
	status := run(ctx, args, nil, &out, &errs)
	if status != 1 || !strings.Contains(errs.String(), " of 1.2 MB are kept in "+filepath.Join(dir, "tiny")+": run the same command to resume\n") ||
		!strings.Contains(errs.String(), "glossa pull: stopped: ") {
		t.Fatalf("status %d: %s", status, &errs)
	}
	h.gate.Store(nil)
	out.Reset()
	errs.Reset()
	if status := run(t.Context(), args, nil, &out, &errs); status != 0 || !strings.Contains(out.String(), "to download: 1.1 MB") {
		t.Errorf("status %d: %s%s", status, &out, &errs)
	}
}

func TestSpeedometer(t *testing.T) {
	var s speedometer
	at := func(seconds float64, megabytes int64) string {
		now := time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
		return s.sample(hub.Progress{Bytes: megabytes * 1e6, Total: 100e6, Files: 1, AllFiles: 3}, now).String()
	}
	for _, test := range []struct {
		seconds   float64
		megabytes int64
		want      string
	}{
		{0, 0, "0 B of 100.0 MB  1/3 files"},
		{0.5, 5, "5.0 MB of 100.0 MB  1/3 files"},
		{1, 10, "10.0 MB of 100.0 MB  1/3 files  10.0 MB/s  9s left"},
		{2, 30, "30.0 MB of 100.0 MB  1/3 files  13.0 MB/s  5s left"},
		{3, 10, "10.0 MB of 100.0 MB  1/3 files  9.1 MB/s  10s left"}, // a file restarted
		{5, 10, "10.0 MB of 100.0 MB  1/3 files  6.4 MB/s  14s left"},
	} {
		if got := at(test.seconds, test.megabytes); got != test.want {
			t.Errorf("%g s: %q, want %q", test.seconds, got, test.want)
		}
	}
	slow := download{hub.Progress{Total: 1 << 62, AllFiles: 1}, 1e-3}
	if !strings.HasSuffix(slow.String(), "1000h0m0s left") || slow.share() != 0 {
		t.Error(slow, slow.share())
	}
	if share := (download{hub.Progress{Bytes: 5, Total: 5, Files: 1, AllFiles: 2}, 0}).share(); share >= 1 {
		t.Error("it is done before all files are checked")
	}
	if share := (download{}).share(); share != 1 {
		t.Error("nothing is not done")
	}
}

// Quantised safetensors cannot shrink as much as others.
func TestLeastOfSafetensors(t *testing.T) {
	for repo, want := range map[string]float64{
		"Qwen/Qwen3-8B-FP8": 0.5, "RedHatAI/Llama-3.2-1B-Instruct-FP8-dynamic": 0.5, "neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16": 0.5,
		"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4": 0.5, "acme/tiny-4bit": 0.5, "Qwen/Qwen3-8B": 4.5 / 32, "acme/fp8less": 4.5 / 32,
	} {
		if got := leastOfSafetensors(repo); got != want {
			t.Errorf("%s: %v, want %v", repo, got, want)
		}
	}
}
