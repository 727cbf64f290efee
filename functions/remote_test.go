package functions_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/app"
	"glossa/pkg/backend/backendtest"
	"glossa/schemas"
)

// providers are fakes of Bedrock and SageMaker, with the settings to call them.
type providers struct{ bedrock, sagemaker, records string }

// newProviders starts the fakes and sets the test's environment to them.
func newProviders(t *testing.T) *providers {
	t.Helper()
	p := &providers{
		bedrock:   backendtest.NewService(t, "bedrock", backendtest.Claude).URL,
		sagemaker: backendtest.NewService(t, "sagemaker", backendtest.TGI).URL,
		records:   t.TempDir(),
	}
	record, err := fs.ReadFile(schemas.Files(), "sagemaker-tgi.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"all-models.json": `{"pk":"models","sk":"all-models","models":[
			{"model_type":"Claude","model_name":"anthropic.claude-v2","model_family":"bedrock","streaming":true},
			{"model_type":"Llama2","model_name":"tgi.llama-2-13b","model_family":"sagemaker","streaming":true}]}`,
		"sagemaker-tgi.llama-2-13b.json": strings.Replace(string(record), `"sagemaker-tgi"`, `"sagemaker-tgi.llama-2-13b"`, 1),
	} {
		if err := os.WriteFile(filepath.Join(p.records, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, variable := range p.environment() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return p
}

// environment returns the environment of a program that calls the fakes.
func (p *providers) environment() []string {
	return []string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret",
		"GLOSSA_RECORDS=" + p.records, "GLOSSA_BEDROCK_ENDPOINT=" + p.bedrock, "GLOSSA_SAGEMAKER_ENDPOINT=" + p.sagemaker,
	}
}

// config returns the same settings as a configuration for this process.
func (p *providers) config(t *testing.T, runs string) app.Config {
	t.Helper()
	cfg, err := app.Environment()
	if err != nil {
		t.Fatal(err)
	}
	return app.Config{Checkpoints: runs, Records: cfg.Records, Endpoints: cfg.Endpoints}
}
