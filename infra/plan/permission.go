package plan

import (
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/deployment"
)

// A Statement allows actions in an IAM policy. Resources are in the syntax of
// CloudFormation's Fn::Sub, with the names of references.
type Statement struct {
	Sid       string
	Actions   []string
	Resources []string
	// Condition is by operator and key.
	Condition map[string]map[string][]string
	Reason    string // what the function does with it
	// Wildcards says why resources are no narrower; there is none without it.
	Wildcards string
}

// references are the names in the resources of statements and the values of environments
// that a deployment gives a meaning to, beside those of CloudFormation.
func references() []string {
	return []string{"Table", "TableArn", "Bucket", "BucketArn", "LogGroupArn", "TopicArn"}
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// sample returns a text with a value in the place of each reference, such as a
// deployment might give.
func sample(s string) string {
	return reference.ReplaceAllStringFunc(s, func(r string) string { return "some-" + strings.ToLower(strings.Trim(r, "${}")) })
}

// unknown returns the references in a text that nobody gives a meaning to.
func unknown(s string) (names []string) {
	for _, found := range reference.FindAllStringSubmatch(s, -1) {
		if name := found[1]; !strings.HasPrefix(name, "AWS::") && !slices.Contains(references(), name) {
			names = append(names, name)
		}
	}
	return names
}

const (
	tableARN  = "${TableArn}"
	bucketARN = "${BucketArn}"
)

// statements returns what the function of a family may do.
func statements(family string, streams bool) []Statement {
	list := []Statement{logs(), readItems(), query(), count(), readCheckpoints(), listCheckpoints(), bedrock(streams), sagemaker()}
	switch family {
	case CatchAll: // which has the log-in
		list = append(list, logIn())
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
		Wildcards: "each instance has a stream of its own in the function's group, whose name Lambda makes",
	}
}

func readItems() Statement {
	return Statement{
		Sid: "Items", Actions: []string{"dynamodb:GetItem"}, Resources: []string{tableARN},
		Reason: "model records, keys and tokens of callers, their budgets",
	}
}

func query() Statement {
	return Statement{
		Sid: "Lists", Actions: []string{"dynamodb:Query"}, Resources: []string{tableARN}, Condition: partitions("models", "usage"),
		Reason: "all models, and what was used",
	}
}

func count() Statement {
	return Statement{
		Sid: "Counts", Actions: []string{"dynamodb:UpdateItem"}, Resources: []string{tableARN}, Condition: partitions("budget#*", "usage"),
		Reason:    "what a request used is added up, and taken off its caller's budget",
		Wildcards: "budgets have a partition for each caller",
	}
}

func logIn() Statement {
	return Statement{
		Sid: "LogIn", Actions: []string{"dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"}, Resources: []string{tableARN},
		Condition: partitions("accounts"),
		Reason:    "a log-in stores the hash of a token, and deletes the oldest of a user who has too many",
	}
}

func readCheckpoints() Statement {
	return Statement{
		Sid: "Checkpoints", Actions: []string{"s3:GetObject"}, Resources: []string{bucketARN + "/" + deployment.Checkpoints + "/*"},
		Reason:    "weights are read in ranges, all of one version",
		Wildcards: "runs are published without a deployment",
	}
}

func listCheckpoints() Statement {
	return Statement{
		Sid: "Runs", Actions: []string{"s3:ListBucket"}, Resources: []string{bucketARN},
		Condition: map[string]map[string][]string{"StringLike": {"s3:prefix": {deployment.Checkpoints + "/*"}}},
		Reason:    "runs are found by what is there",
		Wildcards: "prefixes of single runs lie below that of all",
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
		Wildcards: "the name of a model is chosen by who uploads it",
	}
}

func assemble() Statement {
	return Statement{
		Sid:       "Uploads",
		Actions:   []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"},
		Resources: []string{bucketARN + "/" + deployment.Uploads + "/*"},
		Reason:    "parts of an upload are kept, read and thrown away, each by another instance",
		Wildcards: "each upload has a directory of its own",
	}
}

func listUploads() Statement {
	return Statement{
		Sid: "Parts", Actions: []string{"s3:ListBucket"}, Resources: []string{bucketARN},
		Condition: map[string]map[string][]string{"StringLike": {"s3:prefix": {deployment.Uploads + "/*"}}},
		Reason:    "which parts of an upload are there",
		Wildcards: "each upload has a directory of its own",
	}
}

// Sources: Amazon Bedrock User Guide, "Prerequisites for inference profiles": who calls a
// profile needs the profile and the foundation model in every region that it leads to;
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

// Source: Amazon SageMaker API Reference, InvokeEndpointWithResponseStream: it needs the
// permission sagemaker:InvokeEndpoint, and has none of its own.
func sagemaker() Statement {
	return Statement{
		Sid:     "SageMaker",
		Actions: []string{"sagemaker:InvokeEndpoint"},
		Resources: []string{
			"arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:endpoint/*",
			"arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:inference-component/*",
		},
		Reason:    "models at endpoints of Amazon SageMaker, streamed or not",
		Wildcards: "a model is added by a record, without a deployment",
	}
}

// AlarmService is the service that publishes to the topic of alarms.
const AlarmService = "cloudwatch.amazonaws.com"

// Alarms returns what [AlarmService] may do. A topic with a policy allows nobody else than
// that says, the alarms of its own account included.
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
		Reason:    "the alarms of the stack tell their topic",
		Wildcards: "CloudFormation names alarms, beginning with the stack's name",
	}
}

// partitions bounds a statement to items of the table whose pk is one of these.
func partitions(pk ...string) map[string]map[string][]string {
	op := "ForAllValues:StringEquals"
	if slices.ContainsFunc(pk, wild) {
		op = "ForAllValues:StringLike"
	}
	return map[string]map[string][]string{op: {"dynamodb:LeadingKeys": pk}}
}
