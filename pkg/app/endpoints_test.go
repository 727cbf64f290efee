package app

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"glossa/pkg/bucket"
	"glossa/pkg/llm"
	"glossa/pkg/table"
	"glossa/schemas"
)

// Each service is called at the address from the environment: from our variable, then
// from AWS's for the service, then from AWS's for all.
func TestEndpoints(t *testing.T) {
	var mu sync.Mutex
	hits := map[string]int{}
	server := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			hits[name]++
			w.WriteHeader(http.StatusBadRequest)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, file := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(file, os.DevNull)
	}
	t.Setenv("GLOSSA_OPEN", "true")
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	services := []struct{ ours, theirs string }{
		{"GLOSSA_DYNAMODB_ENDPOINT", "AWS_ENDPOINT_URL_DYNAMODB"}, {"GLOSSA_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3"},
		{"GLOSSA_BEDROCK_ENDPOINT", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"}, {"GLOSSA_SAGEMAKER_ENDPOINT", "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME"},
	}
	set := []func(){ // each address takes precedence over those before it
		func() { t.Setenv("AWS_ENDPOINT_URL", server("all")) },
		func() {
			for _, s := range services {
				t.Setenv(s.theirs, server(s.theirs))
			}
		},
		func() {
			for _, s := range services {
				t.Setenv(s.ours, server(s.ours))
			}
		},
	}
	for step, do := range set {
		do()
		mu.Lock()
		clear(hits)
		mu.Unlock()
		callAll(t)
		want := map[string]bool{}
		for _, s := range services {
			want[[]string{"all", s.theirs, s.ours}[step]] = true
		}
		mu.Lock()
		for name := range want {
			if n := hits[name]; step == 0 && n < len(services) || n == 0 {
				t.Errorf("%s was asked %d times", name, n)
			}
		}
		if len(hits) != len(want) {
			t.Errorf("step %d: %v", step, hits)
		}
		mu.Unlock()
	}
}

// callAll calls each service once, with the settings of the environment.
func callAll(t *testing.T) {
	t.Helper()
	cfg, err := Environment()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Records = remoteRecords(t)
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anthropic.claude-v2", "tgi.llama"} {
		m, err := a.Models().Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		one := 1
		req := &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}, Params: llm.Params{MaxTokens: &one}}
		if _, _, err := llm.Collect(m.Backend.Generate(t.Context(), req), 1); err == nil {
			t.Errorf("%s has answered", name)
		}
	}
	tab, err := a.cloud.table("glossa")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Get(t.Context(), table.Key{PK: "a", SK: "b"}); err == nil {
		t.Error("the table has answered")
	}
	b, err := a.cloud.files(bucket.Config{Bucket: "models"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Refresh(t.Context()); err == nil {
		t.Error("the bucket has answered")
	}
}

// remoteRecords returns records of a model of each remote family.
func remoteRecords(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{"all-models.json": {Data: fmt.Append(nil, `{"pk":"models","sk":"all-models","models":[
		{"model_type":"Claude","model_name":"anthropic.claude-v2","model_family":"bedrock"},
		{"model_type":"Llama","model_name":"tgi.llama","model_family":"sagemaker"}]}`)}}
	for _, name := range []string{"bedrock-anthropic.claude-v2.json", "sagemaker-tgi.json"} {
		data, err := fs.ReadFile(schemas.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: slices.Clone(data)}
	}
	return files
}

// Buckets use the endpoints of their partition, and the variants and addresses that
// the environment selects.
func TestS3Endpoints(t *testing.T) {
	for _, test := range []struct {
		region, variable, value string
		host                    string
	}{
		{"us-east-1", "", "", "models.s3.us-east-1.amazonaws.com"},
		{"us-gov-west-1", "AWS_USE_FIPS_ENDPOINT", "true", "models.s3-fips.us-gov-west-1.amazonaws.com"},
		{"eu-west-1", "AWS_USE_DUALSTACK_ENDPOINT", "true", "models.s3.dualstack.eu-west-1.amazonaws.com"},
		{"us-iso-east-1", "", "", "models.s3.us-iso-east-1.c2s.ic.gov"},
		{"eusc-de-east-1", "", "", "models.s3.eusc-de-east-1.amazonaws.eu"},
		{"cn-north-1", "", "", "models.s3.cn-north-1.amazonaws.com.cn"},
		{"us-gov-west-1", "AWS_ENDPOINT_URL_S3", "https://s3.example.com", "s3.example.com"},
	} {
		network := &unreachable{}
		env := map[string]string{"AWS_REGION": test.region, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", test.variable: test.value}
		c := newCloud(Config{AWS: func(client *awshttp.BuildableClient) (aws.Config, error) {
			cfg, err := environmentAWS(func(name string) string { return env[name] }, client)
			cfg.HTTPClient = network
			return cfg, err
		}})
		files, err := c.files(bucket.Config{Bucket: "models"})
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Refresh(t.Context()); err == nil || len(network.hosts) == 0 || network.hosts[0] != test.host {
			t.Errorf("%+v: asked %q, %v", test, network.hosts, err)
		}
	}
}
