package main

// encoders: each way in which an embedding could differ from that of sentence-transformers.
func encoders() []mutant {
	const golden, hostile = "^TestEncoderGoldens$", "^TestHostileSentences$"
	return []mutant{
		{"encoders: biases are those of their distances", kernel, "Kernels.loadQueries", "q.Biases[head][q.Seen-1-token:]", "q.Biases[head][token-token:]", kernel, "^TestAttendBiases$"},
		{"encoders: later blocks of keys have their biases", kernel, "Kernels.attendStep", "a.biases[from+r][at:at+len(scores)]", "a.biases[from+r][at-at:len(scores)]", kernel, "^TestAttendBiases$"},
		{"encoders: each head has its own biases", transformer, "worker.headBiases", "head*group+i", "head*0+i", engine, golden},
		{"encoders: keys after the query have other biases", transformer, "Model.relativeBiases", "bucket+m.RelativeBuckets/2", "bucket+0*m.RelativeBuckets", engine, golden},
		{"encoders: far keys share wider buckets", transformer, "relativeBuckets", "min(n-1, exact+int(share*float32(n-exact)))", "min(n-1, exact+int(share*0))", engine, golden},
		{"BERT: tokens have types", transformer, "Pass.embed", "m.TokenTypes > 0", "m.TokenTypes < 0", engine, golden},
		{"RoBERTa: positions begin after that of padding", arch, "skipPadding", "l.skip = padding + 1", "l.skip = padding", engine, golden},
		{"ModernBERT: the first attention has no norm", arch, "modernBERT", "layer == 0", "layer == 1", engine, golden},
		{"ModernBERT: a side of the window is inclusive", arch, "modernBERT", "k.Attention.Window = side + 1", "k.Attention.Window = side", engine, golden},
		{"EmbeddingGemma: the window is that of both sides", arch, "bidirectional", `c.integer("sliding_window", 4096, 1, maxContext)/2 + 1`, `c.integer("sliding_window", 4096, 1, maxContext)/1 + 1`, engine, golden},
		{"BERT: old names of norms", arch, "newSource", `name = stem + "LayerNorm.bias"`, `name = stem + "LayerNorm.beta"`, engine, golden},
		{"tasks: a query has its prompt", engine, "Encoder.promptName", "strings.EqualFold(name, want)", "strings.EqualFold(name, want) && false", engine, "^TestEncoderTasks$"},
		{"tasks: an unknown task is refused", engine, "Encoder.promptName", "names, ok := taskPrompts[req.Task]", "names, ok := taskPrompts[req.Task], true", engine, "^TestEncoderManyTexts$"},
		{"tokenize: an encoder has tokens after a text", engine, "core.Tokenize", "to.AddTokens(c.end)", "to.AddTokens(nil)", engine, "^TestEncoderTokens$"},
		{"embeddings: dimensions reach the model", "pkg/dialect/openai", "embeddingRequest.request", "req.Dimensions = *e.Dimensions", "_ = *e.Dimensions", "pkg/dialect/openai", "^TestEmbeddingOptions$"},
		{"semantic embeddings: the representation reaches the model", "pkg/dialect/alephalpha", "semantic.of", "llm.EmbedTask(s.Representation)", "llm.EmbedQuery", "pkg/dialect/alephalpha", "^TestSemantic$"},
		{"pooling: the tokens of the prompt are left out", engine, "Encoder.newEmbedding", "e.sentence.ExcludePrompt && text != \"\"", "!e.sentence.ExcludePrompt && text != \"\"", engine, golden},
		{"pooling: weights are positions in the whole text", engine, "poolRows", "float64(skip + r + 1)", "float64(r + 1)", engine, golden},
		{"pooling: a sum is divided by the root", engine, "poolRows", "math.Sqrt(total)", "math.Sqrt(total*total)", engine, golden},
		{"pooling: the norm comes after the cut", engine, "embedding.vector", "if unit { normaliseVector(out) }", "", engine, golden},
		{"pooling: only vectors of length 1 are normalised again", engine, "embedding.vector", "if unit { normaliseVector(out) }", "normaliseVector(out)", engine, golden},
		{"encoders: letters become small", engine, "Encoder.lower", "!e.sentence.Lowercase", "e.sentence.Lowercase", engine, golden},
		{"encoders: a cut text keeps its end", engine, "embedding.add", "ids[n-after:]", "ids[w.context-after : w.context]", engine, golden},
		{"encoders: a long text is refused unless it may be cut", engine, "embedding.add", "!w.truncate", "w.truncate", engine, "^TestEncoder(Refuses|Goldens)$"},
		{"modules: a path leaves the directory", arch, "sentenceReader.modules", `!fs.ValidPath(path.Join(".", m.Path))`, "false", arch, hostile},
		{"modules: a matrix takes all the memory", arch, "sentenceReader.dense", "d.In*d.Out > maxDense", "d.In*d.Out < 0", arch, hostile},
		{"modules: a width does not fit the one before", arch, "sentenceReader.dense", "d.In != width", "d.In < 0", arch, hostile},
	}
}

