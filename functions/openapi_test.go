package functions_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/app"
)

// documented returns the paths that a door documents, by their methods.
func documented(t *testing.T, h http.Handler, stage string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, stage+"/openapi.json", nil))
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %.300s", w.Code, err, w.Body)
	}
	var list []string
	for path, methods := range doc.Paths {
		for method := range maps.Keys(methods) {
			list = append(list, method+" "+path)
		}
	}
	slices.Sort(list)
	return list
}

// Through the API, each function returns the document of all families. At a function's
// own URL it returns the document of that function.
func TestDocument(t *testing.T) {
	runs := golden(t)
	plain, err := app.New(app.Config{Checkpoints: runs})
	if err != nil {
		t.Fatal(err)
	}
	all := documented(t, plain.Handler(), "")
	own := documented(t, plain.Handler("textsynth"), "")
	f := start(t, build(t, "textsynth"), runs)
	for _, door := range []struct {
		name  string
		h     http.Handler
		stage string
		want  []string
	}{
		{"REST", f.RESTProxy(true, "prod"), "/prod", all}, {"function URL", f.FunctionURL(true), "", own},
	} {
		if got := documented(t, door.h, door.stage); !slices.Equal(got, door.want) {
			t.Errorf("%s documents\n%s\nwant\n%s", door.name, strings.Join(got, "\n"), strings.Join(door.want, "\n"))
		}
	}
	if len(own) >= len(all) || !slices.Contains(all, "post /v1/chat/completions") || slices.Contains(own, "post /v1/chat/completions") {
		t.Errorf("%d of %d paths are the function's own", len(own), len(all))
	}
}
