package app

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/smithy-go/logging"
)

// containers is the address where ECS provides the credentials of a container's role.
const containers = "http://169.254.170.2"

// environmentAWS returns the client configuration from the environment of a function or a
// container. [glossa/pkg/cloud] supports files, logins and roles of machines: these are a
// twentieth of the size of a function, which does not need them.
//
// Source: AWS SDKs and Tools Reference Guide, "Environment variables list" and "Container
// credential provider".
func environmentAWS(getenv func(string) string, client *awshttp.BuildableClient) (aws.Config, error) {
	cfg := aws.Config{
		Region:     cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")),
		HTTPClient: client, Logger: logging.Nop{},
		ConfigSources: []any{wishes{getenv}},
	}
	key, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
	full, relative := getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
	switch {
	case key != "" && secret != "":
		cfg.Credentials = credentials.NewStaticCredentialsProvider(key, secret, getenv("AWS_SESSION_TOKEN"))
	case relative != "":
		cfg.Credentials = container(containers+relative, getenv)
	case full != "":
		cfg.Credentials = container(full, getenv)
	default:
		cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("the environment has none")
		})
	}
	cfg.Credentials = aws.NewCredentialsCache(cfg.Credentials)
	if url := getenv("AWS_ENDPOINT_URL"); url != "" {
		if ignored, _ := (wishes{getenv}).flag(ignoreEndpoints); !ignored {
			cfg.BaseEndpoint = &url
		}
	}
	return cfg, nil
}

// container returns the credentials of a container's role, from a local service.
func container(url string, getenv func(string) string) aws.CredentialsProvider {
	return endpointcreds.New(url, func(o *endpointcreds.Options) {
		o.AuthorizationToken = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if file := getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" { // the file is rewritten from time to time
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
				token, err := os.ReadFile(file)
				return strings.TrimSpace(string(token)), err
			})
		}
	})
}

// wishes are the environment's settings of service addresses, a source of the configuration as
// the SDK's are.
type wishes struct{ get func(string) string }

func (w wishes) flag(name string) (on, found bool) {
	on, err := strconv.ParseBool(w.get(name))
	return on, err == nil
}

// GetUseFIPSEndpoint reports whether clients must use FIPS endpoints, which the law requires of
// some users.
func (w wishes) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	on, found := w.flag("AWS_USE_FIPS_ENDPOINT")
	if on {
		return aws.FIPSEndpointStateEnabled, found, nil
	}
	return aws.FIPSEndpointStateDisabled, found, nil
}

// GetUseDualStackEndpoint reports whether clients must use endpoints that support IPv6.
func (w wishes) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	on, found := w.flag("AWS_USE_DUALSTACK_ENDPOINT")
	if on {
		return aws.DualStackEndpointStateEnabled, found, nil
	}
	return aws.DualStackEndpointStateDisabled, found, nil
}

// ignoreEndpoints is the variable that selects AWS's own addresses, whatever the others are.
const ignoreEndpoints = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"

// GetIgnoreConfiguredEndpoints reports whether configured addresses are ignored.
func (w wishes) GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error) {
	on, found := w.flag(ignoreEndpoints)
	return on, found, nil
}

// GetServiceBaseEndpoint returns the configured address of a service:
// AWS_ENDPOINT_URL_BEDROCK_RUNTIME for "Bedrock Runtime".
func (w wishes) GetServiceBaseEndpoint(_ context.Context, service string) (string, bool, error) {
	url := w.get("AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(service, " ", "_")))
	return url, url != "", nil
}
