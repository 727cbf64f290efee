package main

import "slices"

// cloud: remote models, what they cost, and the table that many processes share.
func cloud() []mutant {
	return slices.Concat(interceptors(), budgets(), charges(), lines(), fallbacks(), kept(), providers(), remoteTools(), responsesAPI(), messagesAPI(), ollamaAPI(), upstreams(), batches(), reasoned(), records(), dialects())
}

// interceptors: every call of every capability is counted, limited and logged.
func interceptors() []mutant {
	return []mutant{
		{"interceptors: they do not see scores", intercept, "table", "interceptedRow(func(w *wrapped) llm.Scorer { return scorer{w} }, score)", "passedRow(func(s llm.Scorer) llm.Scorer { return s })", intercept, "^Test(Rows|Counted)$"},
		{"interceptors: a capability has no row", intercept, "table", "interceptedRow(func(w *wrapped) llm.Embedder { return embedder{w} }, embed), interceptedRow(func(w *wrapped) llm.Reranker { return reranker{w} }, rerank)", "interceptedRow(func(w *wrapped) llm.Embedder { return embedder{w} }, embed)", intercept, "^TestEveryCapabilityHasARow$"},
		{"interceptors: a capability without a row is reachable", intercept, "wrapped.Capability", "return nil", "return w.model", intercept, "^TestCapabilities$"},
		{"interceptors: the last one runs first", intercept, "Wrap", "append([]Interceptor{i}, w.chain...)", "append(w.chain, i)", intercept, "^Test(Counted|Fallback|Limited)$"},
		{"interceptors: a model gets capabilities that it does not have", intercept, "openRow", "if _, err := llm.As[C](w.model); err != nil { return nil }", "", intercept, "^TestCapabilities$"},
		{"interceptors: 12.0 tokens are none", intercept, "count", "f, err = v.Float64()", "var i int64; i, err = v.Int64(); f = float64(i)", intercept, "^TestNote$"},
		{"interceptors: tokens in canonical keys are not counted", intercept, "runInvoke", "p.Usage = new(used)", "p.Usage = nil", intercept, "^TestCounted$"},
		{"interceptors: usage is counted twice", meter, "meter.Intercept", "used = *p.Usage", "used = *p.Usage; rec.Count(used)", intercept, "^TestCounted$"},
		{"interceptors: scores have no limit", budget, "backend.read", "h.begin(ctx, used, least, most)", "func() error { _, _ = least, used; return nil }()", intercept, "^TestLimited$"},
		{"interceptors: texts are not reserved", budget, "backend.read", "call.Bytes()", "int64(0)", intercept, "^TestReserved$"},
		{"interceptors: the last call reads any number of texts", budget, "backend.read", "h.begin(ctx, used, least, most)", "h.begin(ctx, used, 1+0*least, most)", budget, "^TestTextsMustFit$"},
		{"interceptors: another model makes the tokens", resilience, "fallback.Intercept", "call.Free || hasTokens(call)", "hasTokens(call)", intercept, "^TestFree$"},
		{"interceptors: another model gets token ids", resilience, "fallback.Intercept", "call.Free || hasTokens(call)", "call.Free", resilience, "^TestTokensOfOneModel$"},
		{"interceptors: one answer has scores of two models", resilience, "search.choose", "i + 1", "0 * i", resilience, "^TestScoresOfOneModel$"},
		{"interceptors: a broken model has no capabilities", intercept, "interceptedRow", "w.model.(broken)", "w.model.(Interceptor)", intercept, "^TestCapabilities$"},
	}
}

