package app

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// With a table, only its models are served; files describe only the starters, if there
// are any.
func TestTableDecides(t *testing.T) {
	s := tabletest.New(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": s.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	put := func(it table.Item) {
		if err := s.Table().Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	put(table.Item{"pk": "models", "sk": "all-models", "models": `[{"model_type":"Claude","model_name":"anthropic.claude-v2","model_family":"bedrock","streaming":true}]`})
	dir := t.TempDir()
	goldenRun(t, dir, "novels")
	for _, starters := range []bool{true, false} {
		var log bytes.Buffer
		cfg := Config{Table: "glossa", Log: slog.New(slog.NewTextHandler(&log, nil))}
		if starters {
			cfg.Starters = os.DirFS(dir)
		}
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		a.Report(t.Context())
		a.Report(t.Context())
		entries, problems := a.Catalog().Entries(t.Context())
		var names, records []string
		for _, e := range entries {
			names, records = append(names, e.Name), append(records, e.Item)
		}
		if want := []string{"novels"}; starters && (!slices.Equal(names, want) || records[0] != "local-novels") || !starters && len(names) > 0 {
			t.Errorf("%v, described by %v", names, records)
		}
		const missing = "no record of bedrock/anthropic.claude-v2: looked for bedrock-anthropic.claude-v2, "
		if i := slices.IndexFunc(problems, func(err error) bool { return strings.Contains(err.Error(), missing) }); i < 0 {
			t.Errorf("%v: the embedded record of the group is used", problems)
		}
		if n := strings.Count(log.String(), missing); n != 1 {
			t.Errorf("it is logged %d times", n)
		}
	}
	if cfg, err := FromEnv(func(name string) string {
		return map[string]string{"GLOSSA_TABLE": "mine", "GLOSSA_OPEN": "true"}[name]
	}); err != nil || cfg.Table != "mine" {
		t.Errorf("%q, %v", cfg.Table, err)
	}
}
