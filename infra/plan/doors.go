package plan

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
