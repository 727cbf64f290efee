//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
)

// seed runs the command of make seed, the last step of make deploy: it writes the records and
// the starter models to the table and the bucket in the outputs of the stacks.
func (w *World) seed(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(w.deployed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "outputs.json") // as cdk deploy --outputs-file writes it
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.glossa(t, "models", "init", "--starters", "--outputs", file)
}

// upload sends a checkpoint as a training machine does.
func (w *World) upload(t *testing.T, name, key string) answer {
	t.Helper()
	var ck bytes.Buffer
	if err := checkpoint.WriteJSON(&ck, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"name":%q,"step":7,"config":{"modelConfig":%s,"trainConfig":{},"configHash":"00000000","runId":"r1"},"checkpoint":%s}`,
		name, checkpointtest.Golden().ModelConfigRaw, ck.Bytes())
	return w.ask(t, request{method: http.MethodPost, url: w.api("/api/upload"), key: key, body: body})
}
