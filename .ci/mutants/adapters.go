package main

// adapters: weights that are another model's without an error.
func adapters() []mutant {
	const logits, refused = "^TestAdapters$", "^TestAdaptersRefused$"
	return []mutant{
		{"LoRA: alpha is divided by the rank", arch, "adapterConfig.scale", "return alpha / float64(rank)", "return alpha", arch, logits},
		{"LoRA: or by its root", arch, "adapterConfig.scale", "c.RankStable", "false", arch, logits},
		{"LoRA: the first pattern counts", arch, "adapterConfig.scale", "break", "", arch, logits},
		{"LoRA: B is (out, rank)", arch, "lowRank.values", "b[o*m.rank+k]", "b[k*m.out+o]", arch, logits},
		{"LoRA: matrices of GPT-2 are transposed", arch, "lowRank.add", "p.a, p.b, m.out, m.in", "by, along, width, count", arch, logits},
		{"LoRA: rows have their places", arch, "lowRank.merged", "base+from", "from", arch, logits},
		{"LoRA: what the file stores is not the sum", arch, "lowRank.merged", "t.ReadStored = nil", "", arch, "^TestAdaptersAreKept$"},
		{"LoRA: saved modules take the place of the base's", arch, "adapter.apply", "out.file, out.name, out.kind = true, a.file, full, t.Type", "_ = true, t", arch, logits},
		{"LoRA: every part has its place", arch, "adapter.unused", "slices.Sorted(maps.Keys(a.modules))", "[]string(nil)", arch, refused},
		{"LoRA: other sizes are another base's", arch, "adapter.apply", "m.out != rows || m.in != cols", "false", arch, refused},
		{"LoRA: variants compute otherwise", arch, "adapterConfig.check", `return fmt.Errorf("%s: not supported", name)`, "_ = name", arch, refused},
	}
}
