package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/publish"
)

// measurements is the answer of the route of metrics.
type measurements struct {
	Name       string
	From, Next int64
	More       bool
	Metrics    []map[string]float64
}

// metricsOf asks for the metrics of a model.
func metricsOf(t *testing.T, h http.Handler, model string, from int64) (m measurements) {
	t.Helper()
	res := ask(h, "GET", fmt.Sprintf("/api/models/%s/metrics?from=%d", model, from), "", nil)
	body := text(t, res)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", model, res.StatusCode, body)
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Whoever watches a run asks again from where the last answer ended, and gets what came
// since then.
func TestMetricsOfARunThatGoesOn(t *testing.T) {
	a := golden(t, Config{})
	h := a.Handler()
	file := filepath.Join(a.cfg.Checkpoints, "golden", "metrics.jsonl")
	write := func(text string, flag int) {
		f, err := os.OpenFile(file, os.O_WRONLY|flag, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := metricsOf(t, h, "golden", 0)
	if len(first.Metrics) != 1 || first.Metrics[0]["valLoss"] != 1.25 || first.Name != "golden" {
		t.Fatalf("%+v", first)
	}
	if again := metricsOf(t, h, "local/golden", first.Next); len(again.Metrics) != 0 || again.Next != first.Next {
		t.Errorf("nothing new: %+v", again)
	}
	write(`{"step":8,"loss":1.4}`+"\n"+`{"step":9,`, os.O_APPEND)
	next := metricsOf(t, h, "golden", first.Next)
	if len(next.Metrics) != 1 || next.Metrics[0]["step"] != 8 || next.From != first.Next {
		t.Errorf("one line and a half: %+v", next)
	}
	write(`"loss":1.3}`+"\n", os.O_APPEND)
	if last := metricsOf(t, h, "golden", next.Next); len(last.Metrics) != 1 || last.Metrics[0]["step"] != 9 {
		t.Errorf("the rest of the line: %+v", last)
	}
	write(`{"step":1,"loss":5}`+"\n", os.O_TRUNC)
	if anew := metricsOf(t, h, "golden", next.Next); anew.From != 0 || len(anew.Metrics) != 1 || anew.Metrics[0]["step"] != 1 {
		t.Errorf("begun anew: %+v", anew)
	}
}

// Metrics are where the models are: among the starters, in a directory, in S3, below a
// record; and published models without such a file, and packed ones, have none.
func TestMetricsByPlace(t *testing.T) {
	name := starterName(t)
	data, err := os.ReadFile("../starter/runs/" + name + "/metrics.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(string(data), "\n")
	s := &buckettest.Store{}
	put(t, s, "../starter/runs", "root")
	put(t, s, "../starter/runs", "else")
	put(t, s, goldens+"gpt2", "root/gpt2")
	s.Put("root/packed.safetensors", packOf(t, os.DirFS(goldens), "gpt2"))
	s3 := inStore(t, s, Config{Checkpoints: "s3://models/root", Records: recordsOf(map[string]string{"alpha": "s3://models/else/" + name})})
	starters, err := New(Config{Starters: os.DirFS("../starter/runs")})
	if err != nil {
		t.Fatal(err)
	}
	uploads := t.TempDir()
	store, err := OpenStore(Config{Checkpoints: uploads})
	if err != nil {
		t.Fatal(err)
	}
	u, closer, err := publish.ReadRun(os.DirFS("../starter/runs"), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Put(t.Context(), u), closer.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	uploaded, err := New(Config{Checkpoints: uploads})
	if err != nil {
		t.Fatal(err)
	}
	for place, test := range map[string]struct {
		app   *App
		model string
		lines int
	}{
		"starter": {starters, name, lines}, "S3": {s3, name, lines}, "uploaded": {uploaded, name, lines}, "record": {s3, "alpha", lines},
		"published": {s3, "gpt2", 0}, "packed": {s3, "packed", 0}, "on disk": {published(t, Config{}), "gpt2", 0},
	} {
		m := metricsOf(t, test.app.Handler(), test.model, 0)
		if len(m.Metrics) != test.lines || m.More || test.lines > 0 && m.Next != int64(len(data)) {
			t.Errorf("%s: %d lines of %d, %d bytes of %d", place, len(m.Metrics), test.lines, m.Next, len(data))
		}
	}
}

// A name means the model that runs under it: names stand before aliases, and what a run is
// called in its configuration is a name too.
func TestMetricsByName(t *testing.T) {
	name := starterName(t)
	s := &buckettest.Store{}
	put(t, s, goldens+"gpt2", "root/gpt2")
	put(t, s, "../starter/runs", "else")
	records := fstest.MapFS{"alpha.json": {Data: fmt.Appendf(nil, `{"pk":"models","sk":"local-alpha","schema":{"checkpoint":"s3://models/else/%s","aliases":["gpt2","other"]}}`, name)}}
	a := inStore(t, s, Config{Checkpoints: "s3://models/root", Records: records})
	entries, problems := a.catalog.Entries(t.Context())
	if len(problems) > 0 || len(entries) != 2 || entries[0].Name != "alpha" || len(entries[0].Aliases) != 2 {
		t.Fatalf("%+v %v", entries, problems)
	}
	for model, some := range map[string]bool{"gpt2": false, "other": true, "local/other": true, entries[0].Run.Info.ID: true} {
		if m := metricsOf(t, a.Handler(), model, 0); (len(m.Metrics) > 0) != some {
			t.Errorf("%s: %d lines", model, len(m.Metrics))
		}
	}
}

// What S3 refuses is said.
func TestMetricsRefused(t *testing.T) {
	s := &buckettest.Store{}
	put(t, s, "../starter/runs", "root")
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		locked := strings.HasSuffix(r.URL.Path, "/metrics.jsonl")
		if locked {
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return locked
	}
	a := inStore(t, s, Config{Checkpoints: "s3://models/root"})
	res := ask(a.Handler(), "GET", "/api/models/"+starterName(t)+"/metrics", "", nil)
	if body := text(t, res); res.StatusCode != http.StatusBadGateway || !strings.Contains(body, "403 AccessDenied") {
		t.Errorf("%d %.200s", res.StatusCode, body)
	}
}
