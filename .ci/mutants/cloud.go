package main

import "slices"

const (
	budgetTests     = "./pkg/meter/budget"
	emfTests        = "./pkg/meter/emf"
	interceptTests  = "./pkg/intercept"
	resilienceTests = "./pkg/resilience"
	awsrestTests    = "./pkg/backend/awsrest"
	remoteTests     = "./pkg/backend/remote"
	bedrockTests    = "./pkg/backend/bedrock"
	sagemakerTests  = "./pkg/backend/sagemaker"
	catalogTests    = "./pkg/catalog"
	accountTests    = "./pkg/account"
	tableTests      = "./pkg/table"
	invokeTests     = "./pkg/dialect/invoke"
	appTests        = "./pkg/app"
)

// cloud: remote models, what they cost, and the table that many processes share.
func cloud() []mutant {
	return slices.Concat(interceptors(), budgets(), charges(), lines(), fallbacks(), kept(), providers(), records(), dialects())
}

// interceptors: every call of every capability is counted, limited and logged.
func interceptors() []mutant {
	const wrap, method, table = "pkg/intercept/intercept.go", "pkg/intercept/method.go", "pkg/intercept/capabilities.go"
	const models, fallback = "pkg/meter/budget/models.go", "pkg/resilience/fallback.go"
	return []mutant{
		{"interceptors: scores pass them by", table, "seen(func(w *wrapped) llm.Scorer { return scorer{w} }, score)", "passed(func(s llm.Scorer) llm.Scorer { return s })", interceptTests, "^Test(Rows|Counted)$"},
		{"interceptors: a capability has no row", table, "	seen(func(w *wrapped) llm.Translator { return translator{w} }, translate),\n", "", interceptTests, "^TestEveryCapabilityHasARow$"},
		{"interceptors: what the table does not know is reached", wrap, "func (w *wrapped) Capability(has func(any) bool) any {", "func (w *wrapped) Unwrap() llm.Backend { return w.model }\n\nfunc (w *wrapped) capability(has func(any) bool) any {", interceptTests, "^TestCapabilities$"},
		{"interceptors: the last one stands before the first", wrap, "append([]Interceptor{i}, w.chain...)", "append(w.chain, i)", interceptTests, "^Test(Counted|Fallback|Limited)$"},
		{"interceptors: a model gets capabilities that it does not have", table, "		if _, err := llm.As[C](w.model); err != nil {\n			return nil\n		}\n		return stand(w)", "		return stand(w)", interceptTests, "^TestCapabilities$"},
		{"interceptors: 12.0 tokens are none", method, "f, err = v.Float64()", "var i int64; i, err = v.Int64(); f = float64(i)", interceptTests, "^TestNote$"},
		{"interceptors: tokens in keys are not counted", method, "p.Usage = new(used)", "p.Usage = nil", interceptTests, "^TestCounted$"},
		{"interceptors: a vector is counted for each piece that was told", "pkg/meter/meter.go", "\t\t\t\tused = *p.Usage\n", "\t\t\t\tused = *p.Usage\n\t\t\t\trec.Count(used)\n", interceptTests, "^TestCounted$"},
		{"interceptors: scores have no limit", models, "return call, b.h.begin(ctx, total(rec), call.Bytes())", "return call, nil", interceptTests, "^TestLimited$"},
		{"interceptors: texts are not reserved", models, "b.h.begin(ctx, total(rec), call.Bytes())", "b.h.begin(ctx, total(rec), 0)", interceptTests, "^TestReserved$"},
		{"interceptors: tokens of another model", fallback, "if call.Free || hasTokens(call) {", "if hasTokens(call) {", interceptTests, "^TestFree$"},
		{"interceptors: vectors of token ids of another model", fallback, "if call.Free || hasTokens(call) {", "if call.Free {", resilienceTests, "^TestTokensOfOneModel$"},
		{"interceptors: scores of two models in one answer", fallback, "s.chosen = i + 1", "s.chosen = 0 * i", resilienceTests, "^TestScoresOfOneModel$"},
	}
}

