package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/resilience"
)

// Fallbacks and kept answers of records work in every dialect: one that streams, one
// that does not, one of canonical keys.
func TestRecordsOfResilience(t *testing.T) {
	record := func(name, more string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"pk":"models","sk":"local-` + name + `","schema":{"checkpoint":"` + name + `"}` + more + `}`)}
	}
	a := golden(t, Config{Records: fstest.MapFS{
		"golden.json": record("golden", `,"cache_seconds":10000000000`),
		"spoilt.json": record("spoilt", `,"fallbacks":["none","local/golden"]`),
	}})
	run := func(name string) string { return filepath.Join(a.cfg.Checkpoints, name, "checkpoint-7.json") }
	goldenRun(t, a.cfg.Checkpoints, "spoilt")
	if err := os.Truncate(run("spoilt"), 1100); err != nil { // in the middle of its weights
		t.Fatal(err)
	}
	h := a.Handler()
	check := func(what string, res *http.Response, model, cached string) {
		t.Helper()
		if body := text(t, res); res.StatusCode != http.StatusOK || res.Header.Get(resilience.ModelHeader) != model || res.Header.Get(resilience.CacheHeader) != cached {
			t.Errorf("%s: %d %v %s", what, res.StatusCode, res.Header, body)
		}
	}
	complete := func(model, more string) *http.Response {
		return ask(h, "POST", "/v1/completions", "", strings.NewReader(`{"model":"`+model+`","prompt":"a","max_tokens":3,"temperature":0`+more+`}`))
	}
	check("new", complete("golden", ""), "", "miss")
	check("repeated as a stream", complete("golden", `,"stream":true`), "", "hit")
	check("by another name", complete("local/golden", ""), "", "hit")
	check("of the fallback", complete("spoilt", ""), "golden", "hit")
	check("another request", complete("golden", `,"top_p":0.5`), "", "miss")
	body := `{"model_family":"local","model_name":"spoilt","body":{"prompt":"a","temperature":0,"max_new_tokens":3}}`
	check("canonical keys", ask(h, "POST", "/invoke", "", strings.NewReader(body)), "golden", "miss")
	for path, body := range map[string]string{
		"/v1/embeddings": `{"model":"spoilt","input":"a"}`, "/v1/engines/spoilt/logprob": `{"context":"a","continuation":"b"}`,
		"/evaluate": `{"model":"spoilt","prompt":"b","completion_expected":"a"}`, "/embed": `{"model":"spoilt","prompt":"a","layers":[0],"tokens":true}`,
		"/v1/embedding": `{"model_name":"spoilt","prompt":"b"}`,
	} {
		check(path, ask(h, "POST", path, "", strings.NewReader(body)), "golden", "miss")
		check(path+" again", ask(h, "POST", path, "", strings.NewReader(body)), "golden", "hit")
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(run("golden"), later, later); err != nil {
		t.Fatal(err)
	}
	a.catalog.Refresh()
	check("new weights", complete("golden", ""), "", "miss")
}
