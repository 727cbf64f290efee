//go:build cdk

package stacks

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecr"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// retention is the retention of logs.
const retention = awslogs.RetentionDays_ONE_MONTH

// A function is a Lambda function and the alias that all callers use, so that instances
// can be provisioned, and an earlier version restored, without a change of address.
type function struct {
	plan  plan.Function
	scope constructs.Construct // of its resources
	fn    awslambda.Function
	alias awslambda.Alias
	url   *string // nil: none
}

// newFunction makes a function of the plan. Its references may be those of others.
func newFunction(stack awscdk.Stack, p *plan.Plan, f plan.Function, d *data, dist string, others map[string]*string) *function {
	scope := constructs.NewConstruct(stack, jsii.String(f.Family))
	logs := awslogs.NewLogGroup(scope, jsii.String("Logs"), &awslogs.LogGroupProps{
		Retention: retention, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	references := map[string]*string{
		"Table": d.table, "TableArn": d.tableARN, "Bucket": d.bucket, "BucketArn": d.bucketARN, "LogGroupArn": logs.LogGroupArn(),
	}
	maps.Copy(references, others)
	environment := map[string]*string{}
	for name, value := range f.Environment {
		environment[name] = sub(value, references)
	}
	program := programOf(scope, p, f, dist)
	fn := awslambda.NewFunction(scope, jsii.String("Function"), &awslambda.FunctionProps{
		Description:  jsii.String("glossa " + p.Config.Stage + ": " + f.Family),
		Architecture: awslambda.Architecture_ARM_64(),
		Runtime:      program.runtime, Handler: program.handler, Code: program.code,
		MemorySize: number(f.Memory), Timeout: awscdk.Duration_Seconds(jsii.Number(f.Timeout.Seconds())),
		Environment: &environment, LogGroup: logs, Role: newRole(scope, f, references),
		Layers:                       layers(scope, p, f),
		ReservedConcurrentExecutions: positive(f.Reserved), RecursiveLoop: recursion(f),
		CurrentVersionOptions: &awslambda.VersionOptions{RemovalPolicy: awscdk.RemovalPolicy_RETAIN},
	})
	if f.Traced(p.Config) { // the function's own property would add a policy, too
		fn.Node().DefaultChild().(awslambda.CfnFunction).SetTracingConfig(&awslambda.CfnFunction_TracingConfigProperty{Mode: jsii.String("Active")})
	}
	alias := awslambda.NewAlias(scope, jsii.String("Live"), &awslambda.AliasProps{
		AliasName: jsii.String(deployment.Live), Version: fn.CurrentVersion(), ProvisionedConcurrentExecutions: positive(f.Provisioned),
	})
	references["AliasArn"] = alias.FunctionArn()
	newOwnPolicy(scope, f, fn.Role(), references)
	if f.Schedule != nil {
		newSchedule(scope, f.Schedule, alias)
	}
	return &function{f, scope, fn, alias, nil}
}

// A program is what a function runs.
type program struct {
	runtime awslambda.Runtime
	handler *string
	code    awslambda.Code
}

// programOf returns the program of a function: from its zip file, or from the image of all.
func programOf(scope constructs.Construct, p *plan.Plan, f plan.Function, dist string) program {
	image := p.Config.Image
	if image == (plan.Image{}) {
		code := awslambda.Code_FromAsset(jsii.String(filepath.Join(dist, plan.Architecture, f.Family)), nil)
		return program{awslambda.Runtime_PROVIDED_AL2023(), jsii.String("bootstrap"), code}
	}
	repository := awsecr.Repository_FromRepositoryAttributes(scope, jsii.String("Repository"), &awsecr.RepositoryAttributes{
		RepositoryArn: jsii.String(image.ARN()), RepositoryName: &image.Repository,
	})
	code := awslambda.Code_FromEcrImage(repository, &awslambda.EcrImageCodeProps{
		TagOrDigest: &image.Version, Entrypoint: jsii.Strings(plan.Entrypoint), Cmd: jsii.Strings(plan.Command(f.Family)...),
	})
	return program{awslambda.Runtime_FROM_IMAGE(), awslambda.Handler_FROM_IMAGE(), code}
}

// newURL gives the alias of a function a URL.
func newURL(stack awscdk.Stack, p *plan.Plan, f plan.Function, alias awslambda.Alias) *string {
	auth := awslambda.FunctionUrlAuthType_NONE // glossa checks keys itself
	if p.Config.Auth == plan.IAM || p.Config.CDN {
		auth = awslambda.FunctionUrlAuthType_AWS_IAM
	}
	url := alias.AddFunctionUrl(&awslambda.FunctionUrlOptions{AuthType: auth, InvokeMode: awslambda.InvokeMode_RESPONSE_STREAM})
	output(stack, p.Output(deployment.URLOutput(f.Family)), "function URL of "+f.Family, url.Url())
	return url.Url()
}

// newRole returns the role of a function, which allows only the plan's statements.
func newRole(scope constructs.Construct, f plan.Function, references map[string]*string) awsiam.Role {
	others := slices.DeleteFunc(slices.Clone(f.Statements), func(s plan.Statement) bool { return s.OfItself() })
	document := awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: newStatements(others, references), Minimize: jsii.Bool(false)})
	return awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		AssumedBy:      awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description:    jsii.String("what glossa's function " + f.Family + " may do"),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"function": document},
	})
}

