package main

// kinds: the fields by which the layers of a model differ.
func kinds() []mutant {
	const random = "^TestRandomArchitectures$"
	return []mutant{
		{"patterns: a space before a word is white space", "pkg/tokenizer/hf", "dfaBuilder.follow", "class == b.d.count || b.before[syntax.EmptyOp(inst.Arg)][class]", "class >= 0", "pkg/tokenizer/hf", "^Test(Families|PatternDFA)$"},
		{"patterns: the longest alternative wins", "pkg/tokenizer/hf", "dfaBuilder.step", "b.follow(pc, class, next)", "b.follow(pc, class, next) && len(*next) == 0", "pkg/tokenizer/hf", "^Test(Families|PatternDFA|PatternMatches)$"},
		{"hf: a run of bytes that is not UTF-8 has no valid part", "pkg/tokenizer/hf", "planDecoder.endRun", "utf8.ValidString(text)", `utf8.ValidString("")`, "pkg/tokenizer/hf", "^TestByteFallback$"},
		{"hf: a replacement belongs to the last character that it replaces", "pkg/tokenizer/hf", "matcher.replacedHead", "end <= n", "start <= n", "pkg/tokenizer/hf", "^TestMetaspaceFirst$"},
		{"gguf: a shorter token fits before one that is taken", "pkg/tokenizer/internal/encode", "Partition", "add(m.From, to)", "_ = to", "pkg/tokenizer/gguf", "^TestGGUFPartition$"},
		{"gguf: the longest token is read first", "pkg/tokenizer/internal/encode", "Partition", "slices.Backward(byLength)", "byLength", "pkg/tokenizer/gguf", "^TestGGUFPartition$"},
		{"gguf: scores of t5 are added in float64", "pkg/tokenizer/sentencepiece", "New", "as = unigram.LlamaCpp", "as = unigram.SentencePiece", "pkg/tokenizer/gguf", "^TestGGUFEqualCuts$"},
		{"gguf: U+2581 at the end of a text is a space", "pkg/tokenizer/sentencepiece", "normalizer.normalize", "len(result) > kept", "len(result) > kept || kept >= 0", "pkg/tokenizer/gguf", "^TestGGUFLiteralMark$"},
		{"gguf: tokens of Phi-3 take no space", "pkg/tokenizer/gguf", "Vocabulary.takesSpace", "kinds[id] != subword.KindNormal", "false", "pkg/tokenizer/gguf", "^TestGGUFTakenSpace$"},
		{"gguf: tokens of Phi-3 take the space of the next token", "pkg/tokenizer/sentencepiece", "Tokenizer.encodeParts", "m.To < next && isSpace(text[m.To])", "m.To < max(next, len(text)) && isSpace(text[m.To])", "pkg/tokenizer/gguf", "^TestGGUFTakenSpace$"},
		{"tokens of bytes in lower case are written", "pkg/tokenizer/internal/subword", "ByteIDs", "piece == BytePiece(b)", "true", "pkg/tokenizer/hf", "^TestByteFallback$"},
		{"patterns: characters beyond the basic plane", "pkg/tokenizer/hf", "patternDFA.search", "!found", "found", "pkg/tokenizer/hf", "^Test(Families|PatternDFA)$"},
		{"patterns: what was read in vain is not read again", "pkg/tokenizer/hf", "farScan.match", "s.isDead(bit)", "false", "pkg/tokenizer/hf", "^TestFarScanIsLinear$"},
		{"patterns: what was read up to a match was not in vain", "pkg/tokenizer/hf", "farScan.match", "end, s.vain = i, s.vain[:0]", "end = i", "pkg/tokenizer/hf", "^TestFarScan$"},
		{"patterns: texts that are cut by a far pattern have scans", "pkg/tokenizer/hf", "readSplit", "step.on = find.split", "step.on = nil", "pkg/tokenizer/hf", "^TestFarSteps$"},
		{"Mistral: a window of W tokens includes the token itself", kernel, "Queries.keys", "max(0, to-q.Window)", "max(0, to-q.Window-1)", transformer, random},
		{"encoders: a window reaches both ways", kernel, "Queries.keys", "own + min(to-own, q.Window)", "own + min(to-own, 1)", transformer, random},
		{"Llama 4: chunks begin at multiples", kernel, "Queries.keys", "(to - 1) / q.Chunk * q.Chunk", "max(0, to-q.Chunk)", transformer, random},
		{"GPT-OSS: the softmax includes the sink", kernel, "Kernels.loadQueries", "q.Sinks[head], 1", "q.Sinks[head], 0", transformer, random},
		{"GPT-OSS: each head has its own sink", transformer, "layer.headSinks", "l.sinks[head*group : (head+1)*group]", "l.sinks[:group]", transformer, random},
		{"Gemma 3: layers have different rotary tables", transformer, "worker.rotate", "&w.angles[a.Rotary-1]", "&w.angles[0]", transformer, random},
		{"YaRN: sines are scaled too", transformer, "Pass.computeAngles", "p.m.kernels.Scale(to.sin, r.Magnitude)", "p.m.kernels.Scale(to.sin, 1)", transformer, random},
		{"Qwen3: keys have their own norm", transformer, "worker.normaliseHeads", "of(l.kNorm, head)", "of(l.qNorm, head)", transformer, random},
		{"StableLM 2: each head of queries has its own weight", transformer, "worker.normaliseHeads", "of(l.qNorm, head*group+i)", "of(l.qNorm, head)", transformer, random},
		{"OLMo 2: all keys of a token are one vector", transformer, "worker.normaliseQK", "row[queries:queries+keys], row[queries:queries+keys]", "row[queries:queries+min(keys, a.HeadDim)], row[queries:queries+min(keys, a.HeadDim)]", transformer, random},
		{"norms of keys have a bias", transformer, "worker.normaliseQK", "l.kNorm", "norm{l.kNorm.weight, nil}", transformer, random},
		{"Gemma: files store norm weights minus one", transformer, "loader.copy", "p.lessOne", "false", transformer, random},
		{"Gemma 2: a branch ends with a norm", transformer, "worker.finish", "PostNorm, SandwichNorm", "PostNorm", transformer, random},
		{"BERT: the norm is that of the sum", transformer, "worker.finish", "w.normaliseRows(w.x, n.last)", "w.normaliseRows(w.out, n.last)", transformer, random},
		{"Granite: branches are scaled", transformer, "worker.residual", "k.Scale(out, w.m.ResidualScale)", "k.Scale(out, 1)", transformer, random},
		{"Gemma 2: logits are bounded", transformer, "worker.boundLogits", "Value: m.LogitSoftCap", "Value: 2 * m.LogitSoftCap", transformer, random},
		{"Marian: the decoder has no last norm", transformer, "Model.FinalNorm", "m.NoLastNorm", "false", transformer, random},
		{"BLOOM: embeddings have their own norm", transformer, "Pass.embed", "in.norm", "m.decoderNorm", transformer, random},
	}
}
