package main

// shares: no sender delays another.
func shares() []mutant {
	return []mutant{
		{"queue: a sender keeps all workers", engine, "Queue.victim", "len(most.Held) < len(l.Held)+2", "len(most.Held) >= 0", engine, "^TestWorkersAreShared$"},
		{"queue: a sender loses its last worker", engine, "Queue.victim", "len(l.Held)+2", "len(l.Held)+1", engine, "^TestWorkersAreShared$"},
		{"queue: no turns", engine, "worker.goesOn", "len(w.line.Held)", "0", engine, "^TestWorkersTakeTurns$"},
		{"queue: the sender that was served is served again", fair, "Turns.Serve", "append(without(t.queue, l), l)", "slices.Insert(without(t.queue, l), 0, l)", engine, "^TestWorkersTakeTurns$"},
		{"turns: the sender that holds the most is next", fair, "Turns.Next", "len(a.Held), len(b.Held)", "len(b.Held), len(a.Held)", fair, "^TestTurns$"},
		{"turns: a form that ends takes its turn along", grammar, "Turns.leave", "t.free++", "t.free += 0", grammar, "^TestTurns$"},
		{"queue: one sender has all places", engine, "Queue.drop", "fresh(longest) <= fresh(l)+1", "fresh(longest) >= 0", engine, "^TestPlacesAreShared$"},
		{"queue: a client that reads nothing keeps its worker", engine, "worker.writing", "w.pause", "func() {}", engine, "^TestStalledWriter$"},
		{"claims: a sender has all the memory", fair, "Pool.shares", "held+c.bytes <= most", "c.bytes <= most", engine, "^TestClaims$"},
		{"claims: the next of a sender passes the first", fair, "Pool.grant", "full || behind[c.sender]", "full", engine, "^TestClaims$"},
		{"claims: one that finds no room is passed", fair, "Pool.grant", "c.limits.Wait > 0", "c.limits.Wait < 0", publish, "^TestAllowance$"},
		{"claims: one that is withdrawn holds others up", fair, "Claim.Release", "p.grant()", "", fair, "^TestWait$"},
		{"claims: one that finds no room holds up all", fair, "Pool.grant", "c.limits.Wait > 0", "c.limits.Wait >= 0", fair, "^TestPassing$"},
		{"passes: first come, first served", engine, "batch.order", "x.share.had, y.share.had", "0, 0*y.share.had", engine, "^TestRowsTakeTurns$"},
		{"passes: many rows are one pass", engine, "member.take", "tokens+n > room", "tokens < 0", engine, "^TestRowsTakeTurns$"},
		{"bodies: a sender has all the room", httpx, "lease.take", "share := cmp.Or(l.of.Share, total/sharers)", "share := total", httpx, "Bod"},
		{"pages: another origin is ours", httpx, "pageOf", "!strings.EqualFold(host, r.Host)", `host == ""`, httpx, "."},
		{"regions: any host", arn, "CheckRegion", "!label.MatchString(name)", `name == " "`, arn, "."},
		{"look-aheads: what is looked for is all that follows", automaton, "nfa.look", "n.anything()", "n.last", automaton, "^TestLookAhead$"},
		{"look-aheads: excluded is required", automaton, "nfa.look", "of.not", "!of.not", automaton, "^TestLookAhead$"},
		{"host: a byte now and then is enough", host, "plainWriter.writeTimeout", "w.stall+earned-w.blocked", "w.stall+earned", host, "^TestServeTrickle$"},
	}
}
