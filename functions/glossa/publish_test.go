package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"glossa/pkg/bucket/buckettest"
)

func runPublish(ctx context.Context, args ...string) (out, notes string, err error) {
	return output(ctx, append([]string{"publish"}, args...)...)
}

// bucketOf starts a store that stands in for S3.
func bucketOf(t *testing.T) *buckettest.Store {
	t.Helper()
	s3 := &buckettest.Store{Keys: map[string]string{"AKID": "secret"}}
	server := httptest.NewServer(s3)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_REGION": "eu-west-1",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "GLOSSA_S3_ENDPOINT": server.URL,
	} {
		t.Setenv(name, value)
	}
	return s3
}

// Every model that can be packed can be published to a directory and to S3, and is listed
// there.
func TestPublish(t *testing.T) {
	s3 := bucketOf(t)
	pack := filepath.Join(t.TempDir(), "small.safetensors")
	if _, _, err := runPack(t.Context(), packSource, "-o", pack); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{t.TempDir(), "s3://models/checkpoints"} {
		t.Setenv("GLOSSA_CHECKPOINTS", place)
		for name, args := range map[string][]string{
			"gpt2": {packSource}, "other": {packSource, "--name", "other", "--quant", "f32"}, "small": {pack, "--checkpoints", place},
			"gguf": {packSource + "-gguf", "--name", "gguf"}, "chords": {"../../pkg/starter/runs/novels", "--name", "chords"},
			"bert-modes": {"../../pkg/engine/testdata/encoders/bert-modes"}, "ranker": {"../../pkg/engine/testdata/rerankers/bert", "--name", "ranker"},
		} {
			for range 2 {
				if out, _, err := runPublish(t.Context(), args...); err != nil || !strings.HasPrefix(out, name+": ") || !strings.HasSuffix(out, " in "+place+"\n") {
					t.Errorf("%q: %q %v", args, out, err)
				}
			}
			if _, _, err := runPublish(t.Context(), append(args, "--new")...); err == nil || !strings.Contains(err.Error(), "a model "+name+" already exists") {
				t.Errorf("%q --new: %v", args, err)
			}
		}
		table, _, err := output(t.Context(), "models")
		if err != nil {
			t.Fatalf("%v\n%s", err, table)
		}
		for _, name := range []string{"gpt2", "other", "small", "gguf", "chords", "bert-modes", "ranker"} {
			if !strings.Contains(table, "\n"+name+" ") {
				t.Errorf("%s is not among\n%s", name, table)
			}
		}
	}
	if keys := s3.Keyed(""); len(keys) != 7 || keys[0] != "checkpoints/bert-modes/packed.safetensors" {
		t.Error(keys)
	}
	data, err := os.ReadFile(pack)
	if err != nil || !bytes.Equal(data, s3.Get("checkpoints/small/packed.safetensors")) {
		t.Errorf("a packed model is another one in S3: %v", err)
	}
}

// The same command resumes an interrupted one.
func TestPublishResumes(t *testing.T) {
	s3 := bucketOf(t)
	var parts atomic.Int64
	var whole string // the number of the part that arrives
	ctx, cancel := context.WithCancel(t.Context())
	first, again := make(chan bool), "X-Again"
	s3.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method != http.MethodPut || r.Header.Get(again) != "":
			return false
		case parts.Add(1) == 1:
			whole = r.URL.Query().Get("partNumber")
			r.Header.Set(again, "yes")
			s3.ServeHTTP(w, r)
			w.(http.Flusher).Flush()
			close(first)
			return true
		}
		<-first
		cancel()
		panic(http.ErrAbortHandler)
	}
	run := filepath.Join(t.TempDir(), "novels")
	if err := os.CopyFS(run, os.DirFS("../../pkg/starter/runs/novels")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "training-data.txt"), bytes.Repeat([]byte("once upon a time\n"), 4<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{run, "--checkpoints", "s3://models/checkpoints"}
	_, _, err := runPublish(ctx, args...)
	if err == nil || !strings.Contains(err.Error(), "run the same command to resume") || len(s3.Keyed("")) > 0 || s3.Uploads() != 1 {
		t.Fatal(err, s3.Keyed(""), s3.Uploads())
	}
	var resent atomic.Bool
	s3.Break(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == whole {
			resent.Store(true)
		}
		return false
	})
	if _, _, err := runPublish(t.Context(), args...); err != nil || len(s3.Keyed("")) != 1 || s3.Uploads() != 0 {
		t.Fatal(err, s3.Keyed(""), s3.Uploads())
	}
	if whole == "" || resent.Load() {
		t.Errorf("the second command sent part %q again", whole)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Setenv("GLOSSA_CHECKPOINTS", "")
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"missing argument SOURCE":      {"--checkpoints", dir},
		"no place for the model":       {packSource},
		"must be q8_0":                 {packSource, "--checkpoints", dir, "--quant", "q3_k"},
		"choose another":               {packSource, "--checkpoints", dir, "--name", "../x"},
		"it has no model.safetensors":  {dir, "--name", "x", "--checkpoints", dir},
		"not an S3 location":           {packSource, "--checkpoints", "s3://"},
		"need a prefix":                {packSource, "--checkpoints", "s3://models"},
		"a packed model already has a": {packedModel(t), "--checkpoints", dir, "--quant", "f32"},
		`unexpected argument "more"`:   {packSource, "more", "--checkpoints", dir},
	} {
		_, _, err := runPublish(t.Context(), args...)
		found := false
		for text := range strings.SplitSeq(want, "|") {
			found = found || err != nil && strings.Contains(err.Error(), strings.TrimSpace(text))
		}
		if !found {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// Files that are not a packed model are not deleted without a word.
func TestPublishReplacesFiles(t *testing.T) {
	place := t.TempDir()
	if err := os.CopyFS(filepath.Join(place, "gpt2"), os.DirFS(packSource)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} { // the second replaces a packed model
		_, notes, err := runPublish(t.Context(), packSource, "--checkpoints", place)
		if said := strings.Contains(notes, "the earlier files of gpt2, which were not a packed model, are deleted\n"); err != nil || said != want {
			t.Errorf("%d: %q %v", i, notes, err)
		}
	}
}

// packedModel returns the path of a packed model.
func packedModel(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.safetensors")
	if _, _, err := runPack(t.Context(), packSource, "-o", file); err != nil {
		t.Fatal(err)
	}
	return file
}