// budgets: no more is used than there is.
func budgets() []mutant {
	return []mutant{
		{"budgets: a process keeps all that it has leased", budget, "lease.settle", "idle > l.keep()", "idle > l.limit.Load()", budget, "^TestRequestsOfABudget$"},
		{"budgets: every request writes", budget, "lease.settle", "l.used += used", "l.used += 0 * used", budget, "^TestMostRequestsWriteNothing$"},
		{"budgets: each new principal looks at all", budget, "sweep.due", "n >= max(s.at, leastSwept)", "n >= 0*s.at", budget, "^TestSweeps$"},
		{"budgets: leases that are over stay", budget, "sweep.due", "n >= max(s.at, leastSwept)", "n < 0*s.at", budget, "^Test(Sweeps|MemoryForgetsWindows|PacesAreForgotten)$"},
		{"budgets: a file has leases of any number of accounts", budget, "File.Take", "b.leasedBytes() > maxLeased", "false", budget, "^TestFileIsFull$"},
		{"budgets: a file stays full of what is over", budget, "File.Take", "b.prune(time.Now())", "", budget, "^TestFileIsFull$"},
		{"budgets: what may have been given back is given again", budget, "lease.refund", "err != nil && n < 0", "err != nil", budget, "^TestNothingIsGivenBackTwice$"},
		{"budgets: the table lets more pass than the limit", budget, "Table.Take", "limit-most", "limit", budget, "^TestLedgers$"},
		{"budgets: an expired period gets tokens back", budget, "Table.Return", "n > 0", "n < 0", budget, "^TestNothingIsGivenBackTwice$"},
		{"budgets: a refusal does not say when to come again", budget, "hold.refuse", "max(time.Second, wait)", "min(time.Second, wait)", budget, "^TestRequestsOfABudget$"},
		{"budgets: a day gets tokens back before its month", budget, "hold.settle", "slices.Backward(h.leases)", "slices.All(h.leases)", budget, "^TestUndoneInReverse$"},
		{"rates: the header does not know of other processes", budget, "Budgets.admit", "left = int(min(int64(left), l.room(r.Context())))", "left += 0", budget, "^TestRate"},
		{"rates: ten seconds have a hundred times the rate", budget, "window", "10 * int64(rate.N)", "100 * int64(rate.N)", budget, "^TestRate"},
		{"rates: requests that are not inference count", budget, "Budgets.Guard", "!ok || route.Permission != httpx.Inference", "!ok", budget, "^TestRateIsOfInference$"},
	}
}

// charges: all that is used is counted, once.
func charges() []mutant {
	return []mutant{
		{"charges: a huge max_tokens gives tokens back", budget, "backend.bound", "min(int64(*limit), most)", "int64(*limit)", budget, "^TestHugeRequests$"},
		{"charges: best_of is not reserved", budget, "backend.bound", "int64(*req.BestOf)", "0*int64(*req.BestOf)", budget, "^TestHugeRequests$"},
		{"charges: a huge number in canonical keys", budget, "number", "min(max(0, n), most)", "max(0, n)", budget, "^TestHugeNumbers$"},
		{"charges: usage that a provider leaves out is free", budget, "tally.missing", "in == 0 && out == 0 || after.Partial && t.charged", "in == 0 && out == 0", budget, "^TestWhat"},
		{"charges: a stream is free if its client leaves", budget, "tally.missing", "t.cut && t.charged && !t.exact", "t.cut && t.exact", budget, "^TestWhat"},
		{"charges: a prompt is free if its client leaves before the answer", budget, "tally.add", "t.charged && !t.exact && !t.drains && ctx.Err() != nil", "!t.charged && !t.exact && !t.drains && ctx.Err() != nil", budget, "^TestWhat"},
		{"charges: one name keeps all usage back", budget, "Table.Add", "len(k.SK) > maxKey", "len(k.SK) > 4*maxKey", budget, "^TestNamesThatNoKeyHas$"},
		{"charges: usage that was not written is lost", budget, "Budgets.flush", "list[n:]", "list[max(n, len(list)):]", budget, "^TestUsage"},
		{"charges: a limit that nobody sent is refused", budget, "backend.fit", `each < n.each && !b.unmapped("max_new_tokens")`, "each < n.each", budget, "^TestLimitsThatNoRecordMaps$"},
		{"activity: an answer counts twice", "pkg/meter/activity", "Activity.ended", "s.output -= n", "s.output -= 0 * n", "pkg/meter/activity", "^TestRunningAnswer$"},
		{"activity: an old answer is taken from new intervals", "pkg/meter/activity", "Activity.ended", "s.index == index", "true", "pkg/meter/activity", "^TestLongRunningAnswer$"},
		{"activity: late pieces are kept for ever", "pkg/meter/activity", "Activity.wrote", "counted, ok := a.running[rec]; ok", "counted, _ := a.running[rec]; true", "pkg/meter/activity", "^TestRunningAnswer$"},
		{"charges: a generation is free if its client leaves", meter, "meter.Intercept", "left = true; cancel()", "return", meter, "^TestLeftEarly$"},
		{"charges: answers that are not valid are free", structured, "answers.run", "a.lost != nil", "a.lost == nil", structured, "^TestLost$"},
		{"charges: the second answer is free", structured, "answers.correct", "&usage", "&llm.Usage{Truncated: usage.Truncated}", structured, "^TestLost$"},
		{"charges: nobody counts answers that are not valid", app, "App.openBedrock", "count, a.turns", "nil, a.turns", app, "^TestUsageOfWhatIsNotValid$"},
	}
}

