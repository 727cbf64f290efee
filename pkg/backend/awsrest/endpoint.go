package awsrest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/arn"
	"glossa/pkg/partition"
)

// A Service is an AWS service.
type Service struct {
	ID    string // the SDK's; in the environment, "Bedrock Runtime" is BEDROCK_RUNTIME
	Scope string // the name in signatures
	host  func(region string, fips, dual bool) string
}

// Bedrock is Amazon Bedrock Runtime.
func Bedrock() Service { return Service{ID: "Bedrock Runtime", Scope: "bedrock", host: bedrockHost} }

// SageMaker is Amazon SageMaker Runtime.
func SageMaker() Service {
	return Service{ID: "SageMaker Runtime", Scope: "sagemaker", host: sagemakerHost}
}

// DynamoDB is Amazon DynamoDB.
func DynamoDB() Service { return Service{ID: "DynamoDB", Scope: "dynamodb", host: dynamoHost} }

// Optional methods of a configuration's sources, which the SDK's clients call too.
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

// firstOf returns the value of the first source that has one.
func firstOf[S, V any](sources []any, get func(S) (V, bool, error)) (v V, found bool, err error) {
	for _, source := range sources {
		if s, ok := source.(S); ok {
			if v, found, err = get(s); found || err != nil {
				return v, found, err
			}
		}
	}
	return v, false, nil
}

// Configured returns the base URL that a configuration sets for the service with the
// SDK's id, "" if it sets none.
func Configured(cfg aws.Config, id string) (string, error) {
	ctx := context.Background() // sources were read before
	ignored, _, err := firstOf(cfg.ConfigSources, func(s ignoreSource) (bool, bool, error) { return s.GetIgnoreConfiguredEndpoints(ctx) })
	if ignored || err != nil {
		return "", err
	}
	own, found, err := firstOf(cfg.ConfigSources, func(s urlSource) (string, bool, error) { return s.GetServiceBaseEndpoint(ctx, id) })
	if found || err != nil {
		return own, err
	}
	return aws.ToString(cfg.BaseEndpoint), nil
}

// endpoint returns the base URL of a service: from the configuration, else AWS's own for the
// region, by the rules of the SDK's clients. The region becomes part of the host name to
// which credentials are sent.
func (s Service) endpoint(cfg aws.Config) (string, error) {
	if url, err := Configured(cfg, s.ID); url != "" || err != nil {
		return url, err
	}
	if err := arn.CheckRegion(cfg.Region); err != nil {
		return "", err
	}
	fips, dual, err := Variants(cfg)
	if err != nil {
		return "", err
	}
	return "https://" + s.host(cfg.Region, fips, dual), nil
}

// Variants reports whether a configuration selects FIPS endpoints, and dual-stack
// endpoints.
func Variants(cfg aws.Config) (fips, dual bool, err error) {
	ctx := context.Background()
	f, _, err := firstOf(cfg.ConfigSources, func(s fipsSource) (aws.FIPSEndpointState, bool, error) { return s.GetUseFIPSEndpoint(ctx) })
	if err != nil {
		return false, false, err
	}
	d, _, err := firstOf(cfg.ConfigSources, func(s dualSource) (aws.DualStackEndpointState, bool, error) { return s.GetUseDualStackEndpoint(ctx) })
	return f == aws.FIPSEndpointStateEnabled, d == aws.DualStackEndpointStateEnabled, err
}

func bedrockHost(region string, fips, dual bool) string {
	name := "bedrock-runtime."
	if fips {
		name = "bedrock-runtime-fips."
	}
	return name + region + "." + partition.Of(region).HostDomain(dual)
}

func dynamoHost(region string, fips, dual bool) string {
	fips = fips && (dual || partition.Of(region).Name != "aws-us-gov") // all of its endpoints comply
	return hostOf("dynamodb")(region, fips, dual)
}

func sagemakerHost(region string, fips, dual bool) string {
	p, name := partition.Of(region), "runtime.sagemaker."
	switch {
	case fips && !dual && p.Name == "aws":
		name = "runtime-fips.sagemaker."
	case fips && !dual && p.Name == "aws-us-gov": // all of its endpoints comply
	case fips:
		name = "runtime.sagemaker-fips."
	}
	return name + region + "." + p.HostDomain(dual)
}
