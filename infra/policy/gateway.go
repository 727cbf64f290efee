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

func (c *checker) method(name string, r *Resource, family string) {
	alias, _ := c.findConstruct(family, "Live")
	auth := "NONE"
	if c.plan.Config.Auth == plan.IAM {
		auth = "AWS_IAM"
	}
	c.want(name+" method", r.get("HttpMethod"), "ANY")
	c.want(name+" authorisation", r.get("AuthorizationType"), auth)
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
		c.want(name+" endpoint", r.get("EndpointConfiguration", "Types"), []any{"REGIONAL"})
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
	for _, name := range c.API.of("AWS::ApiGateway::DomainName") {
		c.want(name+" TLS", c.API.Resources[name].get("SecurityPolicy"), "TLS_1_2")
	}
	domains := 0
	if c.plan.Config.Domain != "" {
		domains = 1
	}
	c.want("domains", len(c.API.of("AWS::ApiGateway::DomainName")), domains)
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