// newOwnPolicy adds the statements about the function itself to its role. The function waits for
// its role, and so do not these for the function: they are a resource of their own.
func newOwnPolicy(scope constructs.Construct, f plan.Function, role awsiam.IRole, references map[string]*string) {
	own := slices.DeleteFunc(slices.Clone(f.Statements), func(s plan.Statement) bool { return !s.OfItself() })
	if len(own) > 0 {
		awsiam.NewPolicy(scope, jsii.String("OwnPolicy"), &awsiam.PolicyProps{Statements: newStatements(own, references), Roles: &[]awsiam.IRole{role}})
	}
}

// newSchedule sends the alias of a function an event from time to time.
func newSchedule(scope constructs.Construct, s *plan.Schedule, alias awslambda.Alias) {
	rule := awscdk.NewCfnResource(scope, jsii.String("Schedule"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::Events::Rule"), // the package awsevents would double the time to compile
		Properties: &map[string]any{
			"Description": s.Reason, "State": "ENABLED",
			"ScheduleExpression": fmt.Sprintf("rate(%d minutes)", int(s.Every.Minutes())),
			"Targets":            []any{map[string]any{"Id": "function", "Arn": alias.FunctionArn(), "Input": s.Event}},
		},
	})
	alias.AddPermission(jsii.String("AllowSchedule"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil), SourceArn: rule.GetAtt(jsii.String("Arn"), awscdk.ResolutionTypeHint_STRING).ToString(),
	})
}

func layers(scope constructs.Construct, p *plan.Plan, f plan.Function) *[]awslambda.ILayerVersion {
	var list []awslambda.ILayerVersion
	for i, arn := range f.Layers(p.Config) {
		list = append(list, awslambda.LayerVersion_FromLayerVersionArn(scope, jsii.String(fmt.Sprint("Layer", i)), &arn))
	}
	if list == nil {
		return nil
	}
	return &list
}

// recursion returns whether Lambda stops a function that invokes itself; the default is to.
func recursion(f plan.Function) awslambda.RecursiveLoop {
	if f.Recursive {
		return awslambda.RecursiveLoop_ALLOW
	}
	return ""
}

// newStatements returns statements of the plan for the holder of the policy.
func newStatements(list []plan.Statement, references map[string]*string) *[]awsiam.PolicyStatement {
	var statements []awsiam.PolicyStatement
	for _, s := range list {
		statements = append(statements, newStatement(s, references))
	}
	return &statements
}

// newStatement returns a statement of the plan for the given principals, or, without
// principals, for the holder of the policy.
func newStatement(s plan.Statement, references map[string]*string, principals ...awsiam.IPrincipal) awsiam.PolicyStatement {
	var resources []*string
	for _, r := range s.Resources {
		resources = append(resources, sub(r, references))
	}
	conditions := map[string]any{}
	for operator, keys := range s.Condition {
		of := map[string]any{}
		for key, values := range keys {
			var list []*string
			for _, v := range values {
				list = append(list, sub(v, references))
			}
			of[key] = list
		}
		conditions[operator] = of
	}
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: &s.Sid, Actions: jsii.Strings(s.Actions...), Resources: &resources, Conditions: &conditions, Principals: &principals,
	})
}

// positive returns n, or nil for 0.
func positive(n int) *float64 {
	if n == 0 {
		return nil
	}
	return number(n)
}
