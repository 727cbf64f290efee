package awsrest

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Clients keeps one client for each service and region, so that all models there share
// its connections and credentials. Its zero value is empty.
type Clients struct {
	mu      sync.Mutex
	clients map[string]*Client // by scope and region
}

// Get returns the client of a service in the region of cfg. The first call makes it
// with [New].
func (c *Clients) Get(s Service, cfg aws.Config, endpoint, token string) (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := s.Scope + " " + cfg.Region
	if client := c.clients[key]; client != nil {
		return client, nil
	}
	client, err := New(s, cfg, endpoint, token)
	if err != nil {
		return nil, err
	}
	if c.clients == nil {
		c.clients = map[string]*Client{}
	}
	c.clients[key] = client
	return client, nil
}
