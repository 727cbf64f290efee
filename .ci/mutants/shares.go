package main

// shares: no sender delays another.
func shares() []mutant {
	return []mutant{
		{"queue: a sender keeps all workers", engine, "Queue.victim", "len(most.held) < len(l.held)+2", "len(most.held) >= 0", engine, "^TestWorkersAreShared$"},
		{"queue: a sender loses its last worker", engine, "Queue.victim", "len(l.held)+2", "len(l.held)+1", engine, "^TestWorkersAreShared$"},
		{"queue: no turns", engine, "worker.goesOn", "len(w.line.held)", "0", engine, "^TestWorkersTakeTurns$"},
		{"queue: the sender that was served is served again", engine, "Queue.serve", "append(slices.Delete(q.turns, i, i+1), l)", "slices.Insert(slices.Delete(q.turns, i, i+1), 0, l)", engine, "^TestWorkersTakeTurns$"},
		{"queue: one sender has all places", engine, "Queue.drop", "longest.fresh() <= l.fresh()+1", "longest.fresh() >= 0", engine, "^TestPlacesAreShared$"},
		{"queue: a client that reads nothing keeps its worker", engine, "worker.writing", "w.pause", "func() {}", engine, "^TestStalledWriter$"},
		{"claims: a sender has all the memory", engine, "Queue.fits", "own <= free", "own > 0", engine, "^TestClaims$"},
		{"claims: the next of a sender passes the first", engine, "Queue.unclaim", "slices.Contains(behind, c.line) || !q.fits(c.worker, c.need)", "!q.fits(c.worker, c.need)", engine, "^TestClaims$"},
		{"passes: first come, first served", engine, "batch.order", "x.share.had, y.share.had", "0, 0*y.share.had", engine, "^TestRowsTakeTurns$"},
		{"passes: many rows are one pass", engine, "member.take", "tokens+n > room", "tokens < 0", engine, "^TestRowsTakeTurns$"},
		{"bodies: a sender has all the room", httpx, "Bodies.serve", "l.from.held+n > share", "l.from.held+n > share+total", httpx, "Bod"},
		{"pages: another origin is ours", httpx, "pageOf", "!strings.EqualFold(host, r.Host)", `host == ""`, httpx, "."},
		{"regions: any host", arn, "CheckRegion", "!label.MatchString(name)", `name == " "`, arn, "."},
		{"look-aheads: what is looked for is all that follows", automaton, "nfa.look", "n.anything()", "n.last", automaton, "^TestLookAhead$"},
		{"look-aheads: excluded is required", automaton, "nfa.look", "of.not", "!of.not", automaton, "^TestLookAhead$"},
		{"host: a byte now and then is enough", host, "plainWriter.patience", "w.stall+earned-w.blocked", "w.stall+earned", host, "^TestServeTrickle$"},
	}
}
