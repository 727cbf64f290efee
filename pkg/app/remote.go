package app

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/arn"
	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/bedrock"
	"glossa/pkg/backend/remote"
	"glossa/pkg/backend/sagemaker"
	"glossa/pkg/backend/upstream"
	"glossa/pkg/catalog"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/secret"
	"glossa/pkg/structured"
)

// client returns the client of a service in a region, "" for the region of the environment.
// endpoint and token are as in [awsrest.New].
func (c *cloud) client(s awsrest.Service, region, endpoint, token string) (*awsrest.Client, error) {
	cfg, err := c.region(region)
	if err != nil {
		return nil, err
	}
	client, err := c.clients.Get(s, cfg, endpoint, token)
	if err != nil {
		return nil, misplaced(s, err)
	}
	return client, nil
}

// of returns the client of a record's service, in the record's region and with the credentials
// of its role, if it names these. region is that of the model's ARN, "" without one.
func (c *cloud) of(rec *catalog.Record, s awsrest.Service, region, endpoint, token string) (*awsrest.Client, error) {
	region = cmp.Or(region, rec.Region)
	if rec.Role.ARN == "" {
		return c.client(s, region, endpoint, token)
	}
	cfg, err := c.region(region)
	if err != nil {
		return nil, err
	}
	client, err := c.clients.As(awsrest.Role(rec.Role), s, cfg, endpoint)
	if err != nil {
		return nil, misplaced(s, err)
	}
	return client, nil
}

// misplaced returns the error of an address in this server's configuration.
func misplaced(s awsrest.Service, err error) error {
	return &llm.Error{Code: llm.Upstream, Message: "the address of " + s.ID + " in this server's configuration is invalid: see its log", Err: err}
}

// openBedrock returns the backend of a model on Amazon Bedrock.
func (a *App) openBedrock(_ context.Context, rec *catalog.Record) (llm.Backend, error) {
	model, err := described(rec)
	if err != nil {
		return nil, err
	}
	id := rec.BedrockID()
	region, err := regionOf(id)
	if err != nil {
		return nil, err
	}
	c, err := a.cloud.of(rec, awsrest.Bedrock(), region, a.cloud.endpoints.Bedrock, a.cloud.bedrockToken)
	if err != nil {
		return nil, err
	}
	return structured.Wrap(bedrock.New(c, bedrock.Target{ID: id, Guardrail: bedrock.Guardrail(rec.Guardrail)}, model), count, a.turns), nil
}

// openSageMaker returns the backend of a model at an endpoint of Amazon SageMaker.
func (a *App) openSageMaker(_ context.Context, rec *catalog.Record) (llm.Backend, error) {
	model, err := described(rec)
	if err != nil {
		return nil, err
	}
	c, err := a.cloud.of(rec, awsrest.SageMaker(), "", a.cloud.endpoints.SageMaker, "")
	if err != nil {
		return nil, err
	}
	target := sagemaker.Target{Endpoint: rec.EndpointName(), InferenceComponent: rec.Component}
	return structured.Wrap(sagemaker.New(c, target, model), count, a.turns), nil
}

// openUpstream returns the backend of a model at an endpoint that speaks OpenAI's API.
func (a *App) openUpstream(_ context.Context, rec *catalog.Record) (llm.Backend, error) {
	model, err := described(rec)
	if err != nil {
		return nil, err
	}
	at := rec.Upstream
	base, err := url.Parse(at.URL)
	if err != nil || at.URL == "" {
		return nil, llm.Errorf(llm.Unsupported, "the record of %s has no url", rec.Name)
	}
	target := upstream.Target{Base: base, Model: cmp.Or(at.Model, rec.Name)}
	if at.Key != nil {
		target.Key = a.secrets.Value(*at.Key)
	}
	client := a.cloud.anywhere()
	if a.cfg.PublicUpstreams && !at.Private {
		client = a.cloud.public()
	}
	return structured.Wrap(upstream.New(client, target, model), count, a.turns), nil
}

// secret reads a secret from the account.
func (c *cloud) secret(ctx context.Context, r secret.Reference) (string, error) {
	service := awsrest.SecretsManager()
	if r.Kind == secret.Parameter {
		service = awsrest.SSM()
	}
	region, err := regionOf(r.Name)
	if err != nil {
		return "", err
	}
	client, err := c.client(service, region, "", "")
	if err != nil {
		return "", err
	}
	return client.Secret(ctx, r.Name)
}

// described returns the model that a record describes.
func described(rec *catalog.Record) (remote.Model, error) {
	if rec.Schema == nil {
		return remote.Model{}, llm.Errorf(llm.Unsupported,
			"no record describes the requests of %s: add one for this model or for its group", rec.Name)
	}
	m := remote.Model{Schema: rec.Schema, OnUsage: count}
	if rec.Drop {
		m.OnDrop = tellDropped
	}
	return m, nil
}

// tellDropped names the parameters that a model lacks, and that its record drops, in a header.
func tellDropped(ctx context.Context, names []string) {
	httpx.RecordOf(ctx).SetHeader(func(h http.Header) { httpx.Ignore(h, names...) })
}

// count counts tokens that no chunk reports, and their cost.
func count(ctx context.Context, used llm.Usage) {
	rec := httpx.RecordOf(ctx)
	used.Cost = rec.Prices.Cost(used, 0)
	rec.Count(used)
}

// region returns the configuration of a region; "" is that of the environment.
func (c *cloud) region(name string) (aws.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return cfg, err
	}
	if cfg.Region = cmp.Or(name, cfg.Region); cfg.Region == "" {
		return cfg, llm.Errorf(llm.Upstream, "no AWS region: set AWS_REGION, for example to us-east-1, or AWS_PROFILE to a profile with a region")
	}
	if err := arn.CheckRegion(cfg.Region); err != nil {
		return cfg, &llm.Error{Code: llm.Upstream, Message: "the AWS region in this server's configuration is invalid: see its log", Err: err}
	}
	return cfg, nil
}

// regionOf returns the region in an ARN, "" if id is not an ARN or has no region. With the
// record of a group, id is a name from a client.
func regionOf(id string) (string, error) {
	if !arn.Is(id) {
		return "", nil
	}
	a, err := arn.Parse(id)
	if err != nil {
		return "", &llm.Error{Code: llm.Invalid, Param: "model", Message: err.Error()}
	}
	return a.Region, nil
}
