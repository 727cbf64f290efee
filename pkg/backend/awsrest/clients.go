package awsrest

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Clients keeps one client for each service, region and role, so that all models there share
// its connections and credentials. Its zero value is empty.
type Clients struct {
	mu      sync.Mutex
	clients map[place]*Client
}

type place struct {
	scope, region string
	role          Role
}

// Get returns the client of a service in the region of cfg. The first call makes it
// with [New].
func (c *Clients) Get(s Service, cfg aws.Config, endpoint, token string) (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(place{scope: s.Scope, region: cfg.Region}, s, cfg, endpoint, token)
}

// As is [Clients.Get] with the credentials of a role, which those of cfg assume.
func (c *Clients) As(role Role, s Service, cfg aws.Config, endpoint string) (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sts, err := c.get(place{scope: STS().Scope, region: cfg.Region}, STS(), cfg, "", "")
	if err != nil {
		return nil, err
	}
	key := place{s.Scope, cfg.Region, role}
	if c.clients[key] == nil {
		cfg.Credentials = sts.Assume(role)
	}
	return c.get(key, s, cfg, endpoint, "")
}

// get returns the client of a place; c.mu is held.
func (c *Clients) get(key place, s Service, cfg aws.Config, endpoint, token string) (*Client, error) {
	if client := c.clients[key]; client != nil {
		return client, nil
	}
	client, err := New(s, cfg, endpoint, token)
	if err != nil {
		return nil, err
	}
	if c.clients == nil {
		c.clients = map[place]*Client{}
	}
	c.clients[key] = client
	return client, nil
}
