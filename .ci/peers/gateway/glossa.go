package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"glossa/pkg/app"
	"glossa/pkg/backend/awsrest"
	"glossa/schemas"
)

const (
	modelID = "anthropic.claude-3-haiku-20240307-v1:0"
	secret  = "a-key-of-a-client"
	region  = "us-east-1"
)

// The credentials of calls, in the environment of each process. The fake does not check
// them.
const keyID, keySecret = "AKIDEXAMPLE", "secret"

// newClients returns the SDK's and glossa's client of a service at url, with glossa's number
// of connections.
func newClients(url string) (*bedrockruntime.Client, *awsrest.Client, error) {
	cfg := aws.Config{Region: region}
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	})
	cfg.Credentials = aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: keyID, SecretAccessKey: keySecret}, nil
	}))
	own, err := awsrest.New(awsrest.Bedrock(), cfg, url, "")
	return bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) { o.BaseEndpoint, o.Retryer = &url, aws.NopRetryer{} }), own, err
}

// newGlossa returns the app of the OpenAI function as on Lambda: configured by its
// environment, with keys, and with lines of metrics, which go to /dev/null.
func newGlossa(url string) (*app.App, error) {
	cfg, err := app.FromEnv(func(name string) string {
		return map[string]string{"GLOSSA_BEDROCK_ENDPOINT": url, "GLOSSA_KEYS": "client:" + secret}[name]
	})
	if err != nil {
		return nil, err
	}
	if cfg.Records, err = records(); err != nil {
		return nil, err
	}
	cfg.Log = app.NewLog(os.Stderr, cfg.Level)
	if cfg.Metrics, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		return nil, err
	}
	return app.New(cfg)
}

// records returns the record of Anthropic's models as the record of one model.
func records() (fs.FS, error) {
	b, err := fs.ReadFile(schemas.Files(), "bedrock-anthropic.json")
	if err != nil {
		return nil, err
	}
	var item map[string]json.RawMessage
	if err := json.Unmarshal(b, &item); err != nil {
		return nil, err
	}
	item["sk"] = json.RawMessage(`"bedrock-` + modelID + `"`)
	if b, err = json.Marshal(item); err != nil {
		return nil, err
	}
	all := `{"pk":"models","sk":"all-models","models":[{"model_type":"Claude","model_name":"` + modelID + `","model_family":"bedrock","streaming":true}]}`
	return fstest.MapFS{"model.json": {Data: b}, "all.json": {Data: []byte(all)}}, nil
}

// serveGlossa returns a function that serves the app as outside of Lambda.
func serveGlossa(a *app.App) func(net.Listener) error {
	return func(ln net.Listener) error { return a.Serve(context.Background(), ln, "openai") }
}

// serve returns a function that serves a handler.
func serve(h http.Handler) func(net.Listener) error {
	return func(ln net.Listener) error { return http.Serve(ln, h) }
}
