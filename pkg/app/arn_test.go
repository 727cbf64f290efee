package app

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"glossa/pkg/catalog"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// unreachable is an HTTP client that records the hosts of its requests.
type unreachable struct{ hosts []string }

func (a *unreachable) Do(r *http.Request) (*http.Response, error) {
	a.hosts = append(a.hosts, r.URL.Host)
	return nil, errors.New("there is no network here")
}

// Credentials are sent to AWS hosts only, whatever the id of a model: in a record, in the
// list of models, and when a model is opened.
func TestCredentialsStayWithAWS(t *testing.T) {
	const record = "bedrock-anthropic.claude-v2"
	described, err := schema.Parse([]byte(shipped(t, record)))
	if err != nil {
		t.Fatal(err)
	}
	for id, host := range map[string]string{
		"arn:aws:bedrock:eu-west-1:123456789012:imported-model/x":      "bedrock-runtime.eu-west-1.amazonaws.com",
		"arn:aws-cn:bedrock:cn-north-1:123456789012:provisioned-model": "bedrock-runtime.cn-north-1.amazonaws.com.cn",
		"anthropic.evil.example/?":                                     "bedrock-runtime.us-east-1.amazonaws.com",
		"ARN:aws:bedrock:x.evil.example/y?::foundation-model/a":        "bedrock-runtime.us-east-1.amazonaws.com",
		"arn:aws:bedrock:x.evil.example/y?::foundation-model/a":        "",
		"arn:aws:bedrock:evil.example#:123456789012:inference-profile": "",
		"arn:aws:bedrock:a@evil.example/::foundation-model/a":          "",
		"arn:aws:bedrock:us-east-1.evil.example::foundation-model/a":   "",
		"arn:aws:bedrock:evil.example:443:foundation-model/a:b":        "",
	} {
		network := &unreachable{}
		cfg := Config{Checkpoints: t.TempDir(), BedrockToken: "secret", Records: fstest.MapFS{
			"mine.json": {Data: fmt.Appendf(nil, `{"pk":"models","sk":%q,"model_id":%q,"schema":%s}`, record, id, shipped(t, record))},
			"list.json": {Data: []byte(`{"pk":"models","sk":"all-models","models":[{"model_type":"Claude","model_name":"anthropic.claude-v2","model_family":"bedrock"}]}`)},
		}}
		cfg.AWS = func(*awshttp.BuildableClient) (aws.Config, error) {
			return aws.Config{Region: "us-east-1", HTTPClient: network}, nil
		}
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(`{"model":"anthropic.claude-v2","prompt":"a","max_tokens":2}`))
		body := text(t, res)
		if got := strings.Join(network.hosts, " "); host == "" && (got != "" || res.StatusCode != http.StatusNotFound) || host != "" && !strings.HasPrefix(got+" ", host+" ") {
			t.Errorf("%s: asked %q: %d %s", id, got, res.StatusCode, body)
		}
		if host != "" {
			continue
		}
		_, err = a.openBedrock(t.Context(), &catalog.Record{Name: id, Family: catalog.Bedrock, Schema: described})
		if e := llm.AsError(err); e.Code != llm.Invalid || e.Param != "model" {
			t.Errorf("%s is opened: %v", id, err)
		}
	}
}