// lines: the metrics that CloudWatch reads.
func lines() []mutant {
	return []mutant{
		{"metrics: a client that leaves is an error", emf, "Meter.metrics", "rec.Err != nil && rec.Err.Code != httpx.Gone", "rec.Err != nil", emf, "^TestMetrics$"},
		{"metrics: any name is a dimension", emf, "Meter.metrics", "m.known != nil && value(rec.Model) && m.known(rec.Model)", "value(rec.Model)", emf, "^TestFormat$"},
		{"metrics: latency in seconds", emf, "milliseconds", "us/1000", "us/1000000", emf, "^TestLine$"},
		{"metrics: fallbacks are left out", emf, "Meter.append", `b = list(b, "fallbacks", rec.Fallbacks)`, "", emf, "^TestLine$"},
	}
}

// fallbacks: the models that answer when one fails.
func fallbacks() []mutant {
	return []mutant{
		{"fallbacks: another model gets a wrong request", resilience, "mayFallBack", "llm.NotFound", "llm.NotFound, llm.Invalid", resilience, "^TestFailures$"},
		{"fallbacks: none for what is throttled", resilience, "mayFallBack", "llm.Overloaded, llm.Unavailable", "llm.Unavailable", resilience, "^TestFailures$"},
		{"fallbacks: the first takes all the time", resilience, "share", "left / 2", "left", resilience, "^TestTime$"},
		{"fallbacks: after the first chunk", resilience, "search.forward", "shown = true", "shown = err != nil", resilience, "^TestAfterTheFirstChunk$"},
		{"fallbacks: the longest wait", resilience, "search.run", "next.RetryAfter < wait", "next.RetryAfter > wait", resilience, "^TestAllFail$"},
		{"fallbacks: a model is asked twice", resilience, "search.attempt", "s.tried[key] = true", "s.tried[key] = s.call.Streams()", resilience, "^Test(Failures|Order|Primary|AllFail)$"},
		{"fallbacks: a model that took too long is free", resilience, "search.forward", "s.charge(p)", "", resilience, "^TestLateUsage$"},
		{"fallbacks: calls before one that failed are free", remote, "embedder.Embed", "return nil, usage, err", "return nil, llm.Usage{}, err", "pkg/backend/bedrock", "^TestBackend$"},
	}
}

// kept: answers that the cache repeats.
func kept() []mutant {
	return []mutant{
		{"kept: of remote models that choose at random", resilience, "cache.repeats", "c.policy.Seeded", "p != nil", resilience, "^TestRepeats$"},
		{"kept: of the weights of before", resilience, "newCache", "model.Name, p.Version", "model.Name", resilience, "^TestKeyOfModel$"},
		{"kept: what a deadline ended", resilience, "whole", "llm.FinishContext", "llm.FinishContext, llm.FinishDeadline", resilience, "^TestNotKept$"},
		{"kept: for longer than the record says now", resilience, "Store.get", "!now.Before(e.until) || now.Sub(e.made) >= keep", "!now.Before(e.until)", resilience, "^TestStoreForgets$"},
		{"kept: texts that run together", resilience, "encoder.text", "e.number(uint64(len(s)))", "", resilience, "^TestKey"},
	}
}

