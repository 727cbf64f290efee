package app

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// tableOf returns a table with these items, which the environment names.
func tableOf(t *testing.T, items ...table.Item) *table.Table {
	t.Helper()
	s := tabletest.New(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": s.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	for _, it := range items {
		if err := s.Table().Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	return s.Table()
}

// tableApp returns an app whose records are in a table, over a fake provider.
func tableApp(t *testing.T, m *remoteModel, cfg Config, items ...table.Item) (*App, *table.Table) {
	t.Helper()
	tab := tableOf(t, items...)
	cfg.Table = "glossa"
	a, _ := remoteApp(t, m, cfg, m.converses)
	return a, tab
}

// A single new item in the table is a model of every dialect: listed, and answering.
func TestOneItemIsAModelOfEveryDialect(t *testing.T) {
	m := remoteModels[0]
	group := table.Item{"pk": "models", "sk": "bedrock-anthropic", "schema": shipped(t, "bedrock-anthropic")}
	a, tab := tableApp(t, &m, Config{}, group)
	h := a.Handler()
	listings := map[string]string{
		"/v1/models": `"id":"MODEL"`, "/v1/models/MODEL": `"id":"MODEL"`, "/models_available": `"name":"MODEL"`,
		"/list_models": `{"model_type":"anthropic","model_name":"MODEL","model_family":"FAMILY","streaming":true}`,
	}
	for path := range listings {
		if got := text(t, ask(h, "GET", m.fill(path), "", nil)); path != "/v1/models/MODEL" && strings.Contains(got, m.name) {
			t.Errorf("before: %s: %s", path, got)
		}
	}
	if err := tab.Put(t.Context(), table.Item{"pk": "models", "sk": "bedrock-" + m.name}); err != nil {
		t.Fatal(err)
	}
	a, err := New(a.cfg) // it has read nothing yet
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	a.cloud.load = signer
	h = a.Handler()
	for path, want := range listings {
		if got := text(t, ask(h, "GET", m.fill(path), "", nil)); !strings.Contains(got, m.fill(want)) {
			t.Errorf("%s: %s, want %s", path, got, m.fill(want))
		}
	}
	for _, c := range asked {
		if c.needs != "" {
			continue
		}
		if res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body))); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", c.path, res.StatusCode, text(t, res))
		}
	}
}

// A model that only a group's record describes answers without being listed, unless
// the operator disables that. Its usage is not recorded under a name of the client's
// choice.
func TestUnlistedModelsAnswer(t *testing.T) {
	m := remoteModels[0]
	group := table.Item{"pk": "models", "sk": "bedrock-anthropic", "schema": shipped(t, "bedrock-anthropic")}
	for _, only := range []bool{false, true} {
		var known func(string) bool
		meter := &observed{}
		cfg := Config{ListedOnly: only, Meter: func(m Measured) Meter {
			known = m.Known
			return meter
		}}
		a, _ := tableApp(t, &m, cfg, group)
		for _, c := range asked {
			if c.needs != "" {
				continue
			}
			res := ask(a.Handler(), c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body)))
			got := text(t, res)
			if refused := res.StatusCode != 200 || strings.Contains(strings.ReplaceAll(got, `"error":null`, ""), `"error":`); refused != only {
				t.Errorf("listed only %t: %s: %d %s", only, c.path, res.StatusCode, got)
			}
		}
		if known(m.name) {
			t.Error("metrics have a label for every name that is asked for")
		}
		if got := text(t, ask(a.Handler(), "GET", "/list_models", "", nil)); strings.Contains(got, m.name) {
			t.Error(got)
		}
		if only && len(meter.list) > 0 && llm.AsError(meter.list[0].Err).Code != llm.NotFound {
			t.Errorf("%+v", meter.list[0].Err)
		}
	}
	inside, err := New(Config{}) // without records, only the starters are served
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inside.Catalog().Open(t.Context(), m.name); llm.AsError(err).Code != llm.NotFound {
		t.Error(err)
	}
	cfg, err := FromEnv(func(name string) string {
		return map[string]string{"GLOSSA_LISTED_ONLY": "true", "GLOSSA_IGNORE_UNMAPPED": "1", "GLOSSA_EMPTY_LINES": "true"}[name]
	})
	if err != nil || !cfg.ListedOnly || !cfg.IgnoreUnmapped || !cfg.EmptyLines {
		t.Errorf("%+v, %v", cfg, err)
	}
	if _, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_LISTED_ONLY": "x"}[name] }); err == nil {
		t.Error("a wrong setting is taken")
	}
}

// The record or the server can drop keys that upstream's web page sends with every
// request, and write lines for events without keys.
func TestUpstreamsPage(t *testing.T) {
	m := remoteModels[0]
	const page = `{"model_family":"FAMILY","model_name":"MODEL","body":{"prompt":"a","max_new_tokens":9,"temprature":0.5,"watermark":true}`
	group := table.Item{"pk": "models", "sk": "bedrock-anthropic", "schema": shipped(t, "bedrock-anthropic")}
	for _, by := range []string{"nobody", "record", "server"} {
		var log bytes.Buffer
		own := table.Item{"pk": "models", "sk": "bedrock-" + m.name}
		if by == "record" {
			own["ignore_unmapped"] = true
		}
		a, _ := tableApp(t, &m, Config{IgnoreUnmapped: by == "server", EmptyLines: by == "server", Log: slog.New(slog.NewTextHandler(&log, nil))}, group, own)
		for _, path := range []string{"/invoke", "/invoke_stream"} {
			res := ask(a.Handler(), "POST", path, "", strings.NewReader(m.fill(page+`}`)))
			got, header := text(t, res), res.Header.Get("X-Glossa-Ignored")
			if answered := strings.Contains(got, `"generated_text"`); answered != (by != "nobody") || answered != (header == "temprature, watermark") {
				t.Errorf("%s: %s: %q %s", by, path, header, got)
			}
			if lines := strings.Contains(got, "{}\n"); lines != (by == "server" && path == "/invoke_stream") {
				t.Errorf("%s: %s: %s", by, path, got)
			}
			res = ask(a.Handler(), "POST", path, "", strings.NewReader(m.fill(page+`,"ignore_unmapped":false}`)))
			if got := text(t, res); !strings.Contains(got, "temprature: this model does not support it") {
				t.Errorf("%s: %s: %s", by, path, got)
			}
		}
		if strings.Contains(log.String(), "not known") {
			t.Error(log.String())
		}
	}
}
