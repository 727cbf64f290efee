package main

// pages: experts that stay in their file, whose mistakes fill memory, read a file again and again, or
// compute with damaged weights.
func pages() []mutant {
	return []mutant{
		{"paged experts: those that are used for the first time are checked", transformer, "pager.choose", "!p.checked.Load()", "false", transformer, "^TestPagesDamaged$"},
		{"paged experts: each is checked once", transformer, "pager.check", "p.checked.Store(true)", "_ = p", transformer, "^TestPages$"},
		{"paged experts: those that are used stay longest", transformer, "pager.choose", "g.recent.MoveToFront(p.at)", "_ = p.at", transformer, "^TestPages$"},
		{"paged experts: the least recently used goes first", transformer, "pager.choose", "g.recent.Back()", "g.recent.Front()", transformer, "^TestPages$"},
		{"paged experts: those of a pass stay while it runs", transformer, "pager.choose", "g.recent.Len() > used", "g.recent.Len() > 0", transformer, "^TestPages$"},
		{"paged experts: memory is bounded", transformer, "pager.choose", "g.bytes > g.limit", "false", transformer, "^TestPages$"},
		{"paged experts: what is dropped takes no memory", transformer, "pager.drop", "g.bytes -= p.bytes", "_ = p", transformer, "^TestPages$"},
		{"paged experts: they are dropped from memory", transformer, "pager.drop", "g.pages.Drop(t)", "_ = t", transformer, "^TestPages$"},
		{"paged experts: only those that tokens chose are used", transformer, "pager.choose", "starts[i] == starts[i+1]", "false", transformer, "^TestPages$"},
		{"paged experts: a damaged one fails the pass", transformer, "worker.mix", "w.m.await.fail(w.m.pager.use(e, w.routes.starts))", "w.m.pager.use(e, w.routes.starts)", transformer, "^TestPagesDamaged$"},
		{"paged experts: other formats are not in the file", transformer, "newPager", "!p.isStored(format)", "false", transformer, "^TestPagesRefused$"},
		{"paged experts: those in the file take no memory", transformer, "New", "m.bytes -= m.pager.outside", "_ = m", transformer, "^TestPages$"},
		{"paged experts: an expert's tensors stay in the file", arch, "unpacking.start", "u.experts[tensor]", "false", arch, "^TestPagedDamaged$"},
		{"paged experts: all but experts is checked when the file is opened", checkpoint, "Fetch.check", "!t.later(tensor)", "false", checkpoint, "^TestFetch"},
		{"paged experts: a model that fits has all in memory", catalog, "memory.fit", "need <= limit", "false", catalog, "^TestPagedExperts$"},
		{"paged experts: the experts of one token must fit", catalog, "Paged.Within", "left >= p.Least", "left > 0", catalog, "^TestPagedExperts$"},
		{"paged experts: the model gets what the others leave", catalog, "memory.fit", "m.bytes -= m.paged.All - m.experts", "m.bytes -= m.paged.All", catalog, "^TestPagedExperts$"},
		{"paged experts: a line has what was used since the last one", emf, "expertCounts.since", "c.last[model] = now", "_ = now", emf, "^TestExperts$"},
		{"paged experts: counts begin again with a model", emf, "expertCounts.since", "now.Hits < last.Hits || now.Misses < last.Misses", "false", emf, "^TestExperts$"},
	}
}