// budgets: no more is used than there is.
func budgets() []mutant {
	const lease, rate, ledger = "pkg/meter/budget/lease.go", "pkg/meter/budget/rate.go", "pkg/meter/budget/table.go"
	return []mutant{
		{"budgets: a process keeps all that it has leased", lease, "case idle > l.keep():", "case idle > l.limit.Load():", budgetTests, "^TestRequestsOfABudget$"},
		{"budgets: every request writes", lease, "l.used += used", "l.used += 0 * used", budgetTests, "^TestMostRequestsWriteNothing$"},
		{"budgets: what may have been given back is given again", lease, "err != nil && n < 0 {", "err != nil {", budgetTests, "^TestNothingIsGivenBackTwice$"},
		{"budgets: the table lets more pass than the limit", ledger, "table.AtMost(leased, limit-most)", "table.AtMost(leased, limit)", budgetTests, "^TestLedgers$"},
		{"budgets: something is given back to what is gone", ledger, "if n > 0 {", "if n < 0 {", budgetTests, "^TestNothingIsGivenBackTwice$"},
		{"budgets: a refusal does not say when to come again", "pkg/meter/budget/hold.go", "Code: llm.Overloaded, RetryAfter: max(time.Second, wait), Err: err,", "Code: llm.Overloaded, RetryAfter: min(time.Second, wait), Err: err,", budgetTests, "^TestRequestsOfABudget$"},
		{"rates: the header does not know of other processes", rate, `left = int(min(int64(left), l.room(r.Context())))`, `left += 0`, budgetTests, "^TestRate"},
		{"rates: ten seconds have a hundred times the rate", "pkg/meter/budget/ledger.go", "return 10 * time.Second, 10 * int64(rate.N)", "return 10 * time.Second, 100 * int64(rate.N)", budgetTests, "^TestRate"},
		{"rates: of what is no inference", rate, "|| route.Permission != httpx.Inference {", "{", budgetTests, "^TestRateIsOfInference$"},
	}
}

// charges: all that is used is counted, once.
func charges() []mutant {
	const bound, tally, answers = "pkg/meter/budget/bound.go", "pkg/meter/budget/tally.go", "pkg/structured/answers.go"
	return []mutant{
		{"charges: a huge max_tokens gives tokens back", bound, "out.each = min(int64(*limit), most)", "out.each = int64(*limit)", budgetTests, "^TestHugeRequests$"},
		{"charges: best_of is not reserved", bound, "rows = max(rows, int64(*req.BestOf))", "rows = max(rows, 0*int64(*req.BestOf))", budgetTests, "^TestHugeRequests$"},
		{"charges: a huge number in canonical keys", bound, "return int64(min(max(0, n), most)), err == nil", "return int64(max(0, n)), err == nil", budgetTests, "^TestHugeNumbers$"},
		{"charges: what a provider leaves out is free", tally, "in == 0 && out == 0 || after.Partial && t.charged", "in == 0 && out == 0", budgetTests, "^TestWhat"},
		{"charges: streams that are left are free", tally, "t.cut && t.charged && !t.exact", "t.cut && t.exact", budgetTests, "^TestWhat"},
		{"charges: what a client asked for that leaves at once is free", tally, "if t.charged && !t.exact && !t.drains && ctx.Err() != nil {", "if !t.charged && !t.exact && !t.drains && ctx.Err() != nil {", budgetTests, "^TestWhat"},
		{"charges: one name keeps all usage back", "pkg/meter/budget/table.go", "if len(k.SK) > maxKey {", "if len(k.SK) > 4*maxKey {", budgetTests, "^TestNamesThatNoKeyHas$"},
		{"charges: usage that was not written is lost", "pkg/meter/budget/usage.go", "range list[n:] {", "range list[max(n, len(list)):] {", budgetTests, "^TestUsage"},
		{"charges: a limit that nobody sent is refused", bound, "|| b.unmapped(\"max_new_tokens\") {", "{", budgetTests, "^TestLimitsThatNoRecordMaps$"},
		{"charges: a client that leaves", "pkg/meter/meter.go", "\t\t\t\tleft = true\n\t\t\t\tcancel()\n", "\t\t\t\treturn\n", "./pkg/meter", "^TestLeftEarly$"},
		{"charges: answers that are not valid are free", answers, "if err != nil && a.lost != nil {", "if err != nil && a.lost == nil {", structuredTests, "^TestLost$"},
		{"charges: the second answer is free", answers, "a.count(&usage)", "a.count(&llm.Usage{Truncated: usage.Truncated})", structuredTests, "^TestLost$"},
		{"charges: nobody counts answers that are not valid", "pkg/app/remote.go", "structured.Wrap(bedrock.New(c, id, model), count, a.turns)", "structured.Wrap(bedrock.New(c, id, model), nil, a.turns)", appTests, "^TestUsageOfWhatIsNotValid$"},
	}
}

