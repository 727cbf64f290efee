package plan

import (
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/deployment"
)

// A Statement allows actions in an IAM policy. Resources use the syntax of
// CloudFormation's Fn::Sub, with the names of references.
type Statement struct {
	Sid       string
	Actions   []string
	Resources []string
	// Condition holds values by operator and key.
	Condition map[string]map[string][]string
	Reason    string // the function's use of it
	// Wildcards says why resources are not narrower. It is required if there is a wildcard.
	Wildcards string
}

// references are the names, in resources of statements and values of environments, that a
// deployment resolves in addition to CloudFormation's and to FAMILYArn, of a function.
func references() []string {
	return []string{"Table", "TableArn", "Bucket", "BucketArn", "LogGroupArn", "TopicArn", "AliasArn", "Versions"}
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// sample returns a text with each reference replaced by a possible value of a deployment.
func sample(s string) string {
	return reference.ReplaceAllStringFunc(s, func(r string) string {
		return "some-" + strings.ToLower(strings.ReplaceAll(strings.Trim(r, "${}"), ":", "-"))
	})
}

// unknown returns the references in a text that no deployment resolves.
func unknown(s string) (names []string) {
	for _, found := range reference.FindAllStringSubmatch(s, -1) {
		if name := found[1]; !strings.HasPrefix(name, "AWS::") && !slices.Contains(references(), name) && !isFunctionARN(name) {
			names = append(names, name)
		}
	}
	return names
}

const (
	tableARN  = "${TableArn}"
	bucketARN = "${BucketArn}"
	aliasARN  = "${AliasArn}" // of the function itself
)

// OfItself reports whether a statement allows something with the function itself, which exists
// only after its role: such a statement has a policy of its own.
func (s *Statement) OfItself() bool { return slices.Contains(s.Resources, aliasARN) }

// batchFamily is the family that works in the background.
const batchFamily = "batches"

// statements returns the permissions of the function of a family.
func statements(cfg Config, family string, streams bool) []Statement {
	list := []Statement{logs(), readItems(), query(), count(), readCheckpoints(), listCheckpoints(), bedrock(streams), guardrails(), sagemaker(), assumeRoles(), readSecrets(), readParameters()}
	if cfg.Key != "" {
		list = append(list, useKey(cfg.Key))
	}
	if cfg.Prefixes {
		list = append(list, archivePrefixes(), findPrefixes())
	}
	if cfg.Traces == XRay {
		list = append(list, putSpans())
	}
	switch family {
	case CatchAll: // which serves the log-in
		list = append(list, logIn())
	case "responses":
		if cfg.ResponseDays > 0 {
			list = append(list, storeResponses("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"))
		}
	case batchFamily: // whose lines may be requests of the other families
		if cfg.ResponseDays > 0 {
			list = append(list, storeResponses("dynamodb:GetItem", "dynamodb:PutItem"))
		}
		list = append(list, storeBatches(), listBatches(), invokeItself())
	case "alpha":
		list = append(list, publish(), assemble(), listUploads())
	}
	return list
}

func logs() Statement {
	return Statement{
		Sid: "Logs", Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"}, Resources: []string{"${LogGroupArn}"},
		Reason: "one line for each request, which holds its metrics",
		// The ARN of a log group ends in ":*" as CloudFormation gives it.
		Wildcards: "each instance has its own stream in the function's group, whose name Lambda chooses",
	}
}

func readItems() Statement {
	return Statement{
		Sid: "Items", Actions: []string{"dynamodb:GetItem"}, Resources: []string{tableARN}, Condition: partitions("accounts", "budget#*"),
		Reason:    "keys and tokens of callers, their teams and budgets",
		Wildcards: "budgets have a partition for each caller",
	}
}

func query() Statement {
	return Statement{
		Sid: "Lists", Actions: []string{"dynamodb:Query"}, Resources: []string{tableARN}, Condition: partitions("models", "usage"),
		Reason: "lists models and usage",
	}
}

func count() Statement {
	return Statement{
		Sid: "Counts", Actions: []string{"dynamodb:UpdateItem"}, Resources: []string{tableARN}, Condition: partitions("budget#*", "usage"),
		Reason:    "the usage of a request is counted and deducted from its caller's budget",
		Wildcards: "budgets have a partition for each caller",
	}
}

func logIn() Statement {
	return Statement{
		Sid: "LogIn", Actions: []string{"dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"}, Resources: []string{tableARN},
		Condition: partitions("accounts"),
		Reason:    "a log-in stores the hash of a token, and deletes the oldest of a user with too many",
	}
}

func storeResponses(actions ...string) Statement {
	return Statement{
		Sid: "Responses", Actions: actions, Resources: []string{tableARN}, Condition: partitions("responses#*"),
		Reason:    "responses are stored for their owners, who read, continue and delete them",
		Wildcards: "responses have a partition for each owner",
	}
}

func readCheckpoints() Statement {
	return Statement{
		Sid: "Checkpoints", Actions: []string{"s3:GetObject"}, Resources: []string{bucketARN + "/" + deployment.Checkpoints + "/*"},
		Reason:    "weights are read in ranges, all of one version",
		Wildcards: "runs are published without a deployment",
	}
}

// Sources: Amazon S3 User Guide, "Using server-side encryption with AWS KMS keys": reading needs
// Decrypt, and writing in parts both; Amazon DynamoDB Developer Guide, "Authorizing use of your
// customer managed key", which also has the condition.
func useKey(arn string) Statement {
	return Statement{
		Sid: "Key", Actions: []string{"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"},
		Resources: []string{arn},
		Condition: map[string]map[string][]string{"StringEquals": {"kms:ViaService": {
			"dynamodb.${AWS::Region}.amazonaws.com", "s3.${AWS::Region}.amazonaws.com",
		}}},
		Reason: "table and bucket are encrypted with the operator's key, which only they use for the function",
	}
}

// Source: Amazon CloudWatch User Guide, "OTLP Endpoints"; AWS Lambda Developer Guide, "Using AWS
// X-Ray": Lambda itself sends its segments with the function's role.
func putSpans() Statement {
	return Statement{
		Sid: "Spans", Actions: []string{"xray:PutSpans", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}, Resources: []string{"*"},
		Reason:    "spans of requests, and Lambda's own",
		Wildcards: "these actions know no resources",
	}
}

func archivePrefixes() Statement {
	return Statement{
		Sid: "Prefixes", Actions: []string{"s3:GetObject", "s3:PutObject"}, Resources: []string{bucketARN + "/" + deployment.Prefixes + "/*"},
		Reason:    "what prompts have in common is computed once and read by other instances; each block is encrypted with a key that follows from its text",
		Wildcards: "a block has the name that follows from its text",
	}
}

// The condition is that of listBatches, for the same reason.
func findPrefixes() Statement {
	return Statement{
		Sid: "PrefixLists", Actions: []string{"s3:ListBucket"}, Resources: []string{bucketARN},
		Condition: map[string]map[string][]string{"StringLikeIfExists": {"s3:prefix": {deployment.Prefixes + "/*"}}},
		Reason:    "tells missing blocks from refused ones",
		Wildcards: "a block has the name that follows from its text",
	}
}

func listCheckpoints() Statement {
	return Statement{
		Sid: "Runs", Actions: []string{"s3:ListBucket"}, Resources: []string{bucketARN},
		Condition: map[string]map[string][]string{"StringLike": {"s3:prefix": {deployment.Checkpoints + "/*"}}},
		Reason:    "runs are found by listing",
		Wildcards: "the prefix of each run is below that of all runs",
	}
}

// Source: Service Authorization Reference, "Actions, resources, and condition keys for
// Amazon S3": the parts of a multipart upload, its beginning and end are s3:PutObject.
func publish() Statement {
	return Statement{
		Sid:       "Publish",
		Actions:   []string{"s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"},
		Resources: []string{bucketARN + "/" + deployment.Checkpoints + "/*"},
		Reason:    "models are published, replaced and deleted; old versions stay for a while",
		Wildcards: "its uploader chooses the name of a model",
	}
}

func assemble() Statement {
	return Statement{
		Sid:       "Uploads",
		Actions:   []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"},
		Resources: []string{bucketARN + "/" + deployment.Uploads + "/*"},
		Reason:    "parts of an upload are stored, read and deleted by different instances",
		Wildcards: "each upload has its own directory",
	}
}

func listUploads() Statement {
	return Statement{
		Sid: "Parts", Actions: []string{"s3:ListBucket"}, Resources: []string{bucketARN},
		Condition: map[string]map[string][]string{"StringLike": {"s3:prefix": {deployment.Uploads + "/*"}}},
		Reason:    "lists the parts of an upload",
		Wildcards: "each upload has its own directory",
	}
}

func storeBatches() Statement {
	return Statement{
		Sid:       "Batches",
		Actions:   []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"},
		Resources: []string{bucketARN + "/" + deployment.Batches + "/*"},
		Reason:    "files, batches and their answers are stored, read and deleted by different instances",
		Wildcards: "each owner has a directory",
	}
}

// Source: Amazon S3 API Reference, GetObject: without the permission to list, the answer for a
// missing object is 403, not 404. That request has no prefix, hence IfExists.
func listBatches() Statement {
	return Statement{
		Sid: "BatchLists", Actions: []string{"s3:ListBucket"}, Resources: []string{bucketARN},
		Condition: map[string]map[string][]string{"StringLikeIfExists": {"s3:prefix": {deployment.Batches + "/*"}}},
		Reason:    "lists the files and batches of an owner, and what is left to do; tells missing objects from refused ones",
		Wildcards: "each owner has a directory",
	}
}

func invokeItself() Statement {
	return Statement{
		Sid: "Itself", Actions: []string{"lambda:InvokeFunction"}, Resources: []string{aliasARN},
		Reason: "work that takes longer than an invocation, or can be shared, continues in others",
	}
}

// Sources: Amazon Bedrock User Guide, "Prerequisites for inference profiles": the caller of
// a profile needs the profile and the foundation model in every region that it leads to;
// Service Authorization Reference, "Actions, resources, and condition keys for Amazon
// Bedrock", for the kinds of models that InvokeModel takes.
func bedrock(streams bool) Statement {
	actions := []string{"bedrock:InvokeModel"}
	if streams {
		actions = append(actions, "bedrock:InvokeModelWithResponseStream")
	}
	resources := []string{"arn:${AWS::Partition}:bedrock:*::foundation-model/*"}
	for _, kind := range []string{
		"inference-profile", "application-inference-profile", "provisioned-model", "custom-model", "custom-model-deployment", "imported-model",
	} {
		resources = append(resources, "arn:${AWS::Partition}:bedrock:*:${AWS::AccountId}:"+kind+"/*")
	}
	return Statement{
		Sid:       "Bedrock",
		Actions:   actions,
		Resources: resources,
		Reason:    "models on Amazon Bedrock: its own, and those of this account that a record names by their ARN",
		Wildcards: "a model is added by a record, without a deployment, and profiles lead to models of other regions",
	}
}

// Source: Amazon Bedrock User Guide, "Set up permissions to use Amazon Bedrock Guardrails": who
// names a guardrail in a call of a model needs this permission, too.
func guardrails() Statement {
	return Statement{
		Sid: "Guardrails", Actions: []string{"bedrock:ApplyGuardrail"},
		Resources: []string{"arn:${AWS::Partition}:bedrock:*:${AWS::AccountId}:guardrail/*"},
		Reason:    "guardrails that records name are applied to requests and answers of models on Amazon Bedrock",
		Wildcards: "a guardrail is named by a record, without a deployment",
	}
}

// Source: Amazon SageMaker API Reference, InvokeEndpointWithResponseStream: it requires the
// permission sagemaker:InvokeEndpoint; there is no separate one.
func sagemaker() Statement {
	return Statement{
		Sid:     "SageMaker",
		Actions: []string{"sagemaker:InvokeEndpoint"},
		Resources: []string{
			"arn:${AWS::Partition}:sagemaker:*:${AWS::AccountId}:endpoint/*",
			"arn:${AWS::Partition}:sagemaker:*:${AWS::AccountId}:inference-component/*",
		},
		Reason:    "models at endpoints of Amazon SageMaker, with and without streaming",
		Wildcards: "a model is added by a record, without a deployment, and a record may name its region",
	}
}

// Source: AWS Identity and Access Management User Guide, "IAM roles", "Cross-account access": both
// accounts must agree, this one by this statement and the other one by the role's trust policy.
func assumeRoles() Statement {
	return Statement{
		Sid: "Roles", Actions: []string{"sts:AssumeRole"}, Resources: []string{"arn:${AWS::Partition}:iam::*:role/glossa/*"},
		Reason:    "models of other accounts, in whose records these roles are named",
		Wildcards: "a model is added by a record, without a deployment; the other account decides who assumes its role",
	}
}

// Source: AWS Secrets Manager User Guide, "Permissions policy examples": the ARN of a secret
// ends with a random suffix.
func readSecrets() Statement {
	return Statement{
		Sid: "Secrets", Actions: []string{"secretsmanager:GetSecretValue"},
		Resources: []string{"arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:glossa/*"},
		Reason:    "keys of endpoints that speak OpenAI's API, which records name",
		Wildcards: "a model is added by a record, without a deployment",
	}
}

func readParameters() Statement {
	return Statement{
		Sid: "Parameters", Actions: []string{"ssm:GetParameter"},
		Resources: []string{"arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/glossa/*"},
		Reason:    "the same keys, where they are parameters",
		Wildcards: "a model is added by a record, without a deployment",
	}
}

// AlarmService is the service that publishes to the topic of alarms.
const AlarmService = "cloudwatch.amazonaws.com"

// Alarms returns the permission of [AlarmService]. A topic with a policy allows only the
// principals in it; the alarms of its own account need a statement, too.
//
// Source: Amazon CloudWatch User Guide, "Notifying users on alarm changes", for the
// conditions, without which other accounts' alarms could publish.
func Alarms() Statement {
	return Statement{
		Sid: "Alarms", Actions: []string{"sns:Publish"}, Resources: []string{"${TopicArn}"},
		Condition: map[string]map[string][]string{
			"StringEquals": {"aws:SourceAccount": {"${AWS::AccountId}"}},
			"ArnLike":      {"aws:SourceArn": {"arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:${AWS::StackName}-*"}},
		},
		Reason:    "the alarms of the stack notify their topic",
		Wildcards: "CloudFormation names alarms with the stack's name as a prefix",
	}
}

// partitions returns the condition that restricts a statement to items with one of these
// values of pk.
func partitions(pk ...string) map[string]map[string][]string {
	op := "ForAllValues:StringEquals"
	if slices.ContainsFunc(pk, hasWildcard) {
		op = "ForAllValues:StringLike"
	}
	return map[string]map[string][]string{op: {"dynamodb:LeadingKeys": pk}}
}
