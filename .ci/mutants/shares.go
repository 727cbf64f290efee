package main

// shares: no sender delays another.
func shares() []mutant {
	return []mutant{
		{"queue: a sender keeps all workers", engine, "Queue.victim", "len(most.Held) < len(l.Held)+2", "len(most.Held) >= 0", engine, "^TestWorkersAreShared$"},
		{"queue: a sender loses its last worker", engine, "Queue.victim", "len(l.Held)+2", "len(l.Held)+1", engine, "^TestWorkersAreShared$"},
		{"queue: no turns", engine, "worker.keepsRunning", "len(w.line.Held)", "0", engine, "^TestWorkersTakeTurns$"},
		{"queue: the sender that was served is served again", fair, "Turns.Serve", "append(without(t.queue, l), l)", "slices.Insert(without(t.queue, l), 0, l)", engine, "^TestWorkersTakeTurns$"},
		{"turns: the sender that holds the most is next", fair, "Turns.Next", "len(a.Held), len(b.Held)", "len(b.Held), len(a.Held)", fair, "^TestTurns$"},
		{"turns: a form that ends takes its turn along", grammar, "Turns.leave", "t.free++", "t.free += 0", grammar, "^TestTurns$"},
		{"queue: one sender has all places", engine, "Queue.drop", "unstarted(longest) <= unstarted(l)+1", "unstarted(longest) >= 0", engine, "^TestPlacesAreShared$"},
		{"queue: a client that reads nothing keeps its worker", engine, "worker.writing", "w.pause", "func() {}", engine, "^TestStalledWriter$"},
		{"queue: a client that reads nothing keeps a preempted worker's place in line", engine, "worker.pause", "close(w.turn)", "return", engine, "^TestPreemptedWriter$"},
		{"queue: a timer that comes too late ends a wait for ever", engine, "worker.pause", "close(w.turn)", "", engine, "^TestPreemptedWriter$"},
		{"queue: a client that does not read the best completions keeps its worker", engine, "generation.best", "g.send(c)", "yield(c, nil)", engine, "^TestStalledWriter$"},
		{"queue: a client that reads nothing keeps memory that others wait for", engine, "worker.pause", "w.watch()", "", engine, "^TestUnreadWriteEnds$"},
		{"queue: writes end for nobody", engine, "worker.watch", "w.queue.pool.Blocks(w.line.Sender)", "true", engine, "^TestUnreadWriteEnds$"},
		{"claims: those beyond their sender's share wait for others", fair, "Pool.Blocks", "p.withinShare(c)", "true", engine, "^TestUnreadWriteEnds$"},
		{"queue: a backend cannot end a write", httpx, "Mux.serve", "http.NewResponseController(w).SetWriteDeadline(time.Now())", "error(nil)", httpx, "^TestCut$"},
		{"claims: a sender has all the memory", fair, "Pool.withinShare", "held+c.bytes <= limit", "c.bytes <= limit", engine, "^TestClaims$"},
		{"claims: the next of a sender passes the first", fair, "Pool.grantWaiters", "full || blocked[c.sender]", "full", engine, "^TestClaims$"},
		{"claims: one that finds no room is passed", fair, "Pool.grantWaiters", "c.limits.Wait > 0", "c.limits.Wait < 0", publish, "^TestAllowance$"},
		{"claims: nobody sees that they wait", engine, "Queue.await", "q.claims += n", "_ = n", engine, "^TestClaims$"},
		{"claims: they wait for ever in the metrics", engine, "Queue.await", "count(-1)", "count(0)", engine, "^TestClaimCancelled$"},
		{"claims: one that is withdrawn holds others up", fair, "Claim.Release", "p.grantWaiters()", "", fair, "^TestWait$"},
		{"claims: one that finds no room holds up all", fair, "Pool.grantWaiters", "c.limits.Wait > 0", "c.limits.Wait >= 0", fair, "^TestPassing$"},
		{"claims: all of a sender come first", fair, "Pool.enqueue", "other.round > c.round", "false", fair, "^TestSendersTakeTurns$"},
		{"claims: a sender that comes again and again passes others", fair, "Pool.enqueue", "max(c.round, last+1)", "max(c.round, last*0)", fair, "^TestSenderComesAgain$"},
		{"claims: all that wait of a sender have one turn", fair, "Pool.enqueue", "other.sender == c.sender", "false", fair, "^TestSendersTakeTurns$"},
		{"claims: senders are remembered for ever", fair, "Pool.grantRound", "last < p.round", "false", fair, "^TestPassedSendersAreForgotten$"},
		{"claims: bytes that were given back are given back again", fair, "Claim.Shrink", "c.bytes = n", "", fair, "^TestShareOfTheRest$"},
		{"claims: a claim that shrinks lets nobody in", fair, "Claim.Shrink", "c.pool.grantWaiters()", "", fair, "^TestShareOfTheRest$"},
		{"claims: a claim larger than the share waits for ever", fair, "Pool.withinShare", "held == 0 || held+c.bytes <= limit", "held+c.bytes <= limit", fair, "^TestFixedShare$"},
		{"turns: the sender with the fewest turns loses one", fair, "Turns.Busiest", "len(l.Held) > len(most.Held)", "len(l.Held) < len(most.Held)", fair, "^TestTurns"},
		{"passes: rows that generate do not wait while prompts are read", engine, "batch.picks", "[]bool{true, false}", "[]bool{false, true}", engine, "^TestManyPrompts$"},
		{"passes: first come, first served", engine, "batch.order", "x.share.used, y.share.used", "0, 0*y.share.used", engine, "^TestRowsTakeTurns$"},
		{"passes: many rows are one pass", engine, "member.take", "tokens+n > room", "tokens < 0", engine, "^TestRowsTakeTurns$"},
		{"bodies: what a request keeps has no limit", httpx, "lease.reserve", "l == nil || l.takeSmall(ctx, n)", "true", httpx, "^TestReserve$"},
		{"bodies: a sender has all the room", httpx, "Bodies.limits", "Share: cmp.Or(b.Share, total/sharers)", "Share: total", httpx, "Bod"},
		{"unknown paths: another dialect's routes are named", httpx, "Mux.noRoute", "s.route.Dialect != meant.Dialect", "false", httpx, "^TestUnknown$"},
		{"unknown paths: routes unlike the path are named", httpx, "Mux.noRoute", "s.off > similarOff", "false", httpx, "^TestUnknown$"},
		{"unknown paths: the client's dialect does not matter", httpx, "likely", "ok && c.Claims(header)", "ok && c == nil", httpx, "^TestUnknown$"},
		{"unknown paths: a wildcard is a match", httpx, "mismatch", "return similarOff", "return 0", httpx, "^TestUnknown$"},
		{"unknown paths: the id has no header", httpx, "Mux.noRoute", "rec.tellID(w.Header())", "", httpx, "^TestUnknown$"},
		{"pages: another origin is ours", httpx, "pageOf", "!strings.EqualFold(host, r.Host)", `host == ""`, httpx, "."},
		{"look-aheads: they must match the whole rest", automaton, "nfa.look", "n.build(of.of[0], n.met)", "n.build(of.of[0], n.ended)", automaton, "^TestLooks$"},
		{"look-aheads: a negative one is positive", automaton, "nfa.look", "of.not", "!of.not", automaton, "^TestLooks$"},
		{"look-behinds: they begin at the start of the text", automaton, "nfa.look", "!anchored(of.of[0], opBegin)", "false", automaton, "^TestLooks$"},
		{"host: a redirect keeps the stage", host, "writer.WriteHeader", "w.prefix+to", "to", host, "^TestRedirects$"},
		{"host: a byte now and then is enough", host, "plainWriter.writeTimeout", "w.stall+earned-w.blocked", "w.stall+earned", host, "^TestServeTrickle$"},
	}
}

