package app

import (
	"context"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/upstream"
	"glossa/pkg/bucket"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/table"
)

// Endpoints are base URLs that replace those of AWS; "" is AWS's own, of the region.
type Endpoints struct{ Bedrock, SageMaker, DynamoDB, S3 string }

// A cloud is the AWS account that cfg.AWS finds. It is looked up at its first use: most
// servers never need one.
type cloud struct {
	load         func() (aws.Config, error)
	endpoints    Endpoints
	bedrockToken string
	clients      awsrest.Clients // of remote models

	// Clients of the endpoints that records name, for all addresses and for public ones.
	anywhere, public func() *http.Client
}

func newCloud(cfg Config) *cloud {
	return &cloud{
		load: sync.OnceValues(cfg.loadAWS), endpoints: cfg.Endpoints, bedrockToken: cfg.BedrockToken,
		anywhere: sync.OnceValue(func() *http.Client { return upstream.NewClient(true) }),
		public:   sync.OnceValue(func() *http.Client { return upstream.NewClient(false) }),
	}
}

// table returns the DynamoDB table of that name.
func (c *cloud) table(name string) (*table.Table, error) {
	cfg, err := c.region("")
	if err != nil {
		return nil, err
	}
	client, err := awsrest.New(awsrest.DynamoDB(), cfg, c.endpoints.DynamoDB, "")
	if err != nil {
		return nil, err
	}
	return table.New(client, name), nil
}

// files returns the file system of a place in S3.
func (c *cloud) files(place bucket.Config) (*bucket.FS, error) {
	place, err := c.s3(place)
	if err != nil {
		return nil, err
	}
	return bucket.New(place), nil
}

// bucket returns the bucket at s3://bucket/prefix.
func (c *cloud) bucket(url string) (*bucket.Bucket, error) {
	name, prefix, err := bucket.Parse(url)
	if err != nil {
		return nil, err
	}
	place, err := c.s3(bucket.Config{Bucket: name, Prefix: prefix})
	if err != nil {
		return nil, err
	}
	return bucket.NewBucket(place), nil
}

// s3 adds the credentials, the region and the endpoint to a place in S3.
func (c *cloud) s3(place bucket.Config) (bucket.Config, error) {
	cfg, err := c.region("")
	if err != nil {
		return place, err
	}
	place.Region, place.Credentials, place.HTTP = cfg.Region, cfg.Credentials, cfg.HTTPClient
	if place.Endpoint = c.endpoints.S3; place.Endpoint == "" {
		if place.Endpoint, err = awsrest.Configured(cfg, "S3"); err != nil {
			return place, err
		}
	}
	place.FIPS, place.DualStack, err = awsrest.Variants(cfg)
	return place, err
}

// loadAWS returns the configuration that all clients share. It opens no connection.
func (cfg Config) loadAWS() (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(manyStreams)
	find := cfg.AWS
	if find == nil {
		find = func(client *awshttp.BuildableClient) (aws.Config, error) { return environmentAWS(os.Getenv, client) }
	}
	found, err := find(client)
	if err != nil {
		return found, &llm.Error{Code: llm.Upstream, Message: "the AWS configuration of this server cannot be read: see its log", Err: err}
	}
	found.Credentials = &identity{source: found.Credentials}
	found.HTTPClient = httpx.Traced(found.HTTPClient)
	return found, nil
}

// manyStreams keeps a connection for each concurrent stream: the SDK keeps 10, and TLS takes
// longer than the first token of a small model. Calls have no timeout of their own, because
// the context of a request has the deadline.
func manyStreams(t *http.Transport) {
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
}

// noIdentity is the time before missing credentials are looked up again.
const noIdentity = 5 * time.Second

// An identity provides the credentials of a source. Without credentials its error has a
// message for clients.
type identity struct {
	source aws.CredentialsProvider

	mu    sync.Mutex
	err   error
	until time.Time // err is returned until this time
}

// Retrieve implements [aws.CredentialsProvider]. The source caches its credentials.
func (i *identity) Retrieve(ctx context.Context) (aws.Credentials, error) {
	i.mu.Lock()
	err := i.err
	if time.Now().After(i.until) {
		err = nil
	}
	i.mu.Unlock()
	if err != nil {
		return aws.Credentials{}, err
	}
	found, err := i.source.Retrieve(ctx)
	if err == nil || ctx.Err() != nil {
		return found, err
	}
	const message = "no AWS credentials: give the function or instance a role," +
		" or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE after aws configure or aws sso login"
	err = &llm.Error{Code: llm.Upstream, Message: message, Err: err}
	i.mu.Lock()
	i.err, i.until = err, time.Now().Add(noIdentity)
	i.mu.Unlock()
	return found, err
}
