package main

// portions: workers that compute texts alone.
func portions() []mutant {
	const same, few, like, stops = "^TestPortions$", "^TestNoPortions$", "^TestLikePortions$", "^TestPortionsStop$"
	return []mutant{
		{"portions: each has its rows", transformer, "Pass.lend", "row = end", "", transformer, same},
		{"portions: workers come back with their numbers", transformer, "Pass.takeBack", "w.Pass, w.index = p, k", "w.Pass, w.index = p, 0*k", transformer, same},
		{"portions: logits are those of the sequences", transformer, "decoding.compute", "outputsOf(d.seqs[:from])", "0", transformer, same},
		{"portions: texts keep what belongs to them", transformer, "encoding.compute", "copy(e.memories[from:], memories)", "copy(e.memories, memories)", transformer, same},
		{"portions: they can be stopped", transformer, "Pass.lend", "q.workers[0], q.Stop, q.chain, q.place = w, p.Stop, c, k", "q.workers[0], q.chain, q.place = w, c, k", transformer, stops},
		{"portions: one that fails fails all", transformer, "Pass.compute", "cmp.Or(ps.errs...)", "cmp.Or[error]()", transformer, stops},
		{"portions: nothing of them is kept", transformer, "Pass.takeBack", "clear(q.spans[:cap(q.spans)])", "", transformer, same},
		{"portions: few tokens have none", transformer, "Pass.enough", "tokensOf(b, starts[k-1], starts[k]) < p.leastPortion()", "false", transformer, few},
		{"portions: nor watched passes", transformer, "Pass.portionable", "p.Hidden == nil", "true", transformer, few},
		{"portions: a busy team computes the whole", transformer, "Pass.compute", "if !shared { return b.compute(p, 0, b.count()) }", "if !shared { return nil }", transformer, same},
		{"portions: no worker has much more than the others", transformer, "likePortions", "cost*int64(n) > total+total/portionExcess", "cost < 0", transformer, like},
		{"portions: a text belongs to the nearer one", transformer, "likePortions", "(before+c/2)*int64(n) >= total*int64(k)", "(before+c)*int64(n) >= total*int64(k)", transformer, like},
		{"chains: a portion waits for the one before it", transformer, "Pass.follow", "c.done[place-1].Load() > mine", "c.done[place-1].Load() >= mine", transformer, "^TestChainWaits$"},
		{"chains: which lets it go on", transformer, "Pass.precede", "c.team.rouse()", "", transformer, "^TestChainWaits$"},
		{"chains: later tokens cost more", transformer, "costs.of", "n*before+n*(n+1)/2", "n+0*before", transformer, "^TestCuts$"},
		{"chains: rows of logits are those of the last tokens", transformer, "Sequence.part", "s.Logits-behind", "s.Logits-0*behind", transformer, "^TestCuts$"},
		{"chains: parts begin where others end", transformer, "Sequence.part", "s.start+from", "s.start", transformer, "^TestCuts$"},
		{"chains: texts of their own need none", transformer, "Pass.cut", "divided || to < n", "true", transformer, "^TestCuts$"},
		{"chains: vectors stay with their tokens", transformer, "decoding.divide", "if s.Vectors != nil { return nil, nil, nil }", "", transformer, "^TestCuts$"},
		{"chains: each waits for all others", transformer, "Pass.meet", "c.done[i].Load() < mine", "c.done[i].Load() < mine-1", transformer, "^TestMeet$"},
		{"chains: but not for those that have left", transformer, "Pass.leave", "c.done[p.place].Store(math.MaxInt32)", "c.done[p.place].Store(math.MaxInt32 * 0)", transformer, "^TestMeet$"},
		{"cut texts: a layer's keys are not those of the layer before", transformer, "textKeys.head", "layer%2", "0*layer", transformer, "^TestTextRooms$"},
		{"cut texts: tokens see those before their part", transformer, "worker.storeParts", "sp.start, l", "0*sp.start, l", transformer, "^TestTextsInParts$"},
		{"cut texts: types of tokens are those of the text", transformer, "text.part", "t.first-from", "t.first-0*from", transformer, "^TestTextsInParts$"},
		{"cut texts: a stopped part is left", transformer, "portions.work", "defer p.leave()", "", transformer, "^TestPartStops$"},
		{"pace: after a rest it is another", transformer, "pace.of", "choices = &p[1]", "", transformer, "^TestPaceRests$"},
		{"pace: a team rests from its last job on", transformer, "Team.do", "t.last.Store(int64(time.Since(t.made)))", "", transformer, "^TestRested$"},
	}
}
