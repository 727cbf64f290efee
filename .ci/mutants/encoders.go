package main

// encoders: each way in which an embedding could differ from that of sentence-transformers.
func encoders() []mutant {
	const golden, hostile = "^TestEncoderGoldens$", "^TestHostileSentences$"
	return []mutant{
		{"encoders: biases are those of their distances", kernel, "Queries.biasesOf", "all[q.Seen-1-q.First-token:]", "all[token-token:]", kernel, "^TestAttendBiases$"},
		{"encoders: later blocks of keys have their biases", kernel, "Kernels.treat", "a.biases[row][b.at:b.at+len(scores)]", "a.biases[row][b.at-b.at:len(scores)]", kernel, "^TestAttendBiases$"},
		{"encoders: each head has its own biases", transformer, "worker.biasRows", "head*group+i", "head*0+i", engine, golden},
		{"encoders: slopes on both sides", transformer, "slopeBiases", "dst[n-1+d] = dst[n-1-d]", "dst[n-1+d] = 0", transformer, "^TestEncoderSlopes$"},
		{"encoders: workers do not share tokens of a text with slopes", transformer, "worker.fullAttention", "l.Attention.Slopes == nil", "true", transformer, "^TestEncoderSlopes$"},
		{"Nomic BERT MoE: the second layer has experts", arch, "nomicExperts", "layer%every == 1", "layer%every == 0", engine, golden},
		{"Nomic BERT MoE: the columns of down", arch, "builder.flatExperts", "t.Rows, t.Cols, t.Transposed, t.Stored, t.ReadStored = width, ffn, true, transformer.F32, nil", "t.Rows, t.Cols, t.Stored, t.ReadStored = width, ffn, transformer.F32, nil", engine, golden},
		{"Nomic BERT MoE: what is added must be zero", arch, "builder.flatExperts", "v != 0", "v != v", arch, "^TestNomicExpertsBias$"},
		{"encoders: keys after the query have other biases", transformer, "Model.relativeBiases", "bucket+m.RelativeBuckets/2", "bucket+0*m.RelativeBuckets", engine, golden},
		{"encoders: far keys share wider buckets", transformer, "relativeBuckets", "min(n-1, exact+int(share*float32(n-exact)))", "min(n-1, exact+int(share*0))", engine, golden},
		{"BERT: tokens have types", transformer, "Pass.embed", "m.TokenTypes > 0", "m.TokenTypes < 0", engine, golden},
		{"RoBERTa: positions begin after that of padding", arch, "skipPadding", "l.skip = padding + 1", "l.skip = padding", engine, golden},
		{"ModernBERT: the first attention has no norm", arch, "modernLayers", "layer == 0", "layer == 1", engine, golden},
		{"ModernBERT: a side of the window is inclusive", arch, "modernLayers", "k.Attention.Window = side + 1", "k.Attention.Window = side", engine, golden},
		{"EmbeddingGemma: the window is that of both sides", arch, "bidirectional", `side := window/2 + 1`, `side := window + 1`, engine, golden},
		{"BERT: old names of norms", arch, "newSource", `name = stem + "LayerNorm.bias"`, `name = stem + "LayerNorm.beta"`, engine, golden},
		{"tasks: a query has its prompt", engine, "Encoder.promptName", "strings.EqualFold(name, want)", "strings.EqualFold(name, want) && false", engine, "^TestEncoderTasks$"},
		{"tasks: an unknown task is refused", engine, "Encoder.promptName", "names, ok := taskPrompts[req.Task]", "names, ok := taskPrompts[req.Task], true", engine, "^TestEncoderManyTexts$"},
		{"tokenize: an encoder has tokens after a text", engine, "core.tokenize", "to.AddTokens(c.end)", "to.AddTokens(nil)", engine, "^TestEncoderTokens$"},
		{"embeddings: errors have the key of Jina's and Voyage's clients", "pkg/dialect/openai", "embeddingShape.Body", "openaiapi.Sentence(e)", `""`, "pkg/dialect/openai", "^TestEmbeddingErrors$"},
		{"embeddings: encoding_type chooses the type of values", "pkg/dialect/openai", "embeddingRequest.valueType", `cmp.Or(e.EmbeddingType, e.OutputType, e.EncodingType, "float")`, `cmp.Or(e.EmbeddingType, e.OutputType, "float")`, "pkg/dialect/openai", "^TestEmbeddingNames$"},
		{"embeddings: dimensions reach the model", "pkg/dialect/openai", "embeddingRequest.request", "req.Dimensions = value(dimensions)", "_ = value(dimensions)", "pkg/dialect/openai", "^TestEmbeddingOptions$"},
		{"Cohere: long texts are cut unless NONE is sent", "pkg/dialect/openai", "embedRequest.request", "e.Truncate == nil", "e.Truncate != nil", "pkg/dialect/openai", "^TestEmbedRequest$"},
		{"Cohere: bits are packed from the highest", "pkg/dialect/openai", "packed", "0x80 >> (i % 8)", "0x01 << (i % 8)", "pkg/dialect/openai", "^TestQuantVectors$"},
		{"Text Embeddings Inference: vectors have length 1 by default", "pkg/dialect/openai", "inputsRequest.answer", "isFalse(q.Normalize)", "!isFalse(q.Normalize)", "pkg/dialect/openai", "^TestEmbedInputs$"},
		{"Text Embeddings Inference: a model without dense embeddings answers with sparse ones", "pkg/dialect/openai", "answerRoot", "call.Req.Kind = llm.EmbedSparse", "", "pkg/dialect/openai", "^TestEmbedInputs$"},
		{"Text Embeddings Inference: all tokens have the width of the model", engine, "Encoder.newEmbedding", "w.width = e.model.Width", "", engine, "^TestUnpooled$"},
		{"Text Embeddings Inference: the values of all tokens count", engine, "embedding.checkValues", "len(ids) * w.width", "w.width", engine, "^TestVectorRefuses$"},
		{"semantic embeddings: the representation reaches the model", "pkg/dialect/alephalpha", "semantic.of", "llm.EmbedTask(s.Representation)", "llm.EmbedQuery", "pkg/dialect/alephalpha", "^TestSemantic$"},
		{"pooling: the tokens of the prompt are left out", engine, "embedding.setPrompt", "w.sentence.ExcludePrompt && text != \"\"", "!w.sentence.ExcludePrompt && text != \"\"", engine, golden},
		{"pooling: weights are positions in the whole text", engine, "poolRows", "float64(skip + r + 1)", "float64(r + 1)", engine, golden},
		{"pooling: a sum is divided by the root", engine, "poolRows", "math.Sqrt(total)", "math.Sqrt(total*total)", engine, golden},
		{"pooling: the norm comes after the cut", engine, "embedding.vector", "if unit { normaliseVector(out) }", "", engine, golden},
		{"pooling: only vectors of length 1 are normalised again", engine, "embedding.vector", "if unit { normaliseVector(out) }", "normaliseVector(out)", engine, golden},
		{"encoders: letters become small", engine, "Encoder.lower", "!e.sentence.Lowercase", "e.sentence.Lowercase", engine, golden},
		{"encoders: a cut text keeps its end", engine, "embedding.add", "ids[n-after:]", "ids[w.limit-after : w.limit]", engine, golden},
		{"encoders: a changed module is noticed", arch, "Files", "modules || e.Name() == modulesFile", "modules && e.Name() == modulesFile", local, "^TestModuleChanged$"},
		{"encoders: a long text is refused unless it may be cut", engine, "embedding.add", "!w.truncate", "w.truncate", engine, "^TestEncoder(Refuses|Goldens)$"},
		{"encoders: the error of a long text does not say which it is", engine, "inPrompt", "n == 1", "n >= 1", engine, "^TestEncoderRefuses$"},
		{"scores: what does not fit behind the context is the context", engine, "tooLongIn", "long.Param = param", "", engine, "^Test(ScoreRefuses|Seq2SeqScore)$"},
		{"ELECTRA: the projection of embeddings comes last", transformer, "Pass.embed", "m.EmbedWidth > 0 && len(m.decoder) > 0", "m.EmbedWidth > 0", engine, golden},
		{"GTE: NTK scaling has a larger base", arch, "gteRotary", "theta*by", "theta", engine, golden},
		{"DeBERTa: distances are those of the query from the key", transformer, "worker.distanceBiases", "d.bucket(at + i - j)", "d.bucket(j - at - i)", engine, golden},
		{"DeBERTa: far distances share wider buckets", transformer, "Disentangled.sides", "math.Ceil(float64(share*float32(exact-1)))", "math.Floor(float64(share*float32(exact-1)))", engine, golden},
		{"EuroBERT: the mean is of what each token has", arch, "RankingHead.readPooling", `pooling == "late"`, "false", engine, "^TestRankerGoldens$"},
		{"ALBERT: layers of a group share weights", arch, "shareLayers", "group*inner + j", "0*group*inner + j", engine, golden},
		{"modules: a path leaves the directory", arch, "sentenceReader.modules", `!fs.ValidPath(path.Join(".", m.Path))`, "false", arch, hostile},
		{"modules: a matrix takes all the memory", arch, "sentenceReader.dense", "d.In*d.Out > maxDense", "d.In*d.Out < 0", arch, hostile},
		{"modules: a width does not fit the one before", arch, "sentenceReader.dense", "d.In != width", "d.In < 0", arch, hostile},
	}
}

