//go:build cdk

package stacks

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// newCDN puts CloudFront before the functions' URLs, which then trust its signature alone. Its types
// have a package of their own, which would be one more to compile.
func newCDN(stack awscdk.Stack, p *plan.Plan, a *api) {
	if !p.Config.CDN {
		return
	}
	access := awscdk.NewCfnResource(stack, jsii.String("Access"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::CloudFront::OriginAccessControl"),
		Properties: &map[string]any{"OriginAccessControlConfig": map[string]any{
			"Name": awscdk.Aws_STACK_NAME(), "OriginAccessControlOriginType": "lambda", "SigningBehavior": "always", "SigningProtocol": "sigv4",
		}},
	})
	move := awscdk.NewCfnResource(stack, jsii.String("MoveKey"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::CloudFront::Function"),
		Properties: &map[string]any{
			"Name": awscdk.Fn_Join(jsii.String("-"), &[]*string{awscdk.Aws_STACK_NAME(), jsii.String("key"), awscdk.Aws_REGION()}), "AutoPublish": true,
			"FunctionCode": plan.MoveKey, "FunctionConfig": map[string]any{"Comment": "keys move to x-api-key", "Runtime": "cloudfront-js-2.0"},
		},
	})
	var origins, behaviours []any
	for _, f := range a.functions {
		origins = append(origins, map[string]any{
			"Id": f.plan.Family, "DomainName": awscdk.Fn_Select(number(2), awscdk.Fn_Split(jsii.String("/"), f.url, nil)),
			"OriginAccessControlId": access.GetAtt(jsii.String("Id"), awscdk.ResolutionTypeHint_STRING),
			"CustomOriginConfig": map[string]any{
				"OriginProtocolPolicy": "https-only", "OriginSSLProtocols": []any{"TLSv1.2"}, "OriginReadTimeout": plan.CDNSilence.Seconds(),
			},
		})
	}
	behaviour := func(family string) map[string]any {
		return map[string]any{
			"TargetOriginId": family, "ViewerProtocolPolicy": "https-only", "Compress": false,
			"AllowedMethods": []any{"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"},
			"CachePolicyId":  plan.NotCached, "OriginRequestPolicyId": plan.AllHeaders,
			"FunctionAssociations": []any{map[string]any{
				"EventType": "viewer-request", "FunctionARN": move.GetAtt(jsii.String("FunctionARN"), awscdk.ResolutionTypeHint_STRING),
			}},
		}
	}
	for _, b := range p.Behaviours() {
		one := behaviour(b.Family)
		one["PathPattern"] = b.Pattern
		behaviours = append(behaviours, one)
	}
	distribution := awscdk.NewCfnResource(stack, jsii.String("Distribution"), &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::CloudFront::Distribution"),
		Properties: &map[string]any{"DistributionConfig": map[string]any{
			"Enabled": true, "Comment": "glossa " + p.Config.Stage, "HttpVersion": "http2and3", "IPV6Enabled": true,
			"Origins": origins, "DefaultCacheBehavior": behaviour(plan.CatchAll), "CacheBehaviors": behaviours,
		}},
	})
	for _, f := range a.functions {
		letIn(f, distribution)
	}
	output(stack, p.Output(deployment.CDNOutput), "base URL of CloudFront",
		awscdk.Fn_Join(jsii.String(""), &[]*string{jsii.String("https://"), distribution.GetAtt(jsii.String("DomainName"), awscdk.ResolutionTypeHint_STRING).ToString(), jsii.String("/")}))
}

// letIn lets a distribution call the URL of a function.
//
// Source: AWS Lambda Developer Guide, "Control access to Lambda function URLs": callers need both
// permissions.
func letIn(f *function, distribution awscdk.CfnResource) {
	arn := awscdk.Fn_Sub(jsii.String("arn:${AWS::Partition}:cloudfront::${AWS::AccountId}:distribution/${Distribution}"), &map[string]*string{"Distribution": distribution.Ref()})
	for i, more := range []map[string]any{
		{"Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "AWS_IAM"}, {"Action": "lambda:InvokeFunction", "InvokedViaFunctionUrl": true},
	} {
		more["FunctionName"], more["Principal"], more["SourceArn"] = f.alias.FunctionArn(), plan.CDNService, arn
		awscdk.NewCfnResource(f.scope, jsii.String(fmt.Sprint("Cdn", i)), &awscdk.CfnResourceProps{Type: jsii.String("AWS::Lambda::Permission"), Properties: &more})
	}
}
