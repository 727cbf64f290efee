package main

// drafts: tokens that are computed before it is known whether the model writes them.
func drafts() []mutant {
	const (
		same   = "^TestDrafts$"
		costs  = "^Test(ChooseDraft|PassCosts)$"
		lookup = "^TestLookup"
	)
	return []mutant{
		{"drafts: what was drafted is accepted without the sampler's choice", engine, "generation.verify", "n := common(r.decided, r.ahead)", "n := min(len(r.decided), len(r.ahead))", engine, same},
		{"drafts: rejected tokens leave the cache", engine, "generation.verify", "r.cache.Truncate(r.cache.Len - rejected)", "_ = rejected", engine, same},
		{"drafts: logits after a rejected token are another text's", engine, "generation.verify", "(n+1)*g.engine.model.Vocab", "(n+1+min(1, len(r.ahead)-n))*g.engine.model.Vocab", engine, same},
		{"drafts: each token is chosen from the logits of its place", engine, "generation.next", "r.logits = r.logits[n:]", "r.logits = r.logits[n*min(1, len(r.ahead)+r.cached):]", engine, same},
		{"drafts: log-probabilities are those of one place", engine, "generation.write", "r.logits[:g.engine.model.Vocab]", "r.logits", engine, same},
		{"drafts: what the cache has is not computed again", engine, "generation.step", "r.decided[r.cached:]", "r.decided", engine, "^TestDraftsConstrained$"},
		{"drafts: they end before the row", engine, "generation.draftRoom", "room, left-1", "room, left+1", engine, same},
		{"drafts: all decided tokens are looked up", engine, "generation.take", "r.lookup.add(id)", "_ = id", engine, "^TestDraftsSavePasses$"},
		{"drafts: a model may have none", engine, "generation.limitDrafts", "g.drafts = 0", "g.drafts = 1", engine, "^TestDraftsTogether$"},
		{"drafts: only those that pay", engine, "passCosts.choose", "gain > minGain", "gain > 0", engine, costs},
		{"drafts: the cost is that of the longer pass", engine, "passCosts.best", "c.of(tokens+i+1)-base", "c.of(tokens)-base", engine, costs},
		{"drafts: a busy machine is not the model's cost", engine, "passCosts.note", "min(now, 2**v)", "now", engine, costs},
		{"drafts: unknown costs are learned step by step", engine, "passCosts.reach", "min(n+2, maxCosted)", "maxCosted", engine, costs},
		{"drafts: what a hash finds is compared", engine, "lookup.compare", "l.tokens[at-1-n] == l.tokens[len(l.tokens)-1-n]", "true", engine, lookup},
		{"drafts: a token that the text has more than once is no guess", engine, "lookup.add", "known && gram == 1", "known && gram == 0", engine, lookup},
		{"drafts: a longer match takes over", engine, "lookup.add", "n > l.match", "n > l.match && !goesOn", engine, lookup},
		{"drafts: a draft model guesses better than a single token", engine, "generation.draftFromText", "r.follower == nil || r.lookup.match > 1", "r.lookup.match > 0", engine, "^TestProposals"},
		{"drafts: a text that repeats itself", engine, "lookup.draft", "begin+i-len(l.tokens)", "begin", engine, lookup},
		{"drafts: a prediction begins with its beginning", engine, "lookup.predict", "l.at, l.match = 0, grams[0]", "l.match = 0", engine, lookup},
		{"drafts: tokens of the prompt are not of the prediction", engine, "lookup.predict", "l.predicted = len(prediction)", "l.predicted = len(prediction) + len(prompt)", engine, lookup},
		{"drafts: a prediction longer than the context is cut", engine, "Engine.encodePrediction", "min(len(ids), e.context)", "len(ids)", engine, "^TestPrediction$"},
		{"drafts: what has come of a prediction is counted for each row", engine, "generation.countPrediction", "g.usage.Predicted += came", "g.usage.Predicted = came", engine, "^TestPrediction$"},
		{"drafts: another token ends a source", engine, "lookup.add", "l.match = 0", "l.match--", engine, lookup},
		{"ways: the first call says nothing", faster, "Choice.Note", "c.calls <= 1", "false", faster, "^TestFirstCall$"},
		{"ways: the slower one costs a hundredth", faster, "Choice.interval", "100*(slower-1)", "10*(slower-1)", faster, "^TestChoice$"},
		{"ways: both are tried early", faster, "Choice.First", "!tried && (c.Near || c.first.mean*float64(amount) < brief)", "!tried && false", faster, "^TestChoice$"},
		{"ways: near ones, however long they take", faster, "Choice.First", "c.Near || c.first.mean*float64(amount) < brief", "c.first.mean*float64(amount) < brief", faster, "^TestChoice$"},
		{"ways: a unit of work counts", faster, "Choice.Note", "float64(amount)", "1", faster, "^TestAmounts$"},
		{"ways: what holds up a call does not count", faster, "Choice.Note", "min(now, w.mean*excess)", "now", faster, "^TestHeldUp$"},
		{"duels: ways take turns", faster, "Turn", "call/timedCalls%2 == 0", "call/timedCalls > 0", faster, "^TestTurn$"},
		{"duels: a lead can be lost", faster, "Duel.Note", "min(lead+1, mostLead)", "lead + 1", faster, "^TestDuel$"},
		{"duels: a unit of work counts", faster, "Duel.Note", "float64(amount)", "1", faster, "^TestDuelAmounts$"},
		{"duels: each comparison has a call of each way", faster, "Duel.Note", "d.pending = [2]float64{}", "_ = a", faster, "^TestDuelUndecided$"},
		{"rings: rejected tokens have overwritten others", transformer, "Cache.Truncate", "l.first = l.kept(c.Len)", "_ = l", transformer, "^TestTruncate$"},
	}
}