// encoderFiles: each way in which a file of GGUF could be read as another model.
func encoderFiles() []mutant {
	const embeds, ranks, read = "^TestEncoderGGUF$", "^TestRankerGGUF$", "^TestGGUFEncoders$"
	return []mutant{
		{"GGUF: an encoder's texts are between tokens", arch, "opened.readGGUFTokens", "cmp.Or(g.AddBOS, new(true))", "cmp.Or(g.AddBOS, new(false))", engine, embeds},
		{"GGUF: the window of ModernBERT is that of both sides", arch, "ggufModernBERT", `c.integer("attention.sliding_window", 128, 2, maxContext) / 2`, `c.integer("attention.sliding_window", 128, 2, maxContext)`, engine, embeds},
		{"GGUF: the first layer of ModernBERT has no window", arch, "ggufModernBERT", "layer%every != 0", "(layer+1)%every != 0", engine, embeds},
		{"GGUF: a gate has a SiLU", arch, "ggufNomicBERT", `text{"", "silu"}`, `text{"", "gelu"}`, engine, embeds},
		{"GGUF: embeddings have length 1", arch, "opened.readGGUFTask", "append(o.dense, Step{})", "o.dense", engine, embeds},
		{"GGUF: a table of one type is a vector", arch, "ggufEncoder", "s.TokenTypes = t.Shape[0]", "s.TokenTypes = 1", arch, read},
		{"GGUF: RoBERTa has two separators", arch, "opened.ggufPair", `o.Type == "bert"`, "false", engine, ranks},
		{"GGUF: ModernBERT ranks by the mean", arch, "opened.readGGUFClassifier", "h.Mean, h.GELU, h.Dense.Tanh = true, true, false", "h.GELU, h.Dense.Tanh = true, false", engine, ranks},
		{"GGUF: a reranker of BERT without its pooler", arch, "opened.readGGUFClassifier", `!src.has(ggufClassifierDense+".weight") || !src.has(ggufClassifierOut+".weight")`, `!src.has(ggufClassifierOut+".weight")`, arch, read},
		{"GGUF: a classifier without pooling_type", arch, "opened.ggufPooling", "errors.Is(err, checkpoint.ErrNoKey) && o.scoresByDefault()", "false", arch, read},
		{"GGUF: DistilBERT's classifier has a ReLU", arch, "opened.readGGUFClassifier", "h.Dense.Tanh, h.Dense.ReLU = false, true", "h.Dense.Tanh, h.Dense.ReLU = true, false", arch, "^TestGGUFLabels$"},
		{"GGUF: vectors of tokens", arch, "opened.ggufPooling", "kind == ggufPoolNone && len(o.Spec.Decoder) > 0", "kind == ggufPoolNone", arch, read},
		{"encoders: no token begins texts", arch, "opened.readEnds", "absent < 0 || absent >= vocab", "absent >= vocab", arch, "^TestEncoderWithoutStart$"},
		{"modules: files within the directory of Transformer", arch, "location.beside", "cmp.Or(p.modules, p.dir)", "p.dir", arch, "^TestSentenceSubfolder$"},
	}
}

