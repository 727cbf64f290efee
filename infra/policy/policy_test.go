package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// variants returns variants of settings by their directories, which hold the contexts and
// the templates that the stacks' test writes.
func variants(t *testing.T) map[string]plan.Config {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "contexts.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]plan.Config{}
	for _, file := range files {
		cfg, err := plan.Parse(func(name string) string { return contexts(t, file)[name] })
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(filepath.Dir(file))] = cfg
	}
	return all
}

// contexts reads a file of contexts.
func contexts(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	spelled := map[string]string{}
	for name, value := range all {
		spelled[name] = fmt.Sprint(value)
	}
	return spelled
}

// plans are the plans of the variants, which nobody changes.
var plans = map[string]*plan.Plan{}

// golden returns the templates of a variant, and their plan.
func golden(t *testing.T, variant string) (*plan.Plan, Templates) {
	t.Helper()
	read := func(stack string) Template {
		text, err := os.ReadFile(filepath.Join("testdata", variant, stack+".json"))
		if err != nil {
			t.Fatal(err)
		}
		template, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return template
	}
	p := plans[variant]
	if p == nil {
		var err error
		if p, err = plan.New(variants(t)[variant]); err != nil {
			t.Fatal(err)
		}
		plans[variant] = p
	}
	templates := Templates{Data: read("data"), API: read("api"), Watch: read("watch")}
	if p.Second() != nil {
		templates.Second = &Templates{Data: read("replica-data"), API: read("replica-api"), Watch: read("replica-watch")}
	}
	return p, templates
}

func TestGolden(t *testing.T) {
	for name, cfg := range variants(t) {
		p, templates := golden(t, name)
		if err := Check(p, templates); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if cfg.Stage != name {
			t.Errorf("%s has the stage %s", name, cfg.Stage)
		}
	}
}

// A variant sets each context, so that its templates are checked.
func TestContexts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "contexts.json"))
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]bool{}
	for _, file := range files {
		for name, value := range contexts(t, file) {
			chosen[name+"="+value] = true
			chosen[name] = true
		}
	}
	for _, c := range plan.Contexts() {
		if !chosen[c.Name] || chosen[c.Name+"="+c.Default] {
			t.Errorf("no variant sets %s to another value than %q", c.Name, c.Default)
		}
	}
}

// A breach breaks one rule in the templates.
type breach struct {
	rule string
	of   string // type of the resource, the first of which is changed
	name string // prefix of its name; "": any
	do   func(t *Templates, r *Resource)
}

// set changes the property at a path of keys. If the last but one is a list, set changes
// its first element.
func set(value any, keys ...string) func(*Templates, *Resource) {
	return func(_ *Templates, r *Resource) {
		m := r.Properties
		for _, key := range keys[:len(keys)-1] {
			next := m[key]
			if list, ok := next.([]any); ok {
				next = list[0]
			}
			m = next.(map[string]any)
		}
		m[keys[len(keys)-1]] = value
	}
}

// add adds a resource to the API's stack.
func add(kind string, properties map[string]any) func(*Templates, *Resource) {
	return func(t *Templates, _ *Resource) {
		t.API.Resources["Added"] = &Resource{Type: kind, Properties: properties}
	}
}

// addData is add in the stack of data.
func addData(kind string, properties map[string]any) func(*Templates, *Resource) {
	return func(t *Templates, _ *Resource) {
		t.Data.Resources["Added"] = &Resource{Type: kind, Properties: properties}
	}
}

// granted changes a named statement of a function's role.
func granted(sid, key string, value any) func(*Templates, *Resource) {
	return func(_ *Templates, r *Resource) {
		document := objects(r.list("Policies"))[0]["PolicyDocument"].(map[string]any)
		for _, s := range objects(document["Statement"].([]any)) {
			if s["Sid"] == sid {
				s[key] = value
			}
		}
	}
}

