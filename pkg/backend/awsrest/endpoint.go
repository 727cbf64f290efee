package awsrest

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/arn"
)

// A Service is one of AWS.
type Service struct {
	ID    string // the SDK's: "Bedrock Runtime" is BEDROCK_RUNTIME in the environment
	Scope string // as signatures name it
	host  func(region string, fips, dual bool) string
}

// Bedrock is Amazon Bedrock Runtime.
func Bedrock() Service { return Service{ID: "Bedrock Runtime", Scope: "bedrock", host: bedrockHost} }

// SageMaker is Amazon SageMaker Runtime.
func SageMaker() Service {
	return Service{ID: "SageMaker Runtime", Scope: "sagemaker", host: sagemakerHost}
}

// What sources of a configuration may tell, which the SDK's clients ask them too.
type (
	urlSource interface {
		GetServiceBaseEndpoint(ctx context.Context, service string) (string, bool, error)
	}
	ignoreSource interface {
		GetIgnoreConfiguredEndpoints(ctx context.Context) (bool, bool, error)
	}
	fipsSource interface {
		GetUseFIPSEndpoint(ctx context.Context) (aws.FIPSEndpointState, bool, error)
	}
	dualSource interface {
		GetUseDualStackEndpoint(ctx context.Context) (aws.DualStackEndpointState, bool, error)
	}
)

// ask returns what the first source tells that has an answer.
func ask[S, V any](sources []any, get func(S) (V, bool, error)) (v V, found bool, err error) {
	for _, source := range sources {
		if s, ok := source.(S); ok {
			if v, found, err = get(s); found || err != nil {
				return v, found, err
			}
		}
	}
	return v, false, nil
}

// Configured returns the base URL that a configuration has in place of AWS's own of the
// service with an id of the SDK's, "" if it has none.
func Configured(cfg aws.Config, id string) (string, error) {
	ctx := context.Background() // sources are what was read before
	ignored, _, err := ask(cfg.ConfigSources, func(s ignoreSource) (bool, bool, error) { return s.GetIgnoreConfiguredEndpoints(ctx) })
	if ignored || err != nil {
		return "", err
	}
	own, found, err := ask(cfg.ConfigSources, func(s urlSource) (string, bool, error) { return s.GetServiceBaseEndpoint(ctx, id) })
	if found || err != nil {
		return own, err
	}
	return aws.ToString(cfg.BaseEndpoint), nil
}

// endpoint returns the base URL of a service: that of the configuration, else AWS's own
// of the region, by the rules that the SDK's clients have. What a region is called becomes a
// part of the host's name, and credentials are sent there.
func (s Service) endpoint(cfg aws.Config) (string, error) {
	if url, err := Configured(cfg, s.ID); url != "" || err != nil {
		return url, err
	}
	if err := arn.CheckRegion(cfg.Region); err != nil {
		return "", err
	}
	ctx := context.Background()
	fips, _, err := ask(cfg.ConfigSources, func(s fipsSource) (aws.FIPSEndpointState, bool, error) { return s.GetUseFIPSEndpoint(ctx) })
	if err != nil {
		return "", err
	}
	dual, _, err := ask(cfg.ConfigSources, func(s dualSource) (aws.DualStackEndpointState, bool, error) { return s.GetUseDualStackEndpoint(ctx) })
	if err != nil {
		return "", err
	}
	return "https://" + s.host(cfg.Region, fips == aws.FIPSEndpointStateEnabled, dual == aws.DualStackEndpointStateEnabled), nil
}

// A partition is a part of AWS that has regions and names of its own.
type partition struct{ regions, suffix, dual string }

// partitions are found by how their regions begin; the first one has all others. Source:
// the endpoint rules of aws-sdk-go-v2, against which a test holds this.
func partitions() []partition {
	return []partition{
		{"", "amazonaws.com", "api.aws"},
		{"us-gov-", "amazonaws.com", "api.aws"},
		{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
		{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
		{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
		{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
		{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
		{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	}
}

func partitionOf(region string) partition {
	list := partitions()
	for _, p := range list[1:] {
		if strings.HasPrefix(region, p.regions) {
			return p
		}
	}
	return list[0]
}

func (p partition) domain(dual bool) string {
	if dual {
		return p.dual
	}
	return p.suffix
}

func bedrockHost(region string, fips, dual bool) string {
	name := "bedrock-runtime."
	if fips {
		name = "bedrock-runtime-fips."
	}
	return name + region + "." + partitionOf(region).domain(dual)
}

func sagemakerHost(region string, fips, dual bool) string {
	p, name := partitionOf(region), "runtime.sagemaker."
	switch {
	case fips && !dual && p.regions == "":
		name = "runtime-fips.sagemaker."
	case fips && !dual && p.regions == "us-gov-": // where all are
	case fips:
		name = "runtime.sagemaker-fips."
	}
	return name + region + "." + p.domain(dual)
}