// lines: what CloudWatch reads.
func lines() []mutant {
	const file = "pkg/meter/emf/emf.go"
	return []mutant{
		{"metrics: a client that leaves is an error", file, "rec.Err != nil && rec.Err.Code != httpx.Gone", "rec.Err != nil", emfTests, "^TestMetrics$"},
		{"metrics: any name is a dimension", file, "m.known != nil && value(rec.Model) && m.known(rec.Model)", "value(rec.Model)", emfTests, "^TestFormat$"},
		{"metrics: latency in seconds", file, "b = append(integer(b, us/1000), '.')", "b = append(integer(b, us/1000000), '.')", emfTests, "^TestLine$"},
		{"metrics: nothing is told of fallbacks", file, "\tb = list(b, \"fallbacks\", rec.Fallbacks)\n", "", emfTests, "^TestLine$"},
	}
}

// fallbacks: who answers when a model fails.
func fallbacks() []mutant {
	const file = "pkg/resilience/fallback.go"
	return []mutant{
		{"fallbacks: another model gets a wrong request", file, "llm.Internal, llm.NotFound:", "llm.Internal, llm.NotFound, llm.Invalid:", resilienceTests, "^TestFailures$"},
		{"fallbacks: none for what is throttled", file, "case llm.Overloaded, llm.Unavailable,", "case llm.Unavailable,", resilienceTests, "^TestFailures$"},
		{"fallbacks: the first takes all the time", file, "return left / 2, ok", "return left, ok", resilienceTests, "^TestTime$"},
		{"fallbacks: after the first chunk", file, "\t\t\tshown = true\n", "\t\t\tshown = err != nil\n", resilienceTests, "^TestAfterTheFirstChunk$"},
		{"fallbacks: the longest wait", file, "next.RetryAfter < wait", "next.RetryAfter > wait", resilienceTests, "^TestAllFail$"},
		{"fallbacks: a model is asked twice", file, "if s.tried[key] {", "if s.tried[key] && s.call.Streams() {", resilienceTests, "^Test(Failures|Order|Primary|AllFail)$"},
		{"fallbacks: a model that took too long is free", file, "\t\t\t\ts.charge(p)\n", "", resilienceTests, "^TestLateUsage$"},
	}
}

// kept: answers that are given again.
func kept() []mutant {
	const cache, store = "pkg/resilience/cache.go", "pkg/resilience/store.go"
	return []mutant{
		{"kept: of remote models that choose at random", cache, "if c.policy.Seeded {", "if p != nil {", resilienceTests, "^TestRepeats$"},
		{"kept: of the weights of before", cache, "[3]string{model.Family, model.Name, p.Version}", "[3]string{model.Family, model.Name}", resilienceTests, "^TestKeyOfModel$"},
		{"kept: what a deadline ended", cache, "llm.FinishLength, llm.FinishContext:", "llm.FinishLength, llm.FinishContext, llm.FinishDeadline:", resilienceTests, "^TestNotKept$"},
		{"kept: for longer than the record says now", store, " || now.Sub(e.made) >= keep {", " {", resilienceTests, "^TestStoreForgets$"},
		{"kept: texts that run together", "pkg/resilience/key.go", "\te.number(uint64(len(s)))\n", "", resilienceTests, "^TestKey"},
	}
}

