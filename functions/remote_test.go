package functions_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/app"
	"glossa/pkg/backend/backendtest"
	"glossa/schemas"
)

// providers are fakes of Bedrock and SageMaker, and what a program needs to call them.
type providers struct{ bedrock, sagemaker, records string }

// newProviders starts the fakes. The environment of the test becomes one that calls them.
func newProviders(t *testing.T) *providers {
	t.Helper()
	p := &providers{
		bedrock:   backendtest.NewService(t, "bedrock", claude).URL,
		sagemaker: backendtest.NewService(t, "sagemaker", tgi).URL,
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

// environment is that of a program that calls the fakes.
func (p *providers) environment() []string {
	return []string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret",
		"GLOSSA_RECORDS=" + p.records, "GLOSSA_BEDROCK_ENDPOINT=" + p.bedrock, "GLOSSA_SAGEMAKER_ENDPOINT=" + p.sagemaker,
	}
}

// fail plays what goes wrong, as the prompt says.
func fail(prompt any, w *backendtest.Reply) bool {
	switch prompt {
	case "throttle me":
		w.Header().Set("Retry-After", "30") // too long to be waited for
		w.Fail(429, "ThrottlingException", `{"message":"Too many requests, please wait before trying again."}`)
	case "refuse":
		w.Fail(400, "ValidationException", `{"message":"prompt must start with \"\n\nHuman:\" turn"}`)
	case "fail":
		w.Fail(424, "ModelError", `{"OriginalStatusCode":500,"OriginalMessage":"CUDA out of memory","Message":"Received server error (500) from primary"}`)
	default:
		return false
	}
	return true
}

// claude says what it was asked, as Claude 2 does on Bedrock.
func claude(_ int, r *backendtest.Request, w *backendtest.Reply) {
	asked, _ := json.Marshal(r.Body)
	text, _ := json.Marshal(" You sent " + string(asked))
	switch {
	case fail(r.Body["prompt"], w):
	case r.Body["prompt"] == "break off":
		w.Event(`{"completion":" You","stop_reason":null,"stop":null}`)
		w.Exception("modelStreamErrorException", `{"message":"The model ended unexpectedly"}`)
	case r.Stream:
		w.Event(`{"completion":` + string(text) + `,"stop_reason":null,"stop":null}`)
		w.Event(`{"completion":"","stop_reason":"stop_sequence","stop":"\n\nHuman:","amazon-bedrock-invocationMetrics":{"inputTokenCount":12,"outputTokenCount":34}}`)
	default:
		w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "12")
		w.Header().Set("X-Amzn-Bedrock-Output-Token-Count", "34")
		w.Whole(`{"completion":` + string(text) + `,"stop_reason":"stop_sequence","stop":"\n\nHuman:"}`)
	}
}

// tgi says what it was asked, as Text Generation Inference does.
func tgi(_ int, r *backendtest.Request, w *backendtest.Reply) {
	asked, _ := json.Marshal(r.Body)
	text, _ := json.Marshal("You sent " + string(asked))
	switch {
	case fail(r.Body["inputs"], w):
	case r.Stream:
		w.Event(`data:{"index":1,"token":{"id":887,"text":"You","logprob":-0.25,"special":false},"generated_text":null,"details":null}`)
		w.Event(`data:{"index":2,"token":{"id":2,"text":"</s>","logprob":-0.5,"special":true},"generated_text":"You","details":{"finish_reason":"eos_token","generated_tokens":2,"seed":null}}`)
	default:
		w.Whole(`[{"generated_text":` + string(text) + `,"details":{"finish_reason":"length","generated_tokens":3,"seed":7}}]`)
	}
}

// config is the configuration of the same in this process.
func (p *providers) config(t *testing.T, runs string) app.Config {
	t.Helper()
	cfg, err := app.Environment()
	if err != nil {
		t.Fatal(err)
	}
	return app.Config{Checkpoints: runs, Records: cfg.Records, Endpoints: cfg.Endpoints}
}