// providers: calls of Bedrock and SageMaker.
func providers() []mutant {
	return []mutant{
		{"providers: a throttled call is not tried again", remote, "classify", `"modelnotreadyexception": return llm.Overloaded, true`, `"modelnotreadyexception": return llm.Overloaded, false`, bedrock, "^TestBackend$"},
		{"providers: pauses have no bound", remote, "try", "pause > left || has && time.Until(deadline) <= pause", "has && time.Until(deadline) <= pause", remote, "^TestRetry$"},
		{"providers: account numbers are shown", remote, "secrets", "`arn:[^\\s\"']+|[a-z][a-z0-9+.-]*://[^\\s\"']+|\\b\\d{12}\\b|\\bA[A-Z]{2}A[A-Z0-9]{12,}\\b`", "`arn:[^\\s\"']+|[a-z][a-z0-9+.-]*://[^\\s\"']+|\\bA[A-Z]{2}A[A-Z0-9]{12,}\\b`", remote, "^TestPresentable$"},
		{"calls: what is in a path is not escaped", awsrest, "Client.Operation", "s, true", "s, false", awsrest, "^TestPost$"},
		{"calls: the session is not signed for", awsrest, "Operation.request", "who, err := c.credentials.Retrieve(ctx)", `who, err := c.credentials.Retrieve(ctx); who.SessionToken = ""`, awsrest, "^TestPost$"},
		{"calls: an answer has no bound", awsrest, "Answer.Whole", "err == nil", "false", awsrest, "^TestWhole$"},
		{"frames: a stream that broke off has ended", awsrest, "frames.next", "len(head) > 0", "len(head) > prelude", awsrest, "^TestBroken$"},
		{"frames: a checksum is not looked at", awsrest, "frames.next", "crc32.ChecksumIEEE(body)", "false && crc32.ChecksumIEEE(body)", awsrest, "^TestBroken$"},
		{"frames: those that are long begin with those before", awsrest, "frames.take", "f.long.Reset()", "_ = 0", awsrest, "^TestEvents$"},
		{"providers: rows of one seed are the same", remote, "body", "int64(i)", "0*int64(i)", bedrock, "^TestBackend$"},
		{"lines: the part before is lost", sagemaker, "lines", "append(rest, part[:end]...)", "part[:end]", sagemaker, "^TestLines$"},
		{"lines: the last one needs an end", sagemaker, "lines", "yieldLine(rest, yield)", "", sagemaker, "^TestLines$"},
		{"lines: comments are answers", sagemaker, "yieldLine", "len(bytes.TrimSpace(line)) == 0 || line[0] == ':'", "len(bytes.TrimSpace(line)) == 0", sagemaker, "^TestLines$"},
	}
}

// records: models, credentials and items of the table.
func records() []mutant {
	return []mutant{
		{"records: groups end at dots alone", catalog, "Keys", `".-:"`, `"."`, catalog, "^TestKeys$"},
		{"records: any word is a geography", catalog, "bare", "slices.Contains(geographies(), geography)", "!slices.Contains([]string{}, geography)", catalog, "^TestKeys$"},
		{"records: an editor undoes another's change", catalog, "Editor.tryChange", `table.Equal("models", old)`, "table.Present()", catalog, "^TestManyEditors$"},
		{"records: a removed model takes a record that another model uses", catalog, "itemSet.orphans", "!slices.Contains(gone, m)", `m.name == ""`, catalog, "^TestRemove$"},
		{"records: the last records are lost when the source fails", catalog, "feed.refresh", "f.failed++", "f.listing = listing{}; f.failed++", catalog, "^TestFailingSource$"},
		{"records: a model in the process counts as remote", catalog, "Record.entry", "InProcess: run != nil", "InProcess: false", catalog, "^TestOptions$"},
		{"accounts: a revoked key is good for minutes", account, "cache.get", "age(now, a.when) >= maxAge", "age(now, a.when) >= Patience", account, "^TestTableIsFiveSecondsOld$"},
		{"accounts: a key is good for as long as the table fails", account, "cache.get", "a.found && age(now, a.when) < Patience", "a.found", account, "^TestTableThatFails$"},
		{"table: a missing attribute is not at most N", table, "expression.conditions", `"(attribute_not_exists(" + name + ") OR " + part + ")"`, "part", table, "^TestFake$"},
		{"table: what may have happened is repeated", table, "temporary", "!safe", "false", table, "^Test(Broken|Lost)$"},
		{"table: clients of a service that is down keep asking", table, "Table.retry", "empty != nil", "empty != nil && false", table, "^TestDown$"},
		{"table: checksums are not compared", table, "answer", `sum != ""`, `sum == "none"`, table, "^TestAnswers$"},
		{"table: the first page is all", table, "Table.Pages", "!yield(items, nil) || next == nil", "!yield(items, nil) || next != nil || true", table, "^TestFake$"},
		{"table: an addition is repeated", table, "Table.Update", "len(conditions) == 0 && len(c.Add) == 0", "len(conditions) == 0", table, "^Test(Broken|Lost)$"},
	}
}

// dialects: one body, three providers.
func dialects() []mutant {
	return []mutant{
		{"invoke: unmapped keys are left out unasked", invoke, "request.fit", "!ignore", "ignore", invoke, "^Test(Answers|Errors)$"},
		{"invoke: too much is status 200", invoke, "shape.Body", "llm.Overloaded, llm.Internal", "llm.Internal", invoke, "^TestError"},
	}
}
