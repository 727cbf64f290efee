package main

// shares: no sender's work is another's wait.
func shares() []mutant {
	const queue, worker, claim, share, batch = "pkg/engine/queue.go", "pkg/engine/worker.go", "pkg/engine/claim.go", "pkg/engine/share.go", "pkg/engine/batch.go"
	return []mutant{
		{"queue: a sender keeps all workers", queue, "len(most.held) < len(l.held)+2 {", "len(most.held) >= 0 {", engineTests, "^TestWorkersAreShared$"},
		{"queue: a sender loses its last worker", queue, "len(most.held) < len(l.held)+2 {", "len(most.held) < len(l.held)+1 {", engineTests, "^TestWorkersAreShared$"},
		{"queue: no turns", worker, "len(l.held) < len(w.line.held) && ", "len(l.held) < 0 && ", engineTests, "^TestWorkersTakeTurns$"},
		{"queue: who was served is served again", queue, "append(slices.Delete(q.turns, i, i+1), l)", "slices.Insert(slices.Delete(q.turns, i, i+1), 0, l)", engineTests, "^TestWorkersTakeTurns$"},
		{"queue: one sender has all places", queue, "longest.fresh() <= l.fresh()+1 {", "longest.fresh() >= 0 {", engineTests, "^TestPlacesAreShared$"},
		{"queue: who takes no frame keeps its worker", worker, "w.stall = time.AfterFunc(patientWrite, w.pause)", "w.stall = time.AfterFunc(patientWrite, func() {})", engineTests, "^TestStalledWriter$"},
		{"claims: a sender has all the memory", claim, "own <= free)", "own > 0)", engineTests, "^TestClaims$"},
		{"claims: the next of a sender passes the first", claim, "slices.Contains(behind, c.line) || ", "", engineTests, "^TestClaims$"},
		{"passes: first come, first served", share, "cmp.Compare(x.share.had, y.share.had)", "cmp.Compare(0, 0*y.share.had)", engineTests, "^TestRowsTakeTurns$"},
		{"passes: many rows are one pass", batch, "if tokens+n > room && ", "if tokens < 0 && ", engineTests, "^TestRowsTakeTurns$"},
		{"bodies: a sender has all the room", "pkg/httpx/bodies.go", "l.from.held+n > share {", "l.from.held+n > share+total {", "./pkg/httpx", "Bod"},
		{"pages: another origin is ours", "pkg/httpx/browser.go", "p.origin != \"\" && !strings.EqualFold(host, r.Host)", "p.origin != \"\" && host == \"\"", "./pkg/httpx", "."},
		{"regions: S3 is in one partition", "pkg/bucket/endpoint.go", `"." + p.Domain`, `".amazonaws.com"`, bucketTests, "^TestEndpoint$"},
		{"regions: S3 asks any host", "pkg/bucket/endpoint.go", "arn.CheckRegion(cfg.Region); err != nil {", "arn.CheckRegion(\"x\"); err != nil {", bucketTests, "^(FuzzEndpoint|TestNoEndpoint)$"},
		{"regions: any host", "pkg/arn/arn.go", "if !label.MatchString(name) {", "if name == \" \" {", "./pkg/arn", "."},
		{"look-aheads: what is looked for is all that follows", "pkg/grammar/automaton/nfa.go", "n.tail = n.pass(final, n.last, n.anything())", "n.tail = n.pass(final, n.last, n.last)", "./pkg/grammar/automaton", "^TestLookAhead$"},
		{"look-aheads: excluded is required", "pkg/grammar/automaton/nfa.go", "if of.not {", "if !of.not {", "./pkg/grammar/automaton", "^TestLookAhead$"},
		{"host: a byte now and then is enough", "pkg/host/plain.go", "w.stall+earned-w.blocked", "w.stall+earned", "./pkg/host", "^TestServeTrickle$"},
	}
}
