package main

// portions: workers that compute texts alone.
func portions() []mutant {
	const same, few, like, stops = "^TestPortions$", "^TestNoPortions$", "^TestLikePortions$", "^TestPortionsStop$"
	return []mutant{
		{"portions: each has its rows", transformer, "Pass.lend", "row = end", "", transformer, same},
		{"portions: workers come back with their numbers", transformer, "Pass.takeBack", "w.Pass, w.index = p, k", "w.Pass, w.index = p, 0*k", transformer, same},
		{"portions: logits are those of the sequences", transformer, "decoding.compute", "outputsOf(d.seqs[:from])", "0", transformer, same},
		{"portions: texts keep what belongs to them", transformer, "encoding.compute", "copy(e.memories[from:], memories)", "copy(e.memories, memories)", transformer, same},
		{"portions: they can be stopped", transformer, "Pass.lend", "q.workers[0], q.Stop = w, p.Stop", "q.workers[0] = w", transformer, stops},
		{"portions: one that fails fails all", transformer, "Pass.compute", "cmp.Or(ps.errs...)", "cmp.Or[error]()", transformer, stops},
		{"portions: nothing of them is kept", transformer, "Pass.takeBack", "clear(q.spans[:cap(q.spans)])", "", transformer, same},
		{"portions: few tokens have none", transformer, "Pass.divide", "tokensOf(b, starts[k-1], starts[k]) < least", "false", transformer, few},
		{"portions: nor watched passes", transformer, "Pass.divide", "p.Hidden != nil", "false", transformer, few},
		{"portions: a busy team computes the whole", transformer, "Pass.compute", "if !shared { return b.compute(p, 0, b.count()) }", "if !shared { return nil }", transformer, same},
		{"portions: no worker has much more than the others", transformer, "likePortions", "cost*int64(n) > total+total/portionExcess", "cost < 0", transformer, like},
		{"portions: a text belongs to the nearer one", transformer, "likePortions", "(before+c/2)*int64(n) >= total*int64(k)", "(before+c)*int64(n) >= total*int64(k)", transformer, like},
	}
}