// remoteVectors: each way in which a text could get the vector or the score of another, or a call
// could be counted wrongly.
func remoteVectors() []mutant {
	const suite, schema = "^TestBackend$", "pkg/schema"
	return []mutant{
		{"remote vectors: each call has its own places", remote, "embedder.Embed", "vectors[i*size : min((i+1)*size, len(vectors))]", "vectors[:min(size, len(vectors))]", bedrock, suite},
		{"remote vectors: one vector for each text", remote, "readVectors", "len(list) != len(to)", "len(list) > len(to)", bedrock, suite},
		{"remote vectors: all have the same dimensions", remote, "embedder.Embed", "len(v) != want", "false", bedrock, suite},
		{"remote vectors: dimensions are those of the request", remote, "embedder.Embed", "req.Dimensions > 0 && len(v) != req.Dimensions", "false", bedrock, suite},
		{"remote vectors: numbers are finite", remote, "number", "x, err == nil", "x, err == nil || x != 0", bedrock, suite},
		{"remote vectors: a result belongs to its index", remote, "readScores", "to[i], seen[i] = llm.Relevance{Score: x, Logit: math.NaN()}, true", "to[len(to)-1-i], seen[i] = llm.Relevance{Score: x, Logit: math.NaN()}, true", bedrock, suite},
		{"remote vectors: a document has one score", remote, "readScores", "!isScore || !isIndex || at < 0 || at >= float64(len(to)) || float64(i) != at || seen[i]", "!isScore || !isIndex || at < 0 || at >= float64(len(to)) || float64(i) != at", bedrock, suite},
		{"remote vectors: a call has one query", remote, "batches", "pairs[end].Query == pairs[0].Query", "true", bedrock, suite},
		{"remote vectors: raw scores are logits", remote, "readScores", "if logits { to[i] = llm.Relevance{Score: 1 / (1 + math.Exp(-x)), Logit: x} }", "", bedrock, suite},
		{"remote vectors: the tokens of all calls count", remote, "Backend.callAll", "used.Input+input", "max(used.Input, input)", bedrock, suite},
		{"remote vectors: a call without a count", remote, "Backend.callAll", "used.Partial || input == 0 && err == nil", "used.Partial", bedrock, suite},
		{"remote vectors: the first error is the answer", remote, "Backend.callAll", "err != nil && failed == nil", "err != nil", bedrock, suite},
		{"remote vectors: tasks have words", schema, "Schema.EmbedKeys", `keys["input_type"] = word`, "_ = word", bedrock, suite},
		{"remote vectors: long texts are cut if asked", schema, "Schema.EmbedKeys", `keys["truncate"] = s.in.cut`, "", bedrock, suite},
		{"remote vectors: a model that cuts is not asked to reject", schema, "Schema.RankKeys", "s.in.cuts && !req.Truncate", "false", bedrock, suite},
		{"remote vectors: keys that are not mapped", schema, "Schema.mapsAll", "len(names) > 0", "false", bedrock, suite},
	}
}

