package local

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
	"glossa/pkg/publish"
)

// metricsOf returns the metrics of a model from the beginning.
func (p *process) metricsOf(t *testing.T, model string) (checkpoint.Metrics, error) {
	t.Helper()
	entry, err := p.Entry(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	return p.loader.Metrics(entry.Run, 0)
}

// Metrics are read from the location of the model: the starters, a directory, S3, the
// location of a record. Published models without such a file have none, and neither do
// packed ones that are not runs.
func TestMetricsByPlace(t *testing.T) {
	name := starterName(t)
	data := must(os.ReadFile(filepath.Join(starters, name, "metrics.jsonl")))
	lines := strings.Count(string(data), "\n")
	s := &buckettest.Store{}
	put(t, s, starters, "root")
	put(t, s, starters, "else")
	put(t, s, goldens+"gpt2", "root/gpt2")
	s.Put("root/packed.safetensors", packOf(t, os.DirFS(goldens), "gpt2"))
	s3 := start(t, settings{store: s, checkpoints: "s3://models/root", records: recordsOf(map[string]string{"alpha": "s3://models/else/" + name})})
	uploads := t.TempDir()
	store := must(publish.Open(uploads))
	u, closer, err := publish.ReadRun(os.DirFS(starters), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Put(t.Context(), u), closer.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	for place, test := range map[string]struct {
		process *process
		model   string
		lines   int
	}{
		"starter": {start(t, settings{starters: os.DirFS(starters)}), name, lines}, "S3": {s3, name, lines},
		"uploaded": {start(t, settings{checkpoints: uploads}), name, lines}, "record": {s3, "alpha", lines},
		"published": {s3, "gpt2", 0}, "packed": {s3, "packed", 0}, "on disk": {start(t, settings{checkpoints: goldens}), "gpt2", 0},
	} {
		m, err := test.process.metricsOf(t, test.model)
		if err != nil || len(m.Lines) != test.lines || m.More || test.lines > 0 && m.Next != int64(len(data)) {
			t.Errorf("%s: %v, %d lines of %d, %d bytes of %d", place, err, len(m.Lines), test.lines, m.Next, len(data))
		}
	}
}

// An error of S3 has a message for clients.
func TestMetricsRefused(t *testing.T) {
	s := &buckettest.Store{}
	put(t, s, starters, "root")
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		locked := strings.HasSuffix(r.URL.Path, "/metrics.jsonl")
		if locked {
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return locked
	}
	p := start(t, settings{store: s, checkpoints: "s3://models/root"})
	if _, err := p.metricsOf(t, starterName(t)); codeOf(err) != llm.Upstream || !strings.Contains(llm.AsError(err).Message, "403 AccessDenied") {
		t.Errorf("%v", err)
	}
}
