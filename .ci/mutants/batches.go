package main

// batches: files of requests that run in the background.
func batches() []mutant {
	return []mutant{
		{"batches: a byte order mark is part of the first line", batch, "parse", `bytes.TrimPrefix(text, []byte("\ufeff"))`, "text", batch, "^TestBrokenLines$"},
		{"batches: bytes that are no text become others", batch, "scan.check", "!utf8.Valid(text)", "!utf8.Valid(nil)", batch, "^TestBrokenLines$"},
		{"batches: a parameter outside of the body is lost", batch, "scan.check", `problem != ""`, `problem == "-"`, batch, "^TestKeysOfLines$"},
		{"batches: a key of a line that comes twice counts once", batch, "checkKeys", `key + " appears twice"`, `""`, batch, "^TestKeysOfLines$"},
		{"batches: the rooms of owners are one", batch, "room", "[]byte(owner)", "[]byte(nil)", batch, "^TestOwners$"},
		{"batches: a part that ran twice is whole", batch, "Batches.whole", "len(answered) == lines", "len(answered) >= 0", batch, "^TestOverlap$"},
		{"batches: a lease is not renewed", batch, "Batches.renew", "_ = b.createJSON(ctx, key(n), time.Now().Add(b.cfg.Lease))", "", batch, "^TestRenewal$"},
		{"batches: what runs is taken over", batch, "Batches.choose", "d > 0 && !until.Add(-b.cfg.Lease).Before(b.cfg.Alone)", "false", batch, "^TestRenewal$"},
		{"batches: the only process waits for dead ones", batch, "Batches.choose", "!until.Add(-b.cfg.Lease).Before(b.cfg.Alone)", "true", batch, "^TestAlone$"},
		{"batches: a slow line runs for ever", batch, "progress.lost", "c.done+c.failed > 0", "true", batch, "^TestSlowLine$"},
		{"batches: a line that kills runs for ever", batch, "Batches.try", "since >= 2*patience", "since >= 1000*patience", batch, "^TestPoison$"},
		{"batches: a throttled line holds up the others", batch, "Batches.try", "left = append(left[first:len(left):len(left)], left[:first]...)", "_ = first", batch, "^TestThrottledLine$"},
		{"batches: a fault of the store loses answers", batch, "Batches.try", "err != nil && len(out) == 0 && c.notBefore == 0", "err != nil", batch, "^TestAnswersAreKept$"},
		{"batches: a fault of the runner is not told", batch, "attempt.line", "backoff(a.throttled, answer.RetryAfter), err", "backoff(a.throttled, answer.RetryAfter), nil", batch, "^TestRunnerError$"},
		{"batches: a fault of the runner is tried again at once", batch, "Batches.try", "err != nil && len(out) == 0 && c.notBefore == 0", "err != nil && len(out) == 0", batch, "^TestRunnerError$"},
		{"batches: a torn download looks whole", httpx, "Mux.serve", `w.Header().Get("Content-Length") != ""`, "false", httpx, "^TestAbortsLength$"},
		{"batches: results have no limit", batch, "Batches.Create", "b.checkFiles(ctx, owner, 0)", "error(nil)", batch, "^TestTooManyFiles$"},
		{"batches: a cancelled batch runs on", batch, "attempt.stopped", "return ok, err", "return ok && false, err", batch, "^TestCancel$"},
		{"batches: the work of a batch stays", batch, "Batches.clean", "b.deleteAll(ctx, keys)", "b.deleteAll(ctx, keys[:0])", batch, "^TestRenewal$"},
		{"batches: what a late process writes stays", batch, "Batches.fix", "b.late(ctx, w)", "nil", batch, "^TestLateSeal$"},
		{"batches: too many functions work", batch, "Batches.freeTurn", "time.Now().Before(until)", "false", batch, "^TestSlots$"},
		{"batches: the place of a dead function stays taken", batch, "Batches.freeTurn", "time.Now().Before(until)", "true", batch, "^TestSlots$"},
		{"batches: an owner with many comes first", batch, "fairly", "place[a.ID] - place[b.ID]", "0", batch, "^TestFair$"},
		{"batches: an object is overwritten", inbucket, "Store.Create", "IfNone: true", "IfNone: false", inbucket, "^TestStore$"},
		{"batches: a large object is overwritten", inbucket, "Store.createLarge", "IfNone: true", "IfNone: false", inbucket, "^TestStore$"},
		{"batches: bytes of two versions", bucket, "Bucket.Get", `etag: ETag(header.Get("Etag"))`, `etag: "*"`, bucket, "^TestGet$"},
		{"batches: a file that looks like an error is one", bucket, "Bucket.do", "q.method == http.MethodGet", "false", bucket, "^TestGet$"},
		{"batches: a line has the rights of another", account, "Accounts.senders", "r.Context().Value(behalfKey{}).(string)", `r.Context().Value("").(string)`, account, "^TestOnBehalf$"},
		{"batches: a new user of the name sends the lines", account, "Accounts.sent", "c.instance() != instance", "false", account, "^TestOnBehalf$"},
		{"batches: an expired key sends lines", account, "Accounts.sent", "c.expired(time.Now())", "false", account, "^TestOnBehalf$"},
		{"batches: nobody takes the place of an invocation", app, "batchWork.work", "w.later(ctx, batchEvent{eventWork})", "error(nil)", app, "^TestBatchFunctionsGoOn$"},
		{"batches: the start counts on its first try", app, "batchWork.created", "host.FunctionARN(ctx) != \"\"", "false", app, "^TestBatchFunctions$"},
	}
}
