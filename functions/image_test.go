package functions_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"glossa/pkg/host/runtimeapi"
)

// TestImage: the command of the container image is each function, and serves the models of the
// image beside those of the bucket.
func TestImage(t *testing.T) {
	binary := build(t, "glossa")
	ask := func(family, path, body string) string {
		f, err := runtimeapi.Start(t.Context(), runtimeapi.Options{
			Binary: binary, Args: []string{"function", family}, Timeout: time.Minute, MemoryMB: 512, Stderr: t.Output(),
			Env: []string{"GLOSSA_CHECKPOINTS=" + t.TempDir(), "GLOSSA_MODELS=" + golden(t), "GLOSSA_OPEN=true", "GLOSSA_STREAM_URL=true"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		runtimeapi.FunctionURL(f, true).ServeHTTP(w, r)
		return w.Body.String()
	}
	if got := ask("openai", "/v1/completions", `{"model":"golden","prompt":"a","max_tokens":1,"temperature":0}`); !strings.Contains(got, `"finish_reason"`) {
		t.Errorf("a completion: %s", got)
	}
	if got := ask("lamini", "/v2/completions", `{"model_name":"golden","prompt":"a","max_new_tokens":1}`); !strings.Contains(got, `"outputs"`) {
		t.Errorf("another dialect: %s", got)
	}
	if got := ask("lamini", "/v1/chat/completions", `{}`); !strings.Contains(got, "no such path") {
		t.Errorf("a path of another function: %s", got)
	}
}
