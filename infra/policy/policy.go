// Package policy checks synthesised CloudFormation templates against a plan and rules: they
// deploy exactly what the plan says, whatever the CDK adds by itself. It does not know the
// CDK; it reads JSON.
package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// Templates holds the templates of the three stacks.
type Templates struct {
	Data, API, Watch Template
	Second           *Templates // of the second region; nil: there is none
	// Region is that of the stacks, if they are of a region that is known; in texts it and its
	// partition are references, as elsewhere.
	Region string
}

// A rule reports how the templates break it.
type rule struct {
	name  string
	check func(*checker)
}

func rules() []rule {
	return []rule{
		{"types", (*checker).types},
		{"table", (*checker).table},
		{"bucket", (*checker).bucket},
		{"regions", (*checker).regions},
		{"replication", (*checker).replication},
		{"access", (*checker).access},
		{"functions", (*checker).functions},
		{"schedules", (*checker).schedules},
		{"logs", (*checker).logs},
		{"paths", (*checker).paths},
		{"gateway", (*checker).gateway},
		{"doors", (*checker).entryPoints},
		{"callers", (*checker).callers},
		{"firewall", (*checker).firewall},
		{"rollout", (*checker).rollout},
		{"cdn", (*checker).cdn},
		{"alarms", (*checker).alarms},
		{"dashboard", (*checker).dashboard},
		{"topic", (*checker).topic},
		{"imports", (*checker).imports},
		{"outputs", (*checker).outputs},
	}
}

// Check returns all deviations of the templates from the plan and the rules.
func Check(p *plan.Plan, t Templates) error {
	c := &checker{plan: p, Templates: t}
	for _, r := range rules() {
		c.rule = r.name
		r.check(c)
	}
	if second := p.Second(); second != nil && t.Second != nil {
		copied := *t.Second
		copied.Region = p.Config.Replica
		if err := Check(second, copied); err != nil {
			c.errs = append(c.errs, fmt.Errorf("in the second region: %w", err))
		}
	}
	return errors.Join(c.errs...)
}

// A checker collects the deviations.
type checker struct {
	plan *plan.Plan
	Templates
	rule  string
	errs  []error
	known map[string]*strings.Replacer // references by family
}

func (c *checker) fail(where, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s: %s", c.rule, where, fmt.Sprintf(format, args...)))
}

// want fails unless got equals want.
func (c *checker) want(where string, got, want any) {
	got, want = decimal(got), decimal(want)
	if !reflect.DeepEqual(got, want) {
		c.fail(where, "%v, want %v", got, want)
	}
}

// decimal converts a number to its type in decoded JSON.
func decimal(v any) any {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v
}

