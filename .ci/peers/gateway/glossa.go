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

	"glossa/pkg/account"
	"glossa/pkg/backend/bedrock"
	"glossa/pkg/backend/remote"
	"glossa/pkg/catalog"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/host"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/meter/emf"
	"glossa/pkg/structured"
	"glossa/schemas"
)

const (
	modelID = "anthropic.claude-3-haiku-20240307-v1:0"
	secret  = "a-key-of-a-client"
)

// newClient returns the SDK's client, as glossa makes it and as calls are made directly.
func newClient(url string) *bedrockruntime.Client {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	})
	return bedrockruntime.New(bedrockruntime.Options{
		BaseEndpoint: &url, Region: "us-east-1", HTTPClient: client, Retryer: aws.NopRetryer{},
		Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
		})),
	})
}

// newGlossa returns glossa's handler with all that is around a request: the route table,
// accounts, the catalog, the meter, and the line of metrics, which goes to /dev/null.
func newGlossa(url string) (http.Handler, error) {
	key, err := account.NewKey("bench", account.Client, secret)
	if err != nil {
		return nil, err
	}
	files, err := records()
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	o := bedrockruntime.New(newClient(url).Options(), func(o *bedrockruntime.Options) {
		o.HTTPClient = httpx.Traced(o.HTTPClient)
	})
	models := catalog.New(catalog.Config{
		Source: catalog.Files{FS: files},
		Openers: map[string]catalog.Opener{"bedrock": func(_ context.Context, rec *catalog.Record, _ *catalog.Run) (llm.Backend, error) {
			return structured.Wrap(bedrock.New(o, rec.Name, remote.Model{Schema: rec.Schema}), nil), nil
		}},
	})
	routes := openai.Routes(openai.Config{Models: meter.Models(models)})
	for i := range routes {
		routes[i].Dialect = "openai"
	}
	lines := emf.New(emf.Config{Writer: null, Known: func(name string) bool { return models.Has(context.Background(), name) }})
	mux := httpx.Mux{
		Routes: routes, Guard: account.New(account.Config{Keys: []account.Key{key}}).Guard, Observe: lines.Observe,
	}
	return mux.Handler(), nil
}

// records has the record of Anthropic's models as that of one model.
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

// serve serves a handler; glossa's as glossa does.
func serve(name string, ln net.Listener, h http.Handler) error {
	if name == "glossa" {
		return host.Serve(context.Background(), ln, h, host.Config{})
	}
	return http.Serve(ln, h)
}
