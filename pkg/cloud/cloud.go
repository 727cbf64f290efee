// Package cloud finds an account of AWS in the way that the AWS CLI does: in the
// environment, in its files, by its logins, by the role of the machine. It is linked
// into the command that people use, and not into functions, which have an account in
// their environment and pay for each megabyte when they start. It refuses to know what
// the account is used for.
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

// Load returns the configuration of clients, which share client. Nothing is connected
// to: credentials are looked for when the first call is signed.
func Load(client *awshttp.BuildableClient) (aws.Config, error) {
	return config.LoadDefaultConfig(context.Background(),
		config.WithHTTPClient(client),
		config.WithLogger(logging.Nop{}), // what fails is told to who asked
		config.WithEC2RoleCredentialOptions(brief))
}

// brief asks for the role of an EC2 instance once, which takes a second at most where
// nobody answers, as on a laptop; the SDK's own retries take five.
func brief(o *ec2rolecreds.Options) {
	o.Client = imds.New(imds.Options{Retryer: aws.NopRetryer{}})
}
