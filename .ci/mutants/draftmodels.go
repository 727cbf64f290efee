package main

// draftModels: a smaller model proposes what the model probably writes.
func draftModels() []mutant {
	const (
		passes = "^TestProposals(SavePasses|Share)$"
		policy = "^Test(ChooseProposals|ProposalsLearn|ProposalsTriedAgain)$"
	)
	return []mutant{
		{"draft models: rejected tokens leave its cache", engine, "follower.rewind", "f.cache.Truncate(f.cache.Len - rejected)", "_ = rejected", engine, passes},
		{"draft models: accepted tokens stay in its cache", engine, "follower.rewind", "f.known, f.after = f.known+n, f.after[:0]", "f.after = f.after[:0]", engine, passes},
		{"draft models: the tokens after the accepted ones are read", engine, "generation.proposing", "text[f.known:]", "text[len(text)-1:]", engine, passes},
		{"draft models: proposals are in its cache, but for the last", engine, "generation.proposeNext", "f.after = append(f.after, seqs[i].Tokens...)", "f.after = append(f.after[:0], seqs[i].Tokens...)", engine, passes},
		{"draft models: the text is not proposed", engine, "generation.proposeNext", "len(r.ahead) == 0", "len(f.after) == 0", engine, passes},
		{"draft models: rows do not get each other's proposals", engine, "generation.proposeNext", "logits[g.engine.draft.model.Vocab:]", "logits", engine, "^TestProposalsShare$"},
		{"draft models: padding is not proposed", engine, "generation.proposeNext", "logits[:g.engine.tokens]", "logits", engine, "^TestProposalsPadded$"},
		{"draft models: nothing is proposed after an end", engine, "generation.proposeNext", "g.engine.ends[id]", "false", engine, "^TestProposalsEnds$"},
		{"draft models: a text longer than its context is not followed", engine, "generation.proposing", "f.capacity-len(text)+1", "f.capacity", engine, "^TestProposals$"},
		{"draft models: rows of a prompt copy it", engine, "generation.mayBegin", "f.cache != nil", "true", engine, "^TestProposalsShare$"},
		{"draft models: known texts are not read again", engine, "generation.startFollower", "f.cache == nil || f.cache.Len == 0", "true", engine, "^TestProposalsShare$"},
		{"draft models: a cache is kept with its own tokens", engine, "generation.keepFollower", "r.ids[:min(len(r.ids), f.known)]", "r.ids[:min(len(r.ids), f.cache.Len)]", engine, "^TestProposalsKeep$"},
		{"draft models: pictures are not followed", engine, "generation.beginFollower", "id < 0", "false", engine, "^TestProposalsOfPictures$"},
		{"draft models: their caches fit the request's memory", engine, "generation.limitFollowers", "need <= room", "true", engine, "^TestProposalsMemory$"},
		{"draft models: their caches are claimed", engine, "generation.limitDrafts", "need + g.limitFollowers(g.engine.memory-g.need()-need)", "need + 0*g.limitFollowers(g.engine.memory-g.need()-need)", engine, "^TestProposalsMemory$"},
		{"draft models: vocabularies are compared", engine, "Engine.checkDraft", "own != other", "false", engine, "^TestDraftRefused$"},
		{"draft models: weights stay while they are used", engine, "core.release", "c.draft != nil", "false", engine, "^TestDraftWeights$"},
		{"draft models: one that fails is opened again", engine, "core.Failed", "c.draft.model.Failed()", "nil", engine, "^TestDraftFails$"},
		{"draft models: a generation leaves both batches", engine, "generation.leaveBatches", "g.proposer != nil", "false", engine, "^TestProposalsTogether$"},
		{"draft models: odds are those of the source", engine, "generation.proposing", "r.from, r.agreed = &f.odds, f.agreed", "r.from, r.agreed = &r.odds, f.agreed", engine, "^TestProposalsOdds$"},
		{"draft models: a rejection ends a run", engine, "generation.verify", "r.agreed = 0", "_ = r.agreed", engine, "^TestProposalsOdds$"},
		{"draft models: proposals take time", engine, "passCosts.best", "max(0, c.of(tokens+i+1)-base)+each*float64(i+1)", "max(0, c.of(tokens+i+1)-base)", engine, policy},
		{"draft models: rows share a pass", engine, "proposals.choose", "p.took.of(rows) / float64(rows)", "p.took.of(rows)", engine, policy},
		{"draft models: a long text must pay", engine, "proposals.choose", "price*(1-1/gain)*float64(left) >= read", "true", engine, policy},
		{"draft models: trying takes a share of the time", engine, "proposals.choose", "cost <= p.credit", "true", engine, policy},
		{"draft models: what is tried is paid", engine, "proposals.choose", "p.credit -= cost", "_ = cost", engine, policy},
		{"draft models: reading is not proposing", engine, "proposals.note", "most <= 2", "true", engine, policy},
		{"draft models: an open one stays", catalog, "Catalog.admit", "o.draft = d", "d.release()", catalog, "^TestDraftsS(hare|tay)$"},
		{"draft models: one that nobody has is closed", catalog, "opened.close", "o.releaseDraft()", "", catalog, "^TestDraft(sStay|Replaced)$"},
		{"draft models: one that no model could be opened with is not held", catalog, "Catalog.failed", "o.releaseDraft()", "", catalog, "^TestDraftBroken$"},
		{"draft models: no room for the model is a use less", catalog, "Catalog.admit", "d.release()", "_ = d", catalog, "^TestDraftsStay$"},
		{"draft models: another one opens the model again", catalog, "Entry.identity", "e.draft != nil", "false", catalog, "^TestDraftReplaced$"},
		{"draft models: both must fit", catalog, "Catalog.checkMemory", "next.fit(limit-reserved) + reserved", "next.fit(limit-reserved)", catalog, "^TestDraftsStay$"},
		{"draft models: experts leave room for one", catalog, "Catalog.checkMemory", "limit-reserved", "limit", catalog, "^TestDraftOfExperts$"},
		{"draft models: what drafts for a refused model", catalog, "builder.refuseDrafts", "len(why) > 0", "false", catalog, "^TestDraftsRefused$"},
		{"draft models: a batch awaits proposals", engine, "batch.end", "min(proposing, took)", "0*min(proposing, took)", engine, "^TestBatchAwaitsProposals$"},
		{"draft models: texts of a private model are not left to all", engine, "generation.draftTexts", "own == nil || !own.public", "own == nil && !own.public", engine, "^TestDraftsStayPrivate$"},
		{"draft models: those of a draft model must fit too", catalog, "Entry.chain", "own + need", "need", catalog, "^TestDraftChainTooLarge$"},
		{"passes: a row with a long draft does not wait while prompts are read", engine, "member.generates", "max(minRoom, 1+maxDraft)", "minRoom", engine, "^TestLongDraftStays$"},
	}
}
