package main

// latents: attention whose keys and values are made of narrow vectors.
func latents() []mutant {
	const formulas, matter, goldens = "^TestRandomArchitectures$", "^TestLatentFieldsMatter$", "^TestGoldens$"
	return []mutant{
		{"latents: scores are divided by the root of what heads compare", transformer, "Attention.compared", "l.KeyDim + l.Shared", "a.HeadDim", transformer, matter},
		{"latents: norms have an eps of their own", transformer, "worker.shareKeys", "cmp.Or(a.Latent.Eps, w.m.Eps)", "w.m.Eps", transformer, matter},
		{"latents: those of queries too", transformer, "worker.narrowQueries", "cmp.Or(l.latent.Eps, w.m.Eps)", "w.m.Eps", transformer, matter},
		{"latents: queries are normalised", transformer, "worker.narrowQueries", "w.m.normaliseBy(x[i*n:(i+1)*n], x[i*n:(i+1)*n], l.qNorm, eps)", "_, _ = i, eps", transformer, formulas},
		{"latents: rotated values are shared", transformer, "worker.shareKeys", "copy(key, last[rank:])", "", transformer, formulas},
		{"latents: each head has its own rotated query", transformer, "worker.compareLatents", "queries[i*width+from+t.KeyDim:]", "queries[i*width+t.KeyDim:]", transformer, formulas},
		{"latents: each head has its own matrix of keys", transformer, "worker.compareLatents", "t.keys[head]", "t.keys[0]", transformer, formulas},
		{"latents: and of values", transformer, "worker.latentAttention", "t.values[h]", "t.values[0]", transformer, formulas},
		{"latents: norms have DeepSeek's eps", arch, "setLatent", "s.Eps != latentEps", "false", arch, goldens},
		{"latents: rows of keys come first", arch, "builder.latentHeads", "both.rows(h*each+t.KeyDim, t.ValueDim)", "both.rows(h*each, t.ValueDim)", arch, goldens},
		{"DeepSeek: scores are scaled as YaRN stretches", arch, "yarnScale", "magnitude * magnitude", "magnitude", arch, goldens},
		{"DeepSeek: groups are chosen by their best experts", transformer, "experts.limit", "max(first, v), max(second, min(first, v))", "v, max(second, min(first, v))", transformer, formulas},
		{"DeepSeek: or by their two best", transformer, "experts.limit", "r.groups[g] += second", "_ = second", transformer, formulas},
		{"DeepSeek: experts of other groups are not chosen", transformer, "experts.limit", "r.ranks[i] = float32(math.Inf(-1))", "_ = i", transformer, "^TestGroups$"},
		{"GGUF: DeepSeek's multiplier has a tenth", arch, "ggufDeepSeek2", "10*by", "by", arch, "^TestGGUFLatentScale$"},
		{"GGUF: sines and cosines of DeepSeek are not scaled too", arch, "ggufDeepSeek2", "table.Magnitude = 0", "table.Magnitude = 2", arch, "^TestGGUFLatentScale$"},
		{"GGUF: pairs of DeepSeek are neighbours", arch, "ggufDeepSeek2", "interleaved(ggufReadLatent(c, s))", "ggufReadLatent(c, s)", arch, "^TestGGUFLatentScale$"},
		{"MiniCPM3: pairs are halves", arch, "miniCPM3", "s.Rotaries[0].Interleaved = false", "", arch, goldens},
	}
}
