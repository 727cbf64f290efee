package awsrest

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sagemakerruntime"
)

// sources are the sources of a configuration.
type sources struct {
	url                string
	ignore, fips, dual bool
}

func (s sources) GetServiceBaseEndpoint(_ context.Context, service string) (string, bool, error) {
	if service != "Bedrock Runtime" && service != "SageMaker Runtime" && service != "DynamoDB" {
		panic(service)
	}
	return s.url, s.url != "", nil
}

func (s sources) GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error) {
	return s.ignore, s.ignore, nil
}

func (s sources) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	if s.fips {
		return aws.FIPSEndpointStateEnabled, true, nil
	}
	return aws.FIPSEndpointStateUnset, false, nil
}

func (s sources) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	if s.dual {
		return aws.DualStackEndpointStateEnabled, true, nil
	}
	return aws.DualStackEndpointStateUnset, false, nil
}

// The addresses of services are those of the SDK's own rules.
func TestEndpoint(t *testing.T) {
	regions := []string{
		"us-east-1", "us-west-2", "eu-west-1", "eu-central-2", "ap-southeast-7", "sa-east-1", "ca-west-1", "me-south-1", "af-south-1", "il-central-1",
		"mx-central-1", "us-gov-west-1", "us-gov-east-1", "cn-north-1", "cn-northwest-1", "eusc-de-east-1", "us-iso-east-1", "us-iso-west-1",
		"us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1", "us-isof-east-1", "xx-new-9",
	}
	for _, region := range regions {
		for _, s := range []sources{{}, {fips: true}, {dual: true}, {fips: true, dual: true}} {
			cfg := aws.Config{Region: region, ConfigSources: []any{s}}
			b, err := bedrockruntime.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), bedrockruntime.EndpointParameters{
				Region: &region, UseFIPS: &s.fips, UseDualStack: &s.dual,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Bedrock().endpoint(cfg); err != nil || got != b.URI.String() {
				t.Errorf("%s %+v: %s %v, the SDK %s", region, s, got, err, b.URI.String())
			}
			m, err := sagemakerruntime.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), sagemakerruntime.EndpointParameters{
				Region: &region, UseFIPS: &s.fips, UseDualStack: &s.dual,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := SageMaker().endpoint(cfg); err != nil || got != m.URI.String() {
				t.Errorf("%s %+v: %s %v, the SDK %s", region, s, got, err, m.URI.String())
			}
			d, err := dynamodb.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), dynamodb.EndpointParameters{
				Region: &region, UseFIPS: &s.fips, UseDualStack: &s.dual,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := DynamoDB().endpoint(cfg); err != nil || got != d.URI.String() {
				t.Errorf("%s %+v: %s %v, the SDK %s", region, s, got, err, d.URI.String())
			}
		}
	}
}

// A configured address takes precedence over AWS's own, as in the SDK's clients.
func TestConfigured(t *testing.T) {
	const all = "https://all"
	for _, test := range []struct {
		sources []any
		base    *string
		want    string
	}{
		{[]any{sources{url: "https://own"}}, aws.String(all), "https://own"},
		{[]any{struct{}{}, sources{}, sources{url: "https://own"}}, nil, "https://own"},
		{[]any{sources{}}, aws.String(all), all},
		{nil, aws.String(all), all},
		{[]any{sources{url: "https://own", ignore: true}}, aws.String(all), "https://bedrock-runtime.us-east-1.amazonaws.com"},
	} {
		cfg := aws.Config{Region: "us-east-1", ConfigSources: test.sources, BaseEndpoint: test.base}
		if got, err := Bedrock().endpoint(cfg); err != nil || got != test.want {
			t.Errorf("%+v: %s %v, want %s", test.sources, got, err, test.want)
		}
	}
}

// awsHost matches the hosts of the services in all partitions.
var awsHost = regexp.MustCompile(`^(bedrock-runtime(-fips)?|dynamodb(-fips)?|runtime(-fips)?\.sagemaker(-fips)?)\.[a-z0-9-]{1,63}\.(` +
	`amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|c2s\.ic\.gov|sc2s\.sgov\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov|` +
	`api\.aws|api\.amazonwebservices\.com\.cn|api\.amazonwebservices\.eu|api\.aws\.ic\.gov|api\.aws\.scloud|api\.cloud-aws\.adc-e\.uk|api\.aws\.hci\.ic\.gov)$`)

// FuzzHost asks for the host of each region: it must be AWS's, or an error.
func FuzzHost(f *testing.F) {
	for _, region := range []string{
		"us-east-1", "cn-north-1", "us-gov-west-1", "x.evil.example/y?", "evil.example#", "a@evil.example/", "us-east-1.evil.example", "us-east-1/", "", "..", "a:b@c",
		"us-iso-east-1", "\\", "%2f", "us-east-1\r\nx: y", "[::1]", "EVIL", "eusc-de-east-1",
	} {
		f.Add(region, false, false)
		f.Add(region, true, true)
	}
	f.Fuzz(func(t *testing.T, region string, fips, dual bool) {
		for _, s := range []Service{Bedrock(), SageMaker(), DynamoDB()} {
			c, err := New(s, aws.Config{Region: region, ConfigSources: []any{sources{fips: fips, dual: dual}}}, "", "token")
			if err == nil && !awsHost.MatchString(c.Operation(nil, "model", "m", "invoke").url.Host) {
				t.Errorf("%s of the region %q is %q", s.ID, region, c.base.Host)
			}
			// A configured address does not depend on the region.
			if c, err := New(s, aws.Config{Region: region}, "https://own.example", ""); err != nil || c.base.Host != "own.example" {
				t.Errorf("%q: %v", region, err)
			}
		}
	})
}

// New returns an error for a region that is not a valid label of a host name.
func TestHostileRegions(t *testing.T) {
	for _, region := range []string{"", "x.evil.example/y?", "evil.example#", "us-east-1.evil.example", "a@evil.example/", "us-east-1/", "a:443", "US-EAST-1", "us-east-1\n", strings.Repeat("x", 64)} {
		if c, err := New(Bedrock(), aws.Config{Region: region}, "", "token"); err == nil || !strings.Contains(err.Error(), "region") {
			t.Errorf("%q: %v, %v", region, c, err)
		}
	}
}
