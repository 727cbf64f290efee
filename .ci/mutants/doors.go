package main

// doors: what an operator has closed must not be open, and what is not served says why.
func doors() []mutant {
	return []mutant{
		{"doors: no function URL goes past a closed API", plan, "parser.entry", "set && d.URLs", "set && !d.URLs", plan, "^TestParse$"},
		{"doors: a range is not every address", plan, "parser.ranges", "r.Bits() == 0", "false", plan, "^TestParse$"},
		{"doors: signatures are not replaced by a policy", plan, "Plan.Doors", "p.Config.Auth == Keys", "true", plan, "^TestDoors$"},
		{"doors: the template has the operator's addresses", policy, "checker.condition", "!reflect.DeepEqual(conditions, want)", "reflect.DeepEqual(conditions, nil)", policy, "^TestBreaches$"},
		{"doors: no prompt is a sample", policy, "checker.firewall", `visibility["SampledRequestsEnabled"]`, `visibility == nil`, policy, "^TestBreaches$"},
		{"doors: the variables fit a function", plan, "Plan.check", "size > maxEnvironment", "size < 0", plan, "^TestEnvironmentFits$"},
		{"alarms: a function can be replaced", policy, "checker.imports", `v["Fn::ImportValue"] != nil`, "len(v) < 0", policy, "^TestBreaches$"},
		{"doors: the table has the operator's key", policy, "checker.table", `r.get("SSESpecification")`, "encryption", policy, "^TestBreaches$"},
		{"roles: a role has a client of its own", awsrest, "Clients.As", "place{s.Scope, cfg.Region, role}", "place{scope: s.Scope, region: cfg.Region}", awsrest, "^TestAssume$"},
		{"roles: credentials are renewed", awsrest, "Client.Assume", "o.ExpiryWindow = renewal", "o.ExpiryWindow = 0", awsrest, "^TestRenewal$"},
		{"roles: only roles are assumed", catalog, "item.checkRole", `a.Service != "iam"`, "false", catalog, "^TestRole$"},
		{"regions: an ARN's region is not overruled", catalog, "item.checkRegion", "a.Region != it.region", "false", catalog, "^TestRegion$"},
		{"status: a served record needs no reason", catalog, "view.status", "e.Item == key", "e.Item != key", catalog, "^TestStatus$"},
		{"status: a warning is no reason", catalog, "view.why", "ok && !IsWarning(problem)", "ok", catalog, "^TestStatus$"},
	}
}
