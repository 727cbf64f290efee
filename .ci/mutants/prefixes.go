package main

// prefixes: computed texts that other prompts begin with.
func prefixes() []mutant {
	return []mutant{
		{"prefixes: a shared text is left at the end of its prompt", engine, "prefixCache.share", "[]*transformer.Mark{mark}", "nil", engine, "^TestPrefixesOfWindows$"},
		{"prefixes: a place that prompts have left is marked", engine, "feed.findPrefix", "f.mark = known", "f.mark = 0", engine, "^TestPrefixesOfWindows$"},
		{"prefixes: marks outlive the text", engine, "prefixCache.planRings", "marks = append(marks, mark)", "", engine, "^TestPrefixOfSystem$"},
		{"prefixes: a longer text takes over the rings of a shorter", engine, "prefixNode.add", "append(c.rings, old.rings...), nil", "c.rings, nil", engine, "^TestPrefixesOfWindows$"},
		{"prefixes: prompts follow their leader at once", engine, "generation.feedSome", "g.follow(f)", "_ = f", engine, "^TestPrefixesOfWindows$"},
		{"prefixes: the memory of rings is counted", engine, "prefixNode.addRings", "r.bytes, r.of = block.Bytes(), r", "r.bytes, r.of = 0, r", engine, "^TestPrefixesOfWindows"},
		{"prefixes: the memory of texts in progress is counted", engine, "prefixCache.share", "p.memory.bytes += mark.Bytes()", "", engine, "^TestLentMemory$"},
		{"prefixes: the memory of texts is bounded", engine, "PrefixMemory.evict", "p.bytes > limit", "p.bytes > limit+1<<40", engine, "^TestPrefixMemory$"},
		{"prefixes: a block is evicted before those that it follows", engine, "prefixTree.usePath", "slices.Backward(nodes)", "slices.All(nodes)", engine, "^TestPrefixesOfWindows$"},
		{"prefixes: every token of a block is compared", engine, "prefixNode.child", "len(c.ids) == blockTokens && slices.Equal(c.ids, ids[:blockTokens])", "len(c.ids) == blockTokens", engine, "^TestPrefixes$"},
		{"prefixes: blocks are in the order of their tokens", engine, "prefixMatch.blocks", "blocks[i] = n.block", "blocks[len(blocks)-1-i] = n.block", engine, "^TestPrefixCuts$"},
		{"prefixes: rings have what the next token sees", transformer, "Model.Continues", "n < layer.least(n)", "n < 0", transformer, "^TestBlocks$"},
		{"prefixes: a block of a ring lacks what the ring has dropped", transformer, "Model.Block", "max(from, source.kept(tokens))", "from", transformer, "^TestBlock"},
		{"prefixes: a joined cache says what its rings have", transformer, "Cache.join", "l.first = l.kept(n)", "l.first = 0", transformer, "^TestBlocks$"},
		{"prefixes: owners have texts of their own", engine, "prefixTexts.of", "&prefixCache{p, owner}", `&prefixCache{p, ""}`, engine, "^TestPrefixOwners$"},
		{"prefixes: a text in progress is not lent to others", engine, "prefixTexts.matchLive", "t.key != key || shared <= n", "shared <= n", engine, "^TestLentPrefixOwners$"},
		{"prefixes: a request has the owner of its context", engine, "Engine.serve", "llm.OwnerOf(ctx)", `""`, engine, "^TestPrefixOwners$"},
		{"prefixes: the owner is the sender with its id", account, "withCaller", "llm.WithOwner(ctx, Sender(ctx))", "llm.WithOwner(ctx, c.principal.Kind)", account, "^TestOwner$"},
		{"prefixes: texts are public only if the record says so", local, "Loader.Open", "PublicPrefixes: o.Public", "PublicPrefixes: true", app, "^TestPrefixOwners$"},
		{"prefixes: usage tells what was known", engine, "generation.newFeeds", "g.usage.Cached += min(f.cache.Len, p.input)", "", engine, "^TestPrefixOwners$"},
		{"prefixes: a closed model keeps none", engine, "core.Close", "c.prefixes.close()", "", engine, "^TestSharedPrefixMemory$"},
		{"prefixes: open models leave less memory", "pkg/memory", "Prefixes", "float64(weights-open)", "float64(weights)", "pkg/memory", "^TestPrefixes$"},
		{"prefixes: the memory of open models is known", app, "App.prefixMemory", "open += m.Bytes", "open += 0 * m.Bytes", app, "^TestPrefixMemory$"},
		{"prefixes: a model that opens takes its memory back", local, "Loader.Open", "l.cfg.Prefixes.Shrink() >= muchFreed", "false", local, "^TestPrefixesYield$"},
	}
}
