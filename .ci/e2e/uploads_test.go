//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An arrival is an upload in parts.
type arrival struct {
	ID    string
	Done  bool
	Parts []struct {
		Index        int
		Offset, Size int64
		Arrived      bool
		URL          string
	}
}

// inParts uploads a model in parts, directly to the bucket if the server returns URLs. The
// first part is cut once, and the upload resumes.
func inParts(t *testing.T, w *World, key string) string {
	_, content := w.object(t, "novels")
	ask := func(method, path, body string, status int) (s arrival) {
		t.Helper()
		a := w.ask(t, request{method: method, url: w.api("/api/uploads" + path), key: key, body: body})
		if a.status != status || json.Unmarshal([]byte(a.body), &s) != nil {
			t.Fatalf("%s %s: %s, want %d", method, path, a, status)
		}
		return s
	}
	begin := fmt.Sprintf(`{"name": "inparts", "size": %d, "partSize": %d, "sha256": %q}`, len(content), len(content)/3+1, hexHash(content))
	s := ask("POST", "", begin, 200)
	if len(s.Parts) != 3 {
		t.Fatalf("%+v", s)
	}
	first := s.Parts[0]
	if err := w.send(t, key, s.ID, first.Index, first.URL, &cutBody{ReadCloser: io.NopCloser(bytes.NewReader(content)), left: int(first.Size) / 2}, first.Size); err == nil {
		t.Error("half a part is taken")
	}
	w.fresh(t) // another instance receives the rest
	if s = ask("GET", "/"+s.ID, "", 200); s.Parts[0].Arrived {
		t.Error("half a part has arrived")
	}
	if a := w.ask(t, request{method: "POST", url: w.api("/api/uploads/" + s.ID + "/complete"), key: key}); a.status < 400 || a.status >= 500 {
		t.Errorf("an end before all is there: %s", a)
	}
	for _, p := range s.Parts {
		if err := w.send(t, key, s.ID, p.Index, p.URL, bytes.NewReader(content[p.Offset:p.Offset+p.Size]), p.Size); err != nil {
			t.Fatalf("part %d: %v", p.Index, err)
		}
	}
	if a := w.ask(t, request{method: "POST", url: w.api("/api/uploads/" + s.ID + "/complete"), key: key}); a.status != 200 {
		t.Fatalf("the end: %s", a)
	}
	took := until(t, fresher, func() bool { return w.completion(t, "inparts", key).status == 200 })
	if w.completion(t, "inparts", key).text() != w.completion(t, "novels", key).text() {
		t.Error("it does not say what it was")
	}
	dropped := ask("POST", "", strings.Replace(begin, "inparts", "dropped", 1), 200)
	if a := w.ask(t, request{method: "DELETE", url: w.api("/api/uploads/" + dropped.ID), key: key}); a.status != 200 {
		t.Errorf("one that is given up: %s", a)
	}
	if a := w.ask(t, request{method: "DELETE", url: w.api("/api/models?name=inparts"), key: key}); a.status != 200 {
		t.Errorf("its deletion: %s", a)
	}
	until(t, fresher, func() bool { return w.completion(t, "inparts", key).isError(404) })
	return fmt.Sprintf("half a part does not count, the rest goes to another instance, served after %.1f s, deleted", took.Seconds())
}

// send uploads one part to its destination.
func (w *World) send(t *testing.T, key, id string, index int, url string, body io.Reader, size int64) error {
	t.Helper()
	client, direct := http.DefaultClient, url != ""
	if !direct {
		client, url = w.Client, w.api(fmt.Sprintf("/api/uploads/%s/parts/%d", id, index))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, body)
	if err != nil {
		return err
	}
	if req.ContentLength = size; !direct {
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, text)
	}
	return nil
}

// urlExpired sends a part to an expired URL.
func urlExpired(t *testing.T, w *World, key string) string {
	a := w.ask(t, request{method: "POST", url: w.api("/api/uploads"), key: key, body: `{"name": "late", "size": 10}`})
	var s arrival
	if a.status != 200 || json.Unmarshal([]byte(a.body), &s) != nil || len(s.Parts) == 0 || s.Parts[0].URL == "" {
		t.Fatalf("an upload into the bucket: %s", a)
	}
	w.Proxy.shift(24 * time.Hour)
	defer w.Proxy.shift(0)
	if err := w.send(t, key, s.ID, 0, s.Parts[0].URL, strings.NewReader("0123456789"), 10); err == nil {
		t.Error("it is taken a day later")
	}
	return "refused a day later"
}

// shift advances the clock of the services.
func (p *Proxy) shift(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = d
}
