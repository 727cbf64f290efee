//go:build cdk

package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
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

// data holds the names of the table and the bucket.
type data struct {
	stack             awscdk.Stack
	table, tableARN   *string
	bucket, bucketARN *string
}

func newData(stack awscdk.Stack, p *plan.Plan) *data {
	d := &data{stack: stack}
	var kms awskms.IKey
	if p.Config.Key != "" {
		kms = awskms.Key_FromKeyArn(stack, jsii.String("Key"), &p.Config.Key)
	}
	switch {
	case p.Copy: // the table of the first region is here, too
		d.table, d.tableARN = jsii.String(p.Config.SharedTable()), sub(p.Config.SharedTableARN(), nil)
	case p.Config.Replica != "":
		d.table, d.tableARN = newGlobalTable(stack, p)
	default:
		d.table, d.tableARN = newTable(stack, p, kms)
	}
	bucket := newBucket(stack, p, kms)
	d.bucket, d.bucketARN = bucket.BucketName(), bucket.BucketArn()
	if p.Replication() != nil {
		replicate(stack, p, bucket)
	}
	if !p.Copy {
		output(stack, deployment.TableOutput, "DynamoDB table of model records and accounts", d.table)
	}
	output(stack, p.Output(deployment.BucketOutput), "bucket of checkpoints", d.bucket)
	return d
}

func newTable(stack awscdk.Stack, p *plan.Plan, kms awskms.IKey) (name, arn *string) {
	key := func(name string) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: &name, Type: awsdynamodb.AttributeType_STRING}
	}
	encryption := awsdynamodb.TableEncryption("") // with an AWS owned key, which is free
	if kms != nil {
		encryption = awsdynamodb.TableEncryption_CUSTOMER_MANAGED
	}
	table := awsdynamodb.NewTable(stack, jsii.String("Table"), &awsdynamodb.TableProps{
		PartitionKey: key("pk"), SortKey: key("sk"), TimeToLiveAttribute: jsii.String("expires"),
		BillingMode: awsdynamodb.BillingMode_PAY_PER_REQUEST, Encryption: encryption, EncryptionKey: kms,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		DeletionProtection: jsii.Bool(p.Config.Stage == plan.Production),
		RemovalPolicy:      awscdk.RemovalPolicy_RETAIN,
	})
	return table.TableName(), table.TableArn()
}

// newGlobalTable makes a table of both regions. The CDK's own construct of it needs a region that is
// known when templates are made.
func newGlobalTable(stack awscdk.Stack, p *plan.Plan) (name, arn *string) {
	attribute := func(name string) any { return map[string]any{"AttributeName": name, "AttributeType": "S"} }
	key := func(name, kind string) any { return map[string]any{"AttributeName": name, "KeyType": kind} }
	replica := func(region *string) any {
		return map[string]any{
			"Region": region, "DeletionProtectionEnabled": p.Config.Stage == plan.Production,
			"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
		}
	}
	table := awscdk.NewCfnResource(stack, jsii.String("Table"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::DynamoDB::GlobalTable"),
		Properties: &map[string]any{
			"TableName": p.Config.SharedTable(), "BillingMode": "PAY_PER_REQUEST",
			"AttributeDefinitions": []any{attribute("pk"), attribute("sk")}, "KeySchema": []any{key("pk", "HASH"), key("sk", "RANGE")},
			"TimeToLiveSpecification": map[string]any{"AttributeName": "expires", "Enabled": true},
			"StreamSpecification":     map[string]any{"StreamViewType": "NEW_AND_OLD_IMAGES"}, // which replication reads
			"Replicas":                []any{replica(awscdk.Aws_REGION()), replica(&p.Config.Replica)},
		},
	})
	table.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN, nil)
	return table.Ref(), table.GetAtt(jsii.String("Arn"), awscdk.ResolutionTypeHint_STRING).ToString()
}

// replicate copies the models of a bucket to that of the second region.
func replicate(stack awscdk.Stack, p *plan.Plan, bucket awss3.Bucket) {
	statements := newStatements(p.Replication(), map[string]*string{"BucketArn": bucket.BucketArn()})
	role := awsiam.NewRole(stack, jsii.String("Replication"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String(plan.ReplicationService), nil), Description: jsii.String("copies of glossa's models in another region"),
	})
	// A policy of its own: the bucket waits for the role, and so may not the role for the bucket.
	awsiam.NewPolicy(stack, jsii.String("ReplicationPolicy"), &awsiam.PolicyProps{Statements: statements, Roles: &[]awsiam.IRole{role}})
	bucket.Node().DefaultChild().(awss3.CfnBucket).AddPropertyOverride(jsii.String("ReplicationConfiguration"), map[string]any{
		"Role": role.RoleArn(),
		"Rules": []any{map[string]any{
			"Id": "models", "Status": "Enabled", "Priority": 1, "Filter": map[string]any{"Prefix": deployment.Checkpoints + "/"},
			"DeleteMarkerReplication": map[string]any{"Status": "Enabled"}, "Destination": map[string]any{"Bucket": sub(p.Config.ReplicaBucketARN(), nil)},
		}},
	})
}

func newBucket(stack awscdk.Stack, p *plan.Plan, kms awskms.IKey) awss3.Bucket {
	objects, bucketKey, name := awss3.BucketEncryption_S3_MANAGED, (*bool)(nil), (*string)(nil)
	if kms != nil {
		objects, bucketKey = awss3.BucketEncryption_KMS, jsii.Bool(true) // one call of KMS for many objects
	}
	if p.Copy {
		name = sub(p.Config.ReplicaBucket(), nil)
	}
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
	return awss3.NewBucket(stack, jsii.String("Bucket"), &awss3.BucketProps{
		BucketName: name, Versioned: jsii.Bool(true), Encryption: objects, EncryptionKey: kms, BucketKeyEnabled: bucketKey,
		EnforceSSL: jsii.Bool(true), MinimumTLSVersion: jsii.Number(1.2),
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(), ObjectOwnership: awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		RemovalPolicy:  awscdk.RemovalPolicy_RETAIN,
		LifecycleRules: &rules,
	})
}