// rankings: each way in which a score could differ from that of sentence-transformers, or be that
// of another document.
func rankings() []mutant {
	const golden, hostile, wired, dialect = "^TestRankerGoldens$", "^TestHostileRankings$", "^TestRerank$", "pkg/dialect/openai"
	return []mutant{
		{"rankings: tokens of the second text have its type", transformer, "Pass.embed", "j >= first", "j < 0", engine, golden},
		{"rankings: the last token of a pair has the second type", engine, "joiner.join", "out.second, typed = len(out.ids), true", "out.second, typed = len(out.ids)+1, true", engine, golden},
		{"rankings: tokenizers without types", arch, "Ranking.readPair", "if !typed { part.Type = 0 }", "", arch, "^TestRankingTypes$"},
		{"rankings: the longer text is cut first", engine, "longestFirst", "n2 = max(n1, most-n1)", "n2 = most-n1", engine, golden},
		{"rankings: an odd token belongs to the longer text", engine, "longestFirst", "n2 = n1 + most%2", "n2 = n1", engine, golden},
		{"rankings: a long pair is refused unless it may be cut", engine, "joiner.join", "!j.request.Truncate", "j.request.Truncate", engine, "^TestRankerLengths$"},
		{"rankings: another query is encoded", engine, "joiner.join", "j.ids == nil || p.Query != j.query", "j.ids == nil", engine, golden},
		{"rankings: the score is the sigmoid", engine, "Ranker.relevance", "!r.ranking.Identity", "r.ranking.Identity", engine, golden},
		{"rankings: the mean of all tokens", engine, "rankingHead.logit", "mode = arch.PoolMean", "mode = arch.PoolFirst", engine, golden},
		{"rankings: the head of ModernBERT has a GELU", engine, "rankingHead.logit", "if h.gelu { k.GELUErf(x) }", "", engine, golden},
		{"rankings: no is subtracted from yes", engine, "Ranker.tokenLogits", "logit -= logits[r.ranking.False]", "logit += logits[r.ranking.False]", engine, golden},
		{"rankings: a classifier of classes is no reranker", arch, "opened.readClassifier", "n != 1", "n < 1", arch, hostile},
		{"rankings: documents stay as they were sent", dialect, "rerankRequest.documents", "var list []json.RawMessage", "list := []json.RawMessage{q.Documents}", dialect, wired},
		{"rankings: the most relevant document is the first", dialect, "order", "cmp.Compare(scores[b].Score, scores[a].Score)", "cmp.Compare(scores[a].Score, scores[b].Score)", dialect, wired},
		{"packs: a classifier keeps its norm", arch, "allHeadParts", "if h.Norm == nil { h.Norm = &transformer.Norm{} }", "if h.Norm == nil { h.Norm = &transformer.Norm{}; return }", engine, "^TestPackedRankers$"},
		{"packs: a Dense step keeps its bias", arch, "Dense.parts", "d.Bias = t", "", engine, "^TestPackedEncoders$"},
		{"packs: hostile lengths are refused", arch, "Sentence.check", "s.MaxTokens > spec.Context", "false", engine, "^TestPackedEncoderRefuses$"},
		{"passes: a client that has gone ends its pass", engine, "member.encode", "return ctx.Err() != nil", "return false", engine, "^TestEncoderStops$"},
		{"passes: all workers stop after the same layer", transformer, "Pass.work", "p.lastLayer.Load() <= int32(i)", "false", transformer, "^TestStop$"},
		{"passes: each worker has its own inputs", transformer, "Spec.PassBytes", "max(1, workers)*own", "own", transformer, "^TestPassBytes$"},
		{"memory: the passes of an encoder count", local, "Loader.run", "run.Bytes += passes", "", local, "^TestEncodersFit$"},
		{"memory: an encoder that is too large is not listed", catalog, "builder.add", "need > b.memory", "false", local, "^TestEncodersFit$"},
		{"rankings: a reranker is not the default model", catalog, "builder.done", "e.Task != llm.TaskGenerate", "false", app, "^TestAnswersFitTheDocument$"},
	}
}
