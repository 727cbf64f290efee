package policy

import (
	"encoding/json"
	"fmt"
)

// callers checks who reaches the API: from where, by which names, and what its policy says.
func (c *checker) callers() {
	cfg := c.plan.Config
	kind, endpoints, closed := "REGIONAL", any(nil), any(nil)
	if cfg.Endpoints != nil {
		kind, endpoints = "PRIVATE", plain(cfg.Endpoints)
	}
	if cfg.Domain != "" {
		closed = true
	}
	for _, name := range c.API.of("AWS::ApiGateway::RestApi") {
		r := c.API.Resources[name]
		c.want(name+" endpoint", r.get("EndpointConfiguration", "Types"), []any{kind})
		c.want(name+" VPC endpoints", r.get("EndpointConfiguration", "VpcEndpointIds"), endpoints)
		c.want(name+" without AWS's own name", r.get("DisableExecuteApiEndpoint"), closed)
		c.resourcePolicy(name, r)
	}
}

// resourcePolicy requires the plan's statements about everybody, and no others.
func (c *checker) resourcePolicy(name string, r *Resource) {
	got := objects(r.list("Policy", "Statement"))
	want := c.plan.Doors()
	c.want(name+" statements", len(got), len(want))
	for i, s := range want {
		if i >= len(got) {
			return
		}
		effect := "Allow"
		if s.Deny {
			effect = "Deny"
		}
		where := name + " " + s.Sid
		c.want(where, fmt.Sprint(got[i]["Effect"], " ", c.texts(got[i]["Action"]), c.texts(got[i]["Resource"])), effect+" [execute-api:Invoke] [execute-api:/*]")
		c.want(where+" principal", got[i]["Principal"], map[string]any{"AWS": "*"})
		c.condition(where, got[i]["Condition"], s.Condition)
	}
}

// firewall requires the plan's rules before the API's stage, and no requests among samples,
// which would hold prompts.
func (c *checker) firewall() {
	rules := c.plan.Firewall()
	acls, links := c.API.of("AWS::WAFv2::WebACL"), c.API.of("AWS::WAFv2::WebACLAssociation")
	if rules == nil {
		c.want("firewalls", len(acls), 0)
		c.want("what they are before", len(links), 0)
		return
	}
	c.want("firewalls", len(acls), 1)
	c.want("what they are before", len(links), 1)
	for _, name := range acls {
		r := c.API.Resources[name]
		c.want(name+" scope", r.get("Scope"), "REGIONAL")
		c.want(name+" default", r.get("DefaultAction"), map[string]any{"Allow": map[string]any{}})
		c.want(name+" samples", r.get("VisibilityConfig", "SampledRequestsEnabled"), false)
		got := objects(r.list("Rules"))
		c.want(name+" rules", len(got), len(rules))
		for i, rule := range rules[:min(len(rules), len(got))] {
			where := name + " " + rule.Name
			c.want(where, fmt.Sprint(got[i]["Name"], " ", got[i]["Priority"]), fmt.Sprint(rule.Name, " ", i))
			c.want(where+" statement", got[i]["Statement"], plain(rule.Statement()))
			c.want(where+" outcome", got[i][rule.Outcome()], map[string]any{rule.Verdict(): map[string]any{}})
			visibility, _ := got[i]["VisibilityConfig"].(map[string]any)
			c.want(where+" samples", visibility["SampledRequestsEnabled"], false)
		}
	}
	for _, name := range links {
		r := c.API.Resources[name]
		c.want(name+" firewall", c.text(r.get("WebACLArn")), "${"+c.API.first("AWS::WAFv2::WebACL")+".Arn}")
		c.want(name+" stage", c.text(r.get("ResourceArn")), "arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${"+
			c.API.first("AWS::ApiGateway::RestApi")+"}/stages/${"+c.API.first("AWS::ApiGateway::Stage")+"}")
	}
}

// plain returns a value as JSON has it.
func plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // texts and numbers
	}
	return out
}
