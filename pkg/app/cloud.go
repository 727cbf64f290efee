package app

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"glossa/pkg/httpx"
	"glossa/pkg/table"
)

// A cloud has the account of AWS that the environment names. It is looked for when it
// is first needed: most servers never do.
type cloud struct {
	load func() (aws.Config, error)
}

func newCloud() *cloud {
	return &cloud{sync.OnceValues(func() (aws.Config, error) {
		cfg, err := config.LoadDefaultConfig(context.Background())
		if err == nil {
			cfg.HTTPClient = httpx.Traced(cfg.HTTPClient)
		}
		return cfg, err
	})}
}

// table returns the DynamoDB table of that name.
func (c *cloud) table(name string) (*table.Table, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	return table.New(dynamodb.NewFromConfig(cfg), name), nil
}
