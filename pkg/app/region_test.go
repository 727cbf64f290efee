package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"glossa/pkg/backend/backendtest"
)

// TestRegionOfARecord: a model is asked in its record's region, else in its group's, else in
// that of its ARN or of the environment; and nowhere if its record is wrong.
func TestRegionOfARecord(t *testing.T) {
	const claude, tgi = "bedrock-anthropic.claude-v2", "sagemaker-tgi"
	for _, c := range []struct{ key, group, attributes, host string }{
		{claude, claude, ``, "bedrock-runtime.us-east-1.amazonaws.com"},
		{claude, claude, `,"region":"ap-south-1"`, "bedrock-runtime.ap-south-1.amazonaws.com"},
		{claude, claude, `,"region":"cn-north-1"`, "bedrock-runtime.cn-north-1.amazonaws.com.cn"},
		{claude, claude, `,"model_id":"arn:aws:bedrock:eu-west-1:123456789012:imported-model/x"`, "bedrock-runtime.eu-west-1.amazonaws.com"},
		{claude, claude, `,"region":"eu-west-1","model_id":"arn:aws:bedrock:eu-west-1:123456789012:imported-model/x"`, "bedrock-runtime.eu-west-1.amazonaws.com"},
		{claude, claude, `,"region":"us-west-2","model_id":"arn:aws:bedrock:eu-west-1:123456789012:imported-model/x"`, ""},
		{claude, claude, `,"region":"evil.example/"`, ""},
		{"sagemaker-tgi.mine", tgi, `,"region":"us-west-2"`, "runtime.sagemaker.us-west-2.amazonaws.com"},
		{claude, claude, `,"region":"us-west-2","role":"arn:aws:iam::123456789012:role/glossa/a"`, "sts.us-west-2.amazonaws.com"},
		{"sagemaker-tgi.mine", tgi, `,"role":"arn:aws:iam::123456789012:role/glossa/a"`, "sts.us-east-1.amazonaws.com"},
		{claude, claude, `,"role":"arn:aws:iam::123456789012:user/a"`, ""},
		{"sagemaker-tgi.mine", tgi, ``, "runtime.sagemaker.us-east-1.amazonaws.com"},
	} {
		network := &unreachable{}
		own := fmt.Sprintf(`{"pk":"models","sk":%q,"listed":true%s,"schema":%s}`, c.key, c.attributes, shipped(t, c.group))
		cfg := Config{Checkpoints: t.TempDir(), Records: fstest.MapFS{"mine.json": {Data: []byte(own)}}}
		cfg.AWS = func(*awshttp.BuildableClient) (aws.Config, error) {
			return aws.Config{Region: "us-east-1", HTTPClient: network, Credentials: backendtest.Credentials()}, nil
		}
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(c.key, "-")
		res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(fmt.Sprintf(`{"model":%q,"prompt":"a","max_tokens":2}`, name)))
		body := text(t, res)
		if got := strings.Join(network.hosts, " "); c.host == "" && (got != "" || res.StatusCode != http.StatusNotFound) || c.host != "" && !strings.HasPrefix(got+" ", c.host+" ") {
			t.Errorf("%s%s: asked %q: %d %s", c.key, c.attributes, got, res.StatusCode, body)
		}
	}
}