// rankings: each way in which a score could differ from that of sentence-transformers, or be that
// of another document.
func rankings() []mutant {
	const golden, wired, dialect, classified = "^TestRankerGoldens$", "^TestRerank$", "pkg/dialect/openai", "^TestClassifierGoldens$"
	return []mutant{
		{"rankings: tokens of the second text have its type", transformer, "Pass.embed", "j >= first", "j < 0", engine, golden},
		{"rankings: the last token of a pair has the second type", engine, "labeller.pair", "out.second, typed = len(out.ids), true", "out.second, typed = len(out.ids)+1, true", engine, golden},
		{"rankings: tokenizers without types", arch, "Ranking.readPair", "if !typed { part.Type = 0 }", "", arch, "^TestRankingTypes$"},
		{"rankings: the longer text is cut first", engine, "longestFirst", "n2 = max(n1, most-n1)", "n2 = most-n1", engine, golden},
		{"rankings: an odd token belongs to the longer text", engine, "longestFirst", "n2 = n1 + most%2", "n2 = n1", engine, golden},
		{"rankings: a long pair is refused unless it may be cut", engine, "joiner.join", "!j.request.Truncate", "j.request.Truncate", engine, "^TestRankerLengths$"},
		{"rankings: a query that leaves no room is too long itself", engine, "tooLongPair", "n-document >= limit", "false", engine, "^TestRankerLengths$"},
		{"rankings: a text that is too long has the place of its pair", dialect, "distinct.named", "t.pairs[from+i]", "from+i", dialect, "^TestBadRerankByVectors$"},
		{"rankings: another query is encoded", engine, "joiner.join", "j.ids == nil || p.Query != j.query", "j.ids == nil", engine, golden},
		{"rankings: the score is the sigmoid", engine, "Ranker.relevance", "!r.ranking.Identity", "r.ranking.Identity", engine, golden},
		{"rankings: the mean of all tokens", engine, "rankingHead.logits", "mode = arch.PoolMean", "mode = arch.PoolFirst", engine, golden},
		{"rankings: the head of ModernBERT has a GELU", engine, "transform.apply", "if t.gelu { k.GELUErf(out) }", "", engine, golden},
		{"embeddings: each worker has a text", engine, "together", "n >= workers || tokens > workers*textTokens", "true", engine, "^TestTextsTogether$"},
		{"embeddings: which is not long", engine, "together", "n >= workers || tokens > workers*textTokens", "n >= workers", engine, "^TestTextsTogether$"},
		{"embeddings: the memory of each worker's", engine, "togetherTokens", "int64(workers)*min(longest, textTokens)", "0", engine, "^TestTextsTogether$"},
		{"embeddings: unless others wait", engine, "member.workers", "len(b.shares) > 1", "false", engine, "^TestTextsForEachWorker$"},
		{"embeddings: several texts in a pass", engine, "embedding.run", "member.workers()", "1", engine, "^TestTextsForEachWorker$"},
		{"rankings: no is subtracted from yes", engine, "Ranker.tokenLogits", "logit -= logits[r.ranking.False]", "logit += logits[r.ranking.False]", engine, golden},
		{"rankings: a classifier of classes is no reranker", arch, "Ranking.Ranks", "r.Head.Out.Out == 1", "r.Head.Out.Out > 0", arch, "^TestClasses$"},
		{"classifiers: labels that apply at once", arch, "config.function", `kind == "multi_label_classification"`, "false", arch, "^TestClasses$"},
		{"classifiers: the ReLU of DistilBERT", engine, "dense.apply", "out[i] = max(v, 0)", "out[i] = v", engine, classified},
		{"classifiers: a cut text ends with the tokens that the tokenizer adds", engine, "labeller.input", "slices.Concat(l.start, first, l.end)", "slices.Concat(l.start, first)", engine, classified},
		{"classifiers: probabilities have the sum 1", engine, "scores", "out[i] /= sum", "out[i] /= 1", engine, classified},
		{"rankings: texts have the errors of documents", dialect, "pickTexts", "readPicked(body).Texts != nil", "false", dialect, "^TestRerankErrors$"},
		{"rankings: clients of Voyage get Cohere's answer", dialect, "answerRerank", "call.In.isVoyage()", "false", dialect, "^TestRerank$"},
		{"rankings: Voyage's documents are cut against their will", dialect, "rerankRequest.request", "!isFalse(q.Truncation)", "true", dialect, "^TestBadReranks$"},
		{"rankings: documents stay as they were sent", dialect, "rerankRequest.documents", "var list []json.RawMessage", "list := []json.RawMessage{q.Documents}", dialect, wired},
		{"rankings: the most relevant document is the first", dialect, "rerankRequest.order", "cmp.Compare(scores[b].Score, scores[a].Score)", "cmp.Compare(scores[a].Score, scores[b].Score)", dialect, wired},
		{"packs: a classifier keeps its norm", arch, "normParts", "if *at == nil { *at = &transformer.Norm{} }", "if *at == nil { *at = &transformer.Norm{}; return }", engine, "^TestPackedRankers$"},
		{"packs: a Dense step keeps its bias", arch, "Dense.parts", "d.Bias = t", "", engine, "^TestPackedEncoders$"},
		{"packs: hostile lengths are refused", arch, "Sentence.check", "s.MaxTokens > spec.Context", "false", engine, "^TestPackedEncoderRefuses$"},
		{"passes: a client that has gone ends its pass", engine, "member.encode", "return ctx.Err() != nil", "return false", engine, "^TestEncoderStops$"},
		{"passes: all workers stop after the same layer", transformer, "Pass.work", "p.lastLayer.Load() <= int32(i)", "false", transformer, "^TestStop$"},
		{"passes: a closed team waits for nobody", transformer, "Team.awaitUnless", "!ready()", "!ready() && !t.closing.Load()", transformer, "^TestAwaitClosed$"},
		{"passes: each worker has its own inputs", transformer, "Spec.PassBytes", "max(1, workers)*own", "own", transformer, "^TestPassBytes$"},
		{"memory: the passes of an encoder count", local, "Loader.run", "run.Bytes += passes", "", local, "^TestEncodersFit$"},
		{"memory: a team forgets its last job", transformer, "Team.do", "p.job = nil", "_ = p", transformer, "^TestTeamForgets$"},
		{"memory: an evicted model is free before the next one is read", catalog, "freeMemory", "runtime.GC()", "_ = runtime.GC", catalog, "^TestEvictedMemoryIsFree$"},
		{"memory: an encoder that is too large is not listed", catalog, "builder.add", "need > b.memory", "false", local, "^TestEncodersFit$"},
		{"rankings: a reranker is not the default model", catalog, "builder.done", "e.Task != llm.TaskGenerate", "false", app, "^TestAnswersFitTheDocument$"},
	}
}
