package main

// gemma4: inputs of each layer, and keys and values that layers share.
func gemma4() []mutant {
	const formulas, rings, goldens, config = "^TestRandomArchitectures$", "^TestGoldensOfWindows$", "^TestGoldens$", "^TestGemma4(Defaults|Within)$|^TestHostileGemma4$"
	return []mutant{
		{"Gemma 4: norms are stored as they are", arch, "gemma4Text", "f.tensors.lessOne = false", "f.tensors.lessOne = true", arch, goldens},
		{"Gemma 4: scores are not scaled", arch, "gemma4Text", "transformer.QKNormHead, true, 1", "transformer.QKNormHead, true, 0", arch, goldens},
		{"Gemma 4: values are normalised", transformer, "worker.storeKV", "a.ValueNorm && v != nil", "false", transformer, formulas},
		{"Gemma 4: the projection of the input is scaled", transformer, "Model.setLayerInputs", "1 / math.Sqrt(float64(m.Width))", "1", transformer, formulas},
		{"Gemma 4: the embedding of layers is scaled", transformer, "worker.computeInputs", "float32(math.Sqrt(float64(n)))", "1", transformer, formulas},
		{"Gemma 4: inputs are a mean of squares", transformer, "worker.computeInputs", "1/math.Sqrt2", "0.5", transformer, formulas},
		{"Gemma 4: each layer has its input", transformer, "worker.endLayer", "(i*len(w.m.decoder)+index)*n", "i*len(w.m.decoder)*n", transformer, formulas},
		{"Gemma 4: inputs are of the tokens of their sequence", transformer, "worker.computeInputs", "w.seqs[i].Tokens[row-sp.row]", "w.seqs[0].Tokens[row-sp.row]", transformer, "^TestRandomArchitecturesInvariant$"},
		{"Gemma 4: layers end with a factor", transformer, "worker.endLayer", "l.factor == nil", "true", transformer, formulas},
		{"Gemma 4: keys are those of the source", transformer, "Model.setSlots", "l.slot = m.decoder[from-1].slot", "l.slot = 0", transformer, formulas},
		{"Gemma 4: layers that others read keep all tokens", transformer, "Model.newKV", "k.lent", "false", transformer, "^TestLentRings$"},
		{"Gemma 4: sources are of the layer's type", arch, "config.sources", "windowed[j] == windowed[i]", "true", arch, goldens},
		{"Gemma 4: the source is the last of its type", arch, "config.sources", "list[i] = j + 1", "list[i] = max(1, j)", arch, goldens},
		{"Gemma 4: layers that share are wider", arch, "gemma4Layers", "wider && a.KVLayer > 0", "wider", arch, goldens},
		{"Gemma 4: keys are values in full attention alone", arch, "gemma4Layers", "same && !windowed[layer]", "same", arch, goldens},
		{"Gemma 4: values are keys before their norm", transformer, "worker.storeKV", "copy(v, k)", "if w.normaliseHeads(l, nil, k, head); true { copy(v, k) }", transformer, formulas},
		{"Gemma 4: the last layer has no window", arch, "gemma4Layers", "windowed[depth-1] = false", "", arch, config},
		{"Gemma 4: frequencies are those of the whole head", arch, "proportional", "transformer.Frequencies(theta, dim)", "transformer.Frequencies(theta, int(part*float64(dim)))", arch, goldens},
		{"Gemma 4: a part of the pairs is rotated", arch, "proportional", "j >= rotated", "j >= rotated+dim", arch, goldens},
		{"Gemma 4: frequencies are divided", arch, "proportional", "r.Frequencies[j] /= float32(factor)", "_ = factor", arch, goldens},
		{"Gemma 4: full attention has heads of its own", arch, "gemma4Heads", "list == nil && !windowed[i]", "false", arch, "^TestLegacyConfig$"},
		{"Gemma 4: layers list their heads", arch, "gemma4Heads", `own.integer("num_key_value_heads", all.KVHeads, 1, maxHeads)`, "all.KVHeads", arch, goldens},
		{"Gemma 4: factors are those of full attention", arch, "ggufGemma4", "f.factored = 1", "f.factored = 2", arch, "^TestGGUFGemma4$"},
		{"Gemma 4: layers of a file have heads of their own", arch, "ggufGemma4Layers", "keys[layer]", "keys[0]", arch, "^TestGGUFGemma4$"},
		{"Gemma 4: values are keys where a file lacks them", arch, "ggufGemma4", "a.Rotary == 1 && a.KVLayer == 0", "a.KVLayer == 0", arch, "^TestHostileGGUFGemma4$"},
		{"Gemma 4: scores of a file are not scaled", arch, "ggufGemma4", "f.kind.Attention.ValueNorm, f.kind.Attention.Scale = true, 1", "f.kind.Attention.ValueNorm, f.kind.Attention.Scale = true, 0", arch, goldens},
		{"Gemma 4: tokens end answers by their spelling", "pkg/tokenizer/gguf", "Vocabulary.Ends", "slices.Contains(spacedEnds, piece)", "piece == spacedEnds[0]", "pkg/tokenizer/gguf", "^TestSpaced$"},
		{"Gemma 4: ends are special tokens", "pkg/tokenizer/gguf", "newSpaced", "added[i].Special || slices.Contains(spacedEnds, added[i].Content)", "added[i].Special", "pkg/tokenizer/gguf", "^TestSpaced$"},
		{"Gemma 4: texts begin with a token", "pkg/tokenizer/gguf", "newSpaced", "g.setAffixes(t, true)", "g.setAffixes(t, flag(g.AddBOS, true))", "pkg/tokenizer/gguf", "^TestSpaced$"},
		{"Gemma 4: merges stay within a line", hf, "NewSpaced", "`\\n+`", "`\\n\\n+`", "pkg/tokenizer/gguf", "^TestSpaced$"},
		{"Gemma 4: ends of the whole model are those of the text", arch, "config.inner", "inner.fields[name] = c.fields[name]", "_ = name", arch, config},
	}
}
