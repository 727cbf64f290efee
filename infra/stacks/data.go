//go:build cdk

package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

const (
	keepVersions = 30 // days: a replaced checkpoint can be restored
	keepUploads  = 1  // days: an interrupted upload can be resumed
	keepDeleted  = 1  // days: what clients deleted is gone soon
	keepPrefixes = 3  // days: what prompts have in common can be computed again
)

// data holds the table and the bucket.
type data struct {
	stack  awscdk.Stack
	table  awsdynamodb.Table
	bucket awss3.Bucket
}

func newData(stack awscdk.Stack, p *plan.Plan) *data {
	key := func(name string) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: &name, Type: awsdynamodb.AttributeType_STRING}
	}
	d := &data{stack: stack}
	// DynamoDB encrypts all tables at rest with an AWS owned key, which is free.
	tables, objects, bucketKey := awsdynamodb.TableEncryption(""), awss3.BucketEncryption_S3_MANAGED, (*bool)(nil)
	var kms awskms.IKey
	if p.Config.Key != "" {
		kms = awskms.Key_FromKeyArn(stack, jsii.String("Key"), &p.Config.Key)
		tables, objects = awsdynamodb.TableEncryption_CUSTOMER_MANAGED, awss3.BucketEncryption_KMS
		bucketKey = jsii.Bool(true) // one call of KMS for many objects
	}
	d.table = awsdynamodb.NewTable(stack, jsii.String("Table"), &awsdynamodb.TableProps{
		PartitionKey: key("pk"), SortKey: key("sk"), TimeToLiveAttribute: jsii.String("expires"),
		BillingMode: awsdynamodb.BillingMode_PAY_PER_REQUEST, Encryption: tables, EncryptionKey: kms,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		DeletionProtection: jsii.Bool(p.Config.Stage == plan.Production),
		RemovalPolicy:      awscdk.RemovalPolicy_RETAIN,
	})
	rules := []*awss3.LifecycleRule{{
		Id:                                  jsii.String("leftovers"),
		NoncurrentVersionExpiration:         awscdk.Duration_Days(jsii.Number(keepVersions)),
		AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(keepUploads)),
		ExpiredObjectDeleteMarker:           jsii.Bool(true),
	}, {
		Id: jsii.String("uploads"), Prefix: jsii.String(deployment.Uploads + "/"),
		Expiration: awscdk.Duration_Days(jsii.Number(keepUploads)), NoncurrentVersionExpiration: awscdk.Duration_Days(jsii.Number(keepUploads)),
	}, { // deleted files hold prompts
		Id: jsii.String("batches"), Prefix: jsii.String(deployment.Batches + "/"),
		NoncurrentVersionExpiration: awscdk.Duration_Days(jsii.Number(keepDeleted)),
	}}
	if p.Config.Prefixes {
		rules = append(rules, &awss3.LifecycleRule{
			Id: jsii.String("prefixes"), Prefix: jsii.String(deployment.Prefixes + "/"),
			Expiration: awscdk.Duration_Days(jsii.Number(keepPrefixes)), NoncurrentVersionExpiration: awscdk.Duration_Days(jsii.Number(keepDeleted)),
		})
	}
	d.bucket = awss3.NewBucket(stack, jsii.String("Bucket"), &awss3.BucketProps{
		Versioned: jsii.Bool(true), Encryption: objects, EncryptionKey: kms, BucketKeyEnabled: bucketKey,
		EnforceSSL: jsii.Bool(true), MinimumTLSVersion: jsii.Number(1.2),
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(), ObjectOwnership: awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		RemovalPolicy:  awscdk.RemovalPolicy_RETAIN,
		LifecycleRules: &rules,
	})
	output(stack, deployment.TableOutput, "DynamoDB table of model records and accounts", d.table.TableName())
	output(stack, deployment.BucketOutput, "bucket of checkpoints", d.bucket.BucketName())
	return d
}
