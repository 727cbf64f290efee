package app

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/sagemakerruntime"

	"glossa/pkg/backend/bedrock"
	"glossa/pkg/backend/remote"
	"glossa/pkg/backend/sagemaker"
	"glossa/pkg/catalog"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/structured"
)

// remotes are the clients of remote models by their regions: those of one share their
// connections and credentials.
type remotes struct {
	mu        sync.Mutex
	bedrock   map[string]*bedrockruntime.Client
	sagemaker map[string]*sagemakerruntime.Client
}

// client returns the client of a region, which it makes at the first time.
func client[C any](r *remotes, clients *map[string]*C, region string, make func() *C) *C {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *clients == nil {
		*clients = map[string]*C{}
	}
	if (*clients)[region] == nil {
		(*clients)[region] = make()
	}
	return (*clients)[region]
}

// openBedrock returns the backend of a model on Amazon Bedrock.
func (a *App) openBedrock(_ context.Context, rec *catalog.Record, _ *catalog.Run) (llm.Backend, error) {
	model, err := described(rec)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(rec.ModelID, rec.Name)
	cfg, err := a.cloud.region(regionOf(id))
	if err != nil {
		return nil, err
	}
	c := client(&a.cloud.remotes, &a.cloud.remotes.bedrock, cfg.Region, func() *bedrockruntime.Client {
		return bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) { replace(&o.BaseEndpoint, a.cloud.endpoints.Bedrock) })
	})
	return structured.Wrap(bedrock.New(c, id, model), count), nil
}

// openSageMaker returns the backend of a model at an endpoint of Amazon SageMaker.
func (a *App) openSageMaker(_ context.Context, rec *catalog.Record, _ *catalog.Run) (llm.Backend, error) {
	model, err := described(rec)
	if err != nil {
		return nil, err
	}
	cfg, err := a.cloud.region("")
	if err != nil {
		return nil, err
	}
	c := client(&a.cloud.remotes, &a.cloud.remotes.sagemaker, cfg.Region, func() *sagemakerruntime.Client {
		return sagemakerruntime.NewFromConfig(cfg, func(o *sagemakerruntime.Options) { replace(&o.BaseEndpoint, a.cloud.endpoints.SageMaker) })
	})
	target := sagemaker.Target{Endpoint: endpointOf(rec), InferenceComponent: rec.Component}
	return structured.Wrap(sagemaker.New(c, target, model), count), nil
}

// described returns what a record says of a remote model.
func described(rec *catalog.Record) (remote.Model, error) {
	if rec.Schema == nil {
		return remote.Model{}, llm.Errorf(llm.Unsupported,
			"no record describes the requests of %s: add one for this model, or for all of its kind", rec.Name)
	}
	return remote.Model{Schema: rec.Schema, Told: count}, nil
}

// count counts tokens that no chunk tells.
func count(ctx context.Context, used llm.Usage) { httpx.RecordOf(ctx).Count(used) }

// region returns the configuration of a region; "" is that of the environment.
func (c *cloud) region(name string) (aws.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return cfg, err
	}
	if cfg.Region = cmp.Or(name, cfg.Region); cfg.Region == "" {
		return cfg, llm.Errorf(llm.Upstream, "there is no region of AWS here: set AWS_REGION, such as us-east-1, or AWS_PROFILE of one that has a region")
	}
	return cfg, nil
}

// regionOf is the region in an ARN, "" if id is none.
func regionOf(id string) string {
	a, err := arn.Parse(id)
	if err != nil {
		return ""
	}
	return a.Region
}

// endpointOf is the endpoint of a model: that of its record, or what follows the first
// dot of its name, or the name.
func endpointOf(rec *catalog.Record) string {
	_, after, _ := strings.Cut(rec.Name, ".")
	return cmp.Or(rec.Endpoint, after, rec.Name)
}
