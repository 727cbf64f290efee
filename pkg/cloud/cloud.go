// Package cloud finds an AWS account like the AWS CLI: in the environment, in its
// files, by its logins, by the role of the machine. It is linked into the command that
// people use. Functions do not link it: they have an account in their environment, and
// start more slowly with each megabyte. It refuses to know the purpose of the account.
package cloud

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go/logging"
)

// Load returns the configuration of clients, which share client. It makes no
// connection: credentials are looked up when the first call is signed.
func Load(client *awshttp.BuildableClient) (aws.Config, error) {
	return config.LoadDefaultConfig(context.Background(),
		config.WithHTTPClient(client),
		config.WithLogger(logging.Nop{}), // the caller receives errors
		config.WithEC2RoleCredentialOptions(brief))
}

// brief limits the lookup of an EC2 instance's role to one attempt, which takes at
// most a second where nothing answers, as on a laptop; the SDK's own retries take
// five.
func brief(o *ec2rolecreds.Options) {
	o.Client = imds.New(imds.Options{Retryer: aws.NopRetryer{}})
}
