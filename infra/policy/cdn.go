package policy

import (
	"fmt"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// cdn requires that CloudFront is before the functions' URLs as the plan says, signs what it sends,
// caches nothing and keeps no log of requests; or that it is not there.
func (c *checker) cdn() {
	n := map[bool]int{true: 1}[c.plan.Config.CDN]
	for _, kind := range []string{"AWS::CloudFront::Distribution", "AWS::CloudFront::Function", "AWS::CloudFront::OriginAccessControl"} {
		c.want(kind, len(c.API.of(kind)), n)
	}
	address := c.text(c.API.Outputs[c.plan.Output(deployment.CDNOutput)].Value)
	if n == 0 {
		c.want(deployment.CDNOutput, address, "<nil>")
		return
	}
	c.want(deployment.CDNOutput, address, "https://${"+c.API.first("AWS::CloudFront::Distribution")+".DomainName}/")
	for _, name := range c.API.of("AWS::CloudFront::OriginAccessControl") {
		config, _ := c.API.Resources[name].get("OriginAccessControlConfig").(map[string]any)
		got := fmt.Sprint(config["OriginAccessControlOriginType"], " ", config["SigningBehavior"], " ", config["SigningProtocol"])
		c.want(name, got, "lambda always sigv4")
	}
	for _, name := range c.API.of("AWS::CloudFront::Function") {
		r := c.API.Resources[name]
		c.want(name+" program", r.get("FunctionCode"), plan.MoveKey)
		c.want(name+" runtime", r.get("FunctionConfig", "Runtime"), "cloudfront-js-2.0")
		c.want(name+" is published", r.get("AutoPublish"), true)
	}
	for _, name := range c.API.of("AWS::CloudFront::Distribution") {
		c.distribution(name, c.API.Resources[name])
	}
}

func (c *checker) distribution(name string, r *Resource) {
	access := "${" + c.API.first("AWS::CloudFront::OriginAccessControl") + ".Id}"
	c.want(name+" log", r.get("DistributionConfig", "Logging"), nil)
	origins := objects(r.list("DistributionConfig", "Origins"))
	c.want(name+" origins", len(origins), len(c.plan.Functions))
	for i, f := range c.plan.Functions {
		if i >= len(origins) {
			break
		}
		o := origins[i]
		url, _ := c.findConstruct(f.Family, "LiveFunctionUrl")
		custom, _ := o["CustomOriginConfig"].(map[string]any)
		c.want(name+" origin", o["Id"], f.Family)
		c.want(name+" origin of "+f.Family, fmt.Sprint(o["DomainName"]), fmt.Sprintf("map[Fn::Select:[2 map[Fn::Split:[/ map[Fn::GetAtt:[%s FunctionUrl]]]]]]", url))
		c.want(name+" access to "+f.Family, c.text(o["OriginAccessControlId"]), access)
		c.want(name+" protocol of "+f.Family, custom["OriginProtocolPolicy"], "https-only")
		c.want(name+" versions of "+f.Family, custom["OriginSSLProtocols"], []any{"TLSv1.2"})
	}
	first, _ := r.get("DistributionConfig", "DefaultCacheBehavior").(map[string]any)
	c.behaviour(name, first, plan.Behaviour{Family: plan.CatchAll})
	behaviours, want := objects(r.list("DistributionConfig", "CacheBehaviors")), c.plan.Behaviours()
	c.want(name+" behaviours", len(behaviours), len(want))
	for i, b := range want {
		if i < len(behaviours) {
			c.want(name+" path", behaviours[i]["PathPattern"], b.Pattern)
			c.behaviour(name+" "+b.Pattern, behaviours[i], b)
		}
	}
}

func (c *checker) behaviour(name string, got map[string]any, want plan.Behaviour) {
	c.want(name+" family", got["TargetOriginId"], want.Family)
	c.want(name+" protocol", got["ViewerProtocolPolicy"], "https-only")
	c.want(name+" cache", got["CachePolicyId"], plan.NotCached)
	c.want(name+" headers", got["OriginRequestPolicyId"], plan.AllHeaders)
	c.want(name+" methods", len(values(got["AllowedMethods"])), 7)
	functions := objects(values(got["FunctionAssociations"]))
	c.want(name+" functions", len(functions), 1)
	for _, f := range functions {
		c.want(name+" function", fmt.Sprint(f["EventType"], " ", c.text(f["FunctionARN"])), "viewer-request ${"+c.API.first("AWS::CloudFront::Function")+".FunctionARN}")
	}
}
