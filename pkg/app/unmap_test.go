//go:build linux

package app

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/account"
	"glossa/pkg/llm"
)

// isMapped reports whether the process maps a file of a directory, which may be deleted.
func isMapped(t *testing.T, dir string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), dir)
}

// A deleted or replaced model is unmapped when its last generation has ended, without
// waiting for garbage collection: the disk space is free.
func TestDeleteUnmaps(t *testing.T) {
	a := golden(t, Config{Keys: keys(t)})
	h, dir := a.Handler(), filepath.Join(a.cfg.Checkpoints, "sent")
	send := func() {
		t.Helper()
		if res := ask(h, "POST", "/api/upload", secrets[account.Worker], strings.NewReader(upload(t, "sent"))); res.StatusCode != 200 {
			t.Fatal(text(t, res))
		}
	}
	remove := func() {
		t.Helper()
		if res := ask(h, "DELETE", "/api/models?name=sent", secrets[account.Worker], nil); res.StatusCode != 200 {
			t.Fatal(text(t, res))
		}
	}
	use := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context()) // as net/http does for a request
		r := httptest.NewRequest("GET", "/api/generate?prompt=a&max_tokens=3&temperature=0&model=sent", nil).WithContext(ctx)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if cancel(); w.Code != 200 {
			t.Fatal(w.Body)
		}
		if !isMapped(t, dir) {
			t.Fatal("the model is not mapped")
		}
	}
	settled := func() bool { // the end of a context is noticed asynchronously
		a.catalog.Refresh()
		for range 1000 {
			if !isMapped(t, a.cfg.Checkpoints) {
				return true
			}
			if _, err := a.catalog.List(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return false
	}
	send()
	use()
	remove()
	if !settled() {
		t.Error("a model that was deleted is mapped")
	}
	send()
	use()
	send()
	if !settled() {
		t.Error("a model that was replaced is mapped")
	}
	use()
	ctx, cancel := context.WithCancel(t.Context())
	model, err := a.Models().Open(ctx, "sent")
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if !isMapped(t, dir) && !isMapped(t, a.cfg.Checkpoints) {
		t.Error("a model in use was unmapped")
	}
	for _, err := range model.Generate(ctx, &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}, N: 1, Params: llm.Params{MaxTokens: new(2)}}) {
		if err != nil {
			t.Error(err)
		}
	}
	cancel()
	if !settled() {
		t.Error("a model is mapped when its last generation has ended")
	}
}
