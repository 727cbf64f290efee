//go:build cdk

package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
)

// endpoint returns from where the API can be called: everywhere, or some VPC endpoints.
func endpoint(stack awscdk.Stack, p *plan.Plan) *awsapigateway.EndpointConfiguration {
	if p.Config.Endpoints == nil {
		return &awsapigateway.EndpointConfiguration{Types: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL}}
	}
	var list []awsec2.IVpcEndpoint
	for _, id := range p.Config.Endpoints {
		list = append(list, awsec2.InterfaceVpcEndpoint_FromInterfaceVpcEndpointAttributes(stack, &id, &awsec2.InterfaceVpcEndpointAttributes{
			VpcEndpointId: &id, Port: number(443),
		}))
	}
	return &awsapigateway.EndpointConfiguration{Types: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_PRIVATE}, VpcEndpoints: &list}
}

// resourcePolicy returns the policy of the API's resources, or nil: there is none.
func resourcePolicy(p *plan.Plan) awsiam.PolicyDocument {
	var list []awsiam.PolicyStatement
	for _, s := range p.Doors() {
		effect := awsiam.Effect_ALLOW
		if s.Deny {
			effect = awsiam.Effect_DENY
		}
		conditions := map[string]any{}
		for operator, keys := range s.Condition {
			conditions[operator] = keys
		}
		list = append(list, awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Sid: &s.Sid, Effect: effect, Principals: &[]awsiam.IPrincipal{awsiam.NewAnyPrincipal()},
			Actions: jsii.Strings("execute-api:Invoke"), Resources: jsii.Strings("execute-api:/*"), Conditions: &conditions,
		}))
	}
	if list == nil {
		return nil
	}
	return awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &list})
}

// newFirewall puts the plan's web firewall before the API.
func newFirewall(stack awscdk.Stack, p *plan.Plan, rest awsapigateway.RestApi) {
	rules := p.Firewall()
	if rules == nil {
		return
	}
	var list []any
	for i, r := range rules {
		list = append(list, map[string]any{
			"Name": r.Name, "Priority": i, "Statement": r.Statement(), r.Outcome(): map[string]any{r.Verdict(): map[string]any{}}, "VisibilityConfig": visibility(r.Name),
		})
	}
	acl := awscdk.NewCfnResource(stack, jsii.String("Firewall"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::WAFv2::WebACL"), // its package would be one more to compile
		Properties: &map[string]any{
			"Scope": "REGIONAL", "Description": "before the API of glossa " + p.Config.Stage,
			"DefaultAction": map[string]any{"Allow": map[string]any{}}, "Rules": list, "VisibilityConfig": visibility("glossa-" + p.Config.Stage),
		},
	})
	stage := rest.DeploymentStage()
	awscdk.NewCfnResource(stack, jsii.String("FirewallOfApi"), &awscdk.CfnResourceProps{
		Type:       jsii.String("AWS::WAFv2::WebACLAssociation"),
		Properties: &map[string]any{"WebACLArn": acl.GetAtt(jsii.String("Arn"), awscdk.ResolutionTypeHint_STRING), "ResourceArn": stage.StageArn()},
	})
}

// visibility counts requests by rule. Samples would hold prompts.
func visibility(metric string) map[string]any {
	return map[string]any{"MetricName": metric, "CloudWatchMetricsEnabled": true, "SampledRequestsEnabled": false}
}