// regions: credentials are sent to hosts of AWS only, and to the right ones.
func regions() []mutant {
	return []mutant{
		{"regions: any host", arn, "CheckRegion", "!label.MatchString(name)", `name == " "`, arn, "."},
		{"regions: S3 knows one partition", bucket, "endpoint", "p.Domain", `"amazonaws.com"`, bucket, "^TestEndpoint$"},
		{"regions: S3 calls any host", bucket, "endpoint", "arn.CheckRegion(cfg.Region)", `arn.CheckRegion("x")`, bucket, "^(FuzzEndpoint|TestNoEndpoint)$"},
		{"regions: S3 ignores FIPS", bucket, "endpoint", `host += "-fips"`, "", bucket, "^TestEndpoint$"},
		{"regions: Bedrock ignores FIPS", awsrest, "bedrockHost", `"bedrock-runtime-fips."`, `"bedrock-runtime."`, awsrest, "^TestEndpoint$"},
		{"regions: SageMaker's FIPS host is that of one partition", awsrest, "sagemakerHost", `p.Name == "aws"`, `p.Name != ""`, awsrest, "^TestEndpoint$"},
		{"partitions: the sovereign cloud has the domain of the others", partition, "all", `"amazonaws.eu"`, `"amazonaws.com"`, awsrest, "^TestEndpoint$"},
		{"partitions: dual-stack hosts have the domain of the others", partition, "Partition.HostDomain", "p.DualDomain", "p.Domain", partition, "^TestAll$"},
	}
}