// providers: calls of Bedrock and SageMaker.
func providers() []mutant {
	const fault, sagemaker = "pkg/backend/remote/fault.go", "pkg/backend/sagemaker/lines.go"
	const client, frames = "pkg/backend/awsrest/client.go", "pkg/backend/awsrest/stream.go"
	return []mutant{
		{"providers: a throttled call is not tried again", fault, "\t\treturn llm.Overloaded, true\n\tcase \"servicequota", "\t\treturn llm.Overloaded, false\n\tcase \"servicequota", bedrockTests, "^TestBackend$"},
		{"providers: pauses have no bound", "pkg/backend/remote/retry.go", "if pause > left || has", "if has", remoteTests, "^TestRetry$"},
		{"providers: account numbers are told", fault, `|\b\d{12}\b`, "", remoteTests, "^TestPresentable$"},
		{"calls: what is in a path is not escaped", client, "httpbinding.EscapePath(s, true)", "httpbinding.EscapePath(s, false)", awsrestTests, "^TestPost$"},
		{"calls: the session is not signed for", client, "who, err := c.credentials.Retrieve(ctx)", "who, err := c.credentials.Retrieve(ctx); who.SessionToken = \"\"", awsrestTests, "^TestPost$"},
		{"calls: an answer has no bound", client, "err == nil && n > maxAnswer", "false && n > maxAnswer", awsrestTests, "^TestWhole$"},
		{"frames: a stream that broke off has ended", frames, "err == io.EOF && len(head) > 0", "err == io.EOF && len(head) > prelude", awsrestTests, "^TestBroken$"},
		{"frames: a checksum is not looked at", frames, "sum := frame[:length-trailer], frame[length-trailer:]; crc32", "sum := frame[:length-trailer], frame[length-trailer:]; false && crc32", awsrestTests, "^TestBroken$"},
		{"frames: those that are long begin with those before", frames, "f.long.Reset()", "_ = 0", awsrestTests, "^TestEvents$"},
		{"providers: rows of one seed are the same", "pkg/backend/remote/request.go", "*params.Seed + int64(i)", "*params.Seed + 0*int64(i)", bedrockTests, "^TestBackend$"},
		{"lines: the part before is lost", sagemaker, "line := append(rest, part[:end]...)", "line := part[:end]", sagemakerTests, "^TestLines$"},
		{"lines: the last one needs an end", sagemaker, "\t\tgive(rest, yield)\n", "", sagemakerTests, "^TestLines$"},
		{"lines: comments are answers", sagemaker, " || line[0] == ':'", "", sagemakerTests, "^TestLines$"},
	}
}

// records: models, credentials and items of the table.
func records() []mutant {
	return []mutant{
		{"records: groups end at dots alone", "pkg/catalog/group.go", `".-:"`, `"."`, catalogTests, "^TestKeys$"},
		{"records: any word is a geography", "pkg/catalog/group.go", "ok && slices.Contains(geographies(), geography)", "ok && !slices.Contains([]string{}, geography)", catalogTests, "^TestKeys$"},
		{"records: an editor undoes another's change", "pkg/catalog/edit.go", `condition = table.Equal("models", old)`, `condition = table.Present()`, catalogTests, "^TestManyEditors$"},
		{"records: models lose the record of another", "pkg/catalog/edit.go", "slices.ContainsFunc(gone, its) && !slices.Contains(gone, m)", "slices.ContainsFunc(gone, its) && m.name == \"\"", catalogTests, "^TestRemove$"},
		{"records: those of before are not served in a failure", "pkg/catalog/feed.go", "if f.err = err; err != nil {\n", "if f.err = err; err != nil {\n\t\tf.listing = listing{}\n", catalogTests, "^TestFailingSource$"},
		{"accounts: a revoked key is good for minutes", "pkg/account/cache.go", "age(now, a.when) >= maxAge", "age(now, a.when) >= Patience", accountTests, "^TestTableIsFiveSecondsOld$"},
		{"accounts: a key is good for as long as the table fails", "pkg/account/cache.go", "a.found && age(now, a.when) < Patience:", "a.found:", accountTests, "^TestTableThatFails$"},
		{"table: what is not there is not at most", "pkg/table/expression.go", `"(attribute_not_exists(" + name + ") OR " + part + ")"`, "part", tableTests, "^TestFake$"},
		{"table: an addition is repeated", "pkg/table/table.go", "len(conditions) == 0 && len(c.Add) == 0", "len(conditions) == 0", tableTests, "^Test(Broken|Lost)$"},
	}
}

// dialects: one body, three providers.
func dialects() []mutant {
	return []mutant{
		{"invoke: unmapped keys are left out unasked", "pkg/dialect/invoke/translate.go", "\t\t\tif !ignore {", "\t\t\tif ignore {", invokeTests, "^Test(Answers|Errors)$"},
		{"invoke: too much is status 200", "pkg/dialect/invoke/errors.go", "llm.Forbidden, llm.Overloaded,", "llm.Forbidden,", invokeTests, "^TestError"},
	}
}
