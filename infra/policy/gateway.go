package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/infra/plan"
)

// paths compares the resources and methods of the API with the plan's.
func (c *checker) paths() {
	want := map[string]string{}
	for _, p := range c.plan.Paths {
		want[p.Resource] = p.Family
	}
	for _, name := range c.API.of("AWS::ApiGateway::Method") {
		r := c.API.Resources[name]
		path := c.path(c.text(r.get("ResourceId")))
		family, ok := want[path]
		if !ok {
			c.fail(name, "the path %s is not in the plan, or is a duplicate", path)
			continue
		}
		delete(want, path)
		c.method(name, r, family)
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		c.fail(path, "it cannot be reached")
	}
	for _, name := range c.API.of("AWS::ApiGateway::Deployment") {
		for _, method := range c.API.of("AWS::ApiGateway::Method") {
			if !slices.Contains(c.API.Resources[name].DependsOn, method) {
				c.fail(name, "it does not depend on %s", method)
			}
		}
	}
}

// path returns the path of a resource, given as ${NAME} or ${API.RootResourceId}.
func (c *checker) path(id string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(id, "${"), "}")
	if strings.HasSuffix(name, ".RootResourceId") {
		return "/"
	}
	r, ok := c.API.Resources[name]
	if !ok {
		return "nowhere"
	}
	parent := c.path(c.text(r.get("ParentId")))
	return strings.TrimSuffix(parent, "/") + "/" + fmt.Sprint(r.get("PathPart"))
}

// authorisation returns how AWS checks callers, by API Gateway's and Lambda's word for it.
func (c *checker) authorisation() string {
	if c.plan.Config.Auth == plan.IAM {
		return "AWS_IAM"
	}
	return "NONE"
}

func (c *checker) method(name string, r *Resource, family string) {
	alias, _ := c.findConstruct(family, "Live")
	c.want(name+" method", r.get("HttpMethod"), "ANY")
	c.want(name+" authorisation", r.get("AuthorizationType"), c.authorisation())
	c.want(name+" integration", r.get("Integration", "Type"), "AWS_PROXY")
	c.want(name+" transfer", r.get("Integration", "ResponseTransferMode"), "STREAM")
	c.want(name+" address", c.text(r.get("Integration", "Uri")), "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2021-11-15/functions/${"+
		alias+"}/response-streaming-invocations")
	for _, f := range c.plan.Functions {
		if f.Family == family {
			c.want(name+" timeout, ms", r.get("Integration", "TimeoutInMillis"), int(f.Timeout.Milliseconds()))
		}
	}
}

// gateway checks the API itself.
func (c *checker) gateway() {
	c.want("APIs", len(c.API.of("AWS::ApiGateway::RestApi")), 1)
	c.want("stages", len(c.API.of("AWS::ApiGateway::Stage")), 1)
	for _, name := range c.API.of("AWS::ApiGateway::RestApi") {
		r := c.API.Resources[name]
		c.want(name+" binary types", r.get("BinaryMediaTypes"), []any{"*/*"})
	}
	for _, name := range c.API.of("AWS::ApiGateway::Stage") {
		r := c.API.Resources[name]
		c.want(name+" name", r.get("StageName"), c.plan.Config.Stage)
		settings := objects(r.list("MethodSettings"))
		if len(settings) != 1 {
			c.fail(name, "%d settings of methods", len(settings))
			continue
		}
		c.want(name+" methods", fmt.Sprintf("%v %v", settings[0]["HttpMethod"], settings[0]["ResourcePath"]), "* /*")
		c.want(name+" rate", settings[0]["ThrottlingRateLimit"], c.plan.Config.Rate)
		c.want(name+" burst", settings[0]["ThrottlingBurstLimit"], c.plan.Config.Burst)
	}
	c.responses()
	c.domain()
}

// domain requires that a custom domain, if the operator chose one, has the operator's
// certificate and leads to the API's stage, without a path of its own.
func (c *checker) domain() {
	domains, mappings := c.API.of("AWS::ApiGateway::DomainName"), c.API.of("AWS::ApiGateway::BasePathMapping")
	if c.plan.Config.Domain == "" {
		c.want("domains", len(domains), 0)
		c.want("mappings of domains", len(mappings), 0)
		c.want("DomainTarget", c.API.Outputs[c.plan.Output("DomainTarget")].Value, nil)
		return
	}
	c.want("domains", len(domains), 1)
	c.want("mappings of domains", len(mappings), 1)
	for _, name := range domains {
		r := c.API.Resources[name]
		c.want(name+" name", r.get("DomainName"), c.plan.Config.Domain)
		c.want(name+" certificate", r.get("RegionalCertificateArn"), c.plan.Config.Certificate)
		c.want(name+" endpoint", r.get("EndpointConfiguration", "Types"), []any{"REGIONAL"})
		c.want(name+" TLS", r.get("SecurityPolicy"), "TLS_1_2")
		c.want("DomainTarget", c.text(c.API.Outputs[c.plan.Output("DomainTarget")].Value), "${"+name+".RegionalDomainName}")
	}
	reference := func(t string) string { return "${" + c.API.first(t) + "}" }
	for _, name := range mappings {
		r := c.API.Resources[name]
		c.want(name+" path", r.get("BasePath"), nil)
		c.want(name+" domain", c.text(r.get("DomainName")), reference("AWS::ApiGateway::DomainName"))
		c.want(name+" API", c.text(r.get("RestApiId")), reference("AWS::ApiGateway::RestApi"))
		c.want(name+" stage", c.text(r.get("Stage")), reference("AWS::ApiGateway::Stage"))
	}
}

// responses checks the answers of API Gateway itself: pages of other origins can read
// them, and they hold a request id.
func (c *checker) responses() {
	status := map[string]any{"DEFAULT_4XX": nil, "DEFAULT_5XX": nil, "THROTTLED": nil}
	if c.plan.Config.Auth == plan.Keys {
		status["MISSING_AUTHENTICATION_TOKEN"] = "404"
	}
	for _, name := range c.API.of("AWS::ApiGateway::GatewayResponse") {
		r := c.API.Resources[name]
		kind := fmt.Sprint(r.get("ResponseType"))
		want, ok := status[kind]
		if !ok {
			c.fail(name, "the response %s is not expected", kind)
		}
		delete(status, kind)
		c.want(name+" status", r.get("StatusCode"), want)
		c.want(name+" origins", r.get("ResponseParameters", "gatewayresponse.header.Access-Control-Allow-Origin"), "'*'")
		c.want(name+" id", r.get("ResponseParameters", "gatewayresponse.header.X-Request-Id"), "context.requestId")
		body, _ := r.get("ResponseTemplates", "application/json").(string)
		if !strings.HasPrefix(body, `{"error":{"message":`) {
			c.fail(name, "clients cannot read %q", body)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(status)) {
		c.fail(kind, "the response is missing")
	}
}
