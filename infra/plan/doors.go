package plan

import (
	"encoding/json"
	"fmt"
	"sort"
)

// A Door is a statement about everybody in the policy of the API's resources.
type Door struct {
	Sid       string
	Deny      bool
	Condition map[string]map[string][]string
}

// Doors returns the policy of the API's resources, empty for none: then an API is open to all
// who pass its authorisation.
//
// Source: API Gateway Developer Guide, "How API Gateway resource policies affect authorization
// workflow": without IAM, an API with a policy is closed to all whom no statement allows; with
// it, a statement that allows everybody would let in all of the account, whatever their own
// policies say.
func (p *Plan) Doors() []Door {
	var list []Door
	if p.Config.Auth == Keys && (p.Config.Allow != nil || p.Config.Endpoints != nil) {
		list = append(list, Door{Sid: "Callers"})
	}
	if p.Config.Allow != nil {
		list = append(list, Door{"OtherAddresses", true, map[string]map[string][]string{"NotIpAddress": {"aws:SourceIp": p.Config.Allow}}})
	}
	if p.Config.Endpoints != nil {
		list = append(list, Door{"OtherNetworks", true, map[string]map[string][]string{"StringNotEquals": {"aws:SourceVpce": p.Config.Endpoints}}})
	}
	return list
}

// maxDoors is the largest size of the policy of an API's resources.
//
// Source: Amazon API Gateway Developer Guide, "Quotas for configuring and running a REST API".
const maxDoors = 8192 // bytes

// checkDoors returns an error if there are more ranges or VPC endpoints than the policy of the
// API's resources can hold.
func (p *Plan) checkDoors() error {
	allow, endpoints := p.Config.Allow, p.Config.Endpoints
	all, name, things := len(allow), "allow", "ranges"
	if endpoints != nil { // then there are no ranges
		all, name, things = len(endpoints), "vpc-endpoints", "endpoints"
	}
	fit := sort.Search(all, func(n int) bool {
		part := *p
		part.Config.Allow, part.Config.Endpoints = allow[:min(n+1, len(allow))], endpoints[:min(n+1, len(endpoints))]
		return doorsSize(part.Doors()) > maxDoors
	})
	if fit == all {
		return nil
	}
	return fmt.Errorf("context %s: the policy of an API has at most %d bytes, and only the first %d of these %d %s fit", name, maxDoors, fit, all, things)
}

// doorsSize returns the size in bytes of the policy that consists of doors. API Gateway replaces
// execute-api:/* with the ARN of the API.
func doorsSize(doors []Door) int {
	type statement struct {
		Sid, Effect, Action, Resource string
		Principal                     map[string]string
		Condition                     map[string]map[string][]string `json:",omitempty"`
	}
	var list []statement
	for _, d := range doors {
		list = append(list, statement{
			d.Sid, "Allow", "execute-api:Invoke", "arn:aws-us-gov:execute-api:ap-northeast-1:123456789012:0123456789/*",
			map[string]string{"AWS": "*"}, d.Condition,
		})
	}
	text, _ := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": list}) // texts cannot fail
	return len(text)
}

// A FirewallRule is a rule of the web firewall: a group of rules that AWS keeps, or a limit.
type FirewallRule struct {
	Name  string
	Group string   // of AWS's rules; "": a limit
	Count []string // rules of the group that only count
	Limit int      // requests of an address in five minutes
}

// Firewall returns the rules of the web firewall in order, none if there is no firewall.
//
// Rules that read bodies only count: a body is a prompt, and prompts speak of scripts, paths
// and exploits. Bodies are also longer than the groups expect.
// Source: AWS WAF Developer Guide, "AWS Managed Rules rule groups list".
func (p *Plan) Firewall() []FirewallRule {
	if p.Config.Firewall == 0 {
		return nil
	}
	return []FirewallRule{
		{Name: "rate", Limit: p.Config.Firewall},
		{Name: "reputation", Group: "AWSManagedRulesAmazonIpReputationList"},
		{Name: "inputs", Group: "AWSManagedRulesKnownBadInputsRuleSet", Count: []string{"JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"}},
		{Name: "common", Group: "AWSManagedRulesCommonRuleSet", Count: []string{
			"SizeRestrictions_BODY", "EC2MetaDataSSRF_BODY", "GenericLFI_BODY", "GenericRFI_BODY", "CrossSiteScripting_BODY",
			"NoUserAgent_HEADER", // programs send what they like
		}},
	}
}

// Statement returns what a rule looks for, as CloudFormation has it.
func (r FirewallRule) Statement() map[string]any {
	if r.Group == "" {
		return map[string]any{"RateBasedStatement": map[string]any{"AggregateKeyType": "IP", "EvaluationWindowSec": 300, "Limit": r.Limit}}
	}
	group := map[string]any{"VendorName": "AWS", "Name": r.Group}
	var overrides []any
	for _, name := range r.Count {
		overrides = append(overrides, map[string]any{"Name": name, "ActionToUse": map[string]any{"Count": map[string]any{}}})
	}
	if overrides != nil {
		group["RuleActionOverrides"] = overrides
	}
	return map[string]any{"ManagedRuleGroupStatement": group}
}

// Outcome returns the property that says what happens to a request that a rule finds.
func (r FirewallRule) Outcome() string {
	if r.Group == "" {
		return "Action"
	}
	return "OverrideAction"
}

// Verdict returns what happens: a limit blocks, a group does what its rules say.
func (r FirewallRule) Verdict() string {
	if r.Group == "" {
		return "Block"
	}
	return "None"
}