// with adds a statement to a policy.
func with(statement map[string]any, keys ...string) func(*Templates, *Resource) {
	return func(_ *Templates, r *Resource) {
		m := r.Properties
		for _, key := range keys {
			if list, ok := m[key].([]any); ok {
				m = list[0].(map[string]any)
				continue
			}
			m = m[key].(map[string]any)
		}
		m["Statement"] = append(m["Statement"].([]any), statement)
	}
}

// remove removes the resource from the API's stack.
func remove(t *Templates, r *Resource) {
	for _, template := range []Template{t.Data, t.API} {
		for name, other := range template.Resources {
			if other == r {
				delete(template.Resources, name)
			}
		}
	}
}

func dataBreaches() []breach {
	const table, bucket, policy = "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::S3::BucketPolicy"
	public := map[string]any{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
	return []breach{
		{"types", bucket, "", add("AWS::IAM::User", nil)},
		{"table", table, "", func(_ *Templates, r *Resource) { r.DeletionPolicy = "Delete" }},
		{"table", table, "", func(_ *Templates, r *Resource) { r.UpdateReplacePolicy = "" }},
		{"table", table, "", set("PROVISIONED", "BillingMode")},
		{"table", table, "", set(false, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")},
		{"table", table, "", set("ttl", "TimeToLiveSpecification", "AttributeName")},
		{"table", table, "", set("id", "KeySchema", "AttributeName")},
		{"table", table, "", set("N", "AttributeDefinitions", "AttributeType")},
		{"table", table, "", set(true, "DeletionProtectionEnabled")},
		{"bucket", bucket, "", func(_ *Templates, r *Resource) { r.DeletionPolicy = "Delete" }},
		{"bucket", bucket, "", set("Suspended", "VersioningConfiguration", "Status")},
		{"bucket", bucket, "", set(false, "PublicAccessBlockConfiguration", "BlockPublicPolicy")},
		{"bucket", bucket, "", set(nil, "PublicAccessBlockConfiguration")},
		{"bucket", bucket, "", set("PublicRead", "AccessControl")},
		{"bucket", bucket, "", set(nil, "BucketEncryption")},
		{"bucket", bucket, "", set(map[string]any{"SSEAlgorithm": "aws:kms"}, "BucketEncryption", "ServerSideEncryptionConfiguration", "ServerSideEncryptionByDefault")},
		{"bucket", bucket, "", set("Disabled", "LifecycleConfiguration", "Rules", "Status")},
		{"bucket", bucket, "", set(30.0, "LifecycleConfiguration", "Rules", "ExpirationInDays")},
		{"bucket", bucket, "", func(_ *Templates, r *Resource) { objects(r.list("LifecycleConfiguration", "Rules"))[1]["Prefix"] = "" }},
		{"bucket", bucket, "", func(_ *Templates, r *Resource) {
			objects(r.list("LifecycleConfiguration", "Rules"))[1]["Status"] = "Disabled"
		}},
		{"outputs", bucket, "", func(t *Templates, _ *Resource) { delete(t.Data.Outputs, deployment.BucketOutput) }},
		{"outputs", table, "", func(t *Templates, _ *Resource) {
			t.Data.Outputs[deployment.TableOutput] = t.Data.Outputs[deployment.BucketOutput]
		}},
		{"outputs", bucket, "", func(t *Templates, _ *Resource) { delete(t.API.Outputs, deployment.APIOutput) }},
		{"outputs", bucket, "", func(t *Templates, _ *Resource) {
			t.API.Outputs[deployment.URLOutput("alpha")] = t.API.Outputs[deployment.URLOutput("openai")]
		}},
		{"bucket", policy, "", set("Allow", "PolicyDocument", "Statement", "Effect")},
		{"bucket", policy, "", set("s3:PutObject", "PolicyDocument", "Statement", "Action")},
		{"access", policy, "", with(public, "PolicyDocument")},
	}
}

func functionBreaches() []breach {
	const fn, role, own, rule = "AWS::Lambda::Function", "AWS::IAM::Role", "AWS::IAM::Policy", "AWS::Events::Rule"
	other := map[string]any{"Service": "ec2.amazonaws.com"}
	admin := []any{"arn:aws:iam::aws:policy/AdministratorAccess"}
	return []breach{
		{"access", role, "alpha", set(other, "AssumeRolePolicyDocument", "Statement", "Principal")},
		{"access", role, "alpha", set(map[string]any{"AWS": "*"}, "AssumeRolePolicyDocument", "Statement", "Principal")},
		{"access", role, "alpha", set(admin, "ManagedPolicyArns")},
		{"access", role, "ApiCloudWatchRole", set(admin, "ManagedPolicyArns")},
		{"functions", role, "alpha", granted("Items", "Resource", "*")},
		{"functions", role, "alpha", granted("Items", "Action", "dynamodb:*")},
		{"functions", role, "alpha", granted("Items", "Condition", nil)},
		{"functions", role, "alpha", granted("Items", "Action", []any{"dynamodb:GetItem", "dynamodb:Scan"})},
		{"functions", role, "alpha", granted("Lists", "Condition", nil)},
		{"functions", role, "alpha", granted("Bedrock", "Resource", []any{"arn:aws:bedrock:*:*:*"})},
		{"functions", role, "alpha", granted("SageMaker", "Effect", "Deny")},
		{"functions", role, "alpha", granted("Publish", "Sid", "")},
		// a permission of another function
		{"functions", role, "openai", with(map[string]any{"Sid": "Publish", "Effect": "Allow", "Action": "s3:PutObject"}, "Policies", "PolicyDocument")},
		{"functions", fn, "alpha", set("nodejs24.x", "Runtime")},
		{"functions", fn, "alpha", set([]any{"x86_64"}, "Architectures")},
		{"functions", fn, "alpha", set(128.0, "MemorySize")},
		{"functions", fn, "alpha", set(901.0, "Timeout")},
		{"functions", fn, "alpha", set(1.0, "ReservedConcurrentExecutions")},
		{"functions", fn, "alpha", set("true", "Environment", "Variables", "GLOSSA_OPEN")},
		{"functions", fn, "alpha", set("other", "Environment", "Variables", "GLOSSA_TABLE")},
		{"functions", fn, "alpha", set(map[string]any{"Fn::GetAtt": []any{"openaiRole", "Arn"}}, "Role")},
		{"functions", fn, "alpha", set(nil, "LoggingConfig")},
		{"functions", fn, "alpha", add(fn, nil)},
		{"cdn", fn, "alpha", add("AWS::CloudFront::Distribution", nil)},
		{"rollout", fn, "alpha", add("AWS::CodeDeploy::DeploymentGroup", nil)},
		{"rollout", "AWS::Lambda::Alias", "alpha", func(_ *Templates, r *Resource) { r.UpdatePolicy = map[string]any{"CodeDeployLambdaAliasUpdate": 1} }},
		{"functions", "AWS::Lambda::Alias", "alpha", set(map[string]any{"ProvisionedConcurrentExecutions": 1.0}, "ProvisionedConcurrencyConfig")},
		{"functions", "AWS::Lambda::Alias", "alpha", set("other", "FunctionName")},
		{"functions", fn, "batches", set("Terminate", "RecursiveLoop")},
		{"functions", fn, "alpha", set("Allow", "RecursiveLoop")},
		{"functions", own, "batches", set("*", "PolicyDocument", "Statement", "Resource")},
		{"functions", own, "batches", set([]any{map[string]any{"Ref": "other"}}, "Roles")},
		{"functions", own, "batches", add(own, map[string]any{"Roles": []any{map[string]any{"Ref": "other"}}})},
		{"schedules", rule, "batches", set("rate(1 minute)", "ScheduleExpression")},
		{"schedules", rule, "batches", set("DISABLED", "State")},
		{"schedules", rule, "batches", set(`{"batches":"work"}`, "Targets", "Input")},
		{"schedules", rule, "batches", set("other", "Targets", "Arn")},
		{"schedules", rule, "batches", set(map[string]any{}, "EventPattern")},
		{"schedules", rule, "batches", add(rule, nil)},
	}
}

func apiBreaches() []breach {
	const method, stage, rest = "AWS::ApiGateway::Method", "AWS::ApiGateway::Stage", "AWS::ApiGateway::RestApi"
	const url, permission, answer = "AWS::Lambda::Url", "AWS::Lambda::Permission", "AWS::ApiGateway::GatewayResponse"
	elsewhere := map[string]any{"FunctionName": "other", "Principal": "*", "Action": "lambda:InvokeFunction"}
	return []breach{
		{"logs", "AWS::Logs::LogGroup", "", set(nil, "RetentionInDays")},
		{"logs", stage, "", set(`{"query":"$context.requestOverride.querystring.q"}`, "AccessLogSetting", "Format")},
		{"logs", stage, "", set(`{"body":"$input.body"}`, "AccessLogSetting", "Format")},
		{"logs", stage, "", set(nil, "AccessLogSetting")},
		{"logs", stage, "", set(true, "MethodSettings", "DataTraceEnabled")},
		{"logs", stage, "", set("INFO", "MethodSettings", "LoggingLevel")},
		{"paths", method, "Apiv1chatcompletions", remove},
		{"paths", method, "Apiv1chatcompletions", set("POST", "HttpMethod")},
		{"paths", method, "Apiv1chatcompletions", set("AWS_IAM", "AuthorizationType")},
		{"paths", method, "Apiv1chatcompletions", set("BUFFERED", "Integration", "ResponseTransferMode")},
		{"paths", method, "Apiv1chatcompletions", set(29000.0, "Integration", "TimeoutInMillis")},
		{"paths", method, "Apiv1chatcompletions", set("AWS", "Integration", "Type")},
		{"paths", method, "Apiv1chatcompletions", set("arn:other", "Integration", "Uri")},
		{"paths", method, "Apiv1chatcompletions", set(map[string]any{"Ref": "Apihealth5CB7A415"}, "ResourceId")},
		{"paths", "AWS::ApiGateway::Resource", "Apihealth", set("other", "PathPart")},
		{"paths", "AWS::ApiGateway::Deployment", "", func(_ *Templates, r *Resource) { r.DependsOn = nil }},
		{"callers", rest, "", set([]any{"EDGE"}, "EndpointConfiguration", "Types")},
		{"callers", rest, "", set([]any{"vpce-1"}, "EndpointConfiguration", "VpcEndpointIds")},
		{"callers", rest, "", set(map[string]any{"Statement": []any{map[string]any{"Effect": "Deny"}}}, "Policy")},
		{"firewall", rest, "", add("AWS::WAFv2::WebACL", nil)},
		{"firewall", rest, "", add("AWS::WAFv2::WebACLAssociation", map[string]any{"WebACLArn": "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/other/1"})},
		{"gateway", rest, "", set([]any{"application/octet-stream"}, "BinaryMediaTypes")},
		{"gateway", stage, "", set("prod", "StageName")},
		{"gateway", stage, "", set(nil, "MethodSettings", "ThrottlingRateLimit")},
		{"gateway", stage, "", set(1.0, "MethodSettings", "ThrottlingBurstLimit")},
		{"gateway", answer, "ApiDEFAULT4XX", remove},
		{"gateway", answer, "ApiDEFAULT4XX", set("200", "StatusCode")},
		{"gateway", answer, "ApiDEFAULT4XX", set(nil, "ResponseParameters", "gatewayresponse.header.Access-Control-Allow-Origin")},
		{"gateway", answer, "ApiDEFAULT4XX", set(`{"message":"no"}`, "ResponseTemplates", "application/json")},
		{"gateway", rest, "", add("AWS::ApiGateway::DomainName", map[string]any{"SecurityPolicy": "TLS_1_0"})},
		{"doors", url, "alpha", set("BUFFERED", "InvokeMode")},
		{"doors", url, "alpha", set("AWS_IAM", "AuthType")},
		{"doors", url, "alpha", set(nil, "Qualifier")},
		{"doors", url, "alpha", set("other", "TargetFunctionArn")},
		{"doors", url, "alpha", set(map[string]any{"AllowOrigins": []any{"*"}}, "Cors")},
		{"doors", url, "alpha", add(url, nil)},
		{"doors", permission, "alphaLiveinvokefunctionurl", remove},
		{"doors", permission, "alphaLiveinvokefunctionurl", set(nil, "FunctionUrlAuthType")},
		{"doors", permission, "alphaLiveinvokefunction", set(nil, "InvokedViaFunctionUrl")},
		{"doors", permission, "ApiApiPermission", set(nil, "SourceArn")},
		{"doors", permission, "", add(permission, elsewhere)},
		{"alarms", "AWS::CloudWatch::Alarm", "alphaErrors", set("Invocations", "MetricName")},
		{"alarms", "AWS::CloudWatch::Alarm", "alphaErrors", set("breaching", "TreatMissingData")},
		{"alarms", "AWS::CloudWatch::Alarm", "alphaErrors", set([]any{"arn"}, "AlarmActions")},
		{"alarms", "AWS::CloudWatch::Alarm", "alphaErrors", set("LessThanThreshold", "ComparisonOperator")},
		{"alarms", "AWS::CloudWatch::Alarm", "alphaErrors", set(100.0, "Threshold")},
		{"alarms", "AWS::CloudWatch::Alarm", "alphaDuration", set(900000.0, "Threshold")},
		{"imports", "AWS::CloudWatch::Alarm", "alphaErrors", set(map[string]any{"Fn::ImportValue": "other"}, "Dimensions", "Value")},
		{"imports", "AWS::CloudWatch::Dashboard", "", set(map[string]any{"Fn::Join": []any{"", []any{map[string]any{"Fn::ImportValue": "other"}}}}, "DashboardBody")},
		{"dashboard", "AWS::CloudWatch::Dashboard", "", func(t *Templates, _ *Resource) { t.Watch.Resources = nil }},
		{"dashboard", "AWS::CloudWatch::Dashboard", "", set(`{"widgets":[{"properties":{"metrics":[["N","errors","dialect","messages"]]}}]}`, "DashboardBody")},
	}
}

func topicBreaches() (list []breach) {
	const topic, policy, subscription = "AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "AWS::SNS::Subscription"
	// statement changes the statement with the given effect.
	statement := func(effect, key string, value any) func(*Templates, *Resource) {
		return func(_ *Templates, r *Resource) {
			for _, s := range objects(r.list("PolicyDocument", "Statement")) {
				if s["Effect"] == effect {
					s[key] = value
				}
			}
		}
	}
	gone := func(t *Templates, r *Resource) {
		for name, other := range t.Watch.Resources {
			if other == r {
				delete(t.Watch.Resources, name)
			}
		}
	}
	everybody := map[string]any{"Sid": "All", "Effect": "Allow", "Action": "sns:Publish", "Principal": "*", "Resource": "*"}
	account := map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": map[string]any{"Ref": "AWS::AccountId"}}}
	for of, changes := range map[string][]func(*Templates, *Resource){
		topic:        {gone},
		subscription: {gone, set("other@example.com", "Endpoint"), set("arn", "TopicArn")},
		policy: {
			gone, set([]any{"arn"}, "Topics"), with(everybody, "PolicyDocument"),
			func(_ *Templates, r *Resource) { // as the CDK makes it by default: no statement lets alarms publish
				document := r.Properties["PolicyDocument"].(map[string]any)
				document["Statement"] = document["Statement"].([]any)[:1]
			},
			statement("Deny", "Effect", "Allow"), statement("Deny", "Condition", nil), statement("Deny", "Resource", "arn"),
			statement("Allow", "Principal", "*"), statement("Allow", "Principal", map[string]any{"Service": "events.amazonaws.com"}),
			statement("Allow", "Action", "sns:*"), statement("Allow", "Resource", "*"), statement("Allow", "Condition", nil), statement("Allow", "Condition", account),
			statement("Allow", "Effect", "Deny"),
		},
	} {
		for _, do := range changes {
			list = append(list, breach{"topic", of, "", do})
		}
	}
	return list
}

// prodBreaches breaks what only the variant prod has: a domain, provisioned and reserved instances.
func prodBreaches() []breach {
	const domain, mapping = "AWS::ApiGateway::DomainName", "AWS::ApiGateway::BasePathMapping"
	const alias, fn = "AWS::Lambda::Alias", "AWS::Lambda::Function"
	return []breach{
		{"callers", "AWS::ApiGateway::RestApi", "", set(nil, "DisableExecuteApiEndpoint")},
		{"outputs", "AWS::ApiGateway::RestApi", "", func(t *Templates, _ *Resource) {
			t.API.Outputs[deployment.APIOutput] = Output{Value: "https://other.example.com/"}
		}},
		{"gateway", domain, "", remove},
		{"gateway", domain, "", set("other.example.com", "DomainName")},
		{"gateway", domain, "", set("arn:aws:acm:eu-west-1:123456789012:certificate/other", "RegionalCertificateArn")},
		{"gateway", domain, "", set([]any{"EDGE"}, "EndpointConfiguration", "Types")},
		{"gateway", domain, "", set("TLS_1_0", "SecurityPolicy")},
		{"gateway", domain, "", func(t *Templates, _ *Resource) { delete(t.API.Outputs, "DomainTarget") }},
		{"gateway", mapping, "", remove},
		{"gateway", mapping, "", set("v1", "BasePath")},
		{"gateway", mapping, "", set("other", "DomainName")},
		{"gateway", mapping, "", set("other", "RestApiId")},
		{"gateway", mapping, "", set("other", "Stage")},
		{"gateway", mapping, "", add(mapping, nil)},
		{"functions", alias, "openai", set(nil, "ProvisionedConcurrencyConfig")},
		{"functions", alias, "openai", set(1.0, "ProvisionedConcurrencyConfig", "ProvisionedConcurrentExecutions")},
		{"functions", fn, "openai", set(nil, "ReservedConcurrentExecutions")},
		{"functions", fn, "openai", set([]any{"arn:aws:lambda:eu-west-1:123456789012:layer:other:1"}, "Layers")},
		{"functions", fn, "lamini", set(4.0, "ReservedConcurrentExecutions")},
	}
}

// iamBreaches lets callers in without signatures, where the operator asked for them.
func iamBreaches() []breach {
	const method, url, permission, fn = "AWS::ApiGateway::Method", "AWS::Lambda::Url", "AWS::Lambda::Permission", "AWS::Lambda::Function"
	public := map[string]any{"FunctionName": "other", "Principal": "*", "Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE"}
	return []breach{
		{"paths", method, "Apiv1chatcompletions", set("NONE", "AuthorizationType")},
		{"doors", url, "alpha", set("NONE", "AuthType")},
		{"doors", url, "alpha", add(permission, public)},
		{"functions", fn, "alpha", set(nil, "Environment", "Variables", "GLOSSA_OPEN")},
		{"gateway", "AWS::ApiGateway::GatewayResponse", "", add("AWS::ApiGateway::GatewayResponse", map[string]any{"ResponseType": "MISSING_AUTHENTICATION_TOKEN"})},
	}
}

// closedBreaches opens what the operator has closed.
func closedBreaches() []breach {
	const rest, fn, bucket, acl, link = "AWS::ApiGateway::RestApi", "AWS::Lambda::Function", "AWS::S3::Bucket", "AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation"
	const url, role = "AWS::Lambda::Url", "AWS::IAM::Role"
	public := map[string]any{"FunctionName": "other", "Principal": "*", "Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE"}
	// door changes the second statement of the API's policy, which denies other addresses.
	door := func(key string, value any) func(*Templates, *Resource) {
		return func(_ *Templates, r *Resource) { objects(r.list("Policy", "Statement"))[1][key] = value }
	}
	// rule changes a rule of the firewall.
	rule := func(i int, key string, value any) func(*Templates, *Resource) {
		return func(_ *Templates, r *Resource) { objects(r.list("Rules"))[i][key] = value }
	}
	everywhere := map[string]any{"NotIpAddress": map[string]any{"aws:SourceIp": []any{"0.0.0.0/0"}}}
	return []breach{
		{"doors", rest, "", add(url, nil)},
		{"doors", rest, "", add("AWS::Lambda::Permission", public)},
		{"outputs", rest, "", func(t *Templates, _ *Resource) {
			t.API.Outputs[deployment.URLOutput("alpha")] = Output{Value: "https://x"}
		}},
		{"callers", rest, "", set(nil, "Policy")},
		{"callers", rest, "", door("Effect", "Allow")},
		{"callers", rest, "", door("Condition", everywhere)},
		{"callers", rest, "", door("Condition", nil)},
		{"callers", rest, "", door("Action", "execute-api:Other")},
		{"callers", rest, "", door("Resource", "execute-api:/closed/GET/*")},
		{"callers", rest, "", door("Principal", map[string]any{"AWS": "arn:aws:iam::123456789012:root"})},
		{"firewall", acl, "", remove},
		{"firewall", link, "", remove},
		{"firewall", acl, "", add(acl, nil)},
		{"firewall", acl, "", set("CLOUDFRONT", "Scope")},
		{"firewall", acl, "", set(map[string]any{"Block": map[string]any{}}, "DefaultAction")},
		{"firewall", acl, "", set(true, "VisibilityConfig", "SampledRequestsEnabled")},
		{"firewall", acl, "", func(_ *Templates, r *Resource) { r.Properties["Rules"] = r.list("Rules")[1:] }},
		{"firewall", acl, "", rule(0, "Priority", 9)},
		{"firewall", acl, "", rule(0, "Action", map[string]any{"Count": map[string]any{}})},
		{"firewall", acl, "", rule(1, "OverrideAction", map[string]any{"Count": map[string]any{}})},
		{"firewall", acl, "", rule(2, "Statement", map[string]any{})},
		{"firewall", acl, "", rule(3, "VisibilityConfig", map[string]any{"SampledRequestsEnabled": true})},
		{"firewall", link, "", set("other", "WebACLArn")},
		{"firewall", link, "", set("other", "ResourceArn")},
		{"functions", fn, "alpha", set(nil, "Environment", "Variables", "GLOSSA_ISSUERS")},
		{"functions", fn, "alpha", set("s3://other/prefixes", "Environment", "Variables", "GLOSSA_PREFIXES")},
		{"functions", role, "alpha", granted("Prefixes", "Action", "s3:*")},
		{"functions", role, "alpha", granted("PrefixLists", "Condition", nil)},
		{"bucket", bucket, "", func(_ *Templates, r *Resource) {
			rules := r.Properties["LifecycleConfiguration"].(map[string]any)
			rules["Rules"] = rules["Rules"].([]any)[:3]
		}},
	}
}

// privateBreaches opens an API that only some networks may call.
func privateBreaches() []breach {
	const rest, table, bucket, role, fn = "AWS::ApiGateway::RestApi", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::IAM::Role", "AWS::Lambda::Function"
	return []breach{
		{"table", table, "", set(nil, "SSESpecification")},
		{"table", table, "", set("arn:aws:kms:eu-west-1:123456789012:key/other", "SSESpecification", "KMSMasterKeyId")},
		{"bucket", bucket, "", set(map[string]any{"SSEAlgorithm": "AES256"}, "BucketEncryption", "ServerSideEncryptionConfiguration", "ServerSideEncryptionByDefault")},
		{"bucket", bucket, "", set(false, "BucketEncryption", "ServerSideEncryptionConfiguration", "BucketKeyEnabled")},
		{"functions", role, "alpha", granted("Key", "Resource", "*")},
		{"functions", fn, "alpha", set("Zip", "PackageType")},
		{"functions", fn, "alpha", set("123456789012.dkr.ecr.eu-west-1.amazonaws.com/other:v1.2.3", "Code", "ImageUri")},
		{"functions", fn, "alpha", set([]any{"function", "openai"}, "ImageConfig", "Command")},
		{"functions", fn, "alpha", set([]any{"/bin/sh"}, "ImageConfig", "EntryPoint")},
		{"functions", role, "alpha", granted("Key", "Condition", nil)},
		{"callers", rest, "", set([]any{"REGIONAL"}, "EndpointConfiguration", "Types")},
		{"callers", rest, "", set([]any{"vpce-1"}, "EndpointConfiguration", "VpcEndpointIds")},
		{"callers", rest, "", set(nil, "Policy")},
		{"callers", rest, "", with(map[string]any{ // would let in all of the account
			"Effect": "Allow", "Principal": map[string]any{"AWS": "*"}, "Action": "execute-api:Invoke", "Resource": "execute-api:/*",
		}, "Policy")},
	}
}

// TestBreaches breaks each rule in every way, and expects that rule to report it.
func TestBreaches(t *testing.T) {
	broken := map[string]int{}
	for variant, breaches := range map[string][]breach{
		"dev":  slices.Concat(dataBreaches(), functionBreaches(), apiBreaches()),
		"prod": slices.Concat(prodBreaches(), topicBreaches()), "iam": iamBreaches(), "closed": closedBreaches(), "private": privateBreaches(), "gradual": gradualBreaches(), "twin": twinBreaches(), "edge": edgeBreaches(),
	} {
		for _, b := range breaches {
			p, templates := golden(t, variant)
			resource, name := find(templates, b)
			if resource == nil {
				t.Fatalf("there is no %s %s*", b.of, b.name)
			}
			b.do(&templates, resource)
			err := Check(p, templates)
			if err == nil || !strings.Contains("\n"+strings.ReplaceAll(err.Error(), "in the second region: ", ""), "\n"+b.rule+": ") {
				t.Errorf("breach %d of %s, in %s, is not reported: %v", broken[b.rule], b.rule, name, err)
			}
			broken[b.rule]++
		}
	}
	for _, r := range rules() {
		if broken[r.name] == 0 {
			t.Errorf("no breach tests the rule %s", r.name)
		}
	}
}

func find(templates Templates, b breach) (*Resource, string) {
	for _, template := range []Template{templates.Data, templates.API, templates.Watch} {
		for _, name := range template.of(b.of) {
			if strings.HasPrefix(name, b.name) {
				return template.Resources[name], name
			}
		}
	}
	return nil, ""
}

// TestText evaluates the functions of CloudFormation.
func TestText(t *testing.T) {
	type m = map[string]any
	templates := &Templates{Data: Template{Outputs: map[string]Output{"O": {Value: m{"Fn::GetAtt": []any{"T", "Arn"}}}}}}
	out := templates.Data.Outputs["O"]
	out.Export.Name = "data:T"
	templates.Data.Outputs["O"] = out
	imported := m{"Fn::ImportValue": "data:T"}
	for want, v := range map[string]any{
		"x": "x", "${T}": m{"Ref": "T"}, "${T.Arn}": imported, "there is no export o": m{"Fn::ImportValue": "o"},
		"a-${AWS::Region}":     m{"Fn::Join": []any{"-", []any{"a", m{"Ref": "AWS::Region"}}}},
		"${T.Arn}/${AWS::x}/*": m{"Fn::Sub": []any{"${A}/${AWS::x}/*", m{"A": imported}}},
		"${AWS::x}":            m{"Fn::Sub": "${AWS::x}"},
		"${T.Arn}-":            m{"Fn::Join": []any{"-", []any{m{"Fn::GetStackOutput": m{"StackName": "data", "OutputName": "O"}}, ""}}},
		"there is no output P": m{"Fn::GetStackOutput": m{"StackName": "data", "OutputName": "P"}},
	} {
		if got := templates.text(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
