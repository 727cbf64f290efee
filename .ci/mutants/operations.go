package main

// operations: what operators rely on: canaries, traces and teams.
func operations() []mutant {
	return []mutant{
		{"canary: an error is no answer", canary, "Question.check", "a.StatusCode != http.StatusOK", "a.StatusCode == 0", canary, "^TestAnswers$"},
		{"canary: an empty answer is none", canary, "Question.check", `!has(body, strings.Split(q.Answer, "."))`, "false", canary, "^TestAnswers$"},
		{"canary: the key is revoked", canary, "Canary.Ask", "revoke(context.WithoutCancel(ctx))", "func() error { _ = revoke; return nil }()", canary, "^TestKey$"},
		{"canary: failures are reported to CodeDeploy", app, "canaryFunction.event", "f.report(ctx, e.Deployment, e.Execution, err == nil)", "f.report(ctx, e.Deployment, e.Execution, true)", app, "^TestCanaryFunction"},
		{"canary: a failed function is no answer", awsrest, "Client.Invoke", `kind != ""`, "false", awsrest, "^TestInvoke$"},
		{"rollout: a crash takes a version back", policy, "checker.crashes", `r.get("MetricName"), "Errors"`, `"Errors", "Errors"`, policy, "^TestBreaches$"},
		{"traces: what belongs to no dialect has no spans", spans, "Traces.Begin", `rec.Dialect == ""`, "false", spans, "^TestProbes$"},
		{"traces: X-Ray's header decides only for X-Ray", spans, "Traces.parentOf", "parent.IsSampled() || t.amazon", "true", spans, "^TestParents$"},
		{"traces: a remote call has its own parent", httpx, "traced.Do", "trace.Parent = parent", "_ = parent", spans, "^TestRemote$"},
		{"traces: a busy collector is asked again", spans, "Settings.post", "res.StatusCode >= http.StatusBadGateway", "res.StatusCode < 0", spans, "^TestSender$"},
		{"traces: errors are errors there too", spans, "encodeSpan", "status{of.Description, 2}", "status{of.Description, 1}", spans, "^TestExport$"},
		{"teams: a missing team is no fault of the server", account, "Accounts.teamOf", "errors.Is(err, ErrNotFound)", "errors.Is(err, ErrExists)", account, "^TestTeam$"},
		{"teams: both lists have the model", account, "only.Allows", "!slices.ContainsFunc(o, func(m Models) bool { return !m.Allows(info) })", "slices.ContainsFunc(o, func(m Models) bool { return m.Allows(info) })", account, "^TestTeamModels$"},
		{"teams: the budget is shared", account, "Principal.Bounds", "p.Limits.Team != \"\"", "false", budget, "^TestTeamBudget$"},
		{"teams: headers have the tightest rate", budget, "Budgets.admit", "left < *fewest", "true", budget, "^TestTeamRate$"},
		{"teams: a team is in no team", account, "Credential.check", `c.Limits.Team != ""`, "false", account, "^TestTeam$"},
	}
}
