package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"glossa/pkg/account"
)

// measurements is the answer of the metrics route.
type measurements struct {
	Name       string
	From, Next int64
	More       bool
	Metrics    []map[string]float64
}

// metricsOf requests the metrics of a model.
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

// A client that follows a run continues from the end of the last answer, and gets the
// new metrics.
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

// A name selects the model that is served under it: names precede aliases, and the name of
// a run in its configuration is a name too.
func TestMetricsByName(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][2]string{{"gpt2", "../engine/arch/testdata/gpt2"}, {"else/run", "../starter/runs/abc"}} { // the newest is listed first
		if err := os.CopyFS(filepath.Join(dir, c[0]), os.DirFS(c[1])); err != nil {
			t.Fatal(err)
		}
	}
	records := fstest.MapFS{"alpha.json": {Data: fmt.Appendf(nil, `{"pk":"models","sk":"local-alpha","schema":{"checkpoint":%q,"aliases":["gpt2","other"]}}`, filepath.Join(dir, "else", "run"))}}
	a, err := New(Config{Checkpoints: dir, Records: records})
	if err != nil {
		t.Fatal(err)
	}
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

// Metrics of a run are hidden with the model: from a key that may not use it, and from the members
// of a team that may not.
func TestMetricsOfHiddenRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.json")
	store := account.NewFile(file)
	for name, models := range map[string]account.Models{"others": "novels", "all": ""} {
		team, err := account.NewTeam(name, account.Limits{Models: models})
		if err == nil {
			err = store.Add(t.Context(), team)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	keys := map[string]int{
		limited(t, store, "own", account.Monitor, account.Limits{Models: "novels"}):              http.StatusNotFound,
		limited(t, store, "member", account.Monitor, account.Limits{Team: "others"}):             http.StatusNotFound,
		limited(t, store, "both", account.Monitor, account.Limits{Models: "gold*", Team: "all"}): http.StatusOK,
	}
	h := golden(t, Config{Auth: true, Accounts: file}).Handler()
	for key, want := range keys {
		if res := ask(h, "GET", "/api/models/golden/metrics", key, nil); res.StatusCode != want {
			t.Errorf("%d, want %d: %s", res.StatusCode, want, text(t, res))
		}
	}
}
