//go:build cdk

package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// newRollout lets CodeDeploy shift the traffic of the aliases to new versions. Its types have a
// package of their own, which would be one more to compile.
func newRollout(stack awscdk.Stack, p *plan.Plan, a *api) {
	if p.Config.Rollout == "" {
		return
	}
	statements := newStatements(p.Shift(), a.references())
	role := awsiam.NewRole(stack, jsii.String("Deployer"), &awsiam.RoleProps{
		AssumedBy:   awsiam.NewServicePrincipal(jsii.String(plan.DeployService), nil),
		Description: jsii.String("what CodeDeploy may do with glossa's functions"),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"deployer": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: statements, Minimize: jsii.Bool(false)}),
		},
	})
	application := awscdk.NewCfnResource(stack, jsii.String("Application"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::CodeDeploy::Application"), Properties: &map[string]any{"ApplicationName": p.Config.Application(), "ComputePlatform": "Lambda"},
	})
	for _, f := range a.functions {
		alarm := newCrashAlarm(p, f)
		group := awscdk.NewCfnResource(f.scope, jsii.String("Rollout"), &awscdk.CfnResourceProps{
			Type: jsii.String("AWS::CodeDeploy::DeploymentGroup"),
			Properties: &map[string]any{
				"ApplicationName": application.Ref(), "DeploymentConfigName": p.Config.Rollout, "ServiceRoleArn": role.RoleArn(),
				"DeploymentStyle":           map[string]any{"DeploymentType": "BLUE_GREEN", "DeploymentOption": "WITH_TRAFFIC_CONTROL"},
				"AlarmConfiguration":        map[string]any{"Enabled": true, "Alarms": []any{map[string]any{"Name": alarm.AlarmName()}}},
				"AutoRollbackConfiguration": map[string]any{"Enabled": true, "Events": plan.Rollbacks()},
			},
		})
		update := &awscdk.CfnCodeDeployLambdaAliasUpdate{ApplicationName: application.Ref(), DeploymentGroupName: group.Ref()}
		if a.canary != nil {
			update.BeforeAllowTrafficHook = a.canary.fn.FunctionName()
		}
		alias := f.alias.Node().DefaultChild().(awscdk.CfnResource) // as all constructs of one resource
		alias.CfnOptions().SetUpdatePolicy(&awscdk.CfnUpdatePolicy{CodeDeployLambdaAliasUpdate: update})
	}
}

// newCrashAlarm fires when the function crashes or runs out of time in a minute. It is in the stack
// of the functions, since their aliases wait for it.
func newCrashAlarm(p *plan.Plan, f *function) awscloudwatch.Alarm {
	of := map[string]*string{
		"FunctionName": f.fn.FunctionName(), "Resource": jsii.String(*f.fn.FunctionName() + ":" + deployment.Live),
	}
	return awscloudwatch.NewAlarm(f.scope, jsii.String("Crashes"), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String("glossa " + p.Config.Stage + ": " + f.plan.Family + " crashed or ran out of time, which takes a new version back"),
		Metric: awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: jsii.String("AWS/Lambda"), MetricName: jsii.String("Errors"), Statistic: jsii.String("Sum"), DimensionsMap: &of,
			Period: awscdk.Duration_Minutes(jsii.Number(1)),
		}),
		Threshold: jsii.Number(1), EvaluationPeriods: jsii.Number(1),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
}
