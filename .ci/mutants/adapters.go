package main

// adapters: weights that are another model's without an error.
func adapters() []mutant {
	const logits, refused, unmerged, passes = "^TestAdapters$", "^TestAdaptersRefused$", "^TestAdaptersUnmerged$", "^TestAdaptersOfOnePass$"
	return []mutant{
		{"LoRA: alpha is divided by the rank", arch, "adapterConfig.scale", "return alpha / float64(rank)", "return alpha", arch, logits},
		{"LoRA: or by its root", arch, "adapterConfig.scale", "c.RankStable", "false", arch, logits},
		{"LoRA: the first pattern counts", arch, "adapterConfig.scale", "break", "", arch, logits},
		{"LoRA: B is (out, rank)", arch, "lowRank.values", "b[o*m.rank+k]", "b[k*m.out+o]", arch, logits},
		{"LoRA: matrices of GPT-2 are transposed", arch, "lowRank.add", "p.a, p.b, m.out, m.in", "by, along, width, count", arch, logits},
		{"LoRA: rows have their places", arch, "lowRank.merged", "base+from", "from", arch, logits},
		{"LoRA: what the file stores is not the sum", arch, "lowRank.merged", "t.ReadStored = nil", "", arch, "^TestAdaptersAreKept$"},
		{"LoRA: saved modules take the place of the base's", arch, "adapter.apply", "out.file, out.name, out.kind, out.coded = true, a.file, full, t.Type, nil", "_ = true, t", arch, logits},
		{"LoRA: names are those of the whole model or of its text", arch, "adapter.read", `short(found[1] + ".weight")`, `found[1] + ".weight"`, arch, "^TestQwen35Adapters$"},
		{"LoRA: a tensor is replaced by one", arch, "adapter.read", `other, ok := a.tensors[key]; ok`, `other, ok := a.tensors[key]; ok && false`, arch, refused},
		{"LoRA: every part has its place", arch, "adapter.unused", "slices.Sorted(maps.Keys(a.modules))", "[]string(nil)", arch, refused},
		{"LoRA: other sizes are another base's", arch, "adapter.apply", "m.out != rows || m.in != cols", "false", arch, refused},
		{"LoRA: variants compute otherwise", arch, "adapterConfig.check", `return fmt.Errorf("%s: not supported", name)`, "_ = name", arch, refused},

		{"LoRA: the scale is part of B", arch, "lowRank.scaled", "kernel.Best().Scale(b, m.scale)", "", arch, unmerged},
		{"LoRA: rows of B have their places", arch, "lowRank.merged", "base/t.Cols", "0", arch, unmerged},
		{"LoRA: what replaces tensors is merged", arch, "adapter.added", "len(a.tensors) == 0", "true", arch, unmerged},
		{"LoRA: encoders share no weights", arch, "adapter.added", "len(s.Encoder) == 0", "true", arch, "^TestShares$"},
		{"LoRA: updates begin with their row", transformer, "worker.expand", "u.from+from-u.at", "u.from", transformer, "^TestAdapter"},
		{"LoRA: workers update their columns", transformer, "worker.adapt", "min(to, u.at+u.n)", "u.at+u.n", transformer, passes},
		{"LoRA: a row has its own adapter", transformer, "Pass.addRun", "p.runs[last].Adapter == a", "true", transformer, passes},
		{"LoRA: rows of a base have none", transformer, "Pass.addRun", "a == nil || n == 0", "n == 0", transformer, passes},
		{"LoRA: a run begins with its row", transformer, "worker.adapt", "dst[r.row*l.rows:]", "dst", transformer, passes},
		{"LoRA: matrices with one input have results of their own", transformer, "worker.adapt", "u.factors != reduced", "reduced == nil", transformer, "^TestAdapter$"},
		{"LoRA: a pass forgets the runs of the last", transformer, "Pass.begin", "p.runs[:0]", "p.runs", transformer, passes},
		{"LoRA: products of some rows are not updated", transformer, "partList.stack", "o.experts == nil", "true", transformer, "^TestAdapterRefused$"},
		{"LoRA: gated blocks have two products", transformer, "partList.stack", "&o.ffn.upper, &o.ffn.gate, &o.ffn.lower", "&o.ffn.upper, &o.ffn.lower", transformer, "^TestAdapter$"},

		{"LoRA: sequences have the adapter of their engine", engine, "member.forward", "seqs[i].Adapter = m.lanes.adapter", "_ = i", engine, "^TestAdaptersShareAPass$"},
		{"LoRA: embeddings are the adapter's", engine, "core.eachPart", "Adapter: m.lanes.adapter", "Adapter: nil", engine, "^TestAdapterEmbeds$"},
		{"LoRA: engines share batches", engine, "newCore", "&lanes{cfg.Name, adapter, cfg.Kernels, weights.batches}", "&lanes{cfg.Name, adapter, cfg.Kernels, newBatches(model, cfg.Team)}", engine, "^TestAdaptersShareAPass$"},
		{"LoRA: weights that another engine has stay", engine, "Weights.Release", "w.users == 0", "true", engine, "^TestWeightsAreReleased$"},
		{"LoRA: an engine is closed once", engine, "core.Close", "c.closing.Do(c.release)", "c.release()", engine, "^TestWeightsAreReleased$"},
		{"LoRA: released weights are not used", engine, "Weights.Use", "w.users == 0", "false", engine, "^TestWeightsAreReleased$"},
		{"LoRA: a merged adapter is not its base", engine, "weightsOf", `dir == ""`, `dir == "none"`, engine, "^TestAdapterOnOtherWeights$"},

		{"LoRA: a new base is read again", local, "Loader.weights", "run.Source, cfg.Format, cfg.KV, version", `run.Source, cfg.Format, cfg.KV, version[:0]`, local, "^TestBaseChanges$"},
		{"LoRA: a quantisation is read for itself", local, "Loader.weights", "run.Source, cfg.Format, cfg.KV, version", `run.Source, "", cfg.KV, version`, local, "^TestQuantisedBase$"},
		{"LoRA: released weights are forgotten", local, "sharedWeights.load", "load(func() { s.forget(key, one) })", "load(nil)", local, "^TestAdaptersShareABase$"},
		{"LoRA: weights that cannot be read are forgotten", local, "sharedWeights.load", "one.err != nil", "false", local, "^TestSharedWeightsFail$"},
		{"LoRA: an adapter takes its own memory too", local, "Loader.run", "run.Bytes += info.Added", "", local, "^TestAdaptersShareABase$"},
		{"LoRA: a base counts once", catalog, "Catalog.held", "bases[o.weights] = len(list), len(list)", "bases[o.name] = len(list), len(list)", catalog, "^TestSharedWeights$"},
		{"LoRA: a base that its adapters have is not closed for memory", catalog, "Catalog.makeRoom", "rest < used", "rest <= used", catalog, "^TestSharedWeights$"},
		{"LoRA: a named format counts as another", catalog, "Entry.quant", "cmp.Or(e.rec.Quant, e.Run.Quant)", "cmp.Or(e.rec.Quant, e.rec.Quant)", local, "^TestNamedFormat$"},
		{"LoRA: bases of different sources have different keys", catalog, "Entry.memory", `r.Source+"\n"+e.quant()+"\n"+e.rec.KV+"\n"+r.Weights`, `""`, catalog, "^TestSharedWeightsDiffer$"},
	}
}
