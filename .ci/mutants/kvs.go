package main

// kvs: keys and values in bfloat16, whose mistakes compute other numbers, keep the memory of float32,
// or use what was stored in another format.
func kvs() []mutant {
	return []mutant{
		{"keys and values: they are rounded, not cut", dtype, "ToBFloat16", "(b + 0x7fff + b>>16&1)", "(b)", kernel, "^TestNarrow$"},
		{"keys and values: halves are rounded to even", dtype, "ToBFloat16", "b>>16&1", "1", kernel, "^TestNarrow$"},
		{"keys and values: a NaN stays one", dtype, "ToBFloat16", "f != f", "false", kernel, "^TestNarrow$"},
		{"keys and values: some numbers are rounded one by one", kernel, "Kernels.narrow", "narrowGeneric(dst[whole:], x[whole:])", "_ = x", kernel, "^TestNarrow$"},
		{"keys and values: a panel's keys are transposed", kernel, "Kernels.storeNarrowKeys", "wide[r:]", "wide[0:]", kernel, "^TestStore$"},
		{"keys and values: panels begin at a multiple of 16 tokens", kernel, "Kernels.storeNarrowKeys", "slot%keyPanel > 0 || n-i < keyPanel", "n-i < keyPanel", kernel, "^TestStore$"},
		{"keys and values: all dimensions of a panel are stored", kernel, "Kernels.storeNarrowKeys", "j += dims", "j += dim", kernel, "^TestStore$"},
		{"keys and values: copies have their format", kernel, "KV.copyRun", "kv.Format == KVBF16", "false", kernel, "^TestStore$"},
		{"keys and values: a window begins within a block", kernel, "Kernels.attendStep", "values[begin*stride/word:]", "values[begin*stride:]", kernel, "^TestAttendBF16$"},
		{"keys and values: caches have the format", transformer, "Model.newKV", "c.heads, c.dim, c.format = a.KVHeads, a.HeadDim, m.kvFormat", "c.heads, c.dim = a.KVHeads, a.HeadDim", transformer, "^TestStoreKV$"},
		{"keys and values: encoded texts have the format", transformer, "Model.memoryKV", "m.kvFormat", "0", transformer, "^TestStoreKV$"},
		{"keys and values: they are read in their format", transformer, "kv.head", "c.format", "0", transformer, "^TestBF16Divided$"},
		{"keys and values: those of packed weights are bfloat16", transformer, "Model.StoreKV", "f == KVAuto && m.packed", "false", transformer, "^TestStoreKV$"},
		{"keys and values: those of float32 weights are float32", transformer, "anyPacked", "p.format(f) != F32", "true", transformer, "^TestStoreKV$"},
		{"keys and values: estimates know the format", transformer, "Weights.CacheBytes", "m.StoreKV(KVAuto)", "_ = m", transformer, "^TestStoreKV$"},
		{"keys and values: an engine's have the format that it is given", engine, "load", "model.StoreKV(cfg.KV)", "_ = model", engine, "^TestKV$"},
		{"keys and values: embeddings are computed with float32", engine, "newCore", "m.Sentence != nil || m.Ranking != nil", "false", engine, "^TestEncoderFormats$"},
		{"keys and values: archives are of one format", engine, "newArchivedTexts", "cfg.Kernels.Name(), cfg.Format, cfg.KV", "cfg.Kernels.Name(), cfg.Format, 0", engine, "^TestArchiveKV$"},
		{"keys and values: a record's format is that of the model", local, "Loader.Open", "transformer.KVFormats()[o.KV]", "0", local, "^TestKV$"},
		{"keys and values: weights with another format are others", local, "Loader.weights", "run.Source, cfg.Format, cfg.KV, version", "run.Source, cfg.Format, 0, version", local, "^TestKVOfBase$"},
		{"keys and values: weights with another format are counted", catalog, "Entry.memory", "e.rec.KV", `""`, local, "^TestKVOfBase$"},
		{"keys and values: records name known formats", catalog, "item.readLocal", `l.kv != "" && !slices.Contains(KVs(), l.kv)`, "false", catalog, "^TestBadRecordsHideNoOther$"},
		{"passes: many prompts have room of their own", engine, "use.left", "!manyPrompts", "true", engine, "^TestGeneratingStays$"},
		{"passes: many prompts are those of one sender", engine, "batch.picks", "len(b.shares) < 2", "true", engine, "^TestManyPrompts$"},
		{"keys and values: another format is another model", catalog, "Entry.identity", "e.rec.KV", `""`, catalog, "^TestVersion$"},
		{"passes: few prompts share the tokens with rows", engine, "use.left", "!manyPrompts", "false", engine, "^TestFewPrompts$"},
		{"passes: many prompts are more than the rows", engine, "batch.picks", "len(b.waiting) > 2*rows", "true", engine, "^TestManyPrompts$"},
	}
}
