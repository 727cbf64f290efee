package awsrest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Get makes a client once for each service and region, and does not keep errors.
func TestClients(t *testing.T) {
	var c Clients
	get := func(s Service, region, endpoint string) *Client {
		t.Helper()
		client, err := c.Get(s, aws.Config{Region: region}, endpoint, "token")
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	if _, err := c.Get(Bedrock(), aws.Config{Region: "us-east-1"}, "nowhere", ""); err == nil {
		t.Error("there is such an endpoint")
	}
	first := get(Bedrock(), "us-east-1", "")
	if get(Bedrock(), "us-east-1", "") != first {
		t.Error("the client of a region was made again")
	}
	if get(Bedrock(), "us-west-2", "") == first || get(SageMaker(), "us-east-1", "") == first {
		t.Error("another region or service has the same client")
	}
}
