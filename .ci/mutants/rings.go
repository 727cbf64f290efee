package main

// rings: layers with a window drop the beginning of a text, and what may be reused of the rest.
func rings() []mutant {
	const prefixes = "^Test(RingPrefixes|RingReach)$"
	return []mutant{
		{"rings: what a pass that panics has overwritten is promised", transformer, "Pass.Forward", "seqs[i].Cache.Len = 0", "seqs[i].Cache.Len += 0", transformer, "^TestRingsAfterAPanic$"},
		{"rings: the next token sees window-1 others", transformer, "kv.least", "kept + c.window - 1", "kept + c.window - 2", transformer, prefixes},
		{"rings: what is stored at once overwrites what the first token sees", transformer, "kv.room", "c.slots-(c.window-1)", "c.slots", transformer, "^TestRings$"},
		{"rings: a copy of a ring lacks what the ring has dropped", transformer, "kv.copy", "c.first = from.kept(tokens)", "c.first = 0", transformer, prefixes},
		{"rings: a copy is shortened as if it had all", transformer, "kv.kept", "max(c.first, tokens-c.slots)", "max(0, tokens-c.slots)", transformer, prefixes},
		{"rings: any number of tokens can be copied", transformer, "Cache.Reach", "n < from.least(tokens)", "n < 0*from.least(tokens)", transformer, prefixes},
		{"rings: a mark has what the ring had", transformer, "Cache.source", "&mark.layers[i]", "&c.layers[i]", transformer, prefixes},
		{"rings: a mark of a cache without rings", transformer, "Cache.source", "if c.layers[i].ring { return nil }", "", transformer, "^TestMarks$"},
		{"rings: chunks have them too", transformer, "Model.newKV", "cmp.Or(a.Window, a.Chunk)", "cmp.Or(a.Window, 0)", transformer, "^TestRingMemory$"},
		{"rings: encoded texts have none", transformer, "Model.newMemory", "m.memoryKV(&m.decoder[i].Attention, tokens)", "m.newKV(i, tokens)", transformer, "^TestRandomArchitecturesRings$"},
		{"rings: blocks of keys are in slots", kernel, "KV.slot", "token % kv.Ring", "(token + 1) % kv.Ring", kernel, "^TestRings$"},
		{"rings: a copy goes around both rings", kernel, "KV.Copy", "from.run(at, n-at)", "n-at", kernel, "^TestRings$"},
		{"rings: the window of attention is in the ring", kernel, "Queries.misses", "to-from > ring", "to-from > 2*ring", kernel, "^TestAttendRefusesRings$"},
	}
}
