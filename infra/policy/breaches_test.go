package policy

import (
	"slices"
	"strings"

	"glossa/pkg/deployment"
)

// gradualBreaches deploys otherwise than the operator asked.
func gradualBreaches() []breach {
	const application, group, alarm, alias = "AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup", "AWS::CloudWatch::Alarm", "AWS::Lambda::Alias"
	const role, fn, permission = "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::Lambda::Permission"
	// update changes how the alias of alpha is updated.
	update := func(key string, value any) breach {
		return breach{"rollout", alias, "alpha", func(_ *Templates, r *Resource) {
			r.UpdatePolicy["CodeDeployLambdaAliasUpdate"].(map[string]any)[key] = value
		}}
	}
	other := map[string]any{"Ref": "other"}
	return []breach{
		{"rollout", application, "", remove},
		{"rollout", application, "", set("Server", "ComputePlatform")},
		{"rollout", application, "", set("other", "ApplicationName")},
		{"rollout", group, "alpha", remove},
		{"rollout", group, "alpha", add(group, nil)},
		{"rollout", group, "alpha", set("CodeDeployDefault.LambdaAllAtOnce", "DeploymentConfigName")},
		{"rollout", group, "alpha", set("other", "ApplicationName")},
		{"rollout", group, "alpha", set("IN_PLACE", "DeploymentStyle", "DeploymentType")},
		{"rollout", group, "alpha", set("other", "ServiceRoleArn")},
		{"rollout", group, "alpha", set(false, "AutoRollbackConfiguration", "Enabled")},
		{"rollout", group, "alpha", set([]any{"DEPLOYMENT_FAILURE"}, "AutoRollbackConfiguration", "Events")},
		{"rollout", group, "alpha", set(false, "AlarmConfiguration", "Enabled")},
		{"rollout", group, "alpha", set(other, "AlarmConfiguration", "Alarms", "Name")},
		{"rollout", alarm, "alpha", remove},
		{"rollout", alarm, "alpha", set("Invocations", "MetricName")},
		{"rollout", alarm, "alpha", set("Average", "Statistic")},
		{"rollout", alarm, "alpha", set(300.0, "Period")},
		{"rollout", alarm, "alpha", set(100.0, "Threshold")},
		{"rollout", alarm, "alpha", set("LessThanThreshold", "ComparisonOperator")},
		{"rollout", alarm, "alpha", set("breaching", "TreatMissingData")},
		{"rollout", alarm, "alpha", set([]any{}, "Dimensions")},
		update("ApplicationName", other), update("DeploymentGroupName", other), update("BeforeAllowTrafficHook", nil), update("BeforeAllowTrafficHook", other),
		{"rollout", role, "Deployer", granted("Traffic", "Resource", "*")},
		{"rollout", role, "Deployer", granted("Traffic", "Action", "lambda:*")},
		{"rollout", role, "Deployer", granted("Canary", "Sid", "Other")},
		{"access", role, "Deployer", set([]any{"arn:aws:iam::aws:policy/AdministratorAccess"}, "ManagedPolicyArns")},
		{"functions", fn, "canary", set(nil, "Environment", "Variables", "GLOSSA_CANARY")},
		{"functions", fn, "alpha", set("PassThrough", "TracingConfig", "Mode")},
		{"functions", role, "alpha", granted("Spans", "Action", "xray:*")},
		{"functions", fn, "canary", set("true", "Environment", "Variables", "GLOSSA_OPEN")},
		{"functions", role, "canary", granted("Ask", "Resource", "*")},
		{"functions", role, "canary", granted("Keys", "Condition", nil)},
		{"functions", role, "canary", granted("Hooks", "Action", "codedeploy:*")},
		{"functions", "AWS::Lambda::Version", "alpha", remove},
		{"schedules", "AWS::Events::Rule", "canary", set("rate(1 minute)", "ScheduleExpression")},
		{"doors", permission, "canary", set("*", "Principal")},
		{"alarms", alarm, "canaryErrorsAlarm", set(100.0, "Threshold")},
	}
}

