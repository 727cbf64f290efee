package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/table/tabletest"
)

// withTable starts a table service and sets the environment to it.
func withTable(t *testing.T) *tabletest.Service {
	t.Helper()
	s := tabletest.New(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": s.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "GLOSSA_TABLE": "",
	} {
		t.Setenv(name, value)
	}
	return s
}

// operate runs a command and returns its status and output.
func operate(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var b bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &b, &b)
	return status, b.String()
}

const claude = "us.anthropic.claude-sonnet-4-20250514-v1:0"

// An operator fills an empty table, lists it, and removes a model again.
func TestModelsOfATable(t *testing.T) {
	withTable(t)
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	mine := file("mine.json", `{"pk":"models","sk":"bedrock-mine","model_id":"arn:aws:bedrock:eu-west-1:1:imported-model/x",
		"schema":{"request":{"defaults":{"p":""},"mapping":{"prompt":"$.p","stop":"$.s"}},"response":{"mapping":{"generated_text":"$.t"}}}}`)
	one := file("one.json", `{"pk":"models","sk":"bedrock-eu.anthropic.claude-x-v1:0","owner":"secret"}`)
	wrong := file("wrong.json", `{"pk":"models","sk":"bedrock-wrong","schema":{"request":{}},"context":-1}`)
	for _, step := range []struct {
		args   string
		status int
		want   []string // parts of the output
	}{
		{"models check", 1, []string{`/models/0: no record of bedrock/` + claude}},
		{"models add --name " + claude + " --family bedrock --type Claude --table-name glossa", 1, []string{"no record of bedrock/" + claude, "pass --with-record to write bedrock-anthropic"}},
		{"models add --name my.model --family bedrock --type Mine --table-name glossa", 1, []string{"looked for bedrock-my.model, bedrock-my", "write one and add its file"}},
		{"models add --name " + claude + " --family bedrock --type Claude --with-record --table-name glossa", 0, []string{"wrote models/bedrock-anthropic\nwrote models/all-models\n"}},
		{"models list --table-name glossa", 0, []string{"novels   ", claude + "  bedrock  Claude  -     -        -       -      bedrock-anthropic"}},
		{"models init --table-name glossa", 0, []string{"wrote models/sagemaker-tgi\n"}},
		{"models init --table-name glossa", 0, []string{"kept 34 records as they are\n"}},
		{"models check " + wrong + " " + mine, 1, []string{"wrong.json: /context: it is -1", "wrong.json: /schema/response: it is missing", `warning: record ` + mine + `: /schema/request/mapping/stop: `, "problems\n"}},
		{"models check " + mine, 0, []string{"warning: "}},
		{"models add " + wrong + " --table-name glossa", 1, []string{"/context: "}},
		{"models add " + mine + " --table-name glossa", 0, []string{"wrote models/bedrock-mine\n"}},
		{"models --table-name glossa add --name mine --family bedrock --type Mine --no-streaming", 0, []string{"wrote models/all-models\n"}},
		{"models --table-name glossa", 0, []string{"mine  ", "bedrock-mine", "\nwarning: record models/bedrock-mine: "}},
		{"models check --table-name glossa", 0, []string{"warning: record models/bedrock-mine"}},
		{"models check --records --table-name glossa", 0, []string{"bedrock-mine serves mine\n", "bedrock-anthropic serves " + claude + "\n", "\nbedrock-amazon: no list names its model: "}},
		{"models remove nope --table-name glossa", 1, []string{"nope is not listed"}},
		{"models remove mine --record --table-name glossa", 0, []string{"removed bedrock/mine\n"}},
		{"models check --table-name glossa", 0, []string{"all is well\n"}},
		{"models check " + one, 0, []string{"warning: record " + one + `: unknown and ignored: "owner"; known are`}},
		{"models add " + one + " --table-name glossa", 0, []string{"wrote models/bedrock-eu.anthropic.claude-x-v1:0\n"}},
		{"models --table-name glossa", 0, []string{"eu.anthropic.claude-x-v1:0  ", "bedrock  anthropic", "bedrock-eu.anthropic.claude-x-v1:0\n"}},
		{"models check --table-name glossa", 0, []string{`warning: record models/bedrock-eu.anthropic.claude-x-v1:0: unknown and ignored: "owner"`}},
		{"models remove eu.anthropic.claude-x-v1:0 --table-name glossa", 0, []string{"removed bedrock/eu.anthropic.claude-x-v1:0\n"}},
		{"models remove eu.anthropic.claude-x-v1:0 --table-name glossa", 1, []string{"is not listed"}},
		{"models remove bedrock/eu.anthropic.claude-x-v1:0 --record --table-name glossa", 0, []string{"removed bedrock/eu.anthropic.claude-x-v1:0\n"}},
		{"models check --table-name glossa", 0, []string{"all is well\n"}},
		{"models add --table-name glossa", 2, nil},
		{"models add --name x --table-name glossa", 2, []string{"--type"}},
		{"models add x.json", 2, []string{"no place for the record: pass --table-name"}},
		{"models remove x", 2, []string{"no place for the record: pass --table-name or --records"}},
		{"models init", 2, []string{"no table: pass --table-name"}},
		{"models fly", 2, []string{"unknown command \"fly\""}},
		{"models add " + filepath.Join(dir, "none.json") + " --table-name glossa", 1, []string{"none.json"}},
		{"models --table-name nowhere", 0, []string{"novels", "not served: records cannot be read: dynamodb Query: no such table: nowhere in eu-west-1"}},
	} {
		if step.args == "models check" { // of an all-models whose model has no record
			step.args += " " + file("all.json", `{"pk":"models","sk":"all-models","models":[{"model_type":"Claude","model_name":"`+claude+`","model_family":"bedrock","streaming":true}]}`)
		}
		status, out := operate(t, strings.Fields(step.args)...)
		if status != step.status {
			t.Errorf("%s: %d, want %d: %s", step.args, status, step.status, out)
		}
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", step.args, want, out)
			}
		}
	}
	t.Setenv("GLOSSA_TABLE", "glossa")
	if status, out := operate(t, "models"); status != 0 || !strings.Contains(out, claude) {
		t.Errorf("%d: %s", status, out)
	}
}
