package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// TestWrongKeys: each new key is wrong, and only one is tried.
func TestWrongKeys(t *testing.T) {
	calls := 0
	b := open(t, "openai-chat", &keys{list: []string{"a", "b", "c", "d"}}, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(401)
	})
	if _, _, err := llm.Collect(b.Generate(t.Context(), chat(false)), 1); llm.AsError(err).Code != llm.Upstream || calls != 2 {
		t.Errorf("%d calls: %v", calls, err)
	}
}

// TestRotatedKey: a rejected key is read again, once for each call.
func TestRotatedKey(t *testing.T) {
	secrets := &keys{list: []string{"old", "new"}}
	b := open(t, "openai-chat", secrets, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, whole)
	})
	if _, _, err := llm.Collect(b.Generate(t.Context(), chat(false)), 1); err != nil {
		t.Error(err)
	}
	secrets.err = errors.New("the key env:X is not set")
	_, _, err := llm.Collect(b.Generate(t.Context(), chat(false)), 1)
	if e := llm.AsError(err); e.Code != llm.Upstream || strings.Contains(e.Message, "env:X") || !strings.Contains(e.Err.Error(), "env:X is not set") {
		t.Errorf("%s: %v", e.Message, e.Err)
	}
}