// kinds returns the types of resources that each stack may have.
func kinds() map[string][]string {
	return map[string][]string{
		"data": {"AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket", "AWS::S3::BucketPolicy", "AWS::IAM::Role", "AWS::IAM::Policy"},
		"api": {
			"AWS::Lambda::Function", "AWS::Lambda::Version", "AWS::Lambda::Alias", "AWS::Lambda::Url", "AWS::Lambda::Permission",
			"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::Logs::LogGroup", "AWS::Events::Rule",
			"AWS::ApiGateway::RestApi", "AWS::ApiGateway::Account", "AWS::ApiGateway::Deployment", "AWS::ApiGateway::Stage",
			"AWS::ApiGateway::Resource", "AWS::ApiGateway::Method", "AWS::ApiGateway::GatewayResponse",
			"AWS::ApiGateway::DomainName", "AWS::ApiGateway::BasePathMapping", "AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation",
			"AWS::CloudFront::Distribution", "AWS::CloudFront::Function", "AWS::CloudFront::OriginAccessControl", "AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup", "AWS::CloudWatch::Alarm",
		},
		"watch": {"AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "AWS::SNS::Subscription"},
	}
}

// each calls f for all resources of a type in all stacks.
func (c *checker) each(kind string, f func(name string, r *Resource)) {
	for _, t := range []Template{c.Data, c.API, c.Watch} {
		for _, name := range t.of(kind) {
			f(name, t.Resources[name])
		}
	}
}

func (c *checker) types() {
	for stack, t := range map[string]Template{"data": c.Data, "api": c.API, "watch": c.Watch} {
		for name, r := range t.Resources {
			if !slices.Contains(kinds()[stack], r.Type) {
				c.fail(name, "the stack %[2]s must not have a %[1]s", r.Type, stack)
			}
		}
	}
}

func (c *checker) retained(name string, r *Resource) {
	c.want(name+" when it is deleted", r.DeletionPolicy, "Retain")
	c.want(name+" when it is replaced", r.UpdateReplacePolicy, "Retain")
}

func (c *checker) table() {
	names, shared := c.Data.of("AWS::DynamoDB::Table"), c.Data.of("AWS::DynamoDB::GlobalTable")
	if c.plan.Config.SharedTable() != "" {
		c.want("tables", len(names), 0)
		c.sharedTable(shared)
		return
	}
	c.want("tables", len(names), 1)
	c.want("shared tables", len(shared), 0)
	for _, name := range names {
		r := c.Data.Resources[name]
		c.retained(name, r)
		c.want(name+" recovery", r.get("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), true)
		c.keys(name, r)
		encryption := any(nil) // with keys that AWS owns
		if key := c.plan.Config.Key; key != "" {
			encryption = map[string]any{"KMSMasterKeyId": key, "SSEEnabled": true, "SSEType": "KMS"}
		}
		c.want(name+" encryption", r.get("SSESpecification"), encryption)
		c.want(name+" protection", r.get("DeletionProtectionEnabled"), c.plan.Config.Stage == plan.Production)
	}
}

// keys checks what all tables have in common.
func (c *checker) keys(name string, r *Resource) {
	c.want(name+" billing", r.get("BillingMode"), "PAY_PER_REQUEST")
	c.want(name+" time to live", r.get("TimeToLiveSpecification"), map[string]any{"AttributeName": "expires", "Enabled": true})
	c.want(name+" key", r.get("KeySchema"), []any{
		map[string]any{"AttributeName": "pk", "KeyType": "HASH"}, map[string]any{"AttributeName": "sk", "KeyType": "RANGE"},
	})
	c.want(name+" attributes", r.get("AttributeDefinitions"), []any{
		map[string]any{"AttributeName": "pk", "AttributeType": "S"}, map[string]any{"AttributeName": "sk", "AttributeType": "S"},
	})
}

func (c *checker) bucket() {
	names := c.Data.of("AWS::S3::Bucket")
	c.want("buckets", len(names), 1)
	for _, name := range names {
		r := c.Data.Resources[name]
		c.retained(name, r)
		c.want(name+" versions", r.get("VersioningConfiguration", "Status"), "Enabled")
		for _, block := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
			c.want(name+" "+block, r.get("PublicAccessBlockConfiguration", block), true)
		}
		c.want(name+" ACL", r.get("AccessControl"), nil)
		c.encryption(name, objects(r.list("BucketEncryption", "ServerSideEncryptionConfiguration")))
		c.lifecycle(name, objects(r.list("LifecycleConfiguration", "Rules")))
		c.requireTLS(name)
	}
}

// encryption requires that a bucket is encrypted with S3's own keys, or with the operator's,
// of which S3 then derives one for many objects.
func (c *checker) encryption(bucket string, got []map[string]any) {
	want, derived := map[string]any{"SSEAlgorithm": "AES256"}, any(nil)
	if key := c.plan.Config.Key; key != "" {
		want, derived = map[string]any{"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}, true
	}
	c.want(bucket+" encryptions", len(got), 1)
	for _, one := range got {
		c.want(bucket+" encryption", one["ServerSideEncryptionByDefault"], want)
		c.want(bucket+" derived keys", one["BucketKeyEnabled"], derived)
	}
}

// lifecycle requires that old versions, incomplete uploads, unpublished parts and what can be
// computed again expire, and nothing else.
func (c *checker) lifecycle(bucket string, rules []map[string]any) {
	temporary := []string{deployment.Uploads + "/"}
	if c.plan.Config.Prefixes {
		temporary = append(temporary, deployment.Prefixes+"/")
	}
	gone := map[string]bool{}
	for _, rule := range rules {
		for key := range rule {
			gone[fmt.Sprint(key, " ", rule["Prefix"])] = rule["Status"] == "Enabled"
		}
		if rule["ExpirationInDays"] != nil && !slices.Contains(temporary, fmt.Sprint(rule["Prefix"])) {
			c.fail(bucket, "objects below %v must not expire", rule["Prefix"])
		}
	}
	needed := []string{"AbortIncompleteMultipartUpload <nil>", "NoncurrentVersionExpiration <nil>", "NoncurrentVersionExpiration " + deployment.Batches + "/"}
	for _, prefix := range temporary {
		needed = append(needed, "ExpirationInDays "+prefix)
	}
	for _, what := range needed {
		if !gone[what] {
			c.fail(bucket, "there is no %s", what)
		}
	}
}

// requireTLS requires that the bucket denies all requests without TLS 1.2 or later.
func (c *checker) requireTLS(bucket string) {
	denied := map[string]bool{}
	for _, name := range c.Data.of("AWS::S3::BucketPolicy") {
		r := c.Data.Resources[name]
		if c.text(r.get("Bucket")) != "${"+bucket+"}" {
			continue
		}
		for _, s := range objects(r.list("PolicyDocument", "Statement")) {
			all := slices.Equal(c.texts(s["Resource"]), []string{"${" + bucket + ".Arn}", "${" + bucket + ".Arn}/*"})
			if s["Effect"] == "Deny" && s["Action"] == "s3:*" && all && reflect.DeepEqual(s["Principal"], map[string]any{"AWS": "*"}) {
				denied[fmt.Sprint(s["Condition"])] = true
			}
		}
	}
	for _, condition := range []string{"map[Bool:map[aws:SecureTransport:false]]", "map[NumericLessThan:map[s3:TlsVersion:1.2]]"} {
		if !denied[condition] {
			c.fail(bucket, "its policy does not deny %s", condition)
		}
	}
}

// managed returns the AWS managed policies that a role may have, by the service that
// assumes the role, with the reason.
func managed() map[string]string {
	return map[string]string{
		// API Gateway writes the access logs of all APIs of an account with one role.
		"apigateway.amazonaws.com": "arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs",
	}
}

// access checks all permissions except those of the functions and of deployments, which
// functions and rollout check.
func (c *checker) access() {
	c.each("AWS::IAM::Role", func(name string, r *Resource) {
		var services []string
		for _, s := range objects(r.list("AssumeRolePolicyDocument", "Statement")) {
			principal, _ := s["Principal"].(map[string]any)
			services = append(services, c.texts(principal["Service"])...)
			if len(principal) != 1 || s["Condition"] != nil {
				c.fail(name, "it can be assumed by %v", principal)
			}
		}
		for _, arn := range c.texts(r.get("ManagedPolicyArns")) {
			if len(services) != 1 || managed()[services[0]] != arn {
				c.fail(name, "%s has no reason", arn)
			}
		}
		if len(r.list("Policies")) > 0 && (len(services) != 1 || services[0] != "lambda.amazonaws.com" && services[0] != plan.DeployService) {
			c.fail(name, "only functions and deployments have inline policies, and it is for %v", services)
		}
	})
	c.each("AWS::S3::BucketPolicy", func(name string, r *Resource) {
		for _, s := range objects(r.list("PolicyDocument", "Statement")) {
			if s["Effect"] != "Deny" {
				c.fail(name, "it lets in %v", s["Principal"])
			}
		}
	})
}

// outputs requires the names and addresses of a deployment.
func (c *checker) outputs() {
	out := func(t Template, name string) string { return c.text(t.Outputs[name].Value) }
	table, _ := c.tableNames()
	if c.plan.Copy {
		table = "<nil>" // the first region's has the same name
	}
	c.want(deployment.TableOutput, out(c.Data, deployment.TableOutput), table)
	c.want(deployment.BucketOutput, out(c.Data, c.plan.Output(deployment.BucketOutput)), "${"+c.Data.first("AWS::S3::Bucket")+"}")
	address := "https://" + c.plan.Config.Domain + "/"
	if c.plan.Config.Domain == "" {
		address = "https://${" + c.API.first("AWS::ApiGateway::RestApi") + "}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${" + c.API.first("AWS::ApiGateway::Stage") + "}/"
	}
	c.want(deployment.APIOutput, out(c.API, c.plan.Output(deployment.APIOutput)), address)
	for _, f := range c.plan.Functions {
		if !c.plan.Config.URLs {
			c.want(deployment.URLOutput(f.Family), out(c.API, c.plan.Output(deployment.URLOutput(f.Family))), "<nil>")
			continue
		}
		url, _ := c.findConstruct(f.Family, "LiveFunctionUrl")
		c.want(deployment.URLOutput(f.Family), out(c.API, c.plan.Output(deployment.URLOutput(f.Family))), "${"+url+".FunctionUrl}")
	}
}

func (c *checker) logs() {
	c.each("AWS::Logs::LogGroup", func(name string, r *Resource) {
		if days, ok := r.get("RetentionInDays").(float64); !ok || days < 1 || days > 365 {
			c.fail(name, "kept for %v days", r.get("RetentionInDays"))
		}
	})
	told := map[string]bool{}
	for _, name := range []string{
		"requestId", "requestTimeEpoch", "httpMethod", "path", "resourcePath", "status", "responseLength", "responseLatency",
		"integrationLatency", "identity.sourceIp", "error.responseType",
	} {
		told[name] = true
	}
	for _, name := range c.API.of("AWS::ApiGateway::Stage") {
		r := c.API.Resources[name]
		format, _ := r.get("AccessLogSetting", "Format").(string)
		if format == "" || r.get("AccessLogSetting", "DestinationArn") == nil {
			c.fail(name, "the access log is missing")
		}
		for _, variable := range strings.Split(format, "$")[1:] {
			variable, _, _ = strings.Cut(strings.TrimPrefix(variable, "context."), `"`)
			if !told[variable] {
				c.fail(name, "$%s must not be in the access log", variable)
			}
		}
		for _, s := range objects(r.list("MethodSettings")) {
			if s["DataTraceEnabled"] == true || s["LoggingLevel"] != nil && s["LoggingLevel"] != "OFF" {
				c.fail(name, "bodies are logged")
			}
		}
	}
}