// edgeBreaches lets others than CloudFront in, or lets it do otherwise.
func edgeBreaches() []breach {
	const distribution, function, access = "AWS::CloudFront::Distribution", "AWS::CloudFront::Function", "AWS::CloudFront::OriginAccessControl"
	const url, permission = "AWS::Lambda::Url", "AWS::Lambda::Permission"
	config := func(key string, value any) breach {
		return breach{"cdn", distribution, "", set(value, "DistributionConfig", key)}
	}
	first := func(key string, value any) breach {
		return breach{"cdn", distribution, "", set(value, "DistributionConfig", "CacheBehaviors", key)}
	}
	origin := func(key string, value any) breach {
		return breach{"cdn", distribution, "", set(value, "DistributionConfig", "Origins", key)}
	}
	return []breach{
		{"doors", url, "alpha", set("NONE", "AuthType")},
		{"doors", permission, "alphaCdn0", set("*", "Principal")},
		{"doors", permission, "alphaCdn0", set(nil, "SourceArn")},
		{"doors", permission, "alphaCdn1", set(nil, "InvokedViaFunctionUrl")},
		{"doors", permission, "alphaCdn1", remove},
		{"cdn", distribution, "", remove},
		{"cdn", distribution, "", add(distribution, nil)},
		{"cdn", function, "", set("function handler(event) { return event.request; }", "FunctionCode")},
		{"cdn", function, "", set(false, "AutoPublish")},
		{"cdn", access, "", set("never", "OriginAccessControlConfig", "SigningBehavior")},
		{"cdn", access, "", func(t *Templates, _ *Resource) { delete(t.API.Outputs, deployment.CDNOutput) }},
		config("Logging", map[string]any{"Bucket": "b"}), config("Origins", []any{}), config("CacheBehaviors", []any{}),
		config("DefaultCacheBehavior", map[string]any{}),
		first("TargetOriginId", "other"), first("PathPattern", "*"), first("ViewerProtocolPolicy", "allow-all"), first("CachePolicyId", "other"),
		first("OriginRequestPolicyId", "other"), first("AllowedMethods", []any{"GET"}), first("FunctionAssociations", []any{}),
		origin("DomainName", "other.example.com"), origin("OriginAccessControlId", nil), origin("Id", "other"),
		origin("CustomOriginConfig", map[string]any{"OriginProtocolPolicy": "http-only"}),
	}
}

// twinBreaches breaks what two regions share.
func twinBreaches() []breach {
	const table, bucket, role, own = "AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket", "AWS::IAM::Role", "AWS::IAM::Policy"
	// second changes the first resource of a type in a stack of the second region.
	second := func(rule, of, name string, stack func(*Templates) Template, do func(*Templates, *Resource)) breach {
		return breach{rule, table, "", func(t *Templates, _ *Resource) {
			template := stack(t.Second)
			names := slices.DeleteFunc(template.of(of), func(n string) bool { return !strings.HasPrefix(n, name) })
			do(t.Second, template.Resources[names[0]])
		}}
	}
	data := func(t *Templates) Template { return t.Data }
	api := func(t *Templates) Template { return t.API }
	// copies changes the rule of the copies.
	copies := func(key string, value any) breach {
		return breach{"replication", bucket, "", func(_ *Templates, r *Resource) {
			objects(r.list("ReplicationConfiguration", "Rules"))[0][key] = value
		}}
	}
	return []breach{
		{"table", table, "", remove},
		{"table", table, "", addData("AWS::DynamoDB::Table", nil)},
		{"table", table, "", set("other", "TableName")},
		{"table", table, "", set("PROVISIONED", "BillingMode")},
		{"table", table, "", set(nil, "StreamSpecification")},
		{"table", table, "", set([]any{}, "Replicas")},
		{"table", table, "", set(true, "Replicas", "DeletionProtectionEnabled")},
		{"table", table, "", set(nil, "Replicas", "PointInTimeRecoverySpecification")},
		{"table", table, "", func(_ *Templates, r *Resource) { r.DeletionPolicy = "Delete" }},
		{"replication", bucket, "", set(nil, "ReplicationConfiguration")},
		{"replication", bucket, "", set("other", "ReplicationConfiguration", "Role")},
		copies("Status", "Disabled"), copies("Filter", map[string]any{"Prefix": ""}), copies("DeleteMarkerReplication", nil),
		copies("Destination", map[string]any{"Bucket": "arn:aws:s3:::other"}),
		{"replication", role, "Replication", set(map[string]any{"Service": "ec2.amazonaws.com"}, "AssumeRolePolicyDocument", "Statement", "Principal")},
		{"replication", own, "Replication", set("s3:*", "PolicyDocument", "Statement", "Action")},
		{"replication", own, "Replication", remove},
		{"replication", role, "Replication", addData(own, nil)},
		{"regions", table, "", func(t *Templates, _ *Resource) { t.Second = nil }},
		second("replication", bucket, "", data, set("glossa-other", "BucketName")),
		second("bucket", bucket, "", data, set(nil, "VersioningConfiguration")),
		second("table", bucket, "", data, addData(table, nil)),
		second("functions", "AWS::Lambda::Function", "alpha", api, set("other", "Environment", "Variables", "GLOSSA_TABLE")),
		second("functions", role, "alpha", api, granted("Items", "Resource", "*")),
		second("gateway", "AWS::ApiGateway::DomainName", "", api, set("arn:aws:acm:eu-west-1:123456789012:certificate/c", "RegionalCertificateArn")),
	}
}
